import json
import re
from pathlib import Path

import polars as pl
import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

QRELS = "q1 0 a 1\nq2 0 c 2\nq3 0 d 1\n"
A = "q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 1 x\n"
B = "q1 Q0 a 1 2 x\nq2 Q0 c 1 1 x\nq3 Q0 d 1 1 x\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("qrels", QRELS), ("a.run", A), ("b.run", B)):
        (tmp_path / name).write_text(text)
    return tmp_path


RANK = ("rank", "--qrels", "qrels", "--ranking", "a.run", "-m", "mrr")


@each_case("command", [("run",), ("rank",), ()])
def test_a_ranking_is_evaluated_and_printed(command: tuple[str, ...], files, ragstone) -> None:
    said = ragstone(*command, *RANK[1:], "-k", "5", "--fail-under", "mrr=60%")
    assert said.code == 1
    assert "Gate FAILED: mrr@5" in said.out
    assert re.search(r"mrr@5 +0\.5000", said.out)
    assert "Worst by mrr@5\nq3 0.00\nq1 0.50\n" in said.out
    assert not (files / ".ragstone").exists()
    assert ragstone(*RANK, "--fail-under", "mrr=0.5").code == 0


def test_two_rankings_are_compared_query_by_query(files: Path, ragstone: Command) -> None:
    both = ("--ranking", "a.run", "--ranking", "b.run")
    said = ragstone("rank", "--qrels", "qrels", *both, "-m", "mrr", "--json", "-")
    assert said.code == 0
    found = json.loads(said.out)
    moved = found["comparison"]["metrics"]["mrr@5"]
    assert (moved["n"], moved["wins"], moved["ties"]) == (3, 2, 1)
    assert found["a"]["metrics"]["mrr@5"]["mean"] == 0.5
    assert "Too few to tell: mrr@5 0.500 → 1.000, +0.500; of 3 questions, 2 better" in said.err
    said = ragstone("rank", "--qrels", "qrels", *both, "-m", "mrr", "--missing", "skip")
    assert "1 of 3 queries are missing from a.run and are left out" in said.out


def test_each_querys_values_are_written(files: Path, ragstone: Command) -> None:
    said = ragstone(*RANK, "hit", "--missing", "skip", "--k", "1,5", "--rows", "rows.parquet")
    assert said.code == 0
    frame = pl.read_parquet(files / "rows.parquet")
    assert frame.columns[:3] == ["id", "query", "scores.mrr@1.value"]
    assert frame["scores.mrr@5.value"].to_list() == [0.5, 1.0, None]


def test_documents_with_their_querys_id_may_be_ignored(files: Path, ragstone: Command) -> None:
    (files / "a.run").write_text(A.replace("q1 Q0 b", "q1 Q0 q1"))
    assert "own id: 1; --ignore-identical-ids leaves them out" in ragstone(*RANK).out
    said = ragstone("run", *RANK[1:], "--ignore-identical-ids")
    assert re.search(r"mrr@5 +0\.6667", said.out)
    assert "own id: 1; left out" in said.out


