"""The list of metrics: a table, or a list where the terminal is too narrow for one."""

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.metrics import GROUPS, catalogue
from ragstone.metrics.registry import OURS, origin
from ragstone.samples import in_words
from ragstone.scores import MetricInfo

WIDE = 110
"""Columns of a terminal that the table needs."""

HEADS = ("metric", "what it measures", "needs", "calls", "range", "better")

NOTES = (
    "calls: the judge's, a sample, at the parameters' defaults and with nothing in the cache.",
    f"Groups: {', '.join(GROUPS)}. A cut-off of its own: hit@10.",
    "The whole definition: ragstone metrics show NAME. Your own: --plugin FILE.py or FILE.yaml.",
)


def print_catalogue(console: Console) -> None:
    """Print every metric: what it measures, needs and costs, and how its number is read."""
    infos = list(catalogue().values())
    if console.width >= WIDE:
        console.print(_table(infos))
    else:
        _print_list(infos, console)
    for note in NOTES:
        console.print(Text(note))


def _table(infos: Sequence[MetricInfo]) -> Table:
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for head in HEADS:
        whole = head in ("metric", "range", "better")
        widest = 24 if head == "needs" else None
        table.add_column(head, no_wrap=whole, max_width=widest, overflow="fold")
    for info in infos:
        said = "\n".join([info.description, *_foreign(info)])
        cells = (info.name, said, needs_shown(info), calls_shown(info.calls))
        table.add_row(*map(Text, (*cells, range_shown(info), info.better)))
    return table


def _print_list(infos: Sequence[MetricInfo], console: Console) -> None:
    for info in infos:
        console.print(Text(info.name, "bold"))
        calls = f"calls: {calls_shown(info.calls)}"
        lines = [
            info.description,
            f"needs {needs_shown(info)}" if info.needs else "",
            f"{calls}; {range_shown(info)}, {info.better} is better",
            *_foreign(info),
        ]
        for line in filter(None, lines):
            console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, 2), expand=False))


def _foreign(info: MetricInfo) -> list[str]:
    """Say where a metric comes from that is not ours."""
    place = origin_shown(info.name)
    return [] if place == OURS else [f"from {place}"]


def needs_shown(info: MetricInfo) -> str:
    """Say what a metric needs, and what stands in for it where it is missing."""
    return ", ".join(map(in_words, info.needs))


def calls_shown(calls: int) -> str:
    """Say how many calls, `none` for 0."""
    return str(calls or "none")


def range_shown(info: MetricInfo) -> str:
    """Say what a score can be."""
    return f"{info.low:g} to {info.high:g}"


def origin_shown(name: str) -> str:
    """Say where a metric comes from; a file in the working folder by its path from there."""
    place = origin(name)
    path = Path(place)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else place
