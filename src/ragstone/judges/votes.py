"""Votes: what several judges' words on one question come to."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from ragstone.claims import Label, Verdict
from ragstone.grades import Grade, Rating
from ragstone.questions import (
    DetectAbstention,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)

T = TypeVar("T")

VOTED = frozenset(
    kind.kind
    for kind in (VerifyClaims, GradeContexts, GradeSentences, DetectAbstention, RateResponse)
)
"""The kinds of question on which all judges of a panel are asked: all judge the same texts."""


@dataclass(frozen=True)
class Tally:
    """What the votes come to, and what is to be said of it."""

    value: object
    notes: tuple[str, ...] = ()


def tally(question: Question[T], values: Sequence[object]) -> Tally:
    """Count the judges' words on a question that is voted on."""
    if isinstance(question, VerifyClaims):
        ballots = zip(*cast("Sequence[tuple[Verdict, ...]]", values), strict=True)
        return Tally(tuple(map(_verdict, ballots)))
    if isinstance(question, DetectAbstention):
        return _abstention(cast("Sequence[bool]", values))
    if isinstance(question, RateResponse):
        scale = [level for level, _ in question.levels]
        return _rating(cast("Sequence[Rating]", values), scale)
    return _grades(cast("Sequence[tuple[Grade, ...]]", values))


def _verdict(votes: Sequence[Verdict]) -> Verdict:
    """Return the label with the most votes; where two have them, NOT_ENOUGH_INFO."""
    counts = Counter(vote.label for vote in votes)
    most = max(counts.values())
    winners = [label for label, count in counts.items() if count == most]
    if len(winners) == 1:
        first = next(vote for vote in votes if vote.label is winners[0])
        return first.model_copy(update={"confidence": most / len(votes)})
    split = ", ".join(f"{counts[label]} {label}" for label in Label if counts[label])
    return Verdict(
        label=Label.NOT_ENOUGH_INFO,
        reason=f"the judges disagree: {split}",
        confidence=counts[Label.NOT_ENOUGH_INFO] / len(votes),
    )


def _grades(values: Sequence[tuple[Grade, ...]]) -> Tally:
    """Return, number by number, what most judges say; a tie is not relevant."""
    grades: list[Grade] = []
    ties: list[str] = []
    for number, votes in enumerate(zip(*values, strict=True), 1):
        yes = sum(vote.relevant for vote in votes)
        if 2 * yes == len(votes):
            ties.append(str(number))
            reason = f"the judges disagree: {yes} relevant, {yes} not"
            grades.append(Grade(relevant=False, reason=reason))
        else:
            grades.append(next(vote for vote in votes if vote.relevant == (2 * yes > len(votes))))
    said = f"the judges disagree on {', '.join(ties)}, taken as not relevant"
    return Tally(tuple(grades), (said,) if ties else ())


def _abstention(votes: Sequence[bool]) -> Tally:
    """Return what most judges say; a tie is no abstention."""
    said = "the judges disagree on whether it abstains, taken as not abstaining"
    return Tally(2 * sum(votes) > len(votes), (said,) if 2 * sum(votes) == len(votes) else ())


def _rating(votes: Sequence[Rating], scale: Sequence[int]) -> Tally:
    """Return the median level, the lower of two in the middle."""
    levels = sorted(vote.level for vote in votes)
    steps = sorted(scale)
    apart = steps.index(levels[-1]) - steps.index(levels[0])
    said = f"the judges differ by {apart} level{'s' * (apart > 1)}: {', '.join(map(str, levels))}"
    lower, upper = levels[(len(levels) - 1) // 2], levels[len(levels) // 2]
    if lower != upper:
        said += f", taken as {lower}"
    first = next(vote for vote in votes if vote.level == lower)
    return Tally(first, (said,) if apart > 1 or lower != upper else ())
