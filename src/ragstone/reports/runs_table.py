"""Stored runs: one as plain data for `runs --json`, and as text on the terminal."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import cast

from rich.console import Console
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.reports.facts import changed_settings
from ragstone.reports.format import decimal, printable
from ragstone.reports.terminal import print_pairs
from ragstone.store import RunInfo
from ragstone.types.config import ORIGIN

NAME_LIMITS = (30, 20, 12)
"""Characters of a data set, target or judge in the list, tried until the line fits."""
FINGERPRINT = 12
"""Characters shown of a fingerprint."""


def run_entry(info: RunInfo) -> dict[str, object]:
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
        "failed": _failed(info),
        "scored_again_from": manifest.identity.get(ORIGIN),
        "transcript": info.transcript and not info.ranked,
        "metrics": _means(info),
        "corrected": _corrected(info),
    }


def _means(info: RunInfo) -> Mapping[str, float | None]:
    means = _figures(info, "mean")
    return {name: means.get(name) for name in info.metrics}


def _corrected(info: RunInfo) -> Mapping[str, float]:
    found = cast("Mapping[str, Mapping[str, float | None]]", _figures(info, "corrected"))
    return {name: mean for name, each in found.items() if (mean := each["mean"]) is not None}


def _failed(info: RunInfo) -> int:
    return int(sum(_figures(info, "failed").values()))


def _figures(info: RunInfo, field: str) -> Mapping[str, float]:
    summary = cast("Mapping[str, Mapping[str, object]]", info.summary or {})
    metrics = cast("Mapping[str, Mapping[str, float | None]]", summary.get("metrics", {}))
    figures = {name: each.get(field) for name, each in metrics.items()}
    return {name: figure for name, figure in figures.items() if figure is not None}


def print_runs(
    infos: Sequence[RunInfo], console: Console, *, in_progress: Collection[str] = ()
) -> None:
    for info in infos:
        progress = count(info.rows, "row")
        if not info.finished:
            state = "running" if info.id in in_progress else "unfinished"
            progress = f"{state} {info.rows:,}/{info.manifest.source.rows:,}"
        if info.damage:
            progress = f"damaged, {progress}"
        parts = [info.id, _minute(info.started_at), progress, *([info.tag] if info.tag else [])]
        first = Text("  ").join(printable(part, console) for part in parts)
        first.stylize("bold", 0, len(info.id))
        console.print(first, no_wrap=True, overflow="ellipsis")
        second = printable(_names_and_means(info, console.width - 2), console, "dim")
        console.print(Text("  ") + second, no_wrap=True, overflow="ellipsis")


def _names_and_means(info: RunInfo, width: int) -> str:
    manifest = info.manifest
    target = (manifest.target or "").rpartition("://")[2]
    corrected = {name: f" ({mean:.2f} corrected)" for name, mean in _corrected(info).items()}
    means = [
        f"{name} {decimal(mean)}{corrected.get(name, '')}" for name, mean in _means(info).items()
    ]
    text = ""
    for limit in NAME_LIMITS:
        names = [each for each in (manifest.source.name, target, manifest.judge) if each]
        words = [one_line(name, limit) for name in names]
        if ORIGIN in manifest.identity:
            words.append("rescored")
        if failed := _failed(info):
            words.append(f"{count(failed, 'score')} failed")
        for number in range(len(means), 0, -1) or (0,):
            rest = f" and {len(means) - number} more" if number < len(means) else ""
            text = ", ".join(words) + (f": {', '.join(means[:number])}{rest}" if means else "")
            if len(text) <= width:
                return text
    return text


def print_info(info: RunInfo, console: Console) -> None:
    manifest = info.manifest
    tag = f", tagged {info.tag}" if info.tag else ""
    lines = [
        ("Run", f"{info.id}{tag}"),
        ("Started", f"{_minute(info.started_at)}, by ragstone {manifest.version}"),
    ]
    if info.finished_at:
        lines.append(("Finished", _minute(info.finished_at)))
    else:
        rows = count(manifest.source.rows, "row")
        lines.append(("Unfinished", f"{info.rows:,} of {rows} stored"))
    lines.append(("Metrics", ", ".join(info.metrics) or "none"))
    if changed := changed_settings(manifest.plan.model_dump(mode="json")):
        lines.append(("Settings", "; ".join(f"{name} {words}" for name, words in changed)))
    fingerprints = {
        "data": manifest.source.fingerprint,
        "judge settings": manifest.identity.get("judge setup"),
    }
    known = [f"{name} {text[:FINGERPRINT]}" for name, text in fingerprints.items() if text]
    if known:
        lines.append(("Fingerprints", ", ".join(known)))
    if not info.transcript:
        lines.append(("Transcript", "not stored; the run cannot be rescored with another policy"))

    print_pairs(((label, printable(words, console)) for label, words in lines), console)
    if not info.finished and ORIGIN not in manifest.identity:
        # a wrapped command cannot be copied
        words = f"Resume it with `ragstone resume {info.id}`"
        console.print(printable(words, console), soft_wrap=True)


def _minute(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"
