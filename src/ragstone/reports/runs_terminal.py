"""The terminal: the runs of a store as a list, and what one of them was asked to do."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import cast

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragstone.messages import one_line
from ragstone.plan import Plan
from ragstone.reports.console_text import shown
from ragstone.reports.figures import count, decimal
from ragstone.store import RunInfo

WIDE = 120
"""Columns of a terminal that the table needs; a narrower one gets a list."""
MEANS = 3
"""Metrics whose means stand in the list; the rest are counted."""
HASH = 12
"""Characters shown of a fingerprint."""

_HEADS = ("run", "began", "data set", "judge", "rows", "state", "tag", "scores")
_TOLD_ELSEWHERE = {"metrics", "gates", "judge", "target", "fallback_target"}
"""Fields of the plan that are facts of their own."""


def print_runs(infos: Sequence[RunInfo], console: Console) -> None:
    """Print a line a run: what it was of, how far it is, and what it came to."""
    if console.width < WIDE:
        for info in infos:
            console.print(shown("  ".join(filter(None, _cells(info))), console))
            if scores := ", ".join(_scores(info)):
                console.print(shown(scores, console), style="dim")
        return
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for head in _HEADS:
        table.add_column(head, no_wrap=head in ("run", "began", "rows"), overflow="fold")
    for info in infos:
        scores = Text("\n").join(shown(score, console) for score in _scores(info))
        table.add_row(*(shown(cell, console) for cell in _cells(info)), scores)
    console.print(table)


def print_info(info: RunInfo, console: Console) -> None:
    """Print what is known of a run beside its rows: when, by what, and how it was asked."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for about, words in _facts(info):
        grid.add_row(about, shown(words, console))
    console.print(grid)


def listed(info: RunInfo) -> dict[str, object]:
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
        "transcript": info.transcript,
        "metrics": _means(info),
    }


def _cells(info: RunInfo) -> tuple[str, ...]:
    manifest = info.manifest
    return (
        info.id,
        _time(info.started_at),
        one_line(manifest.source.name, 30),
        one_line(manifest.judge or "", 30),
        f"{info.rows:,} of {manifest.source.rows:,}",
        "finished" if info.finished else "unfinished",
        info.tag or "",
    )


def _scores(info: RunInfo) -> list[str]:
    means = [f"{name} {decimal(mean)}" for name, mean in _means(info).items()]
    return means[:MEANS] + ([f"and {len(means) - MEANS} more"] if len(means) > MEANS else [])


def _means(info: RunInfo) -> Mapping[str, float | None]:
    """Return metric -> mean; None for those of a run that was never summed up."""
    summary = cast("Mapping[str, Mapping[str, object]]", info.summary or {})
    known = cast("Mapping[str, Mapping[str, float | None]]", summary.get("metrics", {}))
    return {name: known[name].get("mean") if name in known else None for name in info.metrics}


def _facts(info: RunInfo) -> Iterator[tuple[str, str]]:
    manifest = info.manifest
    yield "Run", info.id + (f", tagged {info.tag}" if info.tag else "")
    yield "Began", f"{_time(info.started_at)}, by ragstone {manifest.version}"
    if info.finished_at:
        yield "Finished", _time(info.finished_at)
    else:
        rows = f"{info.rows:,} of {count(manifest.source.rows, 'row')} are stored"
        yield "Unfinished", f"{rows}; `ragstone resume {info.id}` goes on"
    yield "Metrics", ", ".join(info.metrics) or "none"
    if settings := ", ".join(_settings(manifest.plan)):
        yield "Settings", settings
    hashes = {
        "data": manifest.source.fingerprint,
        "judge's setup": manifest.identity.get("judge setup"),
    }
    known = [f"{name} {text[:HASH]}" for name, text in hashes.items() if text]
    if known:
        yield "Fingerprints", ", ".join(known)
    if not info.transcript:
        yield "Transcript", "not stored: it cannot be scored again by another policy"


def _settings(plan: Plan) -> Iterator[str]:
    """Yield the settings that are not at their default."""
    usual = Plan().model_dump(mode="json")
    for name, value in plan.model_dump(mode="json").items():
        if value != usual[name] and name not in _TOLD_ELSEWHERE:
            yield f"{name.replace('_', '-')}={_said(value)}"


def _said(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, cast("list[object]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return " ".join(f"{name}:{item}" for name, item in pairs)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"
