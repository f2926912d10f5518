import io

import pytest
from rich.console import Console

from ragstone.cli.output import print_estimate
from ragstone.evaluation.dry_run import Estimate

ESTIMATE = Estimate(
    rows=200,
    calls=(400, 600),
    prompt_tokens=(150_000, 150_000),
    completion_tokens=(1_000, 40_000),
    cost_usd=(0.0225, 1.5),
    notes=("cached replies are not requested again",),
)


def printed(estimate: Estimate) -> list[list[str]]:
    console = Console(file=io.StringIO(), width=80)
    print_estimate(estimate, console)
    assert isinstance(console.file, io.StringIO)
    return [line.split() for line in console.file.getvalue().splitlines()]


def test_a_span_is_told_where_the_numbers_differ() -> None:
    lines = printed(ESTIMATE)
    assert ["rows", "200"] in lines
    assert ["calls", "400", "to", "600"] in lines
    assert ["prompt", "tokens", "150,000"] in lines
    assert ["completion", "tokens", "1,000", "to", "40,000"] in lines
    assert ["cost", "$0.0225", "to", "$1.50", "(an", "estimate)"] in lines
    assert "Note: cached replies are not requested again.".split() in lines


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (None, "cost no price is known"),
        ((0.0, 0.0), "cost $0.00 (an estimate)"),
        ((0.00004, 0.00005), "cost less than $0.0001 (an estimate)"),
        ((1200.5, 1200.5), "cost $1,200.50 (an estimate)"),
    ],
)
def test_a_cost_is_an_estimate(cost: tuple[float, float] | None, told: str) -> None:
    estimate = Estimate(
        rows=1, calls=(2, 2), prompt_tokens=(1, 1), completion_tokens=(1, 1), cost_usd=cost
    )
    assert told.split() in printed(estimate)
