"""Judgments, and the rankings joined with them: which of the returned documents are judged."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    opened,
    table_of,
)
from ragstone.errors import UsageError
from ragstone.types.ids import COMPARED, IdCheck
from ragstone.types.rankings import Rankings

Lines = NDArray[np.int64] | NDArray[np.int32]
Values = NDArray[np.float32] | NDArray[np.float64]
TieRule = Literal["trec_eval", "given"]
"""Which of two documents with equal scores is first: the one whose id is greater byte by byte, or
the one that is first in the file."""


@dataclass(frozen=True)
class Batch:
    """Q queries with N documents, and their scores or grades, in the order of the file."""

    queries: tuple[str, ...]
    spans: Spans
    documents: Texts
    hashes: Hashes
    values: Values | None
    lines: Lines

    @classmethod
    def of(
        cls,
        queries: Sequence[str],
        sizes: Integers,
        documents: Texts,
        values: Values | None,
        lines: Lines,
    ) -> "Batch":
        return cls(tuple(queries), Spans(sizes), documents, documents.hashes(), values, lines)

    @property
    def example(self) -> str:
        """The first document as it was read; `""` if there is none."""
        if not len(self.documents):
            return ""
        query = self.queries[int(np.argmax(self.spans.sizes > 0))]
        return f"query {query}, document {self.documents.text(0)}"

    def check_ids(self, problems: Problems) -> None:
        blank = [place for place, query in enumerate(self.queries) if not query.strip()]
        for start in self.spans.starts[blank].tolist():
            line = int(self.lines[start]) if start < len(self.lines) else None  # no documents
            problems.add("there is no query_id", "fill it in", line=line)
        for line in self.lines[self.documents.lengths == 0].tolist():
            problems.add("there is no document_id", "fill it in", line=line)

    def report_copies(self, queries: slice, problems: Problems, already: str = "already") -> None:
        first: dict[tuple[int, bytes], int] = {}
        start = self.spans.between(queries).start
        owners = np.repeat(range(queries.start, queries.stop), self.spans.sizes[queries])
        for place, owner in enumerate(map(int, owners), start):
            known = first.setdefault((owner, self.documents.bytes_at(place)), place)
            if known != place:
                document, query = self.documents.text(place), self.queries[owner]
                seen = f"document {quoted(document)} of query {quoted(query)} is {already} at "
                seen += f"{problems.unit} {self.lines[known]}"
                problems.add(seen, "remove one of the two", line=int(self.lines[place]))

    def without_own_ids(self) -> "tuple[Batch, int]":
        """Return the batch without documents that have the id of their query, and how many."""
        names = Texts.of(self.queries)
        same = np.flatnonzero(np.repeat(names.hashes(), self.spans.sizes) == self.hashes)
        owners = np.searchsorted(np.cumsum(self.spans.sizes), same, side="right")
        equal = self.documents.part(same).equal(names.part(owners))
        same, owners = same[equal], owners[equal]
        if not len(same):
            return self, 0
        kept = np.delete(np.arange(len(self.documents)), same)
        sizes = self.spans.sizes - np.bincount(owners, minlength=len(names))
        return self.part(kept, self.queries, sizes), len(same)

    def part(self, places: Integers, queries: Iterable[str], sizes: Integers) -> "Batch":
        values = None if self.values is None else self.values[places]
        documents, hashes = self.documents.part(places), self.hashes[places]
        return Batch(tuple(queries), Spans(sizes), documents, hashes, values, self.lines[places])

    def order(self, ties: TieRule) -> Integers:
        """Return positions by rank. Singles are compared, as in trec_eval."""
        scores, order = self.values, np.arange(len(self.lines))
        if scores is None:
            return order
        precedes = np.less if ties == "trec_eval" else np.less_equal
        sorted_there = np.ones(len(scores), dtype=np.bool_)
        sorted_there[1:] = precedes(scores[1:], scores[:-1])
        sorted_there[self.spans.starts[self.spans.sizes > 0]] = True
        if sorted_there.all():
            return order
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
        order[some] = ranked
        return order


def gathered(
    batches: Iterable[Batch],
    problems: Problems,
    what: str = "documents, and queries in several places",
) -> Batch:
    """Join batches, in few bytes per document; queries are in order of first appearance."""
    queries: list[str] = []
    sizes: list[int] = []
    content = bytearray(PADDING)
    lengths, hashes = GrowingArray(np.int64), GrowingArray(np.uint64)
    values, lines = GrowingArray(np.float64), GrowingArray(np.int32)
    for batch in batches:
        problems.hold(len(batch.documents), what)
        again = queries[-1:] == [batch.queries[0]]  # it continues from the part before
        if again:
            sizes[-1] += int(batch.spans.sizes[0])
        queries += batch.queries[again:]
        sizes += batch.spans.sizes[again:].tolist()
        lengths.add(batch.documents.lengths)
        hashes.add(batch.hashes)
        lines.add(batch.lines)
        content += batch.documents.joined().tobytes()
        if batch.values is not None:  # else the order of the file is the ranking
            values.add(batch.values)
    content += PADDING
    whole = Batch(
        queries=tuple(queries),
        spans=Spans(np.array(sizes, dtype=np.int64)),
        documents=Texts.joint(np.frombuffer(content, dtype=np.uint8), lengths.array()),
        hashes=hashes.array(),
        values=values.array() if len(values) == len(lengths) else None,
        lines=lines.array(),
    )
    places = {name: place for place, name in enumerate(dict.fromkeys(queries))}
    if len(places) == len(queries):
        return whole
    numbers = np.fromiter(map(places.__getitem__, queries), np.int64, count=len(queries))
    order = np.argsort(np.repeat(numbers, sizes), kind="stable")
    return whole.part(order, places, np.bincount(numbers, weights=sizes).astype(np.int64))


LONGEST = 4  # documents of a query whose grades may be 1, 2, 3 and 4 by chance


@dataclass(frozen=True)
class Judgments:
    """Grades of N documents, query after query; above 0 is relevant, 0 is judged not relevant."""

    queries: Mapping[str, int]
    spans: Spans
    documents: Texts
    hashes: Hashes
    grades: NDArray[np.float64]
    example: str = ""  # the first document as it was read
    mapped: Collection[str] = ()

    @classmethod
    def of(cls, batches: Iterable[Batch], problems: Problems) -> "Judgments":
        """Join batches with grades, or raise an InputError with all problems."""
        whole = gathered(batches, problems, "judgments")
        problems.raise_found()
        for queries in whole.spans.blocks():
            items, sizes = whole.spans.between(queries), whole.spans.sizes[queries]
            keys = table_of(whole.hashes[items] >> np.uint64(1), sizes)
            keys.sort(axis=1)
            if np.any((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] != EMPTY)):
                whole.report_copies(queries, problems, "already judged")
        problems.raise_found()
        places = {name: place for place, name in enumerate(whole.queries)}
        grades = np.asarray(whole.values, dtype=np.float64)
        sizes, starts = whole.spans.sizes, whole.spans.starts
        ranks = np.arange(len(grades)) - np.repeat(starts, sizes) + 1
        if problems.may_be_ranks and grades.max(initial=0) > LONGEST:
            of_query = np.lexsort((grades, np.repeat(starts, sizes)))
            ranks -= grades[of_query].astype(ranks.dtype)
        if problems.may_be_ranks and not ranks.any() and sizes.max(initial=0) > LONGEST:
            seen = "the grades of each query are 1, 2, 3 and so on, as ranks are"
            problems.add(seen, "name the judgments, and the ranking after --ranking")
            problems.raise_found()
        parts = whole.spans, whole.documents, whole.hashes, grades
        example = f"{whole.example}, grade {grades[0]:g}" if len(grades) else ""
        return cls(places, *parts, example, problems.mapped)

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

    def relevance(self, place: int) -> dict[str, float]:
        members = self.spans.members(np.array([place]))
        documents = self.documents.part(members).strings()
        return dict(zip(documents, self.grades[members].tolist(), strict=True))


def qrels_in(folder: Path) -> Path:
    found = sorted((folder / "qrels").glob("*.tsv"))
    test = folder / "qrels" / "test.tsv"  # the split that is used if there are several
    if not found:
        raise UsageError(f"{folder} is a folder without qrels/*.tsv; pass a qrels file")
    if len(found) > 1 and test not in found:
        raise UsageError(
            f"{folder} contains several qrels files; pass one of them, such as {found[0]}"
        )
    return test if test in found else found[0]


def query_texts(qrels: Path) -> Mapping[str, str]:
    folder = qrels if qrels.is_dir() else qrels.parent.parent
    path = folder / "queries.jsonl"
    texts: dict[str, str] = {}
    if not path.is_file() or not (qrels.is_dir() or qrels.parent.name == "qrels"):
        return texts
    problems = Problems(path)
    with opened(path) as stream:
        parts = (part.removesuffix(b"\n").split(b"\n") for part in stream.lines())
        for number, line in enumerate(chain.from_iterable(parts), 1):
            if not line.strip():
                continue
            try:
                given = cast("dict[str, object]", json.loads(line))
                texts[str(given["_id"])] = str(given["text"])
            except (ValueError, LookupError, TypeError):
                problems.add("expected an object with _id and text", line=number)
    problems.raise_found()
    return texts


_TOP = np.uint64(1 << 63)


class Block:
    """Q consecutive queries of a batch, and which of their returned documents are judged."""

    def __init__(
        self, batch: Batch, judgments: Judgments, queries: slice, known: Integers, order: Integers
    ) -> None:
        self.batch, self.judgments = batch, judgments
        self.known = known  # each query's place in the judgments, or -1
        self.returned = Spans(batch.spans.sizes[queries])
        self.places = order[batch.spans.between(queries)]  # of the returned documents, best first
        self.has_twins = False  # whether hashes of returned documents of a query are equal
        # of each match, the query, the rank from 0, and the place in the judgments
        self.rows, self.ranks, self.members = self._match()

    def _match(self) -> tuple[Integers, Integers, Integers]:
        # Each row of `keys` has the hashes of what was returned and of what is judged, with their
        # positions in the lowest bits. In a sorted row, equal hashes are neighbors. Their documents
        # are compared, too. A row with three equal hashes, which is rare, is matched without.
        judged = self.judgments.spans.of_some(self.known)
        judged_members = self.judgments.spans.members(self.known[self.known >= 0])
        deep = int(self.returned.sizes.max(initial=0))
        width = deep + int(judged.sizes.max(initial=0))
        low = np.uint64((1 << width.bit_length()) - 1)
        hashes = self.batch.hashes[self.places], self.judgments.hashes[judged_members]
        returned, others = (each & ~low & ~_TOP for each in hashes)
        keys = np.hstack([table_of(returned, self.returned.sizes), table_of(others, judged.sizes)])
        keys |= np.arange(width).astype(np.uint64)
        keys.sort(axis=1)
        near = (keys[:, 1:] ^ keys[:, :-1]) <= low
        near &= keys[:, 1:] < _TOP
        rows, columns = np.divmod(np.flatnonzero(near), max(near.shape[1], 1))
        left = (keys[rows, columns] & low).astype(np.int64)
        right = (keys[rows, columns + 1] & low).astype(np.int64)
        self.has_twins = bool(np.any(right < deep))
        three = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1] + 1)
        crowded = np.zeros(len(self.known), dtype=np.bool_)
        crowded[rows[1:][three]] = crowded[rows[left >= deep]] = True
        hits = ~crowded[rows] & (right >= deep)
        row, rank = rows[hits], left[hits]
        member = judged_members[judged.starts[row] + right[hits] - deep]
        documents = self.batch.documents.part(self.places[self.returned.starts[row] + rank])
        same = documents.equal(self.judgments.documents.part(member))
        found = [(row[same], rank[same], member[same])]
        found += map(self._match_row, np.flatnonzero(crowded))
        all_rows, all_ranks, all_members = map(np.concatenate, zip(*found, strict=True))
        return all_rows, all_ranks, all_members

    def _match_row(self, row: np.int64) -> tuple[Integers, Integers, Integers]:
        owner = np.array([row])
        known = self.known[owner]
        judged, returned = self.judgments.documents, self.batch.documents
        members = self.judgments.spans.members(known[known >= 0]).tolist()
        by_text = {judged.bytes_at(member): member for member in members}
        places = self.places[self.returned.members(owner)].tolist()
        texts = enumerate(map(returned.bytes_at, places))
        hits = [(rank, by_text[text]) for rank, text in texts if text in by_text]
        ranks, found = np.array(hits, dtype=np.int64).reshape(-1, 2).T
        return np.full(len(hits), row), ranks, found

    def check_ids(self, check: IdCheck) -> None:
        """Count the queries with a judged document, and compare the ids of some others."""
        both = (self.judgments.spans.of_some(self.known).sizes > 0) & (self.returned.sizes > 0)
        hit = np.zeros(len(self.known), dtype=np.bool_)
        hit[self.rows] = True
        check.rows += int(np.sum(both))
        check.matched += int(np.sum(both & hit))
        # comparing texts takes long
        few = 0 if 2 * check.matched > check.rows else max(5, 200 - check.rows)
        for row in np.flatnonzero(both & ~hit)[:few]:
            owner = np.array([row])
            places = self.places[self.returned.members(owner)[:COMPARED]]
            relevant = self.judgments.relevance(int(self.known[row]))
            check.compare(check.rows, self.batch.documents.part(places).strings(), [*relevant])

    def rankings(self, depth: int | None) -> Rankings:
        deep = int(self.returned.sizes.max(initial=0)) if depth is None else depth
        near = self.ranks < deep
        rows = np.flatnonzero(self.known >= 0)
        known = self.known[rows]
        number = np.cumsum(self.known >= 0) - 1

        def ids(place: int) -> tuple[str, ...]:
            places = self.places[self.returned.members(rows[place : place + 1])[:deep]]
            return tuple(self.batch.documents.part(places).strings())

        return Rankings.placed(
            rows=number[self.rows[near]],
            ranks=self.ranks[near],
            grades=self.judgments.grades[self.members[near]],
            n_retrieved=np.minimum(self.returned.sizes[rows], deep),
            judged=self.judgments.grades[self.judgments.spans.members(known)],
            n_judged=self.judgments.spans.sizes[known],
            ids=Lazy(len(rows), ids),
            relevance=Lazy(len(rows), lambda place: self.judgments.relevance(int(known[place]))),
        )


def matched(
    batch: Batch,
    judgments: Judgments,
    problems: Problems,
    *,
    ties: TieRule = "trec_eval",
    depth: int | None = None,
    check: IdCheck | None = None,
) -> Iterator[tuple[Integers, Rankings]]:
    """Yield the positions of judged queries, some at a time, and their rankings to `depth`."""
    batch.check_ids(problems)
    known = judgments.places(batch.queries)
    order = batch.order(ties)
    for queries in batch.spans.blocks(judgments.spans.of_some(known)):
        block = Block(batch, judgments, queries, known[queries], order)
        if block.has_twins:
            batch.report_copies(queries, problems)
        if check is not None:
            block.check_ids(check)
        judged = block.known[block.known >= 0]
        if len(judged):
            yield judged, block.rankings(depth)
