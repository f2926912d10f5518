"""`ragstone labels`: import and list, as a person with a spreadsheet would use them."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ragstone.datasets import read_table
from ragstone.datasets.table import Record
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store
from ragstone.types.claim import Claim, Verdict
from ragstone.types.claim import Label as Word
from ragstone.types.label import HumanLabel

FORMULA = '=HYPERLINK("http://evil.example","x")'


@pytest.fixture
def run_id(ragstone: Command) -> str:
    """Store a run of six rows with two claims each; one claim is a formula of a spreadsheet."""
    claims = Claim(text="It lasts."), Claim(text=FORMULA)
    verdicts = tuple(Verdict(label=Word.SUPPORTED) for _ in claims)
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts})
    given = [
        {"id": f"q{n}", "query": "Why?", "response": "It lasts.", "contexts": ["A."]}
        for n in range(6)
    ]
    run = evaluate(given, metrics=("faithfulness",), judge=judge, store=".ragstone/ragstone.db")
    return run.manifest.run_id


def stored(run_id: str) -> list[HumanLabel]:
    with Store.open() as store:
        return store.labels(run_id)


def sheet(path: str, values: str) -> None:
    lines = [f"q{n // 2},{n % 2 + 1},{value}" for n, value in enumerate(values)]
    Path(path).write_text("\n".join(["id,claim,human", *lines, ""]), encoding="utf-8")


def test_labels_are_imported_and_listed_with_agreement(ragstone: Command, run_id: str) -> None:
    assert "no labels yet" in ragstone("labels", "list", "last").out
    sheet("ana.csv", "111101001 1?")
    sheet("ben.csv", "1110010011?1")
    options = ["--run", "last", "--annotator"]
    told = ragstone("labels", "import", "ana.csv", *options, "ana")
    done = f"imported 11 labels into run {run_id}; next: ragstone labels calibrate {run_id}\n"
    assert told.out == done
    assert "1 row without a label" in told.err
    assert "without a column text_hashes or response, it is not known whether" in told.err
    assert ragstone("labels", "import", "ben.csv", *options, "ben").code == 0
    assert len(stored(run_id)) == 23
    listed = [line.split() for line in ragstone("labels", "list", "last").out.splitlines()]
    assert listed[2][:8] == ["faithfulness", "ana", "11", "7", "3", "1", "6", "0"]
    assert listed[3][:8] == ["faithfulness", "ben", "12", "7", "4", "1", "6", "0"]
    # both 5 + neither 3 of 9, one of ana only
    assert listed[-1][:6] == ["faithfulness", "ana,", "ben", "9", "88.9%", "0.77"]
    ragstone("labels", "import", "ben.csv", *options, "ana")
    assert len(stored(run_id)) == 24, "labels of the same claim are replaced"


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "xlsx"])
def test_exported_labels_are_safe_and_come_back(ragstone, run_id: str, suffix: str) -> None:
    sheet("ana.csv", "10?1")
    ragstone("labels", "import", "ana.csv", "--run", "last")
    ragstone("labels", "import", "ana.csv", "--run", "last", "--map", "annotator=human")
    before = stored(run_id)
    file = f"labels.{suffix}"
    assert ragstone("labels", "list", "last", file).out == f"wrote {file}: 8 labels\n"
    _, table = read_table(Path(file))
    cells = [row.values for row in table.rows if isinstance(row, Record)]
    assert [cell["human"] for cell in cells][:2] == ["supported", "supported"]
    texts = {str(cell["claim"]) for cell in cells}
    assert texts == {"It lasts.", f"'{FORMULA}" if suffix == "csv" else FORMULA}
    with Store.open() as store:
        for label in before:
            store.delete_label(run_id, label)
    assert ragstone("labels", "import", file, "--run", "last").code == 0
    assert stored(run_id) == before


def test_nothing_is_stored_if_there_are_problems(ragstone: Command, run_id: str) -> None:
    sheet("ana.csv", "11x1z")
    told = ragstone("labels", "import", "ana.csv", "--run", "last")
    assert told.refuses("ana.csv: 2 problems")
    assert "line 4, column human, sample q1: 'x' is not a label" in told.err
    assert stored(run_id) == []
    Path("other.csv").write_text("id,label\nq1,1\n")
    for name, text in (("no.csv", ""), ("gap.csv", "id,human\nq1,\n")):
        Path(name).write_text(text)
    ragstone("runs", "show", "last", "--claim-rows", "claims.csv")
    for words, reason in (
        ("list last a.csv", "has no labels yet"),
        ("import --run last other.csv", "map human=human: there is no such column"),
        ("import --run last claims.csv --map human=label", "the judge's verdicts"),
        ("import --run last none.csv", "there is no file"),
        ("import --run last no.csv", "no.csv has no labels; write yes, no or ?"),
        ("import --run last gap.csv", "into the column 'human'"),
    ):
        assert ragstone("labels", *words.split()).refuses(reason)
