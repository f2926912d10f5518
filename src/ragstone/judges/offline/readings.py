"""Reading: what the contexts hold of one claim, found once for the verdict and for its measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.judges.offline.conflicts import Conflict, find_conflicts
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.stretches import Stretch, Stretches
from ragstone.judges.offline.terms import ClaimText
from ragstone.judges.offline.windows import (
    Window,
    find_rival,
    find_sentences,
    find_windows,
    union,
)

NEARLY = 0.1
"""A window this much weaker than the best still counts, where it has no conflict."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim with terms, and where the contexts have them.

    Attributes:
        claim: the claim, taken apart.
        sentences: number of a sentence that has any of its terms -> which it has; never empty.
        window: the sentences that say most of it.
        stretch: their text.
        everywhere: number of a term -> how surely it stands anywhere in the contexts.
        conflict: what the window says otherwise, if anything.
    """

    claim: ClaimText
    sentences: Mapping[int, Window]
    window: Window
    stretch: Stretch
    everywhere: Mapping[int, float]
    conflict: Conflict | None


def read_contexts(claim: ClaimText, index: ContextIndex, stretches: Stretches) -> Reading | None:
    """Return what the contexts hold of a claim; None where they have no term of it."""
    sentences = find_sentences(claim, index)
    if not sentences:
        return None
    window, conflict = _choose(claim, find_windows(claim, index, sentences), stretches)
    if conflict is None and (rival := find_rival(claim, index, sentences)):
        conflict = _conflict(claim, rival, stretches)
        window = rival if conflict else window
    stretch, everywhere = stretches.of(window.first, window.last), union(sentences)
    return Reading(claim, sentences, window, stretch, everywhere, conflict)


def _choose(
    claim: ClaimText, windows: Sequence[Window], stretches: Stretches
) -> tuple[Window, Conflict | None]:
    """Return the best window without a conflict among those near the best, else the best."""
    first: Conflict | None = None
    for window in windows:
        if window.coverage < windows[0].coverage - NEARLY:
            break
        conflict = _conflict(claim, window, stretches)
        if conflict is None:
            return window, None
        first = first or conflict
    return windows[0], first


def _conflict(claim: ClaimText, window: Window, stretches: Stretches) -> Conflict | None:
    covered = window.coverage * claim.weight
    stretch = stretches.of(window.first, window.last)
    for conflict in find_conflicts(claim, window, stretch):
        if covered >= conflict.needs * (claim.weight - conflict.weight):
            return conflict
    return None
