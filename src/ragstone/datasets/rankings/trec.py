"""TREC's and MS MARCO's files, fields between blanks as in trec_eval, and tables as text."""

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.join import Batch, Values
from ragstone.datasets.rankings.source import (
    PADDING,
    Hashes,
    Integers,
    OnRead,
    Problems,
    Texts,
    opened,
    padded,
    resolve_columns,
)
from ragstone.errors import InputError, Problem


class Fields(NamedTuple):
    """The needed fields of N lines, without empty lines and the `odd`: too few or many fields."""

    texts: Sequence[Texts]
    lines: Integers
    begins: Integers
    odd: Integers
    total: int


def fields_of(
    content: bytes, needed: Sequence[int], *, least: int, most: int = sys.maxsize
) -> Fields:
    """Find the needed fields of whole lines, each with `least` to `most` fields."""
    if content and not content.endswith(b"\n"):
        content += b"\n"
    buffer = padded(content)
    is_blank = buffer <= ord(" ")
    is_blank[len(PADDING) - 1] = True  # so that each field is between two blanks
    blanks = np.flatnonzero(is_blank)
    kinds = buffer[blanks]  # of blanks as in C: spaces, and 9 to 13 in ASCII
    if np.any(others := (kinds < ord("\t")) | ((kinds > ord("\r")) & (kinds < ord(" ")))):
        blanks, kinds = blanks[~others], kinds[~others]
    before, after = blanks[:-1], blanks[1:]
    last = np.flatnonzero(kinds[1:] == ord("\n"))  # the last field of each line
    if not (full := after - before > 1).all():
        last = np.cumsum(full)[last] - 1
        before, after = before[full], after[full]
    first = np.append(0, last + 1)[:-1]
    sizes = last + 1 - first
    right = (sizes >= least) & (sizes <= most)
    first = first[right]
    texts: list[Texts] = []
    for places in (first + field for field in needed):
        starts = before[places] + 1
        texts.append(Texts(buffer, starts, after[places] - starts))
    begins = before[first] + 1 - len(PADDING)
    lines, odd = np.flatnonzero(right), np.flatnonzero(~right & (sizes > 0))
    return Fields(texts, lines, begins, odd, len(last))


_ZEROS = np.uint64(0x3030303030303030)
_DOTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_OVER_NINE = np.uint64(0x7676767676767676)
_PLACES = np.uint64(0x0001020304050607)
_PAIRS = np.uint64(0x000000FF000000FF)
_FIRST, _SECOND = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_POWERS = np.array([10**power for power in range(20)], dtype=np.uint64)
_TENS = 10.0 ** np.arange(20)
_EXACT = np.uint64(2**53)
_MOST = 19  # digits that always fit into 64 bits
_LOST, _MIDDLE, _NEAR = np.uint64(2**29 - 1), np.uint64(2**28), np.uint64(4)
"""The bits of a double that a single does not have, their middle value, and what is near it."""
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)


def numbers(texts: Texts, *, single: bool = False) -> tuple[NDArray[np.float64], Integers]:
    """Return float64[N] as Python reads texts, and the positions of those that are not numbers.

    With `single`, numbers are exact after they are rounded to single precision.
    """
    if not len(texts):
        return np.zeros(0), np.zeros(0, np.int64)
    negative = texts.buffer[texts.starts] == ord("-")
    size = texts.lengths - negative
    ends = texts.starts + texts.lengths
    point = _point(texts, ends, size)
    behind = np.maximum(point - 1, 0)
    before = size - point
    whole, sure = _digits(texts, ends - point, before)
    mantissa, good = _digits(texts, ends, np.minimum(behind, 8))
    sure &= good & (before + behind > 0) & (before + behind <= _MOST)
    for done in range(8, min(int(np.max(behind)), _MOST), 8):
        more, good = _digits(texts, ends - done, np.clip(behind - done, 0, 8))
        sure &= good
        mantissa += more * _POWERS[done]
    power = np.minimum(behind, _MOST)
    mantissa += whole * _POWERS[power]
    # a mantissa up to 2^53 over a power of ten up to 10^22 is rounded once, and so exactly
    # (Clinger, How to Read Floating Point Numbers Accurately, 1990); else twice
    values = mantissa.astype(np.float64) / _TENS[power]
    exact = mantissa <= _EXACT
    if single and not exact.all():
        # within two units of the last place: exact, unless a single may be rounded either way
        lost = (values.view(np.uint64) & _LOST) - (_MIDDLE - _NEAR)
        exact |= lost > _NEAR + _NEAR
    np.negative(values, out=values, where=negative)
    wrong: list[int] = []
    for place in np.flatnonzero(~(sure & exact)).tolist():  # all others, one by one
        text = texts.bytes_at(place)
        if _NUMBER.fullmatch(text):
            values[place] = float(text)
        else:
            wrong.append(place)
    return values, np.array(wrong, dtype=np.int64)


