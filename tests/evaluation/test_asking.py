from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.datasets import samples_of
from ragstone.errors import UsageError
from ragstone.evaluation.collect import Collector, collection_settings, fields_of_mode
from ragstone.targets import get_target
from ragstone.types.config import Plan
from ragstone.types.row import Row

PLAN = Plan()
SEARCHES = """
base: http://127.0.0.1:9
calls:
  search:
    url: "{base}/search"
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
