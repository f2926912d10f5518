import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import pytest
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store, resume
from ragstone.store.database import RUNS
from ragstone.types.claim import Claim

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


def test_the_list_is_newest_first_and_says_what_each_came_to(ragstone, place, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    Store.open(place).close()
    assert "no runs" in ragstone("runs").out
    older = made(place, rows=3)
    age(place, older, days=1)
    newer = made(place)
    said = ragstone("runs")
    assert said.out.index(newer) < said.out.index(older)
    for words in ("  2 rows", "  3 rows", "scripted: The contexts support all claims of 3 answers"):
        assert words in said.out
    one = ragstone("runs", "--limit", "1").out
    assert newer in one
    assert one.endswith("Showing the newest 1; use --limit to show more.\n")


def test_a_run_that_was_killed_has_the_means_of_its_rows(ragstone: Command, place: str) -> None:
    run_id = made(place)
    with Store.open(place) as store:
        resume(store, store.info(run_id).manifest)
        with store.lock(run_id):
            assert "running 2/2" in ragstone("runs").out
    said = ragstone("runs").out
    assert "unfinished 2/2" in said
    assert "faithfulness 1.0000, hit@5 1.0000, recall@5 1.0000" in said


def test_a_run_is_shown_with_what_it_was_asked_and_what_it_came_to(ragstone, place: str) -> None:
    run_id = made(place, k=3, policy="ragas", transcript=False)
    ragstone("runs", "tag", run_id, "baseline")
    said = ragstone("runs", "show", "baseline", "-v", "--gates-on", "interval")
    assert f"{run_id}, tagged baseline" in said.out
    assert "interval has no effect: the run has no gate" in said.err
    for words in ("policy ragas; k 3", "Transcript", "not stored", "95% interval", "hit@5"):
        assert words in said.out


def test_the_list_as_json(ragstone: Command, place: str) -> None:
    run_id = made(place)
    ragstone("runs", "tag", run_id, "baseline")
    (listed,) = json.loads(ragstone("runs", "--json", "-").out)
    names = ("run_id", "tag", "finished", "judge", "rows", "rows_due", "failed", "metrics")
    means = dict.fromkeys(METRICS, 1.0)
    told = [run_id, "baseline", True, "scripted", 2, 2, 0, means]
    assert [listed[name] for name in names] == told


def test_a_tag_names_one_run_until_it_is_taken_away(ragstone: Command, place: str) -> None:
    first, second = made(place), made(place, fresh=True)
    ragstone("runs", "tag", first, "baseline")
    ragstone("runs", "tag", second, "good")
    assert ragstone("runs", "tag", "last", "baseline").out == (
        f"Tagged run {second} as baseline (moved from run {first}); its tag good was removed\n"
    )
    assert ragstone("runs", "tag", "baseline", "--remove").out == f"Untagged run {second}\n"
    assert ragstone("runs", "show", "baseline").refuses("no run named 'baseline'")


def test_a_person_is_asked_before_runs_are_deleted(ragstone, place: str, monkeypatch) -> None:
    run_id = made(place)
    age(place, run_id, days=2)
    for words in (["delete", "last"], ["delete", "--older-than", "24h"]):
        said = ragstone("runs", *words)
        assert said.refuses(f"without a terminal; add --yes to delete {run_id}"), words
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    for answer, left in (("n", [run_id]), ("y", [])):
        monkeypatch.setattr("click.termui.visible_prompt_func", lambda _, answer=answer: answer)
        said = ragstone("runs", "delete", "--older-than", "24h")
        assert (said.code, run_id in said.out) == (0, True)
        assert ("nothing was deleted" in said.out) == bool(left)
        assert ids(ragstone) == left


def test_old_runs_are_pruned_but_those_with_a_tag(ragstone: Command, place: str) -> None:
    old, tagged, new, newest = (made(place, fresh=True) for _ in range(4))
    for run_id in (old, tagged):
        age(place, run_id, days=31)
    ragstone("runs", "tag", tagged, "kept")
    prune = ("runs", "delete", "--yes", "--older-than")
    assert ragstone(*prune, "30").refuses("--older-than 30: write hours, days or weeks")
    assert ragstone(*prune, "5w").out.startswith("no untagged run")
    assert ragstone(*prune, "30d").out == f"deleted {old}\n"
    said = ragstone("runs", "delete", newest, "last", new, "--yes")
    assert said.out.splitlines() == [f"deleted {newest}", f"deleted {new}"], "each once"
    assert ids(ragstone) == [tagged]


def test_a_run_travels_as_one_file_to_another_store(ragstone: Command, place: str) -> None:
    run_id = made(place)
    assert ragstone("runs", "export", "last", "new/run.db").code == 0
    assert ragstone("runs", "import", "new/run.db").refuses("already exists")
    entered = ragstone("runs", "import", "new/run.db", "--store", "other.db", "--tag", "baseline")
    assert entered.out == f"imported run {run_id} into other.db as baseline\n"
    assert run_id in ragstone("runs", "show", "baseline", "--store", "other.db").out


def test_every_reader_of_a_damaged_run_says_what_is_missing(ragstone: Command, place: str) -> None:
    """Line 4 of issue 18: 30 of 60 rows were deleted, and the reports had a mean of 30."""
    made(place)
    whole, damaged = made(place), made(place, rows=60)
    with Store.open(place) as store, store.transaction() as connection:
        for table in ("rows", "scores", "texts"):
            connection.exec_driver_sql(f"DELETE FROM {table} WHERE run = 3 AND place % 2 = 1")
    for words in (
        f"runs show {damaged} --html x.html",
        f"runs rescore {damaged} --save",
        f"compare {whole} {damaged}",
        f"runs export {damaged} x.db",
        f"resume {damaged} --retry-failed",
    ):
        said = ragstone(*words.split())
        assert said.refuses(f"run {damaged} has 30 of its 60 rows: the store was damaged"), words
        assert said.out == "", words
    assert not list(Path().glob("x.*"))


def test_an_import_that_is_refused_makes_no_store(ragstone: Command) -> None:
    Path("notes.txt").write_text("{}", encoding="utf-8")
    said = ragstone("runs", "import", "notes.txt", "--store", "new/runs.db")
    assert said.refuses("files that `ragstone runs export` wrote")
    assert [path.name for path in Path().iterdir()] == ["notes.txt"]


def test_looking_into_a_store_that_is_not_there_makes_none(ragstone, tmp_path: Path) -> None:
    for words in (["runs"], ["runs", "show", "x"], ["runs", "rescore", "x"]):
        assert ragstone(*words).refuses("there is no store at .ragstone")
    assert list(tmp_path.iterdir()) == []


def test_a_report_is_what_the_run_wrote(ragstone: Command) -> None:
    data = json_lines("answers.jsonl", [SAMPLE | {"relevance": ["b"]}])
    words = ["--fail-under", "hit=0.5", "--no-export", "--json", "1.json", "--rows", "1.jsonl"]
    ran = ragstone("run", data, "-m", "hit", "faithfulness", *words, "-v")
    again = ragstone("runs", "show", "last", "--json", "2.json", "--rows", "2.jsonl", "-v")
    assert (ran.code, again.code) == (1, 1)
    assert again.out.replace("2.json", "1.json").endswith(ran.out)
    for ending in ("json", "jsonl"):
        first, second = (Path(f"{n}.{ending}").read_text("utf-8") for n in (1, 2))
        assert first == second
    assert ragstone("runs", "show", "last", "-o", "r.xlsx").code == 1
    assert "Summary" in openpyxl.load_workbook("r.xlsx").sheetnames
