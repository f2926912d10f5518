"""Judges stored rows again, without the cache: for the noise of a judge, and for its drift."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from heapq import nsmallest
from itertools import chain
from operator import eq
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from ragstone._internal.concurrency import run_sync
from ragstone._internal.fields import FrozenMap, FrozenModel
from ragstone._internal.files import make_folder
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count
from ragstone.errors import InputError, Problem
from ragstone.evaluation.dry_run import estimate_rows
from ragstone.evaluation.fingerprint import VERSION, JudgeSetup
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.base import Judge, ReplayJudge, RouterJudge
from ragstone.judges.factory import make_judge
from ragstone.metrics import Metric
from ragstone.results.calibration import Unit, majority, verdict_of
from ragstone.results.run import Run
from ragstone.results.stats.paired_tests import (
    DRIFTED,
    drift_evidence,
    mean_sequence,
    variance_components,
)
from ragstone.types.config import Plan
from ragstone.types.label import HumanLabel
from ragstone.types.questions import ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.types.row import Row

PROBES, NOISE = Path(".ragstone") / "probes", Path(".ragstone") / "noise"
"""Folders with a file for each run: the probes of its labelled rows, and its judge's noise."""
WrapJudge = Callable[[Judge], Judge]


@dataclass(frozen=True)
class RejudgedRun:
    """Rows of a stored run that are judged `repeat` times.

    Attributes:
        plan: the run's, without the cache, and with other limits.
        wrap: wraps the judge.
    """

    run: Run
    plan: Plan
    rows: Sequence[Row]
    metrics: Sequence[Metric]
    repeat: int
    wrap: WrapJudge = lambda judge: judge

    def estimate(self) -> str:
        unlimited = self.plan.model_copy(update={"max_cost": None})
        samples = [row.sample for row in self.rows] * self.repeat
        cost = estimate_rows(unlimited, samples, self.metrics, asks_target=False, around=self.wrap)
        return (
            f"Judging {count(len(self.rows), 'row')} of run {self.run.manifest.run_id} "
            f"{count(self.repeat, 'time')} with {self.plan.judge}, without the reply cache: {cost}"
        )

    def judge(self, on_row: Callable[[Row, int], None]) -> tuple[list[dict[int, Row]], str | None]:
        """Return the rows of each repeat, by index, and the budget if one was spent."""
        budget = Budget(self.plan.max_calls, self.plan.max_cost)
        judge = self.wrap(make_judge(self.plan, budget=budget))
        return run_sync(partial(self._judge, judge, on_row)), budget.spent

    async def _judge(
        self, judge: Judge, on_row: Callable[[Row, int], None]
    ) -> list[dict[int, Row]]:
        bare = [Row(row.index, row.sample, failures=row.failures) for row in self.rows]
        bare *= self.repeat
        judged: list[dict[int, Row]] = [{} for _ in range(self.repeat)]
        seen = Counter[int]()
        rows = score_rows(bare, self.metrics, judge, concurrency=self.plan.concurrency)
        async with judge, rows as scored:
            async for row in scored:
                judged[seen[row.index]][row.index] = row
                seen[row.index] += 1
                on_row(row, len(bare))
        return judged


def same_claims(rows: Iterable[Row]) -> WrapJudge:
    """Return a function that wraps a judge, so that it is asked about the claims of these rows."""
    recorded = ReplayJudge(chain.from_iterable(row.exchanges for row in rows))
    kinds = ExtractClaims.kind, ExtractTruths.kind
    return lambda judge: RouterJudge(dict.fromkeys(kinds, recorded), judge)


def sample_rows(rows: Iterable[Row], metrics: Iterable[str], n: int) -> list[Row]:
    names = list(metrics)
    scored = (r for r in rows if any((s := r.scores.get(m)) and s.value is not None for m in names))
    return nsmallest(
        n, scored, key=lambda row: sha256(row.sample.id.encode("utf-8", "surrogatepass")).digest()
    )


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


