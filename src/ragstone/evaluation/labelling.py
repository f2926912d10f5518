"""Labelling: which claims of a run a person should judge, in which order, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, TypeAdapter

from ragstone.errors import UsageError
from ragstone.results.stats.corrected import LabelledScores, corrected_mean
from ragstone.results.stats.sampling import Draw, Stratum
from ragstone.store import RunInfo, Store, StoreError
from ragstone.store.reader import StoredRows
from ragstone.types.claim import JudgedClaim
from ragstone.types.claim import Label as Word
from ragstone.types.label import Label
from ragstone.types.row import Row

METRIC = "faithfulness"
"""The metric whose claims are labelled, under any policy."""
RULE = (
    "Supported: the contexts state it, or it follows from them without other knowledge. "
    "Not supported: any part of it is missing from the contexts or contradicts them, even if it "
    "is true. Read the contexts as the only source."
)
RATES = {True: 0.9, False: 0.3}
"""Whether the judge supports a claim -> how often a person does, if the judge has no confidence."""
BOUNDS = 0.05, 0.95
"""The least and the highest expected probability of a label, because judges are too sure."""
SIMULATIONS = 9
"""Simulated sets of labels for the expected width of an interval."""


class _Claim(BaseModel):
    text: str
    label: Word
    confidence: float | None = None


class _Score(BaseModel):
    state: str
    claims: tuple[_Claim, ...] = ()


class _Sample(BaseModel):
    id: str


class ClaimRow(BaseModel):
    """The part of a stored row that labels refer to."""

    index: int
    sample: _Sample
    scores: dict[str, _Score]


_ROW: TypeAdapter[ClaimRow] = TypeAdapter(ClaimRow)


def read_claims(store: Store, run_id: str) -> list[ClaimRow]:
    rows = store.load(run_id).rows
    if not isinstance(rows, StoredRows):
        raise StoreError(f"run {run_id} has rankings only; label a run of answers")
    return list(rows.read_as(_ROW))


def metric_of(info: RunInfo, given: str | None = None) -> str:
    names = [name for name in info.metrics if name.partition(":")[0].partition(",")[0] == METRIC]
    if given in names or (names and given is None):
        return given or names[0]
    known = f"choose one of {', '.join(names)}" if names else f"run it with -m {METRIC}"
    raise UsageError(
        f"run {info.id} has no {given or METRIC} whose claims can be labelled; {known}"
    )


class DrawnRow(NamedTuple):
    """A row to label, in the order of labelling.

    `probability` is its chance to be drawn, and `draws` the size of the smallest draw that has it.
    """

    position: int
    sample_id: str
    claims: int
    stratum: str
    probability: float
    draws: int


@dataclass(frozen=True)
class LabelPlan:
    """The rows of a run to label.

    Attributes:
        draw: how many rows come from each stratum, and from all rows.
        rows: the drawn rows; each first part of them is a draw of its own.
        widths: number of labels -> the expected width of the corrected mean's 95% interval.
    """

    draw: Draw
    rows: Sequence[DrawnRow]
    widths: dict[int, float]

    @property
    def claims(self) -> int:
        return sum(row.claims for row in self.rows)

    def chances(self, labelled: Mapping[int, float]) -> dict[int, float]:
        """Return the chance of each row, by position, to be in the smallest draw with these rows.

        `labelled` has positions, and chances of a larger draw if they are from one.
        """
        draw = self.draw.smaller(max(row.draws for row in self.rows if row.position in labelled))
        strata = {row.position: row.stratum for row in self.rows}
        found = dict(zip((each.name for each in draw.strata), draw.probabilities, strict=True))
        for position, chance in labelled.items():
            if position in strata and chance < 1:  # else it was not drawn
                found[strata[position]] = max(found[strata[position]], chance)
        return {position: found[stratum] for position, stratum in strata.items()}


def plan_labels(
    rows: Sequence[ClaimRow], metric: str, *, labels: int, seed: str, widths: Sequence[int] = ()
) -> LabelPlan:
    """Draw rows with about so many claims; the same `seed` gives the same rows, and more of them.

    The strata are rows whose claims are all supported and other rows, each split at the median of
    the judge's lowest confidence, if it has any. A row is drawn with all of its claims. Numbers in
    `widths` beyond that of all claims are that number.
    """
    judged: list[tuple[ClaimRow, Sequence[_Claim], bool, float]] = []
    for row in rows:
        if (score := row.scores.get(metric)) and score.state == "scored" and score.claims:
            supported = all(each.label is Word.SUPPORTED for each in score.claims)
            known = [each.confidence for each in score.claims if each.confidence is not None]
            judged.append((row, score.claims, supported, min(known, default=1.0)))
    if not judged:
        raise UsageError(f"no row has claims of {metric} to label")
    middle = {
        word: median([least for _, _, supported, least in judged if supported is word] or [0])
        for word in (True, False)
    }
    graded = any(least < 1 for _, _, _, least in judged)
    names: dict[str, list[int]] = {}
    for number, (_, _, supported, least) in enumerate(judged):
        name = "all supported" if supported else "not all supported"
        if graded:
            name += ", less sure" if least < middle[supported] else ", more sure"
        names.setdefault(name, []).append(number)

    strata: list[Stratum] = []
    codes = [0] * len(judged)
    for code, (name, members) in enumerate(sorted(names.items())):
        claims = [claim for number in members for claim in judged[number][1]]
        rate = fmean(map(_support, claims))
        strata.append(Stratum(name, rows=len(members), claims=len(claims), rate=rate))
        for number in members:
            codes[number] = code
    draw = Draw.of(strata, labels)
    number = int.from_bytes(sha256(seed.encode()).digest()[:8], "big")
    probabilities = draw.probabilities
    drawn = [
        DrawnRow(
            position=judged[place][0].index,
            sample_id=judged[place][0].sample.id,
            claims=len(judged[place][1]),
            stratum=strata[codes[place]].name,
            probability=probabilities[codes[place]],
            draws=draws,
        )
        for place, draws in draw.rows(codes, seed=number).items()
    ]
    expected = {
        n: _expected_width([each[1] for each in judged], Draw.of(strata, n), codes, seed=number)
        for n in sorted({min(n, sum(each.claims for each in strata)) for n in widths})
    }
    return LabelPlan(draw, drawn, expected)


def _expected_width(
    rows: Sequence[Sequence[_Claim]], draw: Draw, codes: Sequence[int], *, seed: int
) -> float:
    """Return the median width of the corrected mean's interval with simulated labels.

    A person supports each claim with the probability that the judge gives it.
    """
    rng = np.random.default_rng(seed)
    places = [*draw.rows(codes, seed=seed)]
    scores = np.array([fmean(each.label is Word.SUPPORTED for each in claims) for claims in rows])
    chances = np.array(draw.probabilities)[[codes[place] for place in places]]
    widths: list[float] = []
    for _ in range(SIMULATIONS):
        human = [fmean(rng.random() < _support(each) for each in rows[place]) for place in places]
        low, high = corrected_mean(
            LabelledScores(
                scores=scores,
                units=range(len(rows)),
                judged=scores[places],
                human=np.array(human),
                chances=chances,
                labelled=places,
            )
        ).interval
        widths.append(high - low)
    return median(widths)


def _support(claim: _Claim) -> float:
    supported = claim.label is Word.SUPPORTED
    if claim.confidence is None:
        return RATES[supported]
    probability = claim.confidence if supported else 1 - claim.confidence
    return min(max(probability, BOUNDS[0]), BOUNDS[1])


class Item(NamedTuple):
    """A claim to label."""

    position: int
    claim: int


@dataclass
class LabelSession:
    """One annotator's way through the claims of a plan; every answer is stored at once.

    Attributes:
        reopened: claims to ask for again whose verdict the annotator has seen. Their labels stay
            until then, so that a later session knows that the annotator is not blind.
    """

    store: Store
    run_id: str
    metric: str
    annotator: str
    plan: LabelPlan
    skipped: list[Item] = field(default_factory=list[Item])
    reopened: set[Item] = field(default_factory=set[Item])

    def _owns(self, label: Label) -> bool:
        return (label.metric, label.annotator) == (self.metric, self.annotator)

    @property
    def items(self) -> list[Item]:
        """All claims of the plan, in order."""
        return [Item(row.position, n) for row in self.plan.rows for n in range(row.claims)]

    @property
    def labels(self) -> dict[Item, Label]:
        found = self._stored()
        return {item: label for item, label in found.items() if item not in self.reopened}

    def _stored(self) -> dict[Item, Label]:
        items = set(self.items)
        found = {
            Item(label.position, label.claim): label
            for label in sorted(self.store.labels(self.run_id), key=lambda label: label.at)
            if self._owns(label) and label.claim is not None
        }
        return {item: label for item, label in found.items() if item in items}

    def next(self) -> Item | None:
        labels = self.labels
        left = [item for item in self.items if item not in labels]
        first = (item for item in left if item not in self.skipped)
        return next(first, next((item for item in self.skipped if item in left), None))

    def answer(self, item: Item, value: bool | None) -> None:
        """Store a label of a claim; None is "cannot tell".

        All labels get the chances of the smallest draw that has all labelled rows.
        """
        row = next((row for row in self.plan.rows if row.position == item.position), None)
        if row is None or not 0 <= item.claim < row.claims:
            raise UsageError(f"row {item.position} has no claim {item.claim} to label")
        stored = self._stored()
        given = stored.get(item)
        labelled = {each.position: label.probability for each, label in stored.items()}
        chances = self.plan.chances({item.position: 0.0} | labelled)
        label = Label(
            run=self.run_id,
            position=item.position,
            sample_id=row.sample_id,
            metric=self.metric,
            claim=item.claim,
            value=value,
            annotator=self.annotator,
            at=datetime.now(UTC),
            probability=chances[row.position],
            blind=given is None or given.blind,
        )
        self.store.add_labels(self.run_id, [label])
        self.reopened.discard(item)

        def weighted(label: Label) -> Label:
            chance = max(label.probability, chances.get(label.position, 0))
            return replace(label, probability=chance) if self._owns(label) else label

        self.store.change_labels(self.run_id, weighted)

    def skip(self, item: Item) -> None:
        self.skipped = [*(each for each in self.skipped if each != item), item]

    def undo(self) -> Item | None:
        """Ask for the newest labelled claim again, and return it; None if there is none.

        Its label is deleted, or stays until the next answer if it is not blind.
        """
        labels = self.labels
        if not labels:
            return None
        item, label = list(labels.items())[-1]
        if label.blind:
            self.store.delete_label(self.run_id, label)
        else:
            self.reopened.add(item)
        return item

    def row(self, item: Item) -> Row:
        row = self.store.row(self.run_id, item.position)
        assert row is not None, "labels need a row"
        return row

    def verdict(self, item: Item) -> JudgedClaim | None:
        if item not in self.labels:
            return None

        def seen(label: Label) -> Label:
            own = self._owns(label) and (label.position, label.claim) == item
            return replace(label, blind=False) if own else label

        self.store.change_labels(self.run_id, seen)
        return self.row(item).scores[self.metric].claims[item.claim]
