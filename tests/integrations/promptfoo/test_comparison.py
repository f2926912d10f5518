"""Two ways to score the same responses: what is alike, and in which order the rest is told."""

from io import StringIO

from rich.console import Console
from tests.cases import each_case

from ragstone.cli.evaluate import LEGACY_COMPARISON_MOST as MOST
from ragstone.cli.evaluate import print_both_ways
from ragstone.errors import Cause
from ragstone.integrations.promptfoo.asserts import BothWays, Pair
from ragstone.types.score import Score, State


def score(value: float | None, passed: bool | None = None, *, made_up: bool = False) -> Score:
    state = State.UNDEFINED if value is None else State.SCORED
    return Score(state=state, value=value, passed=passed, fallback=made_up)


NONE, FAILED = score(None), Score.failed(Cause.REFUSAL, "no")


@each_case(
    ("legacy", "ragas", "alike", "passes_alike"),
    [
        (score(0.5, True), score(0.5, True), True, True),
        (score(0.5, True), score(0.5, False), True, False),
        (score(0.5, False), score(0.75, True), False, False),
        (score(0.0, True), NONE, False, False),
        (NONE, NONE, True, True),
        (NONE, FAILED, False, True),
        (score(0.1 + 0.2), score(0.3), True, True),
    ],
)
def test_what_is_alike(legacy: Score, ragas: Score, alike: bool, passes_alike: bool) -> None:
    pair = Pair("1", legacy, ragas)
    assert (pair.is_alike, pair.passes_alike) == (alike, passes_alike)


def printed(*pairs: Pair) -> list[str]:
    console = Console(file=StringIO(), width=100)
    print_both_ways(BothWays("openai:m", pairs, calls=4, samples=len(pairs)), console)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_the_greatest_difference_comes_first_and_what_has_none_last() -> None:
    lines = printed(
        Pair("a", NONE, score(1.0)),
        Pair("b", score(0.5), score(0.75)),
        Pair("[c]", score(1.0), score(0.0, made_up=True)),
        Pair("d", score(0.5), score(0.5)),
    )
    cells = [line.replace("│", " ").split()[:4] for line in lines if line.startswith("│")]
    assert cells == [
        ["[c]", "1.00", "0.00*", "-1.00"],
        ["b", "0.50", "0.75", "+0.25"],
        ["a", "undefined", "1.00", "no"],
    ]
    assert "same score: 1 of 4 samples" in lines
    assert "mean over the 3 scored both ways: legacy 0.6667, RAGAS mode 0.4167" in lines
    assert "* imputed by the policy, because the judge's answer was incomplete" in lines


def test_without_a_difference_there_is_no_table() -> None:
    assert printed(Pair("a", NONE, NONE))[0] == "same score: 1 of 1 samples"


def test_a_long_table_is_cut() -> None:
    pairs = [Pair(str(n), score(0.0), score(1.0)) for n in range(MOST + 2)]
    assert "and 2 more that differ" in printed(*pairs)
