"""The terminal: the runs of a store as a list, and what one of them was asked to do."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.evaluation.rescore import ORIGIN
from ragstone.reports.facts import settings
from ragstone.reports.format import decimal, shown
from ragstone.store import RunInfo

# Listing: a stored run as one entry in a list of runs, as plain data.


def listing(info: RunInfo) -> dict[str, object]:
    """Return a run as plain data, in the stable shape of `ragstone runs --json`."""
    manifest = info.manifest
    return {
        "run_id": info.id,
        "tag": info.tag,
        "started_at": info.started_at.isoformat(),
        "finished_at": info.finished_at and info.finished_at.isoformat(),
        "finished": info.finished,
        "stopped": info.stopped,
        "dataset": manifest.source.name,
        "target": manifest.target,
        "judge": manifest.judge,
        "rows": info.rows,
        "rows_due": manifest.source.rows,
        "failed": failed(info),
        "scored_again_from": manifest.identity.get(ORIGIN),
        "transcript": info.transcript and not info.ranked,
        "metrics": means(info),
    }


def means(info: RunInfo) -> Mapping[str, float | None]:
    """Return metric -> mean; None over nothing."""
    known = _figures(info, "mean")
    return {name: known.get(name) for name in info.metrics}


def failed(info: RunInfo) -> int:
    """Return how many scores of all metrics failed."""
    return int(sum(_figures(info, "failed").values()))


def _figures(info: RunInfo, field: str) -> Mapping[str, float]:
    """Return metric -> one figure of its summary, where it has that."""
    summary = cast("Mapping[str, Mapping[str, object]]", info.summary or {})
    known = cast("Mapping[str, Mapping[str, float | None]]", summary.get("metrics", {}))
    figures = {name: each.get(field) for name, each in known.items()}
    return {name: figure for name, figure in figures.items() if figure is not None}


GAP = "  "
NAMES = (30, 20, 12)
"""Characters shown of a data set, a target or a judge in the list, where there is less room."""
HASH = 12
"""Characters shown of a fingerprint."""


def print_runs(
    infos: Sequence[RunInfo], console: Console, *, worked_on: Collection[str] = ()
) -> None:
    """Print two lines a run, cut to the terminal: how far it is, what it was of and came to."""
    for info in infos:
        parts = _state(info, info.id in worked_on)
        first = Text(GAP).join(shown(part, console) for part in parts)
        first.stylize("bold", 0, len(info.id))
        second = shown(_of_and_came_to(info, console.width - len(GAP)), console, "dim")
        for line in (first, Text(GAP) + second):
            console.print(line, no_wrap=True, overflow="ellipsis")


def print_info(info: RunInfo, console: Console) -> None:
    """Print what is known of a run beside its rows: when, by what, and how it was asked."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for about, words in _facts(info):
        grid.add_row(about, shown(words, console))
    console.print(grid)
    if not info.finished and ORIGIN not in info.manifest.identity:
        # a command that is broken into lines cannot be copied
        console.print(shown(f"`ragstone resume {info.id}` goes on", console), soft_wrap=True)


def _state(info: RunInfo, worked_on: bool) -> Iterator[str]:
    """Yield which run it is, when it began, how far it is, and its tag."""
    yield info.id
    yield _time(info.started_at)
    if info.finished:
        yield count(info.rows, "row")
    else:
        word = "going on" if worked_on else "unfinished"
        yield f"{word} {info.rows:,}/{info.manifest.source.rows:,}"
    if info.tag:
        yield info.tag


def _of_and_came_to(info: RunInfo, width: int) -> str:
    """Say what a run was of and what failed, and as many means as there is room for."""
    told = [f"{name} {decimal(mean)}" for name, mean in means(info).items()]
    texts = [
        ", ".join(_was_of(info, longest)) + _first(told, number)
        for longest in NAMES
        for number in range(len(told), 0, -1) or (0,)
    ]
    return next((text for text in texts if len(text) <= width), texts[-1])


def _was_of(info: RunInfo, longest: int) -> Iterator[str]:
    """Yield what a run was of, names cut to so many characters, and what failed."""
    manifest = info.manifest
    target = (manifest.target or "").rpartition("://")[2]
    for name in (manifest.source.name, target, manifest.judge):
        if name:
            yield one_line(name, longest)
    if ORIGIN in manifest.identity:
        yield "scored again"
    if number := failed(info):
        yield f"{count(number, 'score')} failed"


def _first(told: Sequence[str], number: int) -> str:
    rest = len(told) - number
    more = f" and {rest} more" if rest > 0 else ""
    return f": {', '.join(told[:number])}{more}" if told else ""


def _facts(info: RunInfo) -> Iterator[tuple[str, str]]:
    manifest = info.manifest
    yield "Run", info.id + (f", tagged {info.tag}" if info.tag else "")
    yield "Began", f"{_time(info.started_at)}, by ragstone {manifest.version}"
    if info.finished_at:
        yield "Finished", _time(info.finished_at)
    else:
        yield "Unfinished", f"{info.rows:,} of {count(manifest.source.rows, 'row')} are stored"
    yield "Metrics", ", ".join(info.metrics) or "none"
    if told := settings(manifest.plan.model_dump(mode="json")):
        yield "Settings", "; ".join(f"{name} {words}" for name, words in told)
    hashes = {
        "data": manifest.source.fingerprint,
        "judge's setup": manifest.identity.get("judge setup"),
    }
    known = [f"{name} {text[:HASH]}" for name, text in hashes.items() if text]
    if known:
        yield "Fingerprints", ", ".join(known)
    if not info.transcript:
        yield "Transcript", "not stored: it cannot be scored again by another policy"


def _time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"
