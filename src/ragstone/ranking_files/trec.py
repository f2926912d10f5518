"""TREC: qrels and run files, as trec_eval reads them: fields between blanks, line by line."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragstone.messages import quoted
from ragstone.ranking_files.batch import Batch
from ragstone.ranking_files.decimals import numbers, singles
from ragstone.ranking_files.fields import Fields, fields_of
from ragstone.ranking_files.judgements import Judgements, Judging
from ragstone.ranking_files.opening import OnRead, Stream, opened
from ragstone.ranking_files.problems import Problems
from ragstone.ranking_files.spans import Spans
from ragstone.ranking_files.texts import Integers, Texts

AT_ONCE = 1 << 21
"""Bytes that are read at once; more where one query has more."""


@dataclass(frozen=True)
class _Shape:
    """What a line looks like, which of its fields are wanted, and how many it has at least."""

    line: str
    wanted: tuple[int, ...]
    least: int


_QRELS = _Shape("QUERY 0 DOCUMENT GRADE", (0, 2, 3), 4)
_RANKING = _Shape("QUERY Q0 DOCUMENT RANK SCORE NAME", (0, 2, 4), 6)


def read_qrels(path: Path, problems: Problems) -> Judgements:
    """Read a qrels file.

    Raises:
        UsageError: there is no such file.
        InputError: its content is wrong.
    """
    judging = Judging(problems)
    with opened(path) as stream:
        for fields, starts in _parts(stream, _QRELS, problems, whole_queries=False):
            queries, documents, written = fields.texts
            runs, spans = _runs(queries, starts)
            grades, wrong = numbers(written)
            for place in np.union1d(wrong, np.flatnonzero(np.isinf(grades))).tolist():
                seen = f"the grade {quoted(written.text(place))} is no number"
                fix = "grades are whole numbers, mostly 0, 1, 2"
                problems.add(seen, fix, line=int(fields.lines[place]))
            judging.add(runs, spans.sizes, documents, grades, fields.lines)
    return judging.judgements(f"each is a line: {_QRELS.line}")


def read_ranking(path: Path, problems: Problems, on_read: OnRead | None = None) -> Iterator[Batch]:
    """Read a run file, some whole queries at once; of a query whose lines are scattered, parts.

    Raises:
        UsageError: there is no such file.
        InputError: it is damaged, or too much is wrong with it to go on.
    """
    empty = True
    with opened(path, on_read) as stream:
        for fields, starts in _parts(stream, _RANKING, problems, whole_queries=True):
            queries, documents, written = fields.texts
            names, spans = _runs(queries, starts)
            scores, wrong = singles(written)
            for place in wrong.tolist():
                seen = f"the score {quoted(written.text(place))} is no number"
                fix = "a document without a score cannot be ranked"
                problems.add(seen, fix, line=int(fields.lines[place]))
            empty = False
            yield Batch(tuple(names), spans, documents, documents.hashes(), scores, fields.lines)
    if empty:
        problems.add("there is no ranking", f"each document is a line: {_RANKING.line}")


def _parts(
    stream: Stream, shape: _Shape, problems: Problems, *, whole_queries: bool
) -> Iterator[tuple[Fields, Integers]]:
    """Yield the fields of some lines at once, and where another query begins among them.

    Lines are counted from 1; there is one at least.
    """
    rest, before, at_once, last = b"", 1, AT_ONCE, False
    while not last:
        more = stream.read(at_once)
        content, last = rest + more, not more
        end = len(content) if last else content.rfind(b"\n") + 1
        fields = fields_of(content[:end], shape.wanted, least=shape.least)
        rest = content[end:]
        starts = fields.texts[0].changes()
        if whole_queries and not last:  # the last query may go on behind what was read
            if len(starts) < 2:
                rest, at_once = content, 2 * at_once
                continue
            rest = content[int(fields.begins[starts[-1]]) :]
            fields, starts = fields.until(int(starts[-1])), starts[:-1]
        _note_short(fields.short, problems, before, shape, content)
        if len(fields.lines):
            yield replace(fields, lines=fields.lines + before), starts
        before += fields.count


def _runs(queries: Texts, starts: Integers) -> tuple[list[str], Spans]:
    """Return the query of each run of lines with the same one, and which lines are the run's."""
    names = queries.part(starts).strings()
    return names, Spans.of(np.diff(starts, append=len(queries)))


def _note_short(
    short: Integers, problems: Problems, before: int, shape: _Shape, content: bytes
) -> None:
    if not len(short):
        return
    lines: list[bytes] = content.split(b"\n")
    places: list[int] = short.tolist()
    for line in places:
        seen = f"{quoted(lines[line].decode('utf-8', 'replace'))!r} has too few fields"
        problems.add(seen, f"a line is {shape.line}", line=line + before)