class Probe(FrozenModel):
    """The judge's verdicts on the labelled units at one time, a line of a file.

    Attributes:
        setup: a hash of the judge's settings and prompts.
        verdicts: labelled unit, as text -> whether the judge found it supported; None if unknown.
    """

    at: str
    version: str
    setup: str
    verdicts: FrozenMap[str, bool | None]


Units = Mapping[Unit, bool]
"""What people labelled -> whether most call it supported."""


def units_to_probe(labels: Iterable[HumanLabel], rows: Iterable[Row]) -> dict[Unit, bool]:
    """Return the labelled units of these rows on which the judge has a verdict."""
    scores = {row.index: row.scores for row in rows}
    return {
        (metric, row, claim): value
        for (metric, row, claim), value in majority(labels).items()
        if verdict_of(scores.get(row, {}).get(metric), claim) is not None
    }


def _key(unit: Unit) -> str:
    metric, position, claim = unit
    return f"{position} {'-' if claim is None else claim} {metric}"


def make_probes(judged: Sequence[Mapping[int, Row]], units: Units, plan: Plan) -> list[Probe]:
    setup = JudgeSetup(plan, make_judge(plan)).hash([VerifyClaims.kind])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return [
        Probe(
            at=at,
            version=VERSION,
            setup=setup,
            verdicts={
                _key(unit): verdict_of(rows[unit[1]].scores.get(unit[0]), unit[2]) for unit in units
            },
        )
        for rows in judged
    ]


def read_probes(path: Path) -> list[Probe]:
    if not path.is_file():
        return []
    probes: list[Probe] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            probes.append(Probe.model_validate_json(line))
        except ValidationError as error:
            problem = Problem(f"not a probe: {error.errors()[0]['msg']}", row=number, unit="line")
            raise InputError(str(path), [problem]) from None
    return probes


def add_probes(path: Path, probes: Iterable[Probe]) -> None:
    make_folder(path.parent)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(probe.model_dump_json() + "\n" for probe in probes))


def count_agreements(
    probes: Sequence[Probe], units: Units
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many labels of each row the judge agreed with, int64[probes, rows].

    -1 if a verdict on the row is unknown. The rows are those with labels, by their index; the
    second array is the number of their labels.
    """
    rows = dict[int, dict[str, bool]]()
    for unit, label in sorted(units.items(), key=lambda pair: pair[0][1]):
        rows.setdefault(unit[1], {})[_key(unit)] = label
    agreements = np.full((len(probes), len(rows)), -1)
    for counts, probe in zip(agreements, probes, strict=True):
        for number, labels in enumerate(rows.values()):
            verdicts = [probe.verdicts.get(key) for key in labels]
            if None not in verdicts:
                counts[number] = sum(map(eq, verdicts, labels.values()))
    return agreements, np.array([len(labels) for labels in rows.values()])


@dataclass(frozen=True)
class Drift:
    """What a series of probes shows.

    Attributes:
        rows: number of labelled rows.
        agreement: of each probe, the share of labels that the judge agrees with; None if unknown.
        evidence: for drift, after each probe.
        intervals: of the mean agreement of a row, after each probe.
        causes: settings that changed between the probes.
    """

    rows: int
    agreement: Sequence[float | None]
    evidence: Sequence[float]
    intervals: Sequence[tuple[float, float]]
    causes: Sequence[str]

    @property
    def drifted(self) -> bool:
        return max(self.evidence) >= DRIFTED


def measure_drift(probes: Sequence[Probe], units: Units) -> Drift:
    counts, sizes = count_agreements(probes, units)
    known = counts >= 0
    shares = [
        float(agreed[seen].sum() / sizes[seen].sum()) if seen.any() else None
        for agreed, seen in zip(counts, known, strict=True)
    ]
    values = {
        "its settings or prompts changed": {probe.setup for probe in probes},
        "ragstone's version changed": {probe.version for probe in probes},
    }
    return Drift(
        rows=len(sizes),
        agreement=shares,
        evidence=drift_evidence(counts).tolist(),
        intervals=mean_sequence(np.where(known, counts / sizes, np.nan)).tolist(),
        causes=[cause for cause, seen in values.items() if len(seen) > 1],
    )
