"""Joining rankings with judgments: which of the documents returned for a query are judged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.byte_arrays import (
    EMPTY,
    Hashes,
    Integers,
    Lazy,
    Spans,
    Texts,
    fill,
)
from ragstone.datasets.rankings.qrels import Judgments
from ragstone.datasets.rankings.source import Problems
from ragstone.types.rankings import Rankings

TieRule = Literal["trec_eval", "given"]
"""Which of two documents with equal scores is first: the one whose id is greater byte by byte, or
the one that is first in the file."""


@dataclass(frozen=True)
class Batch:
    """The rankings of Q queries with N documents, in the order of the file.

    Attributes:
        spans: the positions of each query's documents.
        scores: float32[N], by which they are ranked; None if their order is the ranking.
        lines: int64[N], the line of each in the file, from 1.
    """

    queries: tuple[str, ...]
    spans: Spans
    documents: Texts
    hashes: Hashes
    scores: NDArray[np.float32] | None
    lines: Integers

    @classmethod
    def empty(cls, queries: Sequence[str]) -> "Batch":
        sizes = np.zeros(len(queries), dtype=np.int64)
        documents = Texts.of([])
        return cls(tuple(queries), Spans(sizes), documents, documents.hashes(), None, sizes[:0])

    def order(self, ties: TieRule) -> Integers | None:
        """Return the documents' positions by rank, query after query; None if that is their order.

        The highest score is first. Scores are in single precision, as in trec_eval.
        """
        scores = self.scores
        if scores is None:
            return None
        precedes = np.less if ties == "trec_eval" else np.less_equal
        sorted_there = np.ones(len(scores), dtype=np.bool_)
        sorted_there[1:] = precedes(scores[1:], scores[:-1])
        sorted_there[self.spans.starts[self.spans.sizes > 0]] = True
        if sorted_there.all():
            return None
        owners = np.repeat(np.arange(len(self.queries)), self.spans.sizes)
        some = self.spans.members(np.unique(owners[~sorted_there]))
        ranked = some[np.lexsort((-scores[some], owners[some]))]  # stable: ties as in the file
        if ties == "trec_eval":
            same = (scores[ranked[1:]] == scores[ranked[:-1]]) & (
                owners[ranked[1:]] == owners[ranked[:-1]]
            )
            if same.any():
                tied = np.append(same, False) | np.append(False, same)
                level = ranked[tied]
                keys = self.documents.part(level).falling()
                ranked[tied] = level[np.lexsort((*keys, -scores[level], owners[level]))]
        order = np.arange(len(scores))
        order[some] = ranked
        return order


_TOP = np.uint64(1 << 63)


@dataclass(frozen=True)
class Matches:
    """H documents that were returned and are judged, and documents that were returned twice.

    Attributes:
        rows, ranks, members: int64[H], the query, the rank from 0, the position in the judgments.
        copies: pairs of positions in the batch of the same document of the same query.
    """

    rows: Integers
    ranks: Integers
    members: Integers
    copies: list[tuple[int, int]]


class Block:
    """Q consecutive queries of a batch, with the documents returned, best first, and those judged.

    Attributes:
        known: int64[Q], each query's position among the judgments; -1 if it has none.
        returned: Q owners of the documents that were returned.
        places: for each of those, by rank, its position in the batch.
        judged: Q owners of the judged documents; none for a query without judgments.
        members: for each of those its position among the judgments.
    """

    def __init__(
        self,
        batch: Batch,
        judgments: Judgments,
        queries: slice,
        *,
        known: Integers,
        order: Integers | None,
    ) -> None:
        self.batch, self.judgments, self.known = batch, judgments, known
        between = batch.spans.between(queries)
        self.returned = Spans(batch.spans.sizes[queries])
        self.places: Integers = (
            np.arange(between.start, between.stop) if order is None else order[between]
        )
        self.judged = judgments.spans.of_some(known)
        self.members = judgments.spans.members(known[known >= 0])

    def matches(self) -> Matches:
        """Find the documents that are judged, and duplicates.

        Each row of `keys` has the hashes of what was returned and of what is judged, with their
        positions in the lowest bits. In a sorted row, equal hashes are neighbors. Their documents
        are compared, too. A row with three equal hashes, which is rare, is matched without hashes.
        """
        deep = int(self.returned.sizes.max(initial=0))
        width = deep + int(self.judged.sizes.max(initial=0))
        low = np.uint64((1 << width.bit_length()) - 1)
        keys = np.full((len(self.known), width), EMPTY)
        fill(keys[:, :deep], self.batch.hashes[self.places] & ~low & ~_TOP, self.returned.sizes)
        judged = self.judgments.hashes[self.members] & ~low & ~_TOP
        fill(keys[:, deep:], judged, self.judged.sizes)
        keys |= np.arange(width).astype(np.uint64)
        keys.sort(axis=1)
        near = (keys[:, 1:] ^ keys[:, :-1]) <= low
        near &= keys[:, 1:] < _TOP
        rows, columns = np.divmod(np.flatnonzero(near), max(near.shape[1], 1))
        left = (keys[rows, columns] & low).astype(np.int64)
        right = (keys[rows, columns + 1] & low).astype(np.int64)
        three = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1] + 1)
        crowded = np.zeros(len(self.known), dtype=np.bool_)
        crowded[rows[1:][three]] = crowded[rows[left >= deep]] = True
        plain = ~crowded[rows]

        # A returned and a judged document.
        hits = plain & (right >= deep)
        row, rank = rows[hits], left[hits]
        member = self.members[self.judged.starts[row] + right[hits] - deep]
        documents = self.batch.documents
        returned = documents.part(self.places[self.returned.starts[row] + rank])
        same = returned.equal(self.judgments.documents.part(member))
        found = [(row[same], rank[same], member[same])]

        # Two returned documents.
        twins = plain & (right < deep)
        starts = self.returned.starts[rows[twins]]
        one, two = self.places[starts + left[twins]], self.places[starts + right[twins]]
        same = documents.part(one).equal(documents.part(two))
        copies = list(zip(one[same].tolist(), two[same].tolist(), strict=True))

        for index in np.flatnonzero(crowded).tolist():
            ranks, members, twice = self._match_row(index)
            found.append((np.full(len(ranks), index), ranks, members))
            copies += twice
        all_rows, all_ranks, all_members = map(np.concatenate, zip(*found, strict=True))
        return Matches(all_rows, all_ranks, all_members, copies)

    def _match_row(self, row: int) -> tuple[Integers, Integers, list[tuple[int, int]]]:
        judged, owner = self.judgments.documents, np.array([row])
        members = self.members[self.judged.members(owner)].tolist()
        known = {judged.bytes_at(member): member for member in members}
        first: dict[bytes, int] = {}
        copies: list[tuple[int, int]] = []
        hits: list[tuple[int, int]] = []
        for rank, place in enumerate(self.places[self.returned.members(owner)].tolist()):
            text = self.batch.documents.bytes_at(place)
            if text in first:
                copies.append((first[text], place))
            elif text in known:
                hits.append((rank, known[text]))
            first.setdefault(text, place)
        ranks, found = np.array(hits, dtype=np.int64).reshape(-1, 2).T
        return ranks, found, copies

    def rankings(self, matches: Matches, depth: int | None) -> Rankings:
        deep = int(self.returned.sizes.max(initial=0)) if depth is None else depth
        near = matches.ranks < deep
        rows = np.flatnonzero(self.known >= 0)
        number = np.cumsum(self.known >= 0) - 1

        def ids(place: int) -> tuple[str, ...]:
            places = self.places[self.returned.members(rows[place : place + 1])[:deep]]
            return tuple(self.batch.documents.part(places).strings())

        def relevance(place: int) -> Mapping[str, float]:
            return self.judgments.relevance(int(self.known[rows[place]]))

        return Rankings.placed(
            rows=number[matches.rows[near]],
            ranks=matches.ranks[near],
            grades=self.judgments.grades[matches.members[near]],
            n_retrieved=np.minimum(self.returned.sizes[rows], deep),
            judged=self.judgments.judged(self.known[rows]),
            ids=Lazy(len(rows), ids),
            relevance=Lazy(len(rows), relevance),
        )


def matched(
    batch: Batch,
    judgments: Judgments,
    problems: Problems,
    *,
    ties: TieRule = "trec_eval",
    depth: int | None = None,
) -> Iterator[tuple[Integers, Rankings]]:
    """Yield judged queries of a batch, some at a time, and their rankings down to `depth`.

    Queries are positions among the judgments, in the order of the batch. A document that a query
    has twice, and a blank id, become problems.
    """
    problems.check_ids(batch.queries, batch.spans.starts, batch.documents.lengths, batch.lines)
    known = judgments.places(batch.queries)
    order = batch.order(ties)
    for queries in batch.spans.blocks(judgments.spans.of_some(known)):
        block = Block(batch, judgments, queries, known=known[queries], order=order)
        matches = block.matches()
        for copies in matches.copies:
            first, second = sorted(copies, key=lambda place: int(batch.lines[place]))
            query = quoted(batch.queries[batch.spans.owner(first)])
            document = f"document {quoted(batch.documents.text(first))} of query {query}"
            problems.add(
                f"{document} is already at {problems.unit} {batch.lines[first]}",
                "remove one of the two",
                line=int(batch.lines[second]),
            )
        judged = block.known[block.known >= 0]
        if len(judged):
            yield judged, block.rankings(matches, depth)


def gathered(batches: Iterable[Batch], problems: Problems) -> Batch:
    """Join batches in which a query is in several parts; queries are in order of first appearance.

    The result has the whole text of the file, and some 50 bytes per document.
    """
    parts: list[Batch] = []
    for batch in batches:
        problems.hold(len(batch.documents), "documents, and queries in several places")
        parts.append(batch)
    places: dict[str, int] = {}
    names = [name for part in parts for name in part.queries]
    numbers = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
    owners = np.repeat(numbers, np.concatenate([part.spans.sizes for part in parts]))
    order = np.argsort(owners, kind="stable")
    scores = [part.scores for part in parts if part.scores is not None]
    starts: list[Integers] = []
    before = 0
    for part in parts:
        starts.append(part.documents.starts + before)
        before += len(part.documents.buffer)
    documents = Texts(
        np.concatenate([part.documents.buffer for part in parts]),
        np.concatenate(starts),
        np.concatenate([part.documents.lengths for part in parts]),
    )
    return Batch(
        queries=tuple(places),
        spans=Spans(np.bincount(owners, minlength=len(places)).astype(np.int64)),
        documents=documents.part(order),
        hashes=np.concatenate([part.hashes for part in parts])[order],
        scores=np.concatenate(scores)[order] if scores else None,
        lines=np.concatenate([part.lines for part in parts])[order],
    )
