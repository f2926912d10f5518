import json
import re
from pathlib import Path

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


@each_case(
    ("arguments", "told"),
    [
        ("--ranking none", "there is no file none"),
        ("--map grade=x", "map grade=x has no effect: neither qrels nor"),
        ("--ranking b.run --junit x.xml", "--junit applies to one ranking"),
        ("--fail-on-regression", "there is nothing to compare with"),
        ("--baseline last", "`ragstone rank --store` creates one"),
        ("--store s.db --json s.db", "s.db is an input file, so it cannot be written"),
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
    asked = ("--json", "all.json", "--rows", "x.jsonl", "--latex", "x.tex", "-o", "x.xlsx")
    said = ragstone(*RANK, *more, *asked, "-v")
    assert said.code == 0
    assert all((files / name).exists() for name in asked[1::2])
    assert re.search(r"a +a.run +0.500\nb +b.run +1.000\*\nc +v2/a.run +0.833\n", said.out)
    found = json.loads((files / "all.json").read_text())
    (third,) = found["more"]
    assert third["comparison"]["metrics"]["mrr@5"]["difference"] == pytest.approx(1 / 3)


@pytest.mark.usefixtures("files")
def test_a_run_is_stored_if_that_is_asked_for(ragstone: Command) -> None:
    said = ragstone(*RANK, "--store")
    assert re.search(r"stored as run \S+ in \.ragstone/ragstone\.db", said.out)
    listed = ragstone("runs").out
    assert "a.run: For 1 of 3 queries no relevant document is in the top 5" in listed
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
    (files / "qrels").write_text("q1 0 a 1\n")
    (files / "b.run").write_text("q1 Q0 a 1 1 x\n")
    said = ragstone(*asked, "--fail-on-regression")
    assert (said.code, "have a partner in B" in said.err) == (3, True)


def test_a_stored_ranking_cannot_be_scored_again_or_gone_on_with(files, ragstone) -> None:
    ragstone(*RANK, "--store")
    for again in (("runs", "rescore", "last"), ("resume", "last", "--retry-failed")):
        assert ragstone(*again).refuses("scores of a ranking file")
