"""`ragstone labels`: draw, import and list, as a person with a spreadsheet would use them."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ragstone.datasets import read_table
from ragstone.datasets.table import Record
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store
from ragstone.types.claim import Claim, Evidence, Verdict
from ragstone.types.claim import Label as Word
from ragstone.types.label import HumanLabel

FORMULA = '=HYPERLINK("http://evil.example","x")'


def made(rows: int, *judged: tuple[Claim, Verdict]) -> str:
    """Store a run of rows that have these claims and verdicts each."""
    claims, verdicts = zip(*judged, strict=True)
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts})
    row = {"query": "Why?", "response": "It lasts. It weighs.", "contexts": ["A."]}
    given = [{"id": f"q{n}", **row} for n in range(rows)]
    run = evaluate(given, metrics=("faithfulness",), judge=judge, store=".ragstone/ragstone.db")
    return run.manifest.run_id


@pytest.fixture
def run_id(ragstone: Command) -> str:
    """A run of six rows with two claims each; one claim is a formula of a spreadsheet."""
    supported = Verdict(label=Word.SUPPORTED)
    return made(6, (Claim(text="It lasts."), supported), (Claim(text=FORMULA), supported))


@pytest.fixture
def drawn(ragstone: Command) -> str:
    """A run of eight rows with two claims each, one of them supported."""
    quote = Evidence(context=0, start=0, end=9, quote="A quote.\x1b[31m", verified=True)
    return made(
        8,
        (Claim(text="It lasts.", span=(0, 9)), Verdict(label=Word.SUPPORTED, evidence=(quote,))),
        (Claim(text="It weighs.", span=(10, 20)), Verdict(label=Word.CONTRADICTED, reason="no")),
    )


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
    Path("no.csv").touch()
    ragstone("runs", "show", "last", "--claim-rows", "claims.csv")
    for words, reason in (
        ("import --run last claims.csv --map human=label", "the judge's verdicts"),
        ("import --run last no.csv", "no.csv has no labels; write yes, no or ?"),
    ):
        assert ragstone("labels", *words.split()).refuses(reason)


def test_the_plan_shows_what_labels_buy_and_rows(ragstone: Command, drawn: str) -> None:
    plan = ragstone("labels", "draw", "last", "--n", "6")
    assert plan.code == 0
    assert plan.out.startswith("Labels of 20 rows: a corrected interval of about ±0.22\n")
    few = "gates need labels of 20 rows, but this draws 3 of the 8 rows with claims; see --n"
    assert plan.err == f"Note: {few}\n"
    assert plan.out.count("2 claims") == plan.out.count("\n  q") == 3
    assert stored(drawn) == []


def test_what_cannot_be_labelled_is_refused(ragstone, drawn: str, monkeypatch) -> None:
    assert "choose one of faithfulness" in ragstone("labels", "start", "last", "-m", "hit@5").err

    def not_installed(name: str) -> None:
        raise ModuleNotFoundError(name, name="starlette")

    monkeypatch.setattr("ragstone.cli.commands.labels.load", not_installed)
    told = ragstone("labels", "start", "last", "--no-open")
    assert told.refuses("needs starlette, which is not installed: use `ragstone labels draw`")
    assert stored(drawn) == []


def test_drawn_claims_are_labelled_in_a_file(ragstone: Command, drawn: str) -> None:
    said = ragstone("labels", "draw", "last", "claims.csv", "--n", "9")
    head, *lines = Path("claims.csv").read_text(encoding="utf-8-sig").splitlines()
    assert said.out == f"wrote claims.csv: {len(lines)} claims to label\n"
    assert "CONTRADICTED" not in "".join(lines)
    filled = [line.replace(",,", ",no,") for line in lines]
    Path("claims.csv").write_text("\n".join([head, *filled]), encoding="utf-8")
    assert ragstone("labels", "import", "claims.csv", "--run", "last").code == 0
    found = stored(drawn)
    assert len(found) == len(lines)
    assert {(each.value, each.blind) for each in found} == {(False, True)}
    said = ragstone("labels", "draw", "last", "claims.csv", "--n", "9")
    assert said.refuses("claims.csv exists, perhaps with labels")
    assert ",no," in Path("claims.csv").read_text(encoding="utf-8")
