import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import pytest

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store, resume
from ragstone.store.database import RUNS, run_lock
from ragstone.types.claim import Claim

Command = Callable[..., object]

SAMPLE = {"query": "q", "response": "A.", "contexts": [{"id": "a", "text": "A."}]}
METRICS = ("faithfulness", "hit@5", "recall@5", "mrr@5")


def made(
    place: str | Path, *, rows: int = 2, samples: Sequence[object] = (), **options: object
) -> str:
    """Store a run of some rows, or of these samples; return its id."""
    judge = ScriptedJudge(
        {"extract_claims": [Claim(text="A.")], "verify_claims": [{"label": "SUPPORTED"}]}
    )
    samples = samples or [{**SAMPLE, "relevance": ["a"]}] * rows
    told = {"metrics": METRICS, "judge": judge, "store": place} | options
    return evaluate(samples, **told).manifest.run_id


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / ".ragstone" / "ragstone.db")


def age(place: str, run_id: str, days: int) -> None:
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="microseconds")
    with Store.open(place) as store, store.transaction() as connection:
        connection.execute(RUNS.update().where(RUNS.c.id == run_id).values(started_at=began))


def ids(ragstone: Command) -> list[str]:
    return [run["run_id"] for run in json.loads(ragstone("runs", "--json", "-").out)]


