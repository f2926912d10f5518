"""Judgments, and the rankings joined with them: which of the returned documents are judged."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.source import (
    EMPTY,
    PADDING,
    GrowingArray,
    Hashes,
    Integers,
    Lazy,
    Problems,
    Spans,
    Texts,
    fill,
    opened,
)
from ragstone.errors import UsageError
from ragstone.types.rankings import Judged, Rankings


class JudgmentsBuilder:
    """Collects judgments part by part, in few bytes per document."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._queries: list[str] = []
        self._sizes: list[int] = []
        self._lengths, self._hashes = GrowingArray(np.int64), GrowingArray(np.uint64)
        self._grades, self._lines = GrowingArray(np.float64), GrowingArray(np.int32)
        self._content = bytearray(PADDING)

    def add(
        self,
        queries: Sequence[str],
        sizes: Integers,
        documents: Texts,
        grades: NDArray[np.float64],
        lines: Integers,
    ) -> None:
        self._problems.hold(len(documents), "judgments")
        self._problems.check_ids(queries, Spans(sizes).starts, documents.lengths, lines)
        again = bool(self._queries) and self._queries[-1] == queries[0]
        if again:  # the query continues from the part before
            self._sizes[-1] += int(sizes[0])
        self._queries += queries[again:]
        self._sizes += sizes[again:].tolist()
        self._lengths.add(documents.lengths)
        self._hashes.add(documents.hashes())
        self._grades.add(grades)
        self._lines.add(lines)
        self._content += documents.joined().tobytes()

    def build(self, fix: str) -> "Judgments":
        """Return all judgments, or raise an InputError with all problems."""
        if not self._queries:
            self._problems.add("there are no judgments", fix)
        self._problems.raise_found()
        self._content += PADDING
        buffer = np.frombuffer(self._content, dtype=np.uint8)
        documents = Texts.joint(buffer, self._lengths.array())
        hashes, grades, lines = self._hashes.array(), self._grades.array(), self._lines.array()
        sizes = np.array(self._sizes, dtype=np.int64)
        places = dict(zip(self._queries, range(len(sizes)), strict=True))
        if len(places) < len(self._queries):  # the lines of some queries are not contiguous
            places.clear()
            numbers = np.array([places.setdefault(name, len(places)) for name in self._queries])
            order = np.argsort(np.repeat(numbers, sizes), kind="stable")
            documents, hashes = documents.part(order), hashes[order]
            grades, lines = grades[order], lines[order]
            sizes = np.bincount(numbers, weights=sizes).astype(np.int64)
        spans = Spans(sizes)
        names = list(places)
        for first, second in spans.twice(documents, hashes):
            document, query = quoted(documents.text(first)), quoted(names[spans.owner(first)])
            unit = self._problems.unit
            self._problems.add(
                f"document {document} of query {query} is already judged at {unit} {lines[first]}",
                "remove one of the two",
                line=int(lines[second]),
            )
        self._problems.raise_found()
        return Judgments(places, spans, documents, hashes, grades)


