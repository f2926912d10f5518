"""Block: some queries of a batch, and which of the documents returned for them are judged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.byte_arrays import (
    CELLS,
    PADDING,
    Hashes,
    Integers,
    Lazy,
    Spans,
    Texts,
    fill,
    padded,
)
from ragstone.datasets.rankings.qrels import Judgements
from ragstone.datasets.rankings.source import Problems
from ragstone.types.rankings import Rankings

# Batch: the rankings of some queries, in the order of the file.

TieRule = Literal["trec_eval", "given"]
"""Which of two documents with equal scores is first: the one whose id is greater byte by byte, or
the one that the file has first."""


@dataclass(frozen=True)
class Batch:
    """N documents that were returned, query after query.

    Attributes:
        queries: the ids of the Q queries.
        spans: the positions of each query's documents.
        documents: their ids, in the order of the file.
        hashes: the ids' hashes.
        scores: float32[N], by which they are ranked; None where their order is the ranking.
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
        """Return a batch in which nothing was returned for these queries."""
        nothing = np.zeros(0, dtype=np.int64)
        sizes = np.zeros(len(queries), dtype=np.int64)
        documents = Texts(padded(b""), nothing, nothing)
        return cls(tuple(queries), Spans.of(sizes), documents, documents.hashes(), None, nothing)

    def order(self, ties: TieRule = "trec_eval") -> Integers | None:
        """Return the documents' places by rank, query after query; None if they are in that order.

        The higher score is first. Scores are held in single precision, as in trec_eval.
        """
        scores = self.scores
        if scores is None:
            return None
        stands = np.less if ties == "trec_eval" else np.less_equal
        falls = np.ones(len(scores), dtype=np.bool_)
        falls[1:] = stands(scores[1:], scores[:-1])
        falls[self.spans.starts[self.spans.sizes > 0]] = True
        if falls.all():
            return None
        owners = np.repeat(np.arange(len(self.queries)), self.spans.sizes)
        some = self.spans.members(np.unique(owners[~falls]))
        ranked = some[np.lexsort((-scores[some], owners[some]))]  # equal ones as the file has them
        if ties == "trec_eval":
            self._break_ties(ranked, scores, owners)
        order = np.arange(len(scores))
        order[some] = ranked
        return order

    def _break_ties(self, ranked: Integers, scores: NDArray[np.float32], owners: Integers) -> None:
        """Put the document whose id is greater first among those with equal scores, in place."""
        ties = (scores[ranked[1:]] == scores[ranked[:-1]]) & (
            owners[ranked[1:]] == owners[ranked[:-1]]
        )
        if ties.any():
            tied = np.append(ties, False) | np.append(False, ties)
            level = ranked[tied]
            keys = self.documents.part(level).falling()
            ranked[tied] = level[np.lexsort((*keys, -scores[level], owners[level]))]