def _point(texts: Texts, ends: Integers, size: Integers) -> "Integers | np.int64":
    """Return bytes from the point to the end; one number if it is the same: twice as fast."""
    _, point, behind = texts.bytes_at(0).rpartition(b".")
    same = np.int64(len(point) and len(behind) + 1)
    if same and bool(np.all((texts.buffer[ends - same] == ord(".")) & (size >= same))):
        return same
    start = Texts(texts.buffer, ends - size, np.minimum(size, 8)).word(0) ^ _DOTS
    found = (start - _ONES) & ~start & _HIGHS
    lowest = (found & (~found + np.uint64(1))) >> np.uint64(7)
    before = ((lowest * _PLACES) >> np.uint64(56)).astype(np.int64)
    return np.where(found > 0, size - before, 0)


def _digits(
    texts: Texts, ends: Integers, sizes: "Integers | np.int64"
) -> tuple[Hashes, NDArray[np.bool_]]:
    """Return the whole numbers of up to 8 digits before `ends`, and which are such."""
    # eight digits at once, pair by pair (Lemire, Number Parsing at a Gigabyte per Second, 2021)
    gap = ((8 - np.clip(sizes, 0, 8)) << 3).astype(np.uint64)
    digits = texts.words[ends - 8]
    digits ^= _ZEROS
    digits >>= gap
    digits <<= gap
    over = digits + _OVER_NINE
    over |= digits
    over &= _HIGHS
    right = (over == 0) & (sizes <= 8)
    pairs = digits >> np.uint64(8)
    digits *= np.uint64(10)
    pairs += digits
    value = pairs & _PAIRS
    value *= _FIRST
    pairs >>= np.uint64(16)
    pairs &= _PAIRS
    pairs *= _SECOND
    value += pairs
    value >>= np.uint64(32)
    return value, right


AT_ONCE = 1 << 21  # bytes that are read at once; more if one query has more
ROWS_AT_ONCE = 1 << 16
_BREAK = re.compile(rb"\r[^\r\n]|[\v\f\x1c-\x1e]|\xc2\x85|\xe2\x80[\xa8\xa9]")
_BREAKS = (b"\r", b"\v", b"\f", b"\x1c", b"\x1d", b"\x1e", b"\xc2\x85", b"\xe2\x80")
_QRELS, _RUN = "QUERY 0 DOCUMENT GRADE", "QUERY Q0 DOCUMENT RANK SCORE NAME"
_JUDGED, _RANKED = "QUERY DOCUMENT GRADE", "QUERY DOCUMENT RANK"
_NOTED = f"{_JUDGED} NOTE"
_NEEDED = {_QRELS: (0, 2, 3), _RUN: (0, 2, 4)}  # of a form: query, document, number; if not 0, 1, 2
_HEADER = "or a header such as query_id,document_id"
EXPECTED = {  # by whether it has grades
    True: f"write {_QRELS}, {_JUDGED}, {_HEADER},grade (--map adds names)",
    False: f"write {_RUN}, {_RANKED} with rank 1 first, {_HEADER},rank or score (--map adds names)",
}


def _form_of(line: bytes, problems: Problems, *, graded: bool) -> str:
    """Return the form of a first line without names, or raise an InputError."""
    parts = line.split()
    size, numeric = len(parts), [_NUMBER.fullmatch(part) is not None for part in parts]
    second = size > 1 and parts[1] not in (b"0", b"Q0")  # it may be the document
    # a document, a grade and a note; a number as note could also be the grade of document 1
    noted = size == 4 and second and numeric[1:3] == [False, True]
    if graded and size == 4 and not (noted and numeric[3]):
        return _NOTED if noted else _QRELS
    if size == 3 and second and (numeric[2] if graded else parts[2] in (b"0", b"1")):
        return _JUDGED if graded else _RANKED
    if (size >= 6 and not graded) or _BREAK.search(line):  # which is reported later
        return _RUN
    seen = f"{quoted(line.decode(errors='replace'))!r} has an unknown form"
    raise InputError(problems.name, [Problem(seen, EXPECTED[graded], row=1, unit="line")])


