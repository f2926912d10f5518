"""Judgments: which documents are relevant to which query, and how relevant (qrels)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.byte_arrays import (
    PADDING,
    GrowingArray,
    Hashes,
    Integers,
    Spans,
    Texts,
)
from ragstone.datasets.rankings.source import Problems, opened
from ragstone.errors import UsageError
from ragstone.types.rankings import Judged


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
    """Grades of N documents, query after query; each document once per query.

    Attributes:
        queries: query id -> its position, in the order of the file.
        spans: the positions of each query's documents.
        grades: float64[N]; above 0 is relevant, 0 is judged not relevant.
    """

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
        """A hash of the queries, documents and grades, in the order of the file.

        It uses the hashes of the documents, which is fast for millions of them.
        """
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


def read_qrels(path: Path, problems: Problems) -> Judgments:
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
