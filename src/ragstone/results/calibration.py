"""Calibration: people's labels of a run, and the means that they correct.

A judge errs, and more often in one direction. People label some rows, drawn at random, and
`stats.labels` estimates the mean that they would have given all of them. Labels of other answers
do not show it: how often a judge errs differs between systems.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import timedelta
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
from ragstone.results.stats.intervals import Numbers
from ragstone.types.claim import Label as Verdict
from ragstone.types.config import ORIGIN, Manifest
from ragstone.types.gate import EPSILON
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row, find_row
from ragstone.types.score import ALL_SUPPORTED, Correction, MetricInfo, Score

FOLDER = Path(".ragstone") / "calibrations"
MIN_ROWS = 20  # labelled rows that a gate needs; the intervals were tested from this number on
MAX_MISSING = 0.1  # share of the drawn rows that may have no label
MAX_OUTSIDE = 3.0  # times more rows beyond the labelled range than expected: a gate is refused
_NAME = re.compile(r"[\w][\w.-]{0,99}")
_PASS_MARK = re.compile(r",threshold=[^,]+")  # a part of a metric's name that changes no score

Unit = tuple[str, int, int | None]  # metric, the row's index, the claim or None (the response)
MeanOf = Literal["verdicts", "support", "row"]  # "row": of neither
MEANS: tuple[MeanOf, ...] = ("verdicts", "support", "row")
_Share = Annotated[float, Field(ge=0, le=1)]


class LabelledClaim(FrozenModel):
    judge: bool
    support: _Share | None  # the judge's probability that it is supported
    human: bool


class LabelledRow(FrozenModel):
    """A row with a label of every claim, and the mean of its labels as `human`."""

    position: int
    text_hashes: str  # a hash of its answer and contexts
    judged: _Share
    human: _Share
    group: int
    claims: Annotated[tuple[LabelledClaim, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if abs(sum(claim.human for claim in self.claims) / len(self.claims) - self.human) > EPSILON:
            raise ValueError("`human` is not the mean of the claims")
        return self


class MetricCalibration(FrozenModel):
    of: Literal["claims", "responses"]  # for responses, the mean is the share of faithful ones
    mean_of: MeanOf  # what of its claims a score is the mean of
    setup: str  # a hash of the judge, its prompts and its settings
    annotators: tuple[str, ...]
    not_blind: int
    labelled_at: AwareDatetime
    drawn: int  # rows that the random order has up to the last labelled one
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
        scored: Mapping[bytes, bool],
    ) -> Self | None:
        """Return the labels of a metric, of claims or responses; None if no row counts.

        Of both kinds, the one with labels of more rows counts. `rows` are places in the run, rows
        and their labels; `scored` is the `draw_key` of each scored row, and whether it has claims.
        Labels of claims need scores that are means of claims.
        """
        kinds = Counter(kind for *_, labels in rows for kind in {x.claim is None for x in labels})
        of_claims = kinds[False] >= kinds[True]
        used: list[HumanLabel] = []
        labelled: list[LabelledRow] = []
        last = b""
        fits: dict[MeanOf, bool] = dict.fromkeys(MEANS, all(scored.values()))
        for place, row, labels in rows:
            score = row.scores[metric]
            of_row = [label for label in labels if (label.claim is not None) == of_claims]
            human = {claim: value for (_, _, claim), value in majority(of_row).items()}
            if score.value is None or not of_row:
                continue
            if of_claims:
                low, support, high = _means(score)
                fits["verdicts"] &= abs(score.value - low) < EPSILON
                fits["support"] &= abs(score.value - support) < EPSILON
                fits["row"] &= low - EPSILON < score.value < high + EPSILON
            claims = _labelled_claims(score, human)
            if None in claims or not human:
                continue
            last = max(last, draw_key(row.sample.id, row.sample.query))
            used += of_row
            labelled.append(
                LabelledRow(
                    position=row.index,
                    text_hashes=row.sample.text_hashes,
                    judged=score.value,
                    human=sum(claim.human for claim in claims if claim) / len(claims),
                    group=place if groups is None else int(groups[place]),
                    claims=tuple(filter(None, claims)),
                )
            )
        only_whole = not any(scored.values())  # else only rows with claims are drawn
        mean_of: MeanOf | None = next((kind for kind in MEANS if fits[kind]), None)
        if of_claims and mean_of is None:
            raise UsageError(
                f"{metric} cannot be calibrated with labels of claims, because its policy does "
                "not score the share of supported claims; `ragstone runs rescore RUN --policy "
                "strict` makes a run that can be labelled"
            )
        if not labelled:
            return None
        return cls(
            of="claims" if of_claims else "responses",
            mean_of=mean_of if of_claims and mean_of else "row",
            setup=setup,
            not_blind=sum(not label.blind for label in used),
            annotators=tuple(sorted({label.annotator for label in used})),
            labelled_at=max(label.at for label in used),
            drawn=sum(key <= last for key, claims in scored.items() if claims or only_whole),
            rows=tuple(labelled),
        )

    @property
    def gaps(self) -> str:
        """How many of the rows that were drawn have no label that counts; empty if all have one."""
        missing, rows = max(0, self.drawn - len(self.rows)), count(self.drawn, "row")
        return f"{missing:,} of the first {rows} drawn have no label that counts" * bool(missing)

    @property
    def problem(self) -> str | None:
        """Why no gate can rest on these labels, if so."""
        rows, gaps = count(len(self.rows), "labelled row"), self.gaps and f"{self.gaps}; "
        if len(self.rows) < MIN_ROWS:
            return f"it has {rows}, and gates need {MIN_ROWS}; {gaps}label more"
        if self.drawn - len(self.rows) > MAX_MISSING * self.drawn:
            return f"{gaps}the others may be unlike them, so label those, too"
        return None

    def changed(self, rows: Sequence[Row], metric: str | None) -> int:
        """Count the labelled rows with other texts, or of `metric` with another score."""
        changed = 0
        for labelled in self.rows:
            row = find_row(rows, labelled.position)
            changed += (
                row is None
                or row.sample.text_hashes != labelled.text_hashes
                or (metric is not None and row.scores[metric].value != labelled.judged)
            )
        return changed

    @property
    def claims(self) -> list[LabelledClaim]:
        return [claim for row in self.rows for claim in row.claims]

    @property
    def table(self) -> stats.Agreement:
        return stats.Agreement.of((claim.judge, claim.human) for claim in self.claims)

    @property
    def agreement(self) -> dict[str, stats.Corrected | None]:
        """How far judge and people agree; see `stats.agreement_figures`."""
        return stats.agreement_figures(
            [
                (claim.judge, claim.human, claim.support, row.group)
                for row in self.rows
                for claim in row.claims
            ]
        )

    @property
    def shift(self) -> float:
        """How much higher people score the labelled rows than the judge."""
        judged = [row.judged if self.of == "claims" else row.judged == 1 for row in self.rows]
        higher = np.array([row.human for row in self.rows]) - np.array(judged, dtype=float)
        return float(higher.mean())

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
        mean_of: MeanOf | None = None,
    ) -> stats.LabelledScores:
        """Return a run's scores and these labels; `keys` are the units of the labelled rows.

        `mean_of` is what `scores` are the means of, if they are not the metric's own.
        """
        kind = mean_of or self.mean_of
        columns: list[tuple[float, float, float]] = []
        groups: list[Hashable] = []
        for row, key in zip(self.rows, keys or [row.group for row in self.rows], strict=True):
            parts = [(float(row.judged), float(row.human))]
            if kind != "row":
                # the row's weight is divided among its claims, of which its score is the mean
                given = ((c.support or 0 if kind == "support" else c.judge) for c in row.claims)
                parts = [(float(x), float(c.human)) for x, c in zip(given, row.claims, strict=True)]
            columns += [(judge, human, len(parts)) for judge, human in parts]
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
    labels: str  # a hash of them
    metrics: FrozenMap[str, MetricCalibration]
    checksum: str = ""  # of the other fields in the file

    @classmethod
    def from_labels(
        cls,
        manifest: Manifest,
        metrics: Mapping[str, MetricInfo],
        rows: Iterable[Row],
        *,
        labels: Sequence[HumanLabel],
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
        keys: dict[str, dict[bytes, bool]] = {metric: {} for metric in given}
        for place, row in enumerate(rows):
            counts.add(row)
            for metric, known in keys.items():
                if (score := row.scores.get(metric)) and score.value is not None:
                    key = draw_key(row.sample.id, row.sample.query)
                    known[key] = bool(score.claims)
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
            calibrated = MetricCalibration.from_labels(
                [(*judged[position], few) for position, few in sorted(positions.items())],
                metric=metric,
                groups=groups,
                setup=manifest.judge_setups.get(metric, ""),
                scored=keys[metric],
            )
            if calibrated:
                found[metric] = calibrated
        if not found:
            raise UsageError(
                f"run {manifest.run_id} has no row whose labels decide: they are ties, of "
                "some of its claims only, or of rows whose score is undefined or failed"
            )
        return cls(
            name=name,
            run=manifest.run_id,
            data=manifest.source.name,
            fingerprint=_answers(manifest),
            judge=manifest.judge,
            labels=hash_labels(labels),
            metrics=found,
        )

    def find(self, metric: str) -> MetricCalibration | None:
        labelled = {_PASS_MARK.sub("", name): each for name, each in self.metrics.items()}
        return labelled.get(_PASS_MARK.sub("", metric))

    def of_another_run(self, manifest: Manifest) -> str | None:
        """Return that the labels are of another run, and what to do; None if they are of this one.

        Another run of the same file of answers counts as this one.
        """
        answers, rescored = _answers(manifest), manifest.identity.get(ORIGIN)
        if self.run in (manifest.run_id, rescored) or (answers and answers == self.fingerprint):
            return None
        return (
            f"its labels are of run {self.run} ({self.data}), not of this run of "
            f"{manifest.source.name}; label 20 to 30 rows of this one with `ragstone labels start "
            "RUN --n 80`, and then use `ragstone labels calibrate RUN`"
        )

    def correct(
        self, metric: str, manifest: Manifest, counts: RunSummaryBuilder, rows: Sequence[Row]
    ) -> Correction | None:
        found, scores = self.find(metric), counts.scores[metric]
        kind, _ = split_threshold(metric)
        same = [name for name in self.metrics if split_threshold(name)[0] == kind]
        if not same:
            return None
        values = np.frombuffer(scores.values)
        other, problem = "", self.of_another_run(manifest)
        if found is None:
            other = f"{same[0]}, with another policy or claim mode"
        elif self.judge != manifest.judge:
            other = f"the judge {self.judge}, and this run used {manifest.judge}"
        elif found.setup != manifest.judge_setups.get(metric, ""):
            other = f"other prompts or settings of the judge {self.judge}"
        if found is None or other or not values.size:
            problem = problem or (other and f"it is for {other}; label rows of this run")
            return Correction(calibration=self.name, problem=problem or "no row was scored")
        judge = float((values if found.of == "claims" else values == 1).mean())
        if problem:
            shifted = min(max(judge + found.shift, 0.0), 1.0)
            return Correction(calibration=self.name, judge=judge, shifted=shifted, problem=problem)
        if changed := found.changed(rows, metric if manifest.run_id == self.run else None):
            problem = (
                f"{changed:,} of its {count(len(found.rows), 'labelled row')} changed since; label "
                f"them again, and then use `ragstone labels calibrate {manifest.run_id}`"
            )
            return Correction(calibration=self.name, problem=problem)
        groups = scores.scored_groups(counts.grouping.labels)
        units = range(len(values)) if groups is None else groups.tolist()
        mean_of = found.mean_of
        if found.of == "claims" and len(scores.support) == len(values):
            # probabilities say more than verdicts, so the interval is narrower
            values, mean_of = np.frombuffer(scores.support), "support"
        labelled = found.scores(values, units, mean_of=mean_of)
        result = stats.corrected_mean(labelled)
        return Correction(
            calibration=self.name,
            mean=result.mean,
            interval=result.interval,
            judge=judge,
            labels=len(found.rows),
            of=found.of,
            problem=self._reason_unusable(found, manifest, values, labelled.judged),
        )

    def _reason_unusable(
        self, found: MetricCalibration, manifest: Manifest, values: Numbers, labelled: Numbers
    ) -> str | None:
        days, n = manifest.plan.max_age, len(found.rows)
        if problem := found.problem:
            return problem
        if days is not None and manifest.started_at - found.labelled_at > timedelta(days=days):
            day = f"{found.labelled_at:%Y-%m-%d}"
            why = f"its newest label is of {day}, over {days} days before the run (max_age)"
            return f"{why}; label rows of this run"
        low, high = float(labelled.min()), float(labelled.max())
        share = np.count_nonzero((values < low - EPSILON) | (values > high + EPSILON)) / values.size
        if share > MAX_OUTSIDE * 2 / (n + 1):
            return (
                f"the judge's figure for {share:.0%} of the rows is outside the labelled range, "
                f"{low:.2f} to {high:.2f}; label rows of this run"
            )
        return None

    def save(self) -> Path:
        path = _path(self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        signed = self.model_copy(update={"checksum": self.digest()})
        write_text(path, signed.model_dump_json(indent=1) + "\n")
        return path

    def digest(self) -> str:
        return sha256(self.model_dump_json(exclude={"name", "checksum"}).encode()).hexdigest()


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
    if found.checksum != found.digest():
        raise UsageError(
            f"{path} is not as ragstone wrote it; create it again with `ragstone labels calibrate "
            f"{found.run} --name {name}`"
        )
    return found.model_copy(update={"name": name, "checksum": ""})


def hash_labels(labels: Iterable[HumanLabel]) -> str:
    lines = sorted(repr((x.metric, x.position, x.claim, x.annotator, x.value)) for x in labels)
    return sha256("\n".join(lines).encode()).hexdigest()


def _answers(manifest: Manifest) -> str | None:
    """Return a hash of the file with the answers; None if they were not in it, or not all read."""
    plan, file = manifest.plan, manifest.source.fingerprint
    if manifest.target or plan.limit or manifest.source.sample or file is None:
        return None
    read = file, plan.sheet, plan.header_row, dict(plan.columns)
    return sha256(json.dumps(read).encode()).hexdigest()


def draw_key(sample_id: str, query: str) -> bytes:
    """Return a row's place in a random order, which is that of all runs of the same questions."""
    return sha256(json.dumps([sample_id, query]).encode()).digest()


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