_TOP = np.uint64(1 << 63)
_EMPTY = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Block:
    """Q queries with what was returned for them, best first, and what is judged.

    Attributes:
        returned: Q owners of the documents that were returned.
        places: for each of those, by rank, its place in the batch.
        judged: Q owners of what is judged; nothing for a query without judgements.
        members: for each of those its place among the judgements.
        known: int64[Q], each query's place among the judgements; -1 where it has none.
    """

    batch: Batch
    judgements: Judgements
    returned: Spans
    places: Integers
    judged: Spans
    members: Integers
    known: Integers

    @classmethod
    def of(
        cls,
        batch: Batch,
        judgements: Judgements,
        *,
        queries: slice,
        known: Integers,
        order: Integers | None,
    ) -> "Block":
        """Take queries of the batch that follow one another; `order` is that of the batch."""
        between = batch.spans.between(queries)
        places: Integers = np.arange(between.start, between.stop, dtype=np.int64)
        return cls(
            batch=batch,
            judgements=judgements,
            returned=Spans.of(batch.spans.sizes[queries]),
            places=places if order is None else order[places],
            judged=judgements.spans.of_some(known),
            members=judgements.spans.members(known[known >= 0]),
            known=known,
        )

    def matches(self) -> "Matches":
        """Find which documents are judged, and which are duplicates.

        Each row holds the hashes of what was returned and of what is judged, with the place in
        their lowest bits; sorted, the same document's are neighbours. That hashes are the same is
        verified with the documents themselves; where three are, which hardly happens, the row is
        matched by its documents alone.
        """
        keys, bits, deep = self._keys()
        keys.sort(axis=1)
        low = np.uint64((1 << bits) - 1)
        near = (keys[:, 1:] ^ keys[:, :-1]) <= low
        near &= keys[:, 1:] < _TOP
        rows, columns = np.divmod(np.flatnonzero(near), max(near.shape[1], 1))
        left = (keys[rows, columns] & low).astype(np.int64)
        right = (keys[rows, columns + 1] & low).astype(np.int64)
        three = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1] + 1)
        crowded = np.unique(np.concatenate((rows[1:][three], rows[left >= deep])))
        plain = ~np.isin(rows, crowded) if len(crowded) else np.ones(len(rows), dtype=np.bool_)
        found = Matches.none()
        hits = plain & (right >= deep)
        found += self._hits(rows[hits], left[hits], right[hits] - deep)
        copies = plain & (right < deep)
        found += self._copies(rows[copies], left[copies], right[copies])
        for row in crowded.tolist():
            found += self._matched_alone(row)
        return found

    def _keys(self) -> tuple[Hashes, int, int]:
        """Return uint64[Q, W], how many low bits are places, and where what is judged begins."""
        deep = int(self.returned.sizes.max(initial=0))
        width = deep + int(self.judged.sizes.max(initial=0))
        bits = width.bit_length()
        keys = np.full((len(self.known), width), _EMPTY)
        keep = ~np.uint64((1 << bits) - 1) & ~_TOP
        fill(keys[:, :deep], self.batch.hashes[self.places] & keep, self.returned.sizes)
        judged = self.judgements.hashes[self.members] & keep
        fill(keys[:, deep:], judged, self.judged.sizes)
        keys |= np.arange(width).astype(np.uint64)
        return keys, bits, deep

    def _hits(self, rows: Integers, ranks: Integers, judged: Integers) -> "Matches":
        members = self.members[self.judged.starts[rows] + judged]
        places = self.places[self.returned.starts[rows] + ranks]
        documents = self.batch.documents.part(places)
        same = documents.equal(self.judgements.documents.part(members))
        return Matches(rows[same], ranks[same], members[same], ())

    def _copies(self, rows: Integers, ranks: Integers, later: Integers) -> "Matches":
        if not len(rows):
            return Matches.none()
        first = self.places[self.returned.starts[rows] + ranks]
        second = self.places[self.returned.starts[rows] + later]
        documents = self.batch.documents
        same = documents.part(first).equal(documents.part(second))
        pairs = zip(first[same].tolist(), second[same].tolist(), strict=True)
        return Matches.none(tuple(pairs))

    def _matched_alone(self, row: int) -> "Matches":
        of_row = np.array([row])
        judged = self.judgements.documents
        members = self.members[self.judged.members(of_row)].tolist()
        known = {judged.bytes_at(member): member for member in members}
        first: dict[bytes, int] = {}
        copies: list[tuple[int, int]] = []
        hits: list[tuple[int, int]] = []
        for rank, place in enumerate(self.places[self.returned.members(of_row)].tolist()):
            text = self.batch.documents.bytes_at(place)
            if text in first:
                copies.append((first[text], place))
            elif text in known:
                hits.append((rank, known[text]))
            first.setdefault(text, place)
        ranks, found = np.array(hits, dtype=np.int64).reshape(-1, 2).T
        return Matches(np.full(len(ranks), row), ranks, found, tuple(copies))

    def rankings(self, matches: "Matches", depth: int | None) -> Rankings:
        """Return the rankings of the queries that are judged, down to a rank; None is all."""
        deep = int(self.returned.sizes.max(initial=0)) if depth is None else depth
        matches = matches.down_to(deep)
        rows = np.flatnonzero(self.known >= 0)
        number = np.cumsum(self.known >= 0) - 1
        return Rankings.placed(
            rows=number[matches.rows],
            ranks=matches.ranks,
            grades=self.judgements.grades[matches.members],
            n_retrieved=np.minimum(self.returned.sizes[rows], deep),
            judged=self.judgements.judged(self.known[rows]),
            ids=Lazy(len(rows), lambda place: self._ids(int(rows[place]), deep)),
            relevance=Lazy(len(rows), lambda place: self._relevance(int(rows[place]))),
        )

    def _ids(self, row: int, depth: int) -> tuple[str, ...]:
        places = self.places[self.returned.members(np.array([row]))[:depth]]
        return tuple(self.batch.documents.part(places).strings())

    def _relevance(self, row: int) -> Mapping[str, float]:
        return self.judgements.relevance(int(self.known[row]))


