"""Calibration: people's labels of a run, and the means that they correct.

A judge errs, and more often in one direction. People label some rows, drawn with known chances, and
`stats.labels` estimates the mean that they would have given all of them. Labels of other answers
do not tell: how often a judge errs differs between systems.
"""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AwareDatetime, Field, ValidationError, model_validator

from ragstone._internal.fields import FrozenMap, FrozenModel, split_threshold
from ragstone._internal.files import check_file, write_text
from ragstone._internal.text import count
from ragstone.errors import UsageError
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.results.stats import labels as stats
from ragstone.results.stats.intervals import Ends, Numbers, effective, proportion_interval
from ragstone.types.claim import Label as Verdict
from ragstone.types.config import ORIGIN, Manifest
from ragstone.types.gate import EPSILON
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.score import ALL_SUPPORTED, Correction, MetricInfo, Score

FOLDER = Path(".ragstone") / "calibrations"
MIN_ROWS = 20  # labelled rows that a gate needs; the intervals were tested from this number on
MAX_OUTSIDE = 3.0  # times more rows beyond the labelled range than expected: a gate is refused
BINS = 5
_NAME = re.compile(r"[\w][\w.-]{0,99}")
_PASS_MARK = re.compile(r",threshold=[^,]+")  # a part of a metric's name that changes no score

Unit = tuple[str, int, int | None]  # metric, the row's index, the claim or None (the response)
_Share = Annotated[float, Field(ge=0, le=1)]


class LabelledClaim(FrozenModel):
    judge: bool
    support: _Share | None  # the judge's probability that it is supported
    human: bool


class LabelledRow(FrozenModel):
    """A row that people labelled, and the mean of its labels as `human`."""

    position: int
    judged: _Share
    human: _Share
    probability: Annotated[float, Field(gt=0, le=1)]  # of being drawn
    group: int
    support: _Share | None  # the judge's probability that all claims are supported
    claims: Annotated[tuple[LabelledClaim, ...], Field(min_length=1)]