@each_case(
    ("arguments", "told"),
    [
        ("--ranking none", "there is no file none"),
        ("-m faithfulness", "faithfulness needs"),
        ("--rows rows.xlsx", "does not write .xlsx; use .jsonl"),
        ("--json a.run", "is an input file, so it cannot be written"),
        ("--map grade=x", "map grade=x has no effect: neither qrels nor"),
        ("--fail-under ndcg=1", "is not in this run"),
        ("--ranking b.run --junit x.xml", "--junit applies to one ranking"),
        ("--html -", "--html: this format needs a file"),
        ("--fail-on-regression", "there is nothing to compare with"),
        ("--min-paired 2", "must be from 0% to 100%"),
        ("--min-effect abc", "--min-effect: 'abc' is not a number; use 0.8 or 80%"),
        ("-o x.csv", "does not end in .xlsx"),
        ("--rows x.html", "x.html"),
        ("--baseline last", "`ragstone rank --store` creates one"),
        ("--store --baseline none", "there is no run named 'none'"),
        ("--store s.db --json s.db", "s.db is an input file, so it cannot be written"),
        ("--json x --markdown x", "x would be written twice"),
        ("--qrels beir --json beir/qrels/test.tsv", "is in beir, an input folder"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_work(arguments: str, told, files, ragstone) -> None:
    (files / "beir" / "qrels").mkdir(parents=True, exist_ok=True)
    assert ragstone(*RANK, *arguments.split()).refuses(told)


def test_several_rankings_are_compared_with_the_first(files: Path, ragstone: Command) -> None:
    (files / "v2").mkdir()
    (files / "v2" / "a.run").write_text(B + "q1 Q0 z 1 3 x\n")
    more = ("--ranking", "b.run", "--ranking", "v2/a.run")
    said = ragstone(*RANK, *more, "--json", "all.json", "-v")
    assert said.code == 0
    assert re.search(r"a +a.run +0.500\nb +b.run +1.000\*\nc +v2/a.run +0.833\n", said.out)
    assert said.out.count("Differences") == 2
    found = json.loads((files / "all.json").read_text())
    (third,) = found["more"]
    assert third["comparison"]["metrics"]["mrr@5"]["difference"] == pytest.approx(1 / 3)


def test_every_file_of_several_rankings_is_written(files: Path, ragstone: Command) -> None:
    asked = ("--html", "x.html", "--rows", "x.jsonl", "--markdown", "x.md", "--latex", "x.tex")
    said = ragstone(*RANK, "--ranking", "b.run", *asked, "-o", "x.xlsx")
    assert said.code == 0
    for name in (*asked[1::2], "x.xlsx"):
        assert f"wrote {name}" in said.out
        assert (files / name).exists()
    first = json.loads((files / "x.jsonl").read_text().splitlines()[0])
    assert (first["id"], first["scores.mrr@5.b.run"]) == ("q1", 1.0)
    assert ragstone(*RANK, "--latex", "one.tex").code == 0
    assert "a & a.run & 0.500" in (files / "one.tex").read_text()


def test_a_run_is_stored_if_that_is_asked_for(files: Path, ragstone: Command) -> None:
    assert ragstone(*RANK).code == 0
    assert not (files / ".ragstone").exists()
    said = ragstone(*RANK, "--store")
    assert re.search(r"stored as run \S+ in \.ragstone/ragstone\.db", said.out)
    listed = ragstone("runs").out
    assert "a.run: For 1 of 3 queries no relevant document is in the top 5" in listed
    (told,) = json.loads(ragstone("runs", "--json", "-").out)
    assert (told["rows"], told["finished"], told["transcript"]) == (3, True, False)
    assert "mrr@5  0.50" in ragstone("runs", "show", "last").out


def test_stored_runs_are_compared_with_each_other_and_with_files(files, ragstone) -> None:
    ragstone(*RANK, "--store")
    ragstone("runs", "tag", "last", "base")
    better = ("rank", "--qrels", "qrels", "--ranking", "b.run", "-m", "mrr")
    said = ragstone(*better, "--baseline", "base", "--json", "now.json")
    assert said.code == 0
    now = json.loads((files / "now.json").read_text())["comparison"]
    ragstone(*better, "--store", "--missing", "skip")
    assert ragstone("compare", "base", "last", "--json", "kept.json").code == 0
    kept = json.loads((files / "kept.json").read_text())
    assert now["metrics"] == kept["metrics"]
    change = {"about": "data", "name": "queries not ranked", "a": "zero", "b": "skip"}
    assert change in kept["changes"]
    assert ragstone("compare", "base", "last", "--cluster", "lang").refuses("have no tags")
    worse = ragstone("compare", "last", "base", "--fail-on-regression", "--min-paired", "0")
    assert "no regression" in worse.out


def test_a_regression_against_the_baseline_is_exit_1(files: Path, ragstone: Command) -> None:
    numbers = range(20)
    (files / "qrels").write_text("".join(f"q{n} 0 a 1\n" for n in numbers))
    for name, first in (("a.run", "a"), ("b.run", "z")):
        (files / name).write_text("".join(f"q{n} Q0 {first} 1 1 x\n" for n in numbers))
    assert ragstone(*RANK, "--store").code == 0
    asked = ("rank", "--qrels", "qrels", "--ranking", "b.run", "-m", "mrr", "--baseline", "last")
    assert ragstone(*asked).code == 0
    said = ragstone(*asked, "--fail-on-regression")
    assert said.code == 1
    assert "REGRESSION: mrr@5 -1.0000" in said.out
    said = ragstone(*asked, "--fail-on-regression", "--min-effect", "2", "--json", "none.json")
    assert said.refuses("--min-effect 2 accepts every drop")
    assert not (files / "none.json").exists()
    (files / "qrels").write_text("q1 0 a 1\n")
    (files / "b.run").write_text("q1 Q0 a 1 1 x\n")
    said = ragstone(*asked, "--fail-on-regression")
    assert (said.code, "have a partner in B" in said.err) == (3, True)


def test_a_report_is_what_the_command_writes_itself(files: Path, ragstone: Command) -> None:
    asked = ("--markdown", "a.md", "--junit", "a.xml", "--rows", "a.txt", "--html", "a.html")
    said = ragstone(*RANK, "--store", *asked, "-o", "a.xlsx", "-v")
    assert said.code == 0
    for name in (*asked[1::2], "a.xlsx"):
        assert f"wrote {name}" in said.out
        assert (files / name).exists()
    again = [word.replace("a.", "again.") for word in asked]
    assert ragstone("runs", "show", "last", *again, "-o", "again.xlsx").code == 0
    for ending in ("md", "xml", "txt", "html"):
        assert (files / f"a.{ending}").read_text() == (files / f"again.{ending}").read_text()


def test_a_stored_ranking_cannot_be_scored_again_or_gone_on_with(files, ragstone) -> None:
    ragstone(*RANK, "--store")
    for again in (("runs", "rescore", "last"), ("resume", "last", "--retry-failed")):
        assert ragstone(*again).refuses("scores of a ranking file")


PICKY = """
from ragstone import RankingMetric, register

@register("picky")
class Picky(RankingMetric):
    "Whether the first document is a."

    def value(self, retrieved_ids, relevance):
        return float(retrieved_ids[0] == "a")
"""


def test_a_plugin_that_raises_costs_its_scores_and_not_the_run(files, ragstone) -> None:
    (files / "picky.py").write_text(PICKY)
    asked = (*RANK[:5], "--plugin", "picky.py", "-m", "picky", "mrr", "--json", "-")
    said = ragstone(*asked)
    assert said.code == 3
    assert "1 of 3 scores of picky failed, more than 10%" in said.err
    told = json.loads(said.out)["metrics"]
    assert told["picky"]["causes"] == {"metric_error": 1}
    assert ragstone(*asked, "--max-failure-rate", "50%").code == 0
    share = ("--max-failure-rate", "1", "--min-coverage", "picky=90%")
    assert ragstone(*asked, *share).code == 1


def test_in_github_actions_the_job_is_told(files: Path, ragstone: Command, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(files / "summary.md"))
    said = ragstone(*RANK, "--fail-under", "mrr=0.9")
    assert said.code == 1
    assert "::error" in said.out
    assert "mrr@5" in (files / "summary.md").read_text()
