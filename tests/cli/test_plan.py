import json
from typing import Any

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command
from tests.cli.test_compare import PLACE, put

from ragstone.store import Store


@pytest.fixture
def stored(ragstone: Command) -> Command:
    """Two runs of the same 24 questions, in groups of four by their source."""
    with Store.open(PLACE) as store:
        put(store, "run-a", [(n * 7 % 24) / 24 for n in range(24)])
        put(store, "run-b", [min(1, (n * 7 % 24) / 24 + n % 3 / 10) for n in range(24)])
        put(store, "flat", [1.0] * 24)
    return ragstone


def plan(ragstone: Command, *words: str) -> dict[str, Any]:
    said = ragstone("plan", "--detect", *words, "--json", "-")
    assert said.code == 0, said.err
    return json.loads(said.out)


def test_a_plan_needs_no_run(ragstone: Command) -> None:
    said = ragstone("plan", "--detect", "0.03")
    assert said.code == 0, said.err
    assert "2,129" in said.out
    assert "from that of scores (0.4, assumed) and an assumed correlation of 0.25" in said.out
    assert "10  20 of 20" in ragstone("plan", "--detect", "100%").out


def test_the_variance_comes_from_a_run_and_the_pairing_from_two(stored: Command) -> None:
    one = plan(stored, "5%", "--like", "run-a")
    assert (one["like"], one["correlation"]) == (["run-a"], 0.25)
    two = plan(stored, "5%", "--like", "run-a", "--like", "run-b")
    assert two["correlation"] is None
    one, two = (each["metrics"]["faithfulness"] for each in (one, two))
    assert two["spread"] == pytest.approx(0.08, abs=0.01)  # of 0, 0.1 and 0.2, one each, capped
    assert two["questions"] < one["questions"] / 4


@each_case(
    ("arguments", "why"),
    [
        ("3", "any metric differ by at most 1; write 3 percent as 0.03 or 3%"),
        ("5% --like run-a --like run-a", "the scores of the two runs do not differ"),
        ("0.1 -m hit", "--metric needs --like RUN"),
        ("0.1 --like flat", "no metric of the run has scores that vary"),
        ("0.1 --like run-a --json p.html", "p.html"),
    ],
)
def test_what_cannot_be_planned_is_refused(stored: Command, arguments: str, why: str) -> None:
    assert stored("plan", "--detect", *arguments.split()).refuses(why)
