from functools import partial
from pathlib import Path

import openpyxl
import pytest
from tests.cases import each_case
from tests.cli.collected import ANSWERS, json_lines
from tests.cli.conftest import Command

from ragstone.store import Store

EMPTY = {"query": "Is it?", "response": "Sure!", "contexts": [], "relevance": ["c"]}


@pytest.fixture
def stored(ragstone: Command) -> Command:
    """The command line, where a run by faithfulness and hit@5 is stored."""
    json_lines("answers.jsonl", [*ANSWERS, EMPTY])
    said = ragstone("run", "answers.jsonl", "-m", "hit", "faithfulness", "--no-export")
    assert said.code == 0, said.err
    return ragstone


@pytest.fixture
def rescore(stored: Command) -> Command:
    return partial(stored, "runs", "rescore", "last")


def ids() -> list[str]:
    with Store.open(".ragstone/ragstone.db") as store:
        return [info.id for info in store.runs()]


def test_all_policies_stand_side_by_side(rescore: Command) -> None:
    said = rescore("--policies", "all", "-v", "-o", "x.xlsx")
    assert said.code == 0
    assert "Summary" in openpyxl.load_workbook("x.xlsx").sheetnames
    lines = [line.split() for line in said.out.splitlines()]
    table = {line[0]: line[1] for line in lines if line and line[0].startswith("faithfulness")}
    assert table["faithfulness"] == table["faithfulness:weighted"] == "0.5000"
    assert (table["faithfulness:deepeval"], table["faithfulness:ragaliq"]) == ("1.0000", "0.6667")
    assert table["faithfulness:promptfoo-plan"] == "0.3333"
    assert "faithfulness:ragaliq >= 0.7: passed by 2 of 3 scored" in said.out
    assert len(ids()) == 1
    assert not Path("results").exists()


def test_what_was_not_asked_is_refused_before_anything_is_written(rescore: Command) -> None:
    words = ("--save", "-o", "x.xlsx", "--json", "x.json", "--rows", "x.jsonl")
    said = rescore("-m", "hit@1", "response_relevancy", *words)
    assert said.refuses("response_relevancy: the transcript has no answer to this generate_queries")
    assert not list(Path().glob("x.*"))
    assert len(ids()) == 1


def test_saved_it_is_a_run_of_its_own(stored: Command, rescore: Command) -> None:
    (first,) = ids()
    said = rescore("--policy", "deepeval", "--save")
    newer, older = ids()
    assert (older, f"stored as run {newer}" in said.out) == (first, True)
    shown = stored("runs", "show", newer, "-v").out
    assert f"rescored from run {first}" in " ".join(shown.split())


@each_case(
    ("words", "told"),
    [
        ("--policy raga", "did you mean 'ragas'"),
        ("-m hit --policy ragas", "not to: hit@5"),
        ("--json .ragstone/ragstone.db", "ragstone.db is an input file"),
    ],
)
def test_what_cannot_be_done_is_said(rescore: Command, words: str, told: str) -> None:
    assert rescore(*words.split()).refuses(told)