def test_the_list_is_newest_first_and_says_what_each_came_to(
    ragstone: Command, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    older = made(place, rows=3)
    age(place, older, days=1)
    newer = made(place)
    said = ragstone("runs")
    assert said.code == 0
    assert said.out.index(newer) < said.out.index(older)
    for words in ("  2 rows", "  3 rows", "scripted: The contexts support all claims of 3 answers"):
        assert words in said.out
    assert ragstone("runs", "list").out == said.out


def test_a_run_takes_two_lines_however_much_there_is_to_say(
    ragstone: Command, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run_id = made(place, rows=3000, metrics=("hit@5", "recall@5", "mrr@5"))
    ragstone("runs", "tag", run_id, "the-one-that-went-to-the-customer-in-march")
    first, second = ragstone("runs").out.splitlines()
    assert first.startswith(f"{run_id}  20")
    assert "3,000 rows  the-one-that" in first
    assert second.startswith("  samples: For all 3,000 queries a relevant document is in the top 5")
    monkeypatch.setenv("COLUMNS", "50")
    assert [len(line) <= 50 for line in ragstone("runs").out.splitlines()] == [True, True]
    with Store.open(place) as store:
        resume(store, store.info(run_id).manifest)  # without a verdict, means
    assert ragstone("runs").out.endswith(": hit@5 1.0000 and 2 more\n")


def test_a_long_name_gives_way_to_the_sentence(
    ragstone: Command, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / f"{'long' * 9}.jsonl"
    file.write_text(json.dumps(SAMPLE), encoding="utf-8")
    made(place, samples=str(file), metrics="faithfulness")
    shown = ragstone("runs").out.splitlines()[1]
    assert re.match(r"  (long)+\S*…, scripted: The contexts support all claims of 1", shown)


def test_a_run_without_metrics_says_what_it_was_of(ragstone: Command, place: str) -> None:
    run_id = made(place)
    with Store.open(place) as store, store.transaction() as connection:
        connection.execute(
            RUNS.update().where(RUNS.c.id == run_id).values(metrics="{}", summary=None)
        )
    assert ragstone("runs").out.splitlines()[1] == "  samples, scripted"


def test_what_failed_and_what_was_scored_again_is_marked(ragstone: Command, place: str) -> None:
    asked = made(place, target=lambda query: {"ranking": ["a"]} if query == "q" else 1 / 0,
                 metrics=["hit@1"], samples=[{"query": "q", "relevance": ["a"]},
                                             {"query": "p", "relevance": ["a"]}])  # fmt: skip
    ragstone("runs", "rescore", asked, "-m", "mrr@1", "--save")
    again, first = ragstone("runs").out.splitlines()[1::2]
    assert "rescored" in again
    assert "rescored" not in first
    assert "1 score failed" in first
    newest, oldest = json.loads(ragstone("runs", "--json", "-").out)
    assert (newest["scored_again_from"], oldest["scored_again_from"]) == (asked, None)
    assert oldest["failed"] == 1


def test_a_run_that_was_killed_has_the_means_of_what_is_stored(
    ragstone: Command, place: str
) -> None:
    run_id = made(place)
    with Store.open(place) as store:
        resume(store, store.info(run_id).manifest)
        with store.lock(run_id):
            assert "running 2/2" in ragstone("runs").out
    said = ragstone("runs").out
    assert "unfinished 2/2" in said
    assert "faithfulness 1.0000" in said
    (listed,) = json.loads(ragstone("runs", "--json", "-").out)
    assert listed["metrics"] == dict.fromkeys(METRICS, 1.0)


def test_the_limit_is_told_where_it_hides_runs(ragstone: Command, place: str) -> None:
    made(place)
    newer = made(place, fresh=True)
    said = ragstone("runs", "--limit", "1")
    assert newer in said.out
    assert said.out.endswith("Showing the newest 1; use --limit to show more.\n")
    assert "--limit shows" not in ragstone("runs", "--limit", "2").out


def test_the_list_as_json(ragstone: Command, place: str, tmp_path: Path) -> None:
    run_id = made(place)
    ragstone("runs", "tag", run_id, "baseline")
    (listed,) = json.loads(ragstone("runs", "--json", "-").out)
    finished = datetime.fromisoformat(listed.pop("finished_at"))
    assert datetime.fromisoformat(listed.pop("started_at")) <= finished
    assert listed == {
        "run_id": run_id,
        "tag": "baseline",
        "finished": True,
        "stopped": None,
        "dataset": listed["dataset"],
        "target": None,
        "judge": "scripted",
        "rows": 2,
        "rows_due": 2,
        "failed": 0,
        "scored_again_from": None,
        "transcript": True,
        "gates": None,
        "verdict": "The contexts support all claims of 2 answers (100%, 16% to 100%).",
        "metrics": dict.fromkeys(METRICS, 1.0),
        "corrected": {},
    }
    ragstone("runs", "list", "--json", "runs.json")
    (written,) = json.loads((tmp_path / "runs.json").read_text(encoding="utf-8"))
    assert written["run_id"] == run_id


def test_a_run_is_shown_with_what_it_was_asked_and_what_it_came_to(
    ragstone: Command, place: str
) -> None:
    run_id = made(place, k=3, policy="ragas", transcript=False)
    ragstone("runs", "tag", run_id, "baseline")
    said = ragstone("runs", "show", "baseline", "-v")
    assert said.code == 0
    assert f"{run_id}, tagged baseline" in said.out
    for words in ("policy ragas; k 3", "Transcript", "not stored", "95% interval", "Judge"):
        assert words in said.out
    assert "hit@5" in said.out


def test_an_unfinished_run_says_how_to_go_on_in_one_line(
    ragstone: Command, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    run_id = made(place)
    with Store.open(place) as store:
        resume(store, store.info(run_id).manifest)
        store.finish(run_id, extras={}, partial=True)
    said = ragstone("runs", "show", "last")
    assert f"Resume it with `ragstone resume {run_id}`" in said.out
    assert "the run stopped early" in " ".join(said.out.split())


def test_a_tag_names_one_run_until_it_is_taken_away(ragstone: Command, place: str) -> None:
    first, second = made(place), made(place, fresh=True)
    assert ragstone("runs", "tag", first, "baseline").out == f"Tagged run {first} as baseline\n"
    ragstone("runs", "tag", second, "good")
    assert ragstone("runs", "tag", "last", "baseline").out == (
        f"Tagged run {second} as baseline (moved from run {first}); its tag good was removed\n"
    )
    assert ragstone("runs", "tag", "last", "baseline").out == f"Tagged run {second} as baseline\n"
    assert second in ragstone("runs", "show", "baseline").out
    assert ragstone("runs", "tag", "baseline", "--remove").out == f"Untagged run {second}\n"
    gone = ragstone("runs", "show", "baseline")
    assert gone.code == 2
    assert "no run named 'baseline'" in gone.err


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 1)], ids=["is deleted", "stays"])
def test_a_person_is_asked_before_a_run_is_deleted(
    ragstone: Command,
    place: str,
    answer: str,
    left: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = made(place)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: answer.strip())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    said = ragstone("runs", "delete", run_id)
    assert said.code == 0
    assert ("nothing was deleted" in said.out) == bool(left)
    assert len(ids(ragstone)) == left


@pytest.mark.parametrize("words", [["delete", "last"], ["delete", "--older-than", "24h"]])
def test_where_nobody_can_be_asked_nothing_is_deleted(
    ragstone: Command, place: str, words: list[str]
) -> None:
    run_id = made(place)
    age(place, run_id, days=2)
    said = ragstone("runs", *words)
    assert said.code == 2
    assert f"cannot ask to confirm without a terminal; add --yes to delete {run_id}" in said.err
    assert ids(ragstone) == [run_id]


def test_several_runs_are_deleted_at_once_each_once(ragstone: Command, place: str) -> None:
    first, second = made(place), made(place, fresh=True)
    said = ragstone("runs", "delete", first, "last", second, "--yes")
    assert said.out.splitlines() == [f"deleted {first}", f"deleted {second}"]


def test_a_run_that_is_worked_on_is_not_deleted(ragstone: Command, place: str) -> None:
    run_id = made(place)

    with (
        Store.open(place) as store,
        store.connect() as connection,
        run_lock(connection, 1, name=run_id),
    ):
        said = ragstone("runs", "delete", run_id, "--yes")
    assert said.code == 2
    assert "is in use by another process" in said.err
    assert ids(ragstone) == [run_id]


def test_old_runs_are_pruned_but_those_with_a_tag(ragstone: Command, place: str) -> None:
    old, tagged, new = (made(place, fresh=True) for _ in range(3))
    for run_id in (old, tagged):
        age(place, run_id, days=31)
    ragstone("runs", "tag", tagged, "kept")
    kept = ragstone("runs", "delete", "--older-than", "5w", "--yes")
    assert kept.out.startswith("no untagged run")
    assert ragstone("runs", "delete", "--older-than", "30d", "--yes").out == f"deleted {old}\n"
    assert set(ids(ragstone)) == {tagged, new}


def test_pruning_does_not_ask_about_runs_that_are_worked_on(ragstone: Command, place: str) -> None:
    run_id = made(place)
    age(place, run_id, days=2)
    with Store.open(place) as store:
        resume(store, store.info(run_id).manifest)
        with store.lock(run_id):
            said = ragstone("runs", "delete", "--older-than", "24h")
    assert (said.code, said.out[:15]) == (0, "no untagged run")
    assert ids(ragstone) == [run_id]


def test_pruning_names_the_runs_and_asks(
    ragstone: Command, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made(place)
    age(place, old, days=2)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    said = ragstone("runs", "delete", "--older-than", "24h")
    assert old in said.out
    assert "nothing was deleted" in said.out
    assert ids(ragstone) == [old]


def test_an_age_has_a_unit(ragstone: Command, place: str) -> None:
    made(place)
    said = ragstone("runs", "delete", "--older-than", "30", "--yes")
    assert said.code == 2
    assert "--older-than 30: write hours, days or weeks" in said.err


def test_a_run_travels_as_one_file_to_another_store(ragstone: Command, place: str) -> None:
    run_id = made(place)
    assert ragstone("runs", "export", "last", "run.db").code == 0
    taken = ragstone("runs", "import", "run.db")
    assert (taken.code, "already exists" in taken.err) == (2, True)
    entered = ragstone("runs", "import", "run.db", "--store", "other.db")
    assert entered.out == f"imported run {run_id} into other.db\n"
    assert run_id in ragstone("runs", "show", "last", "--store", "other.db").out


def test_every_reader_of_a_damaged_run_says_what_is_missing(ragstone: Command, place: str) -> None:
    """Line 4 of issue 18: 30 of 60 rows were deleted, and the reports had a mean of 30."""
    made(place)
    whole, damaged = made(place), made(place, rows=60)
    with Store.open(place) as store, store.transaction() as connection:
        for table in ("rows", "scores", "texts"):
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE run = 3 AND place % 2 = 1")
    for words in (
        *(
            ("runs", "show", damaged),
            ("runs", "rescore", damaged, "--save"),
            ("compare", whole, damaged),
        ),
        *(("runs", "show", damaged), ("runs", "export", damaged, "x.db")),
        *(("runs", "show", damaged, "--html", "x.html"), ("resume", damaged, "--retry-failed")),
    ):
        said = ragstone(*words)
        assert said.code == 2, words
        assert f"run {damaged} has 30 of its 60 rows: the store was damaged" in said.err, words
        assert f"or delete the run (`ragstone runs delete {damaged}`)" in said.err, words
        assert said.out == "", words
    assert not list(Path().glob("x.*"))
    assert "damaged, 30 rows" in ragstone("runs").out
    assert ragstone("runs", "delete", damaged, "--yes").code == 0
    said = ragstone("runs", "show", "last", "--gates-on", "interval")
    assert (said.code, "interval has no effect: the run has no gate" in said.err) == (0, True)


def test_an_import_that_is_refused_makes_no_store(ragstone: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("{}", encoding="utf-8")
    for file, why in (
        ("none.db", "there is no file none.db"),
        ("notes.txt", "files that `ragstone runs export` wrote"),
        (".", "is a folder"),
    ):
        said = ragstone("runs", "import", file, "--store", "new/runs.db")
        assert said.code == 2
        assert why in said.err
        assert "Errno" not in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_export_makes_the_folder_and_spares_the_data(
    ragstone: Command, place: str, tmp_path: Path
) -> None:
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({**SAMPLE, "relevance": ["b"]}), encoding="utf-8")
    ragstone("run", "answers.jsonl", "-m", "hit", "--no-export")
    made(place)
    assert ragstone("runs", "export", "last", "new/run.db").code == 0
    assert (tmp_path / "new/run.db").exists()
    oldest = ids(ragstone)[-1]
    before = data.read_text(encoding="utf-8")
    for words in (["export", oldest, "answers.jsonl"], ["list", "--json", "answers.jsonl"]):
        said = ragstone("runs", *words)
        assert said.code == 2
        assert "answers.jsonl is an input file, so it cannot be written" in said.err
    assert data.read_text(encoding="utf-8") == before


def test_a_folder_is_no_store_and_nothing_else_is_advised(
    ragstone: Command, tmp_path: Path
) -> None:
    (tmp_path / "adir").mkdir()
    said = ragstone("runs", "--store", "adir")
    assert (said.code, said.err) == (2, "Error: adir is a folder; name a file in it\n")


@pytest.mark.parametrize("words", [["runs"], ["runs", "show", "x"], ["runs", "rescore", "x"]])
def test_looking_into_a_store_that_is_not_there_makes_none(
    ragstone: Command, tmp_path: Path, words: list[str]
) -> None:
    said = ragstone(*words)
    assert said.code == 2
    assert "there is no store at .ragstone" in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_environment_names_the_store(
    ragstone: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = made(tmp_path / "team.db")
    monkeypatch.setenv("RAGSTONE_STORE", "team.db")
    assert ids(ragstone) == [run_id]
    assert ragstone("runs", "--store", "none.db").code == 2


def test_an_empty_store_is_no_error(ragstone: Command, place: str) -> None:
    Store.open(place).close()
    said = ragstone("runs")
    assert (said.code, "no runs" in said.out) == (0, True)
    assert json.loads(ragstone("runs", "--json", "-").out) == []


def test_a_report_is_what_the_run_wrote(ragstone: Command, tmp_path: Path) -> None:
    data = tmp_path / "answers.jsonl"
    data.write_text(json.dumps({**SAMPLE, "relevance": ["b"]}), encoding="utf-8")
    words = ["--fail-under", "hit=0.5", "--no-export", "--json", "1.json", "--rows", "1.jsonl"]
    ran = ragstone("run", "answers.jsonl", "-m", "hit", "faithfulness", *words, "-v")
    again = ragstone("runs", "show", "last", "--json", "2.json", "--rows", "2.jsonl", "-v")
    assert (ran.code, again.code) == (1, 1)
    assert again.out.replace("2.json", "1.json").endswith(ran.out)
    for ending in ("json", "jsonl"):
        first, second = ((tmp_path / f"{n}.{ending}").read_text("utf-8") for n in (1, 2))
        assert first == second


def test_a_report_is_written_as_a_workbook(ragstone: Command, place: str, tmp_path: Path) -> None:
    made(place, metrics=["faithfulness"])
    assert ragstone("runs", "show", "last", "-o", "r.xlsx").code == 0
    assert "Summary" in openpyxl.load_workbook(tmp_path / "r.xlsx").sheetnames
    assert ragstone("runs", "show", "last", "-o", "r.xlsx", "--json", place).code == 2


def test_an_imported_run_can_be_tagged(ragstone: Command, tmp_path: Path) -> None:
    ragstone("demo", "--limit", "1", "--no-export")
    ragstone("runs", "export", "last", "run.db")
    said = ragstone("runs", "import", "run.db", "--tag", "baseline", "--store", "other.db")
    assert said.code == 0, said.err
    assert said.out.endswith("into other.db as baseline\n")
    assert ragstone("runs", "show", "baseline", "--store", "other.db").code == 0
