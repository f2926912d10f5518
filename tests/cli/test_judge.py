import json
from functools import partial
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.results.judge_test import FILE

ROWS = [
    {"query": "q", "response": "The Tarn weighs 172 grams and is not large.",
     "contexts": ["The Tarn weighs 172 grams and is not large. It has two lenses."]},
    {"query": "r", "response": "The museum in Lyon opened in 1987 for 300 guests.",
     "contexts": ["The museum in Lyon opened in 1987 for 300 guests. Entry costs 5 euros."]},
]  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return json_lines(tmp_path / "rows.jsonl", ROWS)


@pytest.fixture
def tested(ragstone: Command) -> Command:
    """Run `ragstone judge test`."""
    return partial(ragstone, "judge", "test")


def test_the_offline_judge_on_rows_of_ones_own(ragstone, tested: Command, rows: str) -> None:
    said = tested(rows, "--json", "out.json")
    assert said.code == 0, said.err
    assert " ".join(said.out.split()).startswith(
        "offline was tested on 2 claims from 2 samples of rows.jsonl. It found 2 of "
        "the original claims supported; the changes below were made to supported claims only."
    )
    told = json.loads(Path("out.json").read_text())
    number = next(kind for kind in told["kinds"] if kind["kind"] == "number")
    assert (number["right"], number["answered"], number["share"]) == (2, 2, 1.0)
    assert FILE.is_file()
    later = ragstone(rows, "-m", "faithfulness", "--no-export", "-v")
    assert "balanced accuracy: 100%" in later.out


def test_without_data_the_demos_manuals_are_tested_on(tested: Command) -> None:
    mark = ("--fail-under", "neighbour=90%")
    said = tested("--n", "30", "--no-store", "--json", "out.json", *mark)
    assert said.code == 1
    assert "Gate FAILED: neighbour" in said.err
    assert "of the demo's manuals" in " ".join(said.out.split())
    assert not FILE.exists()
    told = json.loads(Path("out.json").read_text())
    missed = [each for each in told["tried"] if each["right"] is False]
    negations = [each for each in missed if each["kind"] == "negation"]
    assert f"negation ({len(negations)})" in said.out
    assert negations[0]["claim"] in said.out


def test_a_mark_decides_the_exit_code(tested: Command, rows: str) -> None:
    said = tested(rows, "--json", "-", "--fail-under", "80%", "--no-store")
    [gate] = json.loads(said.out)["gates"]
    assert gate == {"kind": "balanced", "threshold": 0.8, "value": 1.0, "passed": True}
    assert (said.code, "Balanced accuracy: 100%" in said.err) == (0, True)
    blind = tested(rows, "--fail-under", "neighbour=90%")
    assert (blind.code, "neighbour: no question was answered" in blind.err) == (3, True)


def test_what_an_llm_would_take_is_told_before_and_nobody_is_asked(tested, rows: str) -> None:
    said = tested(rows, "--model", "gpt-4o-mini", "--dry-run")
    assert said.code == 0, said.err
    dry = "Dry run: no calls were made. Testing openai:gpt-4o-mini on the 2 claims from rows"
    assert said.out.startswith(dry)
    assert " calls, $" in said.out


@each_case(
    ("arguments", "why"),
    [
        ("--base-url http://x", "only for LLM judges, but the judge is offline"),
        ("--fail-under numbers=1", "did you mean 'number'"),
    ],
)
def test_what_makes_no_sense_is_refused(tested, rows: str, arguments: str, why: str) -> None:
    assert tested(rows, *arguments.split()).refuses(why)


def test_a_file_without_contexts_names_its_columns_and_the_map(tested: Command) -> None:
    Path("a.csv").write_text("Frage,Kontext gefunden\na?,The roof is red and blue.\n")
    assert (
        "no column has contexts; the other columns are 'Kontext gefunden'; map one with "
        "--map contexts=COLUMN, or collect"
    ) in " ".join(tested("a.csv").err.split())
    assert tested("a.csv", "--map", "contexts=Kontext gefunden", "--dry-run").code == 0
