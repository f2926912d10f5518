"""What `--dry-run` prints: what the judge would take, as the least and the most."""

from rich.console import Console
from rich.table import Table

from ragstone.estimation import Estimate

LEAST = 0.0001
"""Of a cost that is shown, in US dollars."""


def print_estimate(estimate: Estimate, console: Console) -> None:
    """Print an estimate: one number, or `N to M` where they differ."""
    console.print("Nobody was asked. The judge would take:\n", markup=False)
    lines = (
        ("rows", f"{estimate.rows:,}"),
        ("calls", _span(estimate.calls)),
        ("prompt tokens", _span(estimate.prompt_tokens)),
        ("completion tokens", _span(estimate.completion_tokens)),
        ("cost", _cost(estimate.cost_usd)),
    )
    if estimate.local_calls[1]:
        lines = (
            *lines,
            ("calls on this machine", f"{_span(estimate.local_calls)} (free, in no limit)"),
            ("tokens on this machine", _span(estimate.local_tokens)),
        )
    table = Table.grid(padding=(0, 3, 0, 0))
    for name, value in lines:
        table.add_row(name, value)
    console.print(table)
    for note in estimate.notes:
        console.print(f"Note: {note}.", markup=False)


def _span(numbers: tuple[int, int]) -> str:
    return _between(*(f"{number:,}" for number in numbers))


def _cost(dollars: tuple[float, float] | None) -> str:
    if dollars is None:
        return "no price is known"
    return f"{_between(*map(_price, dollars))} (an estimate)"


def _price(dollars: float) -> str:
    if 0 < dollars < LEAST:
        return f"less than ${LEAST}"
    return f"${dollars:.4f}" if 0 < dollars < 1 else f"${dollars:,.2f}"


def _between(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"
