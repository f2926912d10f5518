import json
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from ragstone.store import Store
from ragstone.types.policy import POLICIES

Command = Callable[..., object]

ANSWERS = [
    {
        "query": "How fast does it charge?",
        "response": "It charges to 50 percent in 35 minutes.",
        "contexts": [{"id": "a", "text": "The phone charges to 50 percent in 22 minutes."}],
        "relevance": ["a"],
    },
    {
        "query": "How heavy is it?",
        "response": "The phone weighs 180 grams.",
        "contexts": [{"id": "b", "text": "The phone weighs 180 grams."}],
        "relevance": ["c"],
    },
    {"query": "Is it?", "response": "Sure!", "contexts": [], "relevance": ["c"]},
]


@pytest.fixture
def stored(ragstone: Command, tmp_path: Path) -> Command:
    """The command line, where a run by faithfulness and hit@5 is stored."""
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, ANSWERS)), encoding="utf-8")
    said = ragstone("run", "answers.jsonl", "-m", "hit", "faithfulness", "--no-export")
    assert said.code == 0, said.err
    return ragstone


def ids(tmp_path: Path) -> list[str]:
    with Store.open(tmp_path / ".ragstone/ragstone.db") as store:
        return [info.id for info in store.runs()]


def summary(stored: Command, *words: str) -> dict[str, dict[str, object]]:
    said = stored("runs", "rescore", "last", *words, "--json", "-")
    assert said.code == 0, said.err
    return json.loads(said.out)


@pytest.mark.parametrize("words", [("--policies", "all"), ("--policy", ",".join(POLICIES))])
def test_all_policies_stand_side_by_side(
    stored: Command, words: tuple[str, ...], tmp_path: Path
) -> None:
    said = stored("runs", "rescore", "last", *words, "-v")
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    table = {line[0]: line[1] for line in lines if line and line[0].startswith("faithfulness")}
    assert table | {"faithfulness": "0.5000"} == table
    assert table["faithfulness:weighted"] == "0.5000"
    assert (table["faithfulness:deepeval"], table["faithfulness:ragaliq"]) == ("1.0000", "0.6667")
    assert table["faithfulness:promptfoo-plan"] == "0.3333"
    assert "faithfulness:ragaliq >= 0.7: passed by 2 of 3 scored" in said.out
    assert "without calls" in " ".join(said.out.split())
    assert len(ids(tmp_path)) == 1
    assert not (tmp_path / "results").exists()


def test_new_metrics_that_ask_nothing_new_are_scored(stored: Command) -> None:
    metrics = summary(stored, "-m", "hit@1", "hallucination")["metrics"]
    assert {name: each["mean"] for name, each in metrics.items()} == {
        "hit@1": pytest.approx(1 / 3),
        "hallucination": 0.5,
    }


def test_what_was_not_asked_is_refused_before_anything_is_written(
    stored: Command, tmp_path: Path
) -> None:
    words = ("--save", "-o", "x.xlsx", "--json", "x.json", "--rows", "x.jsonl")
    said = stored("runs", "rescore", "last", "-m", "hit@1", "response_relevancy", *words)
    assert said.code == 2
    assert "response_relevancy: the transcript has no answer to this generate_queries" in said.err
    assert not list(tmp_path.glob("x.*"))
    assert len(ids(tmp_path)) == 1


def test_a_run_without_its_transcript_is_refused(stored: Command) -> None:
    ran = stored("run", "answers.jsonl", "-m", "faithfulness", "--no-transcript", "--no-export")
    assert ran.code == 0
    said = stored("runs", "rescore", "last", "--policy", "ragas")
    assert said.code == 2
    assert "stored without its transcript; only metrics" in said.err
    assert stored("runs", "rescore", "last", "-m", "hit").code == 0


def test_saved_it_is_a_run_of_its_own(stored: Command, tmp_path: Path) -> None:
    (first,) = ids(tmp_path)
    said = stored("runs", "rescore", "last", "--policy", "deepeval", "--save")
    newer, older = ids(tmp_path)
    assert older == first
    assert f"stored as run {newer}" in said.out
    shown = stored("runs", "show", newer, "-v").out
    assert f"rescored from run {first}" in " ".join(shown.split())
    assert "policy deepeval" in shown


def test_results_are_written_where_they_are_asked_for(stored: Command, tmp_path: Path) -> None:
    words = ("-o", "x.xlsx", "--rows", "x.jsonl", "-m", "faithfulness", "--policy", "ragaliq")
    assert stored("runs", "rescore", "last", *words).code == 0
    assert "Summary" in openpyxl.load_workbook(tmp_path / "x.xlsx").sheetnames
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text("utf-8").splitlines()]
    scores = [row["scores"]["faithfulness:ragaliq"]["passed"] for row in rows]
    assert scores == [False, True, True]


def test_only_the_pass_marks_that_are_named_count(stored: Command) -> None:
    ran = stored("run", "answers.jsonl", "-m", "hit", "--fail-under", "hit=0.9", "--no-export")
    assert ran.code == 1
    assert stored("runs", "rescore", "last").code == 0
    assert stored("runs", "rescore", "last", "--fail-under", "hit=0.9").code == 1
    assert stored("runs", "rescore", "last", "--fail-under", "hit=9").code == 2


def test_metrics_of_ones_own_are_loaded_first(stored: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from ragstone import RankingMetric, register\n\n\n"
        '@register("documents")\n'
        "class Documents(RankingMetric):\n"
        '    """How many."""\n\n'
        "    high = 100.0\n\n"
        "    def value(self, retrieved_ids, relevance):\n"
        "        return float(len(retrieved_ids))\n",
        encoding="utf-8",
    )
    metrics = summary(stored, "-m", "documents", "--plugin", "mine.py")["metrics"]
    assert metrics["documents"]["mean"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--policy", "raga"), "did you mean 'ragas'"),
        (("--policy", "ragas,"), "a name is empty"),
        (("-m", "hit", "--policy", "ragas"), "not to: hit@5"),
        (("-m", "faithfulnes"), "did you mean 'faithfulness'"),
        (("--json", ".ragstone/ragstone.db"), "ragstone.db is an input file"),
    ],
)
def test_what_cannot_be_done_is_said(stored: Command, words: tuple[str, ...], told: str) -> None:
    said = stored("runs", "rescore", "last", *words)
    assert said.code == 2
    assert told in said.err
