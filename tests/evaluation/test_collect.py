import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.datasets import samples_of
from ragstone.errors import Cause, InputError, UsageError
from ragstone.evaluation.collect import (
    Collector,
    ResponseJournal,
    collection_settings,
    discard_journal,
    fields_of_mode,
)
from ragstone.targets.factory import get_target
from ragstone.types.config import Plan
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample

PLAN = Plan()
SEARCHES = """
base: http://127.0.0.1:9
calls:
  search:
    url: "{base}/search"
    body: {query: "{query}"}
    reply:
      ranking: results
"""


@pytest.fixture
def searching(tmp_path: Path) -> str:
    path = tmp_path / "search.yaml"
    path.write_text(SEARCHES, encoding="utf-8")
    return str(path)


def test_a_target_that_only_searches_is_not_asked_for_answers(searching: str) -> None:
    target = get_target(searching, Plan(), k=5)
    assert fields_of_mode("search", target) == {"ranking"}
    with pytest.raises(UsageError, match="returns ranking; use --mode search"):
        fields_of_mode("chat", target)


@pytest.fixture
def collector(searching: str, tmp_path: Path) -> Callable[..., Collector]:
    """What is asked, in a file of answers of its own; by default the target that searches."""

    def made(plan: Plan = PLAN, *, target: str = searching, fresh: bool = False) -> Collector:
        dataset = samples_of([{"query": "q"}])
        part = tmp_path / "out.json.part"
        return Collector.of(
            dataset, plan=plan, mode="search", target=target, part=part, fresh=fresh
        )

    return made


def keep(collector: Collector) -> None:
    with collector.journal as kept:
        kept.add(Row(0, collector.dataset.samples[0].model_copy(update={"ranking": ()})))


def test_what_is_saved_tells_how_the_target_was_asked(collector: Callable[..., Collector]) -> None:
    told = collector(Plan(k=(3, 7), threshold=0.5)).document()["metadata"]
    assert (told["top_k"], told["score_threshold"], told["total_queries"]) == (7, 0.5, 0)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (Plan(k=(7,)), "top_k was 7, is 5"),
        (Plan(min_similarity=0.5), "score_threshold was 0.5, is 0"),
    ],
)
def test_answers_that_were_asked_for_otherwise_are_refused(
    collector: Callable[..., Collector], plan: Plan, said: str
) -> None:
    keep(collector(plan))
    with pytest.raises(UsageError, match=f"collected with other settings: {said}"):
        collector().journal.__enter__()
    with collector(fresh=True).journal as kept:
        assert kept.rows == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://127.0.0.1:9/?collection=A", "http://127.0.0.1:9/?collection=B"),
        ("http://127.0.0.1:9/?collection=${PLACE}", "http://127.0.0.1:9/?collection=B"),
    ],
)
def test_a_url_with_another_query_is_another_target(
    collector: Callable[..., Collector], monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    monkeypatch.setenv("PLACE", "A")
    keep(collector(target=one))
    with pytest.raises(UsageError, match="settings: target_fingerprint was "):
        collector(target=other).journal.__enter__()
    with collector(target="http://127.0.0.1:9/?collection=A").journal as kept:
        assert kept.answered == {0}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (("{base}/search", "{base}/search?deep=1"), False),
        (("results", "found"), False),
        (("calls:", "verify_tls: false\ncalls:"), True),
        (("calls:", "# a remark\ncalls:"), True),
    ],
)
def test_a_target_whose_file_asks_otherwise_is_another(
    collector: Callable[..., Collector], searching: str, change: tuple[str, str], *, same: bool
) -> None:
    keep(collector())
    Path(searching).write_text(SEARCHES.replace(*change), encoding="utf-8")
    if same:
        with collector().journal as kept:
            assert kept.answered == {0}
    else:
        with pytest.raises(UsageError, match="settings: target_fingerprint was "):
            collector().journal.__enter__()


