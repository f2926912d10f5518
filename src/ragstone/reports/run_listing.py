"""Listing: a stored run as one entry in a list of runs, as plain data."""

from collections.abc import Mapping
from typing import cast

from ragstone.rescoring import ORIGIN
from ragstone.store import RunInfo


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