@dataclass(frozen=True)
class Matches:
    """H documents that were returned and are judged, and those that were returned twice.

    Attributes:
        rows, ranks, members: int64[H], the query, the rank from 0, the place in the judgements.
        copies: the places in the batch of the same document of the same query, two and two.
    """

    rows: Integers
    ranks: Integers
    members: Integers
    copies: tuple[tuple[int, int], ...]

    @classmethod
    def none(cls, copies: tuple[tuple[int, int], ...] = ()) -> "Matches":
        """Return no match."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, copies)

    def down_to(self, depth: int) -> "Matches":
        """Return those of the first ranks."""
        near = self.ranks < depth
        return Matches(self.rows[near], self.ranks[near], self.members[near], self.copies)

    def __add__(self, other: "Matches") -> "Matches":
        return Matches(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.ranks, other.ranks)),
            np.concatenate((self.members, other.members)),
            self.copies + other.copies,
        )


# Matching: a batch of what was returned, held against what is judged.


def matched(
    batch: Batch,
    judgements: Judgements,
    problems: Problems,
    *,
    ties: TieRule = "trec_eval",
    depth: int | None = None,
) -> Iterator[tuple[list[str], Rankings]]:
    """Yield the judged queries of a batch, some at once, and their rankings.

    Rankings end at the depth, if there is one. A duplicate document of a query is noted
    as a problem.
    """
    known = np.array([judgements.queries.get(name, -1) for name in batch.queries], np.int64)
    order = batch.order(ties)
    for queries in batch.spans.blocks(CELLS, judgements.spans.of_some(known)):
        block = Block.of(batch, judgements, queries=queries, known=known[queries], order=order)
        matches = block.matches()
        for copies in matches.copies:
            first, second = sorted(copies, key=lambda place: int(batch.lines[place]))
            query = quoted(batch.queries[batch.spans.owner(first)])
            document = f"document {quoted(batch.documents.text(first))} of query {query}"
            problems.add(
                f"{document} is already at {problems.unit} {batch.lines[first]}",
                "a ranking has each document once",
                line=int(batch.lines[second]),
            )
        judged = np.flatnonzero(known[queries] >= 0) + queries.start
        places: list[int] = judged.tolist()
        names = [batch.queries[place] for place in places]
        if names:
            yield names, block.rankings(matches, depth)


# Gathering: parts of queries whose lines are scattered over a file, joined to whole queries.


def gathered(batches: Iterable[Batch]) -> Batch:
    """Return one batch of whole queries, in the order in which they came up first.

    It holds the whole file: its text, and some 50 bytes a document.
    """
    parts = list(batches)
    places: dict[str, int] = {}
    names = [name for part in parts for name in part.queries]
    numbers = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
    owners = np.repeat(numbers, np.concatenate([part.spans.sizes for part in parts]))
    order = np.argsort(owners, kind="stable")
    scores = [part.scores for part in parts if part.scores is not None]
    return Batch(
        queries=tuple(places),
        spans=Spans.of(np.bincount(owners, minlength=len(places)).astype(np.int64)),
        documents=_joined([part.documents for part in parts]).part(order),
        hashes=np.concatenate([part.hashes for part in parts])[order],
        scores=np.concatenate(scores)[order] if scores else None,
        lines=np.concatenate([part.lines for part in parts])[order],
    )


def _joined(texts: list[Texts]) -> Texts:
    before = 0
    starts: list[Integers] = []
    for each in texts:
        starts.append(each.starts + before)
        before += len(each.buffer)
    buffer = np.concatenate([each.buffer for each in texts])
    lengths = np.concatenate([each.lengths for each in texts])
    assert len(buffer) >= len(PADDING)
    return Texts(buffer, np.concatenate(starts), lengths)
