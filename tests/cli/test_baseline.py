"""`ragstone run --baseline`: a run, its comparison with a stored one, and one exit code."""

import json
from pathlib import Path

import pytest
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.reports.terminal import MAX_LINES

GOOD, BAD = "The tower is 70 m high.", "The tower is 99 m high."


def answers(wrong: int) -> None:
    rows = []
    for n in range(40):
        row = {"id": str(n), "query": f"How high is tower {n}?", "contexts": [f"Tower {n}. {GOOD}"]}
        rows.append(row | {"response": BAD if n < wrong else GOOD})
    json_lines("answers.jsonl", rows)


@pytest.fixture
def baseline(ragstone: Command) -> None:
    answers(2)
    assert ragstone("run", "answers.jsonl", "-m", "faithfulness", "--no-export").code == 0
    assert ragstone("runs", "tag", "last", "good").code == 0


NIGHT = ("-m", "faithfulness", "--no-export", "--baseline", "good", "--fail-on-regression")


@pytest.mark.usefixtures("baseline")
def test_a_night_that_is_worse_fails_and_the_finding_is_the_title(ragstone: Command) -> None:
    answers(3)
    said = ragstone("run", "answers.jsonl", *NIGHT)
    assert said.code == 0, said.err
    assert "No difference shown: faithfulness" in said.out
    answers(20)
    files = ("--markdown", "night.md", "--json", "night.json")
    said = ragstone("run", "answers.jsonl", *NIGHT, *files)
    assert said.code == 1
    assert "REGRESSION: faithfulness -0.4500" in said.out
    assert said.out.startswith("Worse: faithfulness 0.950 → 0.500")
    assert "\n20 of 40 answers make a claim" in said.out
    assert len(said.out.splitlines()) <= MAX_LINES
    text = Path("night.md").read_text(encoding="utf-8")
    assert text.startswith("## Worse: faithfulness 0.950 → 0.500")
    assert "## 20 of 40 answers make a claim" in text
    assert json.loads(Path("night.json").read_text())["comparison"]["finding"]["outcome"] == "worse"
    rows = [{"query": f"Other {n}?", "response": GOOD, "contexts": [GOOD]} for n in range(5)]
    said = ragstone("run", json_lines("other.jsonl", rows), *NIGHT)
    assert said.code == 3
    assert "no samples in common" in said.err


def test_a_baseline_is_found_before_the_first_call(ragstone: Command) -> None:
    answers(2)
    assert ragstone("run", "answers.jsonl", *NIGHT).code == 2
    assert not Path(".ragstone").exists()
    assert ragstone("run", "answers.jsonl", "--fail-on-regression").refuses("--baseline RUN")