def test_a_new_token_gives_no_other_answers_and_a_new_place_does(
    searching: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SEARCHES.replace("127.0.0.1:9", "127.0.0.1:9/${PLACE}")
    text += '\nheaders: {Authorization: "Bearer ${TOKEN}"}\n'
    Path(searching).write_text(text, encoding="utf-8")
    prints: list[object] = []
    for place, token in (("a", "x"), ("a", "y"), ("b", "y")):
        monkeypatch.setenv("PLACE", place)
        monkeypatch.setenv("TOKEN", token)
        asked = collection_settings(searching, plan=Plan(), mode="search")
        prints.append(asked["target_fingerprint"])
    assert prints[0] == prints[1] != prints[2]


def test_where_every_answer_is_kept_nobody_is_asked(collector: Callable[..., Collector]) -> None:
    keep(collector())
    again = collector()
    with again.journal:
        again.run(lambda *_: pytest.fail("a row was asked for"))  # nobody listens on port 9
    assert again.document()["metadata"]["total_queries"] == 1


SETTINGS = {"mode": "chat"}
SAMPLES = (Sample(id="1", query="q"), Sample(id="2", query="r"))
ANSWERED = SAMPLES[0].model_copy(
    update={"response": "", "contexts": (Context(text="c", id="5", score=0.5),), "ranking": ()}
)
FAILED = Row(1, SAMPLES[1], failures={"response": Failure(Cause.TIMEOUT, "no answer")})


def kept(
    path: Path, *, samples: tuple[Sample, ...] = SAMPLES, fresh: bool = False
) -> ResponseJournal:
    return ResponseJournal(path, samples, settings=SETTINGS, fresh=fresh)


def read(path: Path, *, samples: tuple[Sample, ...] = SAMPLES) -> ResponseJournal:
    with kept(path, samples=samples) as answers:
        return answers


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.part"
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
        answers.add(FAILED)
    again = read(path)
    assert again.rows[0].sample == ANSWERED
    assert again.rows[1].failures == FAILED.failures
    assert again.answered == {0}


def test_a_later_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(FAILED)
        answers.add(Row(1, SAMPLES[1].model_copy(update={"response": "yes"})))
    assert read(path).answered == {1}


@pytest.mark.parametrize("torn", ['{"index": 0', "{", '{"mode": "ch'])
def test_half_a_line_is_cut_off(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "a.part"
    if torn.startswith('{"mode"'):
        path.write_text(torn, encoding="utf-8")
    else:
        with kept(path) as answers:
            answers.add(Row(0, ANSWERED))
        path.write_text(path.read_text(encoding="utf-8") + torn, encoding="utf-8")
    with kept(path) as answers:
        answers.add(Row(1, SAMPLES[1]))
    assert read(path).answered == ({1} if torn.startswith('{"mode"') else {0, 1})


def test_a_damaged_line_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], "oops", lines[1], ""]), encoding="utf-8")
    with pytest.raises(InputError, match="line 2: not a saved response: "):
        read(path)


def test_answers_to_rows_beyond_the_limit_stay_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(Row(1, SAMPLES[1]))
    fewer = read(path, samples=SAMPLES[:1])
    assert (fewer.rows, fewer.beyond, fewer.has_more) == ({}, {1}, True)
    assert read(path).answered == {1}


def test_a_file_with_a_row_that_failed_is_of_use_still(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
        assert answers.has_more
        answers.add(FAILED)
        assert answers.has_more
        answers.add(Row(1, ANSWERED))
        assert not answers.has_more
        answers.discard()
    assert not path.exists()


def test_two_do_not_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    second = kept(path)
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
        with pytest.raises(UsageError, match=r"another process is collecting into .*a\.part"):
            second.__enter__()
        answers.add(FAILED)
        discard_journal(path)
    with second:
        assert second.rows.keys() == {0, 1}


def test_a_process_that_ends_leaves_the_file_to_others(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    code = (
        "import os, sys; from pathlib import Path\n"
        "from ragstone.evaluation.collect import ResponseJournal\n"
        "ResponseJournal(Path(sys.argv[1]), (), settings={}).__enter__(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
    assert read(path).answered == {0}


def test_anew_loses_nothing_until_there_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
    with kept(path, fresh=True) as answers:
        assert answers.rows == {}
    assert read(path).answered == {0}
    with kept(path, fresh=True) as answers:
        answers.add(FAILED)
    assert read(path).rows.keys() == {1}


def test_a_file_that_got_no_answer_does_not_stay(tmp_path: Path) -> None:
    with kept(tmp_path / "a.part"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_the_system_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.part").mkdir()
    with pytest.raises(
        UsageError, match=r"responses in .*a\.part: Is a directory; choose another file with -o"
    ):
        read(tmp_path / "a.part")
    discard_journal(tmp_path / "a.part")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot save responses in "):
        read(tmp_path / "file" / "a.part")


def test_a_disk_that_is_full_is_told_and_half_a_line_is_cut_off(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="not on Windows")
    path = tmp_path / "a.part"
    with kept(path) as answers:
        answers.add(Row(0, ANSWERED))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
        try:
            with pytest.raises(
                UsageError, match=r"responses in .*: File too large; choose another file with -o"
            ):
                answers.add(FAILED)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with kept(path) as answers:
        assert answers.rows.keys() == {0}
        answers.add(FAILED)
    assert read(path).rows.keys() == {0, 1}