class MetricCalibration(FrozenModel):
    of: Literal["claims", "responses"]  # for responses, the mean is the share of faithful ones
    shares: bool  # each score is the share of the row's claims that the judge supports
    setup: str  # a hash of the judge, its prompts and its settings
    annotators: tuple[str, ...]
    not_blind: int
    labelled_at: AwareDatetime
    rows: Annotated[tuple[LabelledRow, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len({row.position for row in self.rows}) < len(self.rows):
            raise ValueError("a row is repeated")
        return self

    @classmethod
    def from_labels(
        cls,
        rows: Sequence[tuple[int, Row, Sequence[HumanLabel]]],
        *,
        metric: str,
        groups: NDArray[np.int64] | None,
        setup: str,
    ) -> tuple[Self | None, bool]:
        """Return the labels of a metric, of claims if there are any; None if none decides.

        Also returns whether each score is the share of supported claims, with or without those
        supported partially. `rows` are places in the run, rows and their labels.
        """
        of_claims = any(label.claim is not None for *_, labels in rows for label in labels)
        used: list[HumanLabel] = []
        labelled: list[LabelledRow] = []
        shares = fits = True
        for place, row, labels in rows:
            of_row = [label for label in labels if (label.claim is not None) == of_claims]
            used += of_row
            score = row.scores[metric]
            support = score.detail.get(ALL_SUPPORTED)
            support = support if isinstance(support, float) else None
            claims = tuple(
                LabelledClaim(
                    judge=judge,
                    support=support if claim is None else score.claims[claim].support,
                    human=human,
                )
                for (_, _, claim), human in majority(of_row).items()
                if (judge := verdict_of(score, claim)) is not None
            )
            if score.value is None or not claims:
                continue
            verdicts = [claim.label for claim in score.claims]
            whole, partly = map(verdicts.count, (Verdict.SUPPORTED, Verdict.PARTIALLY_SUPPORTED))
            low, high = whole / max(1, len(verdicts)), (whole + partly) / max(1, len(verdicts))
            shares = shares and abs(score.value - low) < EPSILON
            fits = fits and low - EPSILON < score.value < high + EPSILON
            labelled.append(
                LabelledRow(
                    position=row.index,
                    judged=score.value,
                    human=sum(claim.human for claim in claims) / len(claims),
                    probability=max(label.probability for label in of_row),
                    group=place if groups is None else int(groups[place]),
                    support=support,
                    claims=claims,
                )
            )
        if not labelled:
            return None, fits
        calibration = cls(
            of="claims" if of_claims else "responses",
            shares=shares and of_claims,
            setup=setup,
            not_blind=sum(not label.blind for label in used),
            annotators=tuple(sorted({label.annotator for label in used})),
            labelled_at=max(label.at for label in used),
            rows=tuple(labelled),
        )
        return calibration, fits

    @property
    def claims(self) -> list[tuple[LabelledClaim, float]]:
        return [(claim, 1 / row.probability) for row in self.rows for claim in row.claims]

    @property
    def agreement(self) -> stats.Agreement:
        return stats.Agreement.of((claim.judge, claim.human) for claim, _ in self.claims)

    def share(self, *, of_human: bool) -> tuple[float, Ends, int] | None:
        """Return sensitivity (`of_human` is True) or specificity, its interval and its n.

        Claims of rows drawn more often count less: the effective number of claims counts (Kish).
        """
        found = [(c.judge == of_human, weight) for c, weight in self.claims if c.human is of_human]
        if not found:
            return None
        right, weights = (np.array(column, dtype=float) for column in zip(*found, strict=True))
        share, n = float(right @ weights / weights.sum()), round(effective(weights))
        return share, proportion_interval(round(share * n), n), len(found)

    def reliability(self) -> list[tuple[float, float, int, int]]:
        bins: list[list[bool]] = [[] for _ in range(BINS)]
        for claim, _ in self.claims:
            if claim.support is not None:
                bins[min(BINS - 1, int(claim.support * BINS))].append(claim.human)
        return [
            (place / BINS, (place + 1) / BINS, len(labels), sum(labels))
            for place, labels in enumerate(bins)
            if labels
        ]

    def threshold(self) -> stats.Threshold | None:
        known = [
            (claim.support, claim.judge, claim.human, row.group)
            for row in self.rows
            for claim in row.claims
            if claim.support is not None
        ]
        if len(known) < MIN_ROWS:
            return None
        *columns, groups = zip(*known, strict=True)
        support, judge, human = (np.array(column, dtype=np.float64) for column in columns)
        return stats.best_threshold(support, judge, human, groups)

    def scores(
        self,
        scores: Numbers,
        units: Sequence[int],
        *,
        keys: Sequence[Hashable] | None = None,
    ) -> stats.LabelledScores:
        """Return a run's scores and these labels; `keys` are the units of the labelled rows."""
        columns: list[tuple[float, float, float]] = []
        groups: list[Hashable] = []
        for row, key in zip(self.rows, keys or [row.group for row in self.rows], strict=True):
            parts = [(row.judged, row.human)]
            if self.shares:
                # the row's weight is divided among its claims, of which its score is the mean
                parts = [(float(claim.judge), float(claim.human)) for claim in row.claims]
            columns += [(*part, row.probability * len(parts)) for part in parts]
            groups += [key] * len(parts)
        judged, human, chances = np.array(columns, dtype=np.float64).T
        return stats.LabelledScores(scores, units, judged, human, chances, groups)


class Calibration(FrozenModel):
    """Labels of a run by name, with what a report needs to correct its means."""

    name: str
    run: str
    data: str
    fingerprint: str | None
    judge: str | None
    version: str
    created_at: AwareDatetime
    metrics: FrozenMap[str, MetricCalibration]

    @classmethod
    def from_labels(
        cls,
        manifest: Manifest,
        metrics: Mapping[str, MetricInfo],
        rows: Iterable[Row],
        *,
        labels: Iterable[HumanLabel],
        name: str,
    ) -> "Calibration":
        given: dict[str, dict[int, list[HumanLabel]]] = {}
        for label in labels:
            if label.value is not None:
                given.setdefault(label.metric, {}).setdefault(label.position, []).append(label)
        if not given:
            raise UsageError(
                f"run {manifest.run_id} has no labels: label it with `ragstone labels start "
                f"{manifest.run_id}`, or import labels with `ragstone labels import`"
            )
        counts = RunSummaryBuilder((), cluster=manifest.plan.cluster)
        wanted = {position for rows in given.values() for position in rows}
        judged: dict[int, tuple[int, Row]] = {}
        unclaimed: set[str] = set()
        for place, row in enumerate(rows):
            counts.add(row)
            scored = {key: score for key, score in row.scores.items() if score.value is not None}
            unclaimed |= {key for key, score in scored.items() if not score.claims}
            if row.index in wanted:
                judged[row.index] = place, row
        groups = counts.grouping.labels
        found: dict[str, MetricCalibration] = {}
        suitable = calibratable(metrics)
        if given.keys().isdisjoint(suitable):
            can = f"{', '.join(suitable)} can" if suitable else "this run has none"
            raise UsageError(
                f"{' and '.join(given)} cannot be calibrated: only metrics with scores from 0 to "
                f"1, where 1 is best; {can}"
            )
        for metric in filter(suitable.__contains__, given):
            positions = given[metric]
            calibrated, fits = MetricCalibration.from_labels(
                [(*judged[position], few) for position, few in sorted(positions.items())],
                metric=metric,
                groups=groups,
                setup=manifest.judge_setups.get(metric, ""),
            )
            if calibrated is None:
                continue
            if calibrated.of == "claims" and not (fits and metric not in unclaimed):
                raise UsageError(
                    f"{metric} cannot be calibrated with labels of claims, because its policy does "
                    "not score the share of supported claims; `ragstone runs rescore "
                    f"{manifest.run_id} --policy strict` makes a run that can be labelled"
                )
            found[metric] = calibrated
        if not found:
            raise UsageError(
                f"run {manifest.run_id} has no labels that decide: they are ties, or of rows whose "
                "score is undefined or failed"
            )
        return cls(
            name=name,
            run=manifest.run_id,
            data=manifest.source.name,
            fingerprint=_answers(manifest),
            judge=manifest.judge,
            version=manifest.version,
            created_at=datetime.now(UTC),
            metrics=found,
        )

    def find(self, metric: str) -> MetricCalibration | None:
        labelled = {_PASS_MARK.sub("", name): each for name, each in self.metrics.items()}
        return labelled.get(_PASS_MARK.sub("", metric))

    def of_another_run(self, manifest: Manifest, *, is_new: bool = False) -> str | None:
        """Return that the labels are of another run, and what to do; None if they are of this one.

        Another run of the same file of answers counts as this one. A new run is not stored yet.
        """
        answers = _answers(manifest)
        rescored = manifest.identity.get(ORIGIN)  # the same answers
        if self.run in (manifest.run_id, rescored) or (
            answers is not None and answers == self.fingerprint
        ):
            return None
        run = "last" if is_new else manifest.run_id
        this = "the new run" if is_new else f"run {run}"
        first = "run without the calibration, " if is_new else ""
        return (
            f"its labels are of run {self.run} ({self.data}), not of {this} "
            f"({manifest.source.name}); {first}label 20 to 30 rows of {this} with `ragstone labels "
            f"start {run} --n 80`, and then use `ragstone labels calibrate {run}`"
        )

    def check(self, manifest: Manifest, *, is_new: bool = False) -> None:
        """Raise a UsageError if the labels are of another run."""
        if problem := self.of_another_run(manifest, is_new=is_new):
            raise UsageError(f"calibration {self.name} does not apply: {problem}")

    def correct(
        self, metric: str, manifest: Manifest, counts: RunSummaryBuilder
    ) -> Correction | None:
        found, scores = self.find(metric), counts.scores[metric]
        kind, _ = split_threshold(metric)
        same = [name for name in self.metrics if split_threshold(name)[0] == kind]
        if not same:
            return None
        problem = self.of_another_run(manifest)
        if problem is None:
            other = ""
            if found is None:
                other = f"{same[0]}, with another policy or claim mode"
            elif self.judge != manifest.judge:
                other = f"the judge {self.judge}, and this run used {manifest.judge}"
            elif found.setup != manifest.judge_setups.get(metric, ""):
                other = f"other prompts or settings of the judge {self.judge}"
            if other:
                problem = f"it is for {other}; label rows of this run"
            elif not scores.values:
                problem = "no row was scored"
        if found is None or problem:
            return Correction(calibration=self.name, problem=problem)
        groups = scores.scored_groups(counts.grouping.labels)
        units = range(len(scores.values)) if groups is None else groups.tolist()
        values = np.frombuffer(scores.values)
        result = stats.corrected_mean(found.scores(values, units))
        return Correction(
            calibration=self.name,
            mean=result.mean,
            interval=result.interval,
            judge=float((values if found.of == "claims" else values == 1).mean()),
            labels=len(found.rows),
            of=found.of,
            problem=self._reason_unusable(found, manifest, np.frombuffer(scores.whole)),
            reliability=tuple(found.reliability()),
        )

    def _reason_unusable(
        self, found: MetricCalibration, manifest: Manifest, whole: Numbers
    ) -> str | None:
        days = manifest.plan.max_age
        if len(found.rows) < MIN_ROWS:
            rows = count(len(found.rows), "labelled row")
            return f"it has {rows}, and gates need {MIN_ROWS}; label more"
        if days is not None and manifest.started_at - found.labelled_at > timedelta(days=days):
            day = f"{found.labelled_at:%Y-%m-%d}"
            why = f"its newest label is of {day}, over {days} days before the run (max_age)"
            return f"{why}; label rows of this run"
        supports = [row.support for row in found.rows if row.support is not None]
        if whole.size and supports:
            share = float(np.mean((whole < min(supports)) | (whole > max(supports))))
            if share > MAX_OUTSIDE * 2 / (len(supports) + 1):
                return (
                    f"the judge's confidence in {share:.0%} of the rows is outside the labelled "
                    f"range, {min(supports):.2f} to {max(supports):.2f}; label rows of this run"
                )
        return None

    def save(self) -> Path:
        path = _path(self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.model_dump_json(indent=1) + "\n")
        return path


def calibratable(metrics: Mapping[str, MetricInfo]) -> list[str]:
    return [
        name for name, info in metrics.items() if info.range == (0, 1) and info.higher_is_better
    ]


def load_calibration(name: str) -> Calibration:
    path = _path(name)
    if not path.is_file():
        known = sorted(each.stem for each in FOLDER.glob("*.json"))
        raise UsageError(
            f"there is no calibration {name!r} in {FOLDER} ({', '.join(known) or 'none'}); create "
            f"it with `ragstone labels calibrate RUN --name {name}`"
        )
    check_file(path)
    try:
        found = Calibration.model_validate_json(path.read_bytes())
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise UsageError(
            f"{path} is not a calibration of this version ({place or 'all of it'}: {fault['msg']});"
            f" create it again with `ragstone labels calibrate RUN --name {name}`"
        ) from None
    return found.model_copy(update={"name": name})


def _answers(manifest: Manifest) -> str | None:
    """Return a hash of the file with the answers; None if they were not in it, or not all read."""
    plan, file = manifest.plan, manifest.source.fingerprint
    if manifest.target or plan.limit or manifest.source.sample or file is None:
        return None
    return sha256(json.dumps([file, plan.sheet, dict(plan.columns)]).encode()).hexdigest()


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot name a calibration: use letters, digits, dots, _ and - only"
        )
    return FOLDER / f"{name}.json"


def majority(labels: Iterable[HumanLabel]) -> dict[Unit, bool]:
    """Return the majority of each unit's labels; "cannot tell" and ties do not count."""
    votes: dict[Unit, list[bool]] = {}
    for label in labels:
        if label.value is not None:
            unit = label.metric, label.position, label.claim
            votes.setdefault(unit, []).append(label.value)
    shares = {unit: sum(values) / len(values) for unit, values in votes.items()}
    return {unit: share > 0.5 for unit, share in shares.items() if share != 0.5}


def verdict_of(score: Score | None, claim: int | None) -> bool | None:
    """Return whether the judge found a claim, or else the whole response, supported."""
    if score is None or score.value is None:
        return None
    if claim is None:
        return score.value == 1
    known = claim < len(score.claims)
    return score.claims[claim].label is Verdict.SUPPORTED if known else None