@dataclass(frozen=True)
class Judgments:
    """Grades of N documents, query after query; above 0 is relevant, 0 is judged not relevant."""

    queries: Mapping[str, int]
    spans: Spans
    documents: Texts
    hashes: Hashes
    grades: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.queries)

    @cached_property
    def names(self) -> Sequence[str]:
        return list(self.queries)

    def places(self, queries: Iterable[str]) -> Integers:
        return np.array([self.queries.get(name, -1) for name in queries], np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """It uses the hashes of the documents, which is fast for millions of them."""
        digest = sha256("\n".join(self.queries).encode("utf-8", "surrogatepass"))
        for column in (self.spans.sizes, self.hashes, self.grades):
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    def judged(self, places: Integers) -> Judged:
        return Judged.of(self.grades[self.spans.members(places)], self.spans.sizes[places])

    def relevance(self, place: int) -> dict[str, float]:
        members = self.spans.members(np.array([place]))
        documents = self.documents.part(members).strings()
        return dict(zip(documents, self.grades[members].tolist(), strict=True))


SPLIT = "test"
"""The split whose qrels are used if there are several."""
AT_ONCE = 1 << 20
"""Bytes that are read at once, at least one line."""


def qrels_in(folder: Path) -> Path:
    found = sorted((folder / "qrels").glob("*.tsv"))
    if not found:
        raise UsageError(f"{folder} is a folder without qrels/*.tsv; pass a qrels file")
    named = [path for path in found if path.stem == SPLIT]
    if len(found) > 1 and not named:
        raise UsageError(
            f"{folder} contains several qrels files; pass one of them, such as {found[0]}"
        )
    return named[0] if named else found[0]


def read_beir_qrels(path: Path, problems: Problems) -> Judgments:
    judgments = JudgmentsBuilder(problems)
    number = 0
    with opened(path) as stream:
        for content in stream.lines(AT_ONCE):
            rows: list[tuple[str, str, float, int]] = []
            for line in content.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"):
                number += 1
                parts = line.rstrip("\r").split("\t")
                if not line.strip() or (number == 1 and not _is_number(parts[-1])):
                    continue
                if len(parts) < 3 or not _is_number(parts[2]):
                    seen = f"{quoted(line)!r} is not QUERY, DOCUMENT and GRADE"
                    problems.add(seen, "separate them with tabs", line=number)
                    continue
                rows.append((parts[0], parts[1], float(parts[2]), number))
            if rows:
                queries, documents, grades, lines = zip(*rows, strict=True)
                sizes = np.ones(len(rows), dtype=np.int64)
                texts = Texts.of(documents)
                judgments.add(queries, sizes, texts, np.array(grades), np.array(lines))
    return judgments.build("write one line per judgment: QUERY, DOCUMENT, GRADE")


def query_texts(qrels: Path) -> Mapping[str, str]:
    folder = qrels if qrels.is_dir() else qrels.parent.parent
    path = folder / "queries.jsonl"
    texts: dict[str, str] = {}
    if not path.is_file() or not (qrels.is_dir() or qrels.parent.name == "qrels"):
        return texts
    problems = Problems(path)
    with opened(path) as stream:
        parts = (part.removesuffix(b"\n").split(b"\n") for part in stream.lines(AT_ONCE))
        for number, line in enumerate(chain.from_iterable(parts), 1):
            if not line.strip():
                continue
            try:
                value: object = json.loads(line)
                given = cast("dict[str, object]", value)
                texts[str(given["_id"])] = str(given["text"])
            except (ValueError, LookupError, TypeError):
                problems.add("expected an object with _id and text", line=number)
    problems.raise_found()
    return texts


def _is_number(text: str) -> bool:
    return text.strip().removeprefix("-").replace(".", "", 1).isdecimal() and text.isascii()


TieRule = Literal["trec_eval", "given"]
"""Which of two documents with equal scores is first: the one whose id is greater byte by byte, or
the one that is first in the file."""


@dataclass(frozen=True)
class Batch:
    """The rankings of Q queries with N documents, in the order of the file."""

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
        """Return positions by rank, None if as they are. Singles are compared, as in trec_eval."""
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
    """Returned documents that are judged, by query, rank from 0, and place in the judgments."""

    rows: Integers
    ranks: Integers
    members: Integers
    copies: list[tuple[int, int]]


class Block:
    """Q consecutive queries of a batch, with those returned, best first, and those judged."""

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
        # Each row of `keys` has the hashes of what was returned and of what is judged, with their
        # positions in the lowest bits. In a sorted row, equal hashes are neighbors. Their documents
        # are compared, too. A row with three equal hashes, which is rare, is matched without.
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
    """Yield the positions of judged queries, some at a time, and their rankings to `depth`."""
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
    names = (name for part in parts for name in part.queries)
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
