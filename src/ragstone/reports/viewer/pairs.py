"""The pairs of a comparison: their order, as dots of a chart, and one of them side by side."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count
from ragstone.reports.format import brief
from ragstone.reports.html.charts import Dot
from ragstone.results.compare.comparison import Comparison
from ragstone.results.compare.metric_change import PairedScores
from ragstone.results.run import Run
from ragstone.types.row import Row
from ragstone.types.sample import Context

DIFFED = 2000
"""Words of a text that are compared; the time grows with their square."""
CELLS = 50
"""Dots in a row of a chart; pairs that are closer and changed in the same direction share a dot."""
_WORD = re.compile(r"\s*\S+|\s+$")


class Part(NamedTuple):
    """Adjacent words of a text, and whether the other text has others in their place."""

    text: str
    changed: bool


def word_diff(a: str, b: str) -> tuple[list[Part], list[Part]]:
    """Return both texts in parts; of texts that are too long, no part is changed.

    A few equal words between longer changes count as changed, for they are equal by chance.
    """
    words: tuple[list[str], list[str]] = (_WORD.findall(a), _WORD.findall(b))
    if max(map(len, words)) > DIFFED:
        return [Part(a, changed=False)], [Part(b, changed=False)]
    bare = [[word.strip() for word in side] for side in words]
    parts: tuple[list[Part], list[Part]] = ([], [])
    blocks = SequenceMatcher(None, bare[0], bare[1]).get_opcodes()
    lengths = [max(block[2] - block[1], block[4] - block[3]) for block in blocks]
    for number, (kind, *ends) in enumerate(blocks):
        around = [lengths[at] for at in (number - 1, number + 1) if 0 <= at < len(blocks)]
        is_chance = len(around) == 2 and 2 * lengths[number] <= min(around)
        for side, listed, (start, end) in zip(words, parts, (ends[:2], ends[2:]), strict=True):
            part = Part("".join(side[start:end]), kind != "equal" or is_chance)
            if listed and listed[-1].changed == part.changed:
                part = part._replace(text=listed.pop().text + part.text)
            if part.text:
                listed.append(part)
    return parts


def worst_first(scores: PairedScores, *, higher_is_better: bool) -> NDArray[np.int64]:
    """Return the places of the pairs in `scores`, those that got worse first, equal ones together.

    The order is that of the pages that lead from one pair to the next.
    """
    change = np.round(scores.b - scores.a, 12) * (1 if higher_is_better else -1)
    return np.lexsort((scores.places, scores.a, change))


def dots(comparison: Comparison, metric: str, link: Callable[[int], str]) -> Iterator[Dot]:
    scores = comparison.scores[metric]
    if not scores.places.size:
        return
    order = worst_first(scores, higher_is_better=_is_higher_better(comparison, metric))
    values = np.column_stack((scores.a, scores.b))[order]
    span = float(values.max() - values.min()) or 1.0
    signs = np.sign(np.round(values[:, 1] - values[:, 0], 12))
    cells = np.column_stack((np.round(values / span * CELLS), signs))
    _, firsts, numbers = np.unique(cells, axis=0, return_index=True, return_counts=True)
    rows = comparison.pairing.pairs.places[scores.places[order[firsts]], 0]
    for (a, b), number, row in zip(
        values[firsts].tolist(), numbers.tolist(), rows.tolist(), strict=True
    ):
        words = f"{count(number, 'sample')}: {brief(a)} in A, {brief(b)} in B"
        yield Dot(a, b, number, words, link(row))


def _is_higher_better(comparison: Comparison, metric: str) -> bool:
    return next(
        each.higher_is_better for each in comparison.metric_changes if each.metric == metric
    )


@dataclass(frozen=True)
class SamplePair:
    """A sample in both runs, and the rows of A before and after it in the order of a metric.

    Attributes:
        responses: of A and B in parts; None where there is none.
        contexts: of A and B, each with whether the other run has it too.
        rank: from 1, among `total` pairs that both runs scored; 0 if it is not among them.
    """

    a: Row
    b: Row
    responses: Sequence[Sequence[Part] | None]
    contexts: Sequence[Sequence[tuple[Context, bool]]]
    rank: int
    total: int
    previous: int | None
    next: int | None


def find_pair(comparison: Comparison, a: Run, b: Run, metric: str, row: int) -> SamplePair | None:
    pairs = comparison.pairing.pairs.places
    at = np.flatnonzero(pairs[:, 0] == row)
    if not at.size or metric not in comparison.scores:
        return None
    scores = comparison.scores[metric]
    order = worst_first(scores, higher_is_better=_is_higher_better(comparison, metric))
    ordered: list[int] = pairs[scores.places[order], 0].tolist()
    rank = ordered.index(row) + 1 if row in ordered else 0
    rows = a.rows[row], b.rows[int(pairs[at[0], 1])]
    texts = [each.sample.response for each in rows]
    whole = [None if text is None else [Part(text, changed=False)] for text in texts]
    both = texts[0] is not None and texts[1] is not None
    contexts = [each.sample.contexts or () for each in rows]
    known = [{(context.id, context.text) for context in side} for side in contexts]
    return SamplePair(
        *rows,
        responses=word_diff(texts[0] or "", texts[1] or "") if both else whole,
        contexts=[
            [(context, (context.id, context.text) in others) for context in side]
            for side, others in zip(contexts, reversed(known), strict=True)
        ],
        rank=rank,
        total=len(ordered),
        previous=ordered[rank - 2] if rank > 1 else None,
        next=ordered[rank] if 0 < rank < len(ordered) else None,
    )
