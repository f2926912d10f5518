"""Rows and the summary as JSON, for machines: the stable shapes of `--rows` and `--json`."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TextIO, cast

from ragstone.errors import Cause
from ragstone.ranked_values import REASONS, RankingScores
from ragstone.reports.files import write_file
from ragstone.reports.table_columns import scored_values
from ragstone.run import Run

STDOUT = Path("-")

_SCORED: Mapping[str, str | None] = MappingProxyType({"state": "scored", "reason": None})

Destination = Path | TextIO
"""A file, written whole or not at all; a stream; or `-`, standard output."""


def write_rows(run: Run, destination: Destination) -> None:
    """Write one line of JSON per row, in the order of the data set.

    A line of a ranking's run has the query's id, its text and its scores.

    Raises:
        UsageError: the file cannot be written.
    """
    if run.columns is not None:
        documents = (each for block in run.columns.blocks() for each in _queries(block))
    else:
        documents = (row.to_dict() for row in run.rows)
    _write(destination, documents, indent=None)


def write_json(run: Run, destination: Destination) -> None:
    """Write the summary as one JSON object.

    Raises:
        UsageError: the file cannot be written.
    """
    write_document(run.to_dict(), destination)


def write_document(document: Mapping[str, object], destination: Destination) -> None:
    """Write one JSON object.

    Raises:
        UsageError: the file cannot be written.
    """
    _write(destination, iter([document]), indent=2)


def finite(value: object) -> object:
    """Return plain data with null for each number that JSON does not have: NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {key: finite(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [finite(item) for item in cast("list[object]", value)]
    return value


def _write(
    destination: Destination, documents: Iterator[Mapping[str, object]], indent: int | None
) -> None:
    if isinstance(destination, Path) and destination != STDOUT:
        write_file(destination, partial(_write_path, documents=documents, indent=indent))
    else:
        stream = sys.stdout if isinstance(destination, Path) else destination
        _write_stream(stream, documents, indent)


def _write_path(path: Path, documents: Iterator[Mapping[str, object]], indent: int | None) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        _write_stream(stream, documents, indent)


def _write_stream(
    stream: TextIO, documents: Iterator[Mapping[str, object]], indent: int | None
) -> None:
    # ASCII with escapes, because a lone surrogate in the data has no UTF-8
    for document in documents:
        try:
            line = json.dumps(document, ensure_ascii=True, allow_nan=False, indent=indent)
        except (TypeError, ValueError):  # `finite` takes longer, and few documents need it
            line = json.dumps(finite(document), ensure_ascii=True, allow_nan=False, indent=indent)
        stream.write(line + "\n")


def _queries(block: RankingScores) -> Iterator[Mapping[str, object]]:
    """Yield the queries of a ranking's run, without making their rows, which takes longer."""
    columns = [(name, scored_values(block, name), block.failures(name)) for name in block.metrics]
    for place, (query, text) in enumerate(zip(block.ids, block.queries, strict=True)):
        why = int(block.why[place])
        state = {"state": "undefined", "reason": REASONS[why - 1]} if why else _SCORED
        scores = {
            metric: {"value": values[place], **state}
            if place not in failures
            else {
                "value": None,
                "state": "failed",
                "reason": failures[place],
                "cause": Cause.METRIC_ERROR.value,
            }
            for metric, values, failures in columns
        }
        yield {"id": query, "query": text, "scores": scores}
