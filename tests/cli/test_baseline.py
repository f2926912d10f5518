"""`ragstone run --baseline`: a run, its comparison with a stored one, and one exit code."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ragstone.reports.terminal import MAX_LINES

GOOD, BAD = "The tower is 70 m high.", "The tower is 99 m high."


def answers(wrong: int, name: str = "answers.jsonl") -> None:
    rows = [
        {"id": str(n), "query": f"How high is tower {n}?", "response": BAD if n < wrong else GOOD}
        | {"contexts": [f"Tower {n}. {GOOD}"]}
        for n in range(40)
    ]
    Path(name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.fixture
def baseline(ragstone: Command) -> None:
    answers(2)
    assert ragstone("run", "answers.jsonl", "-m", "faithfulness", "--no-export").code == 0
    assert ragstone("runs", "tag", "last", "good").code == 0


NIGHT = ("-m", "faithfulness", "--no-export", "--baseline", "good", "--fail-on-regression")


@pytest.mark.usefixtures("baseline")
def test_a_night_that_is_worse_fails_and_the_finding_is_the_title(ragstone: Command) -> None:
    answers(20)
    said = ragstone(
        "run", "answers.jsonl", *NIGHT, "--markdown", "night.md", "--json", "night.json"
    )
    assert said.code == 1
    assert "Worse: faithfulness 0.950 → 0.500" in said.out
    assert "REGRESSION: faithfulness -0.4500" in said.out
    assert said.out.startswith("Worse: faithfulness 0.950 → 0.500")
    assert "\n20 of 40 answers make a claim" in said.out
    assert len(said.out.splitlines()) <= MAX_LINES
    text = Path("night.md").read_text(encoding="utf-8")
    assert text.startswith("## Worse: faithfulness 0.950 → 0.500")
    assert "## 20 of 40 answers make a claim" in text
    assert json.loads(Path("night.json").read_text())["comparison"]["finding"]["outcome"] == "worse"


@pytest.mark.usefixtures("baseline")
def test_a_night_like_the_baseline_passes(ragstone: Command) -> None:
    answers(3)
    said = ragstone("run", "answers.jsonl", *NIGHT)
    assert said.code == 0, said.err
    assert "No difference shown: faithfulness" in said.out


@pytest.mark.usefixtures("baseline")
def test_other_questions_cannot_be_compared(ragstone: Command) -> None:
    rows = [{"query": f"Other {n}?", "response": GOOD, "contexts": [GOOD]} for n in range(5)]
    Path("other.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    said = ragstone("run", "other.jsonl", *NIGHT)
    assert said.code == 3
    assert "no samples in common" in said.err


def test_a_baseline_is_found_before_the_first_call(ragstone: Command) -> None:
    answers(2)
    said = ragstone("run", "answers.jsonl", *NIGHT)
    assert said.code == 2
    assert not Path(".ragstone").exists()
    lonely = ragstone("run", "answers.jsonl", "--fail-on-regression")
    assert lonely.code == 2
    assert "--baseline RUN" in lonely.err
