"""Judges stored rows again, without the cache: for the noise of a judge, and for its drift."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from heapq import nsmallest
from itertools import chain
from operator import eq
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ragstone._internal.fields import FrozenMap, FrozenModel
from ragstone._internal.files import make_folder
from ragstone.errors import InputError, Problem
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.base import Judge, ReplayJudge, RouterJudge
from ragstone.metrics import Metric
from ragstone.results.calibration import Unit, verdict_of
from ragstone.results.stats.paired_tests import variance_components
from ragstone.types.questions import ExtractClaims, ExtractTruths
from ragstone.types.row import Row

PROBES, NOISE = Path(".ragstone") / "probes", Path(".ragstone") / "noise"
"""Folders with a file for each run: the probes of its labelled rows, and its judge's noise."""


async def judge_again(
    rows: Iterable[Row],
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    times: int,
    concurrency: int,
    on_row: Callable[[Row, int], None],
) -> list[dict[int, Row]]:
    bare = [Row(row.index, row.sample, failures=row.failures) for row in rows] * times
    judged: list[dict[int, Row]] = [{} for _ in range(times)]
    seen = Counter[int]()
    async with judge, score_rows(bare, metrics, judge, concurrency=concurrency) as scored:
        async for row in scored:
            judged[seen[row.index]][row.index] = row
            seen[row.index] += 1
            on_row(row, len(bare))
    return judged


def same_claims(rows: Iterable[Row]) -> Callable[[Judge], Judge]:
    """Return a function that wraps a judge, so that it is asked about the claims of these rows."""
    recorded = ReplayJudge(chain.from_iterable(row.exchanges for row in rows))
    kinds = ExtractClaims.kind, ExtractTruths.kind
    return lambda judge: RouterJudge(dict.fromkeys(kinds, recorded), judge)


def sample_rows(rows: Iterable[Row], metrics: Iterable[str], n: int) -> list[Row]:
    names = list(metrics)
    scored = (r for r in rows if any((s := r.scores.get(m)) and s.value is not None for m in names))
    return nsmallest(n, scored, key=_digest)


def _digest(row: Row) -> bytes:
    return sha256(row.sample.id.encode("utf-8", "surrogatepass")).digest()


class Noise(TypedDict):
    """The noise of a judge in the scores of one metric.

    Attributes:
        rows: those with a score each time.
        sampling: variance between rows.
        judge: variance of repeated judgments of one row.
        unchanged: share of the rows whose scores are all equal.
    """

    rows: int
    sampling: float
    judge: float
    unchanged: float


def noise_of(judged: Sequence[Mapping[int, Row]], metric: str) -> Noise | None:
    table: list[list[float]] = []
    for index in judged[0]:
        values = (rows[index].scores[metric].value for rows in judged)
        table.append([value for value in values if value is not None])
    complete = [values for values in table if len(values) == len(judged)]
    if len(complete) < 2:
        return None
    sampling, judge = variance_components(np.array(complete, dtype=np.float64))
    unchanged = sum(len(set(values)) == 1 for values in complete) / len(complete)
    return Noise(rows=len(complete), sampling=sampling, judge=judge, unchanged=unchanged)


def judge_variances(run_id: str) -> dict[str, float]:
    path = NOISE / f"{run_id}.json"
    try:
        found = json.loads(path.read_bytes())["metrics"]
        return {metric: float(noise["judge"]) for metric, noise in found.items()}
    except (OSError, ValueError, LookupError, TypeError):  # none yet, or not ours
        return {}


class Look(FrozenModel):
    """One probe, a line of its file.

    Attributes:
        setup: a hash of the judge's settings and prompts.
        verdicts: labelled unit, as text -> whether the judge found it supported; None if unknown.
    """

    at: str
    version: str
    setup: str
    verdicts: FrozenMap[str, bool | None]


def _key(unit: Unit) -> str:
    metric, position, claim = unit
    return f"{position} {'-' if claim is None else claim} {metric}"


def look_of(rows: Mapping[int, Row], units: Iterable[Unit], *, version: str, setup: str) -> Look:
    verdicts = {
        _key(unit): verdict_of(rows[unit[1]].scores.get(unit[0]), unit[2]) for unit in units
    }
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Look(at=at, version=version, setup=setup, verdicts=verdicts)


def read_looks(path: Path) -> list[Look]:
    if not path.is_file():
        return []
    looks: list[Look] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            looks.append(Look.model_validate_json(line))
        except ValidationError as error:
            problem = Problem(f"not a probe: {error.errors()[0]['msg']}", row=number, unit="line")
            raise InputError(str(path), [problem]) from None
    return looks


def add_looks(path: Path, looks: Iterable[Look]) -> None:
    make_folder(path.parent)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(look.model_dump_json() + "\n" for look in looks))


def agreements(
    looks: Sequence[Look], units: Mapping[Unit, bool]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many labels of each row the judge agreed with, int64[looks, rows].

    -1 if a verdict on the row is unknown. The rows are those with labels, by their index; the
    second array is the number of their labels.
    """
    rows = dict[int, dict[str, bool]]()
    for unit, label in sorted(units.items(), key=lambda pair: pair[0][1]):
        rows.setdefault(unit[1], {})[_key(unit)] = label
    found = np.full((len(looks), len(rows)), -1)
    for counts, look in zip(found, looks, strict=True):
        for place, labels in enumerate(rows.values()):
            verdicts = [look.verdicts.get(key) for key in labels]
            if None not in verdicts:
                counts[place] = sum(map(eq, verdicts, labels.values()))
    return found, np.array([len(labels) for labels in rows.values()])
