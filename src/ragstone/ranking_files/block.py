"""Block: some queries of a batch, and which of the documents returned for them are judged."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ragstone.ranking_files.batch import Batch
from ragstone.ranking_files.judgements import Judgements
from ragstone.ranking_files.lazy import Lazy
from ragstone.ranking_files.spans import Spans, fill
from ragstone.ranking_files.texts import Hashes, Integers
from ragstone.rankings import Rankings

_TOP = np.uint64(1 << 63)
_EMPTY = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Block:
    """Q queries with what was returned for them, best first, and what is judged.

    Attributes:
        returned: Q owners of the documents that were returned.
        places: for each of those, by rank, its place in the batch.
        judged: Q owners of what is judged; nothing for a query that nobody judged.
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
        """Find which documents are judged, and which stand twice.

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
        """Match one query's documents without their hashes."""
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