def _means(score: Score) -> tuple[float, float, float]:
    """Return the shares of claims supported at all, by probability, and also partially."""
    n, labels = max(1, len(score.claims)), [claim.label for claim in score.claims]
    whole, partly = map(labels.count, (Verdict.SUPPORTED, Verdict.PARTIALLY_SUPPORTED))
    support = sum(math.nan if c.support is None else c.support for c in score.claims)
    return whole / n, support / n, (whole + partly) / n


def _labelled_claims(score: Score, human: Mapping[int | None, bool]) -> list[LabelledClaim | None]:
    """Return all claims of a score, None for one without a label, or the whole response."""
    if None in human:
        whole = score.detail.get(ALL_SUPPORTED)
        support = whole if isinstance(whole, float) else None
        return [LabelledClaim(judge=score.value == 1, support=support, human=human[None])]
    return [
        LabelledClaim(judge=each.label is Verdict.SUPPORTED, support=each.support, human=human[n])
        if n in human
        else None
        for n, each in enumerate(score.claims)
    ]


def verdict_of(score: Score | None, claim: int | None) -> bool | None:
    """Return whether the judge found a claim, or else the whole response, supported."""
    if score is None or score.value is None:
        return None
    if claim is None:
        return score.value == 1
    known = claim < len(score.claims)
    return score.claims[claim].label is Verdict.SUPPORTED if known else None