def read(
    path: Path, line: bytes, problems: Problems, on_read: OnRead | None = None, *, graded: bool
) -> Iterator[Batch]:
    form = _form_of(line, problems, graded=graded)
    problems.may_be_ranks = form == _JUDGED
    number = "grade" if graded else "rank" if form == _RANKED else "score"
    needed, least = _NEEDED.get(form, (0, 1, 2)), len(form.split())
    # the name of a run may have several words, but no second line that was joined to the first
    most = {_RUN: 2 * least - 2, _NOTED: sys.maxsize}.get(form, least)
    rest, before, is_last = b"", 1, False
    with opened(path, on_read) as stream:
        while not is_last:
            content, is_last = stream.after(rest, AT_ONCE)
            end = len(content) if is_last else content.rfind(b"\n") + 1
            is_broken = any(each in content for each in _BREAKS)
            if is_broken and (found := _BREAK.search(content, 0, end)):
                row = content.count(b"\n", 0, found.start()) + before
                what = "a carriage return" if b"\r" in found[0] else repr(found[0].decode())
                fix = "end lines with line feeds"
                problems.add(f"there is {what} inside the line", fix, line=row)
                problems.raise_found()
            texts, lines, begins, odd, count = fields_of(
                content[:end], needed, least=least, most=most
            )
            starts = texts[0].changes()
            if not (graded or is_last):  # the last query may continue after what was read
                if len(starts) < 2:
                    rest = content
                    continue
                last, starts = int(starts[-1]), starts[:-1]
                end, count = int(begins[last]), int(lines[last])
                odd = odd[odd < count]
                texts, lines = [each.part(slice(last)) for each in texts], lines[:last]
            rest = content[end:]
            written = content.split(b"\n") if len(odd) else []
            for place in map(int, odd):
                seen = f"{quoted(written[place].decode('utf-8', 'replace'))!r} is not {form}"
                fix = "write all lines in the form of the first"
                problems.add(seen, fix, line=place + before)
            if len(lines):
                yield _batch(texts, lines + before, starts, number, problems)
            before += count


def read_table(
    path: Path,
    delimiter: str,
    mapped: Mapping[str, str],
    problems: Problems,
    on_read: OnRead | None = None,
    *,
    graded: bool,
) -> Iterator[Batch]:
    """Read a text with the names of its columns in the first row, as CSV with this delimiter."""
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    number = ""

    def batch() -> Batch:
        texts = [Texts.of(column) for column in zip(*rows, strict=True)]
        return _batch(texts, np.array(lines), texts[0].changes(), number, problems)

    with opened(path, on_read) as stream:
        texts = (StringIO(part.decode(), newline="\n") for part in stream.lines())
        reader = csv.reader(
            chain.from_iterable(texts), delimiter=delimiter, skipinitialspace=True, strict=True
        )
        full = filter(lambda row: any(map(str.strip, row)), reader)
        try:
            header = [*map(str.strip, next(full))]
            columns = resolve_columns(mapped, header, problems, graded=graded)
            number = [*columns, ""][2]
            pick = itemgetter(*map(header.index, columns.values()))
            for row in full:
                if len(row) != len(header):
                    seen = f"there are {len(row)} cells, but {len(header)} names in the header"
                    problems.add(seen, "quote cells that contain delimiters", line=reader.line_num)
                    continue
                cells = tuple(map(str.strip, pick(row)))
                if len(rows) >= ROWS_AT_ONCE and cells[0] != rows[-1][0]:
                    yield batch()
                    rows, lines = [], []
                rows.append(cells)
                lines.append(reader.line_num)
        except UnicodeDecodeError as error:
            problems.add(f"this is not UTF-8 text: {error.reason}", "save it as UTF-8")
        except csv.Error as error:
            problems.add(f"this is not CSV: {error}", line=reader.line_num)
        if rows:
            yield batch()


def _batch(
    texts: Sequence[Texts], lines: Integers, starts: Integers, number: str, problems: Problems
) -> Batch:
    queries, documents, *written = texts
    values: Values | None = None
    if written:
        values, wrong = numbers(written[0], single=number != "grade")
        fix = f"a document without a {number} cannot be ranked"
        if number == "grade":
            wrong = np.union1d(wrong, np.flatnonzero(np.isinf(values)))
            fix = "use whole numbers, usually 0, 1 or 2"
        kind = "number"
        if number == "rank":
            wrong = np.union1d(wrong, np.flatnonzero(values % 1))
            kind, fix = "whole number", f"scores need a header: {_HEADER.removeprefix('or ')},score"
        for place in wrong.tolist():
            seen = f"the {number} {quoted(written[0].text(place))} is not a {kind}"
            header = "; if this is a header, --map adds names" if lines[place] == 1 else ""
            problems.add(seen, fix + header, line=int(lines[place]))
        values = values_of(values, number)
    sizes = np.diff(starts, append=len(queries))
    return Batch.of(queries.part(starts).strings(), sizes, documents, values, lines)


def values_of(numbers: NDArray[np.float64], number: str) -> Values:
    """Return numbers as grades, or as scores: as in trec_eval, they have single precision."""
    if number == "grade":
        return numbers
    with np.errstate(over="ignore"):
        return (-numbers if number == "rank" else numbers).astype(np.float32)
