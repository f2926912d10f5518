"""The outcome of each row: whether its answer is right, and whether what it needed was found."""

from array import array
from collections.abc import Iterable, Mapping
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import base_name, cutoff_of
from ragstone.types.claim import Label
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

BY_REFERENCE = ("answer_correctness", "claim_recall", "claim_precision", "exact_match", "contains")
"""The metrics that compare an answer with its reference; the first that ran decides."""
BY_CONTEXTS = "faithfulness"  # decides if none of them ran
MIN_SHARE = 0.5  # of the reference's claims, in an answer that is right


class Outcome(StrEnum):
    """What became of a query; by faithfulness, *right* means that the contexts support it."""

    RIGHT = "right"
    WRONG = "wrong"
    DECLINED = "declined"
    NOT_JUDGED = "not judged"


class Found(StrEnum):
    """Whether the contexts have what the answer needs."""

    FOUND = "found"
    NOT_FOUND = "not found"
    UNKNOWN = "unknown"


OUTCOMES, FOUND = tuple(Outcome), tuple(Found)  # in arrays, each is its index
Codes = NDArray[np.int8]


def deciding_metrics(names: Iterable[str]) -> list[str]:
    """Return the metrics that can decide whether an answer is right, the best first."""
    order = (*BY_REFERENCE, BY_CONTEXTS)
    return sorted(
        (n for n in names if base_name(n) in order), key=lambda n: order.index(base_name(n))
    )


def abstention(row: Row) -> tuple[bool | None, bool | None]:
    """Return whether the answer abstains, and whether its query can be answered, if known."""
    for score in row.scores.values():
        if (abstained := score.detail.get("abstained")) is not None:
            answerable = score.detail.get("answerable")
            return bool(abstained), None if answerable is None else bool(answerable)
    blank = row.sample.response is not None and not row.sample.response.strip()
    return (True if blank else None), None


def is_right(metric: str, score: Score) -> bool | None:
    """Return whether the answer is right by a score; None if it does not show that."""
    if score.value is None or score.fallback:
        return None
    if base_name(metric) == BY_CONTEXTS:
        labels = {claim.label for claim in score.claims}
        return labels == {Label.SUPPORTED} if labels else score.value == 1
    if score.passed is not None:
        return score.passed
    if base_name(metric) != "claim_recall" and any(
        claim.label is Label.CONTRADICTED for claim in score.claims
    ):
        return False
    recall = score.detail.get("recall")
    share = recall if isinstance(recall, int | float) else score.value
    return share >= MIN_SHARE


def outcome(row: Row, metric: str) -> Outcome:
    """Return a row's outcome by one of `deciding_metrics`."""
    if row.sample.response is None:
        return Outcome.NOT_JUDGED
    abstained, answerable = abstention(row)
    by_reference = base_name(metric) != BY_CONTEXTS
    if abstained:
        return Outcome.RIGHT if by_reference and answerable is False else Outcome.DECLINED
    if by_reference and answerable is False:
        return Outcome.WRONG
    right = is_right(metric, row.scores[metric])
    found = [score.state for name, score in row.scores.items() if base_name(name) == "abstention"]
    unclear = by_reference and abstained is None and State.FAILED in found
    if right is None or (unclear and not right):  # it may have declined
        return Outcome.NOT_JUDGED
    return Outcome.RIGHT if right else Outcome.WRONG


def found_by_ids(sample: Sample, depth: int | None = None) -> Found:
    """Return whether a relevant document is among the contexts, or the first `depth` ranked."""
    wanted = {name for name, grade in (sample.relevance or {}).items() if grade > 0}
    seen = sample.contexts
    ids = [each.id for each in seen or () if each.id is not None]
    if not ids and sample.ranking is not None:
        ids = [*sample.ranked_ids[: len(seen) if seen else depth]]
    nothing = () in (seen, sample.ranking)
    if not wanted or not (ids or nothing):
        return Found.UNKNOWN
    return Found.NOT_FOUND if wanted.isdisjoint(ids) else Found.FOUND


def found_by_claims(row: Row) -> Found:
    """Return whether the contexts state at least half of the reference's claims."""
    for name, score in row.scores.items():
        if base_name(name) == "context_recall" and score.value is not None and not score.fallback:
            return Found.FOUND if score.value >= MIN_SHARE else Found.NOT_FOUND
    return Found.UNKNOWN


class Outcomes:
    """The outcomes of many rows, in few bytes each; rows may come in any order and in parts."""

    def __init__(self, metrics: Iterable[str]) -> None:
        names = list(metrics)
        depths = [k for name in names if (k := cutoff_of(name)) is not None]
        self.depth = max(depths, default=None)
        self._by_metric = {name: array("b") for name in deciding_metrics(names)}
        self._by_ids, self._by_claims = array("b"), array("b")
        self.declines_known = False
        self.references = 0  # rows with one

    def add(self, row: Row) -> None:
        for name, codes in self._by_metric.items():
            codes.append(OUTCOMES.index(outcome(row, name)))
        self._by_ids.append(FOUND.index(found_by_ids(row.sample, self.depth)))
        self._by_claims.append(FOUND.index(found_by_claims(row)))
        self.references += row.sample.closest_reference is not None
        self.declines_known |= any("abstained" in score.detail for score in row.scores.values())

    def merge(self, other: "Outcomes") -> None:
        for mine, theirs in zip(self._arrays(), other._arrays(), strict=True):
            mine.extend(theirs)
        self.declines_known |= other.declines_known
        self.references += other.references

    def reorder(self, order: NDArray[np.intp]) -> None:
        for codes in self._arrays():
            codes[:] = array("b", np.frombuffer(codes, np.int8)[order].tobytes())

    def _arrays(self) -> "list[array[int]]":
        return [*self._by_metric.values(), self._by_ids, self._by_claims]

    @property
    def by_metric(self) -> Mapping[str, Codes]:
        return {name: np.frombuffer(codes, np.int8) for name, codes in self._by_metric.items()}

    @property
    def ids_known(self) -> bool:
        """Whether relevant ids show for any row what was found."""
        return bool(np.any(np.frombuffer(self._by_ids, np.int8) != FOUND.index(Found.UNKNOWN)))

    def found(self, *, by_ids: bool) -> Codes:
        """Return what is known by the user's ids first, else by claims; `by_ids` trusts the ids."""
        by_claims = np.frombuffer(self._by_claims, np.int8)
        if not by_ids:
            return by_claims
        ids, unknown = np.frombuffer(self._by_ids, np.int8), FOUND.index(Found.UNKNOWN)
        return np.where(ids == unknown, by_claims, ids)
