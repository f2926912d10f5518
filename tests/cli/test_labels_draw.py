"""`ragstone labels`: which claims are drawn, and labels of them from a file."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.label import HumanLabel


@pytest.fixture
def run_id(ragstone: Command) -> str:
    """Store a run of eight rows with two claims each, one of them supported."""
    quote = Evidence(context=0, start=0, end=9, quote="A quote.\x1b[31m", verified=True)
    verdicts = (
        Verdict(label=Label.SUPPORTED, evidence=(quote,)),
        Verdict(label=Label.CONTRADICTED, reason="it differs"),
    )
    claims = Claim(text="It lasts.", span=(0, 9)), Claim(text="It weighs.", span=(10, 20))
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts})
    row = {"query": "Why?", "response": "It lasts. It weighs.", "contexts": ["A."]}
    given = [{"id": f"q{n}", **row} for n in range(8)]
    run = evaluate(given, metrics=("faithfulness",), judge=judge, store=".ragstone/ragstone.db")
    return run.manifest.run_id


def stored(run_id: str) -> list[HumanLabel]:
    with Store.open() as store:
        return store.labels(run_id)


def test_the_plan_shows_what_labels_buy_and_rows(ragstone: Command, run_id: str) -> None:
    plan = ragstone("labels", "draw", "last", "--n", "6")
    assert plan.code == 0
    # 16 claims in 8 rows, half of them supported in every row
    assert plan.out.startswith(
        "Labels of 20 rows: a corrected interval of about ±0.22\n"
        "Labels of 30 rows: a corrected interval of about ±0.22\n"
        "(if people agree with 80% of the verdicts)\n\n"
        "3 rows, in the order of labelling:\n"
    )
    few = "gates need labels of 20 rows, but this draws 3 of the 8 rows with claims; see --n"
    assert plan.err == f"Note: {few}\n"
    assert plan.out.count("2 claims") == plan.out.count("\n  q") == 3
    assert stored(run_id) == []


def test_what_cannot_be_labelled_is_refused(ragstone, run_id: str, monkeypatch) -> None:
    assert ragstone("labels", "start", "nothing").code == 2
    assert "choose one of faithfulness" in ragstone("labels", "start", "last", "-m", "hit@5").err
    assert "is blank" in ragstone("labels", "start", "last", "--annotator", " ").err

    def not_installed(name: str) -> None:
        raise ModuleNotFoundError(name, name="starlette")

    monkeypatch.setattr("ragstone.cli.commands.labels.load", not_installed)
    told = ragstone("labels", "start", "last", "--no-open")
    assert told.refuses("needs starlette, which is not installed: use `ragstone labels draw`")
    assert stored(run_id) == []


def test_drawn_claims_are_labelled_in_a_file(ragstone: Command, run_id: str) -> None:
    said = ragstone("labels", "draw", "last", "claims.csv", "--n", "9")
    head, *lines = Path("claims.csv").read_text(encoding="utf-8-sig").splitlines()
    assert said.out == f"wrote claims.csv: {len(lines)} claims to label\n"
    assert head.startswith("id,query,contexts,claim,human,response,")
    assert "CONTRADICTED" not in "".join(lines)
    filled = [line.replace(",,", ",no,") for line in lines]
    Path("claims.csv").write_text("\n".join([head, *filled]), encoding="utf-8")
    assert ragstone("labels", "import", "claims.csv", "--run", "last").code == 0
    found = stored(run_id)
    assert len(found) == len(lines)
    assert {(each.value, each.blind) for each in found} == {(False, True)}
    said = ragstone("labels", "draw", "last", "claims.csv", "--n", "9")
    assert said.refuses("claims.csv exists, perhaps with labels")
    assert ",no," in Path("claims.csv").read_text(encoding="utf-8")
    assert ragstone("labels", "draw", "last", "claims.txt").refuses("use .xlsx, .csv, .jsonl")
