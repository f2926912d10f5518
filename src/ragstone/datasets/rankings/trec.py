"""TREC: qrels and run files, read as trec_eval does: fields between blanks, line by line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.join import Batch
from ragstone.datasets.rankings.source import (
    PADDING,
    Hashes,
    Integers,
    OnRead,
    Problems,
    Stream,
    Texts,
    opened,
    padded,
)

_BLANK, _BREAK, _COMMENT = ord(" "), ord("\n"), ord("#")


@dataclass(frozen=True)
class Fields:
    """The needed fields of N lines, without empty lines and comments; `short` have too few."""

    texts: tuple[Texts, ...]
    lines: Integers
    begins: Integers
    short: Integers
    count: int


def fields_of(content: bytes, needed: Sequence[int], *, least: int) -> Fields:
    """Find the needed fields of whole lines, each with at least `least` fields."""
    if not content:
        nothing = np.zeros(0, dtype=np.int64)
        return Fields((Texts.of([]),) * len(needed), nothing, nothing, nothing, 0)
    ended = content if content.endswith(b"\n") else content + b"\n"
    buffer = padded(ended)
    blank = buffer <= _BLANK
    blanks = np.flatnonzero(blank)
    kinds = buffer[blanks]  # fields are between blanks as in C: spaces, and 9 to 13 in ASCII
    if np.any(others := (kinds < ord("\t")) | ((kinds > ord("\r")) & (kinds < _BLANK))):
        blank[blanks[others]] = False
        blanks = blanks[~others]
    width = int(np.searchsorted(blanks, len(PADDING) + ended.index(b"\n"))) + 1
    if width < least or len(blanks) % width or b"#" in ended:
        return _irregular(buffer, blanks, needed, least=least)
    table = blanks.reshape(-1, width)
    if (  # a blank that is not a break is inside a line, and no two blanks are neighbors
        ended.count(b"\n") != len(table)
        or not np.all(buffer[table[:, -1]] == _BREAK)
        or np.any(blank[1:] & blank[:-1])
        or blank[len(PADDING)]
    ):
        return _irregular(buffer, blanks, needed, least=least)
    begins = np.append(len(PADDING), table[:-1, -1] + 1)
    texts: list[Texts] = []
    for field in needed:
        starts = begins if field == 0 else table[:, field - 1] + 1
        texts.append(Texts(buffer, starts, table[:, field] - starts))
    lines = np.arange(len(table))
    return Fields(tuple(texts), lines, begins - len(PADDING), lines[:0], len(table))


def _irregular(
    buffer: NDArray[np.uint8], blanks: Integers, needed: Sequence[int], *, least: int
) -> Fields:
    ends = np.flatnonzero(buffer[blanks] == _BREAK)
    before = np.append(len(PADDING) - 1, blanks[:-1])
    some = np.flatnonzero(blanks - before > 1)  # blanks with a field right before them
    starts, stops = before[some] + 1, blanks[some]
    bounds = np.searchsorted(some, ends, side="right")  # fields down to each line's end
    first = np.append(0, bounds[:-1])
    sizes = bounds - first
    full = np.flatnonzero(sizes > 0)
    full = full[buffer[starts[first[full]]] != _COMMENT]
    enough = sizes[full] >= least
    lines = full[enough]
    places = first[lines]
    texts = tuple(
        Texts(buffer, starts[places + field], stops[places + field] - starts[places + field])
        for field in needed
    )
    return Fields(texts, lines, starts[places] - len(PADDING), full[~enough], len(ends))


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


def numbers(texts: Texts) -> tuple[NDArray[np.float64], Integers]:
    """Return float64[N] as Python reads texts, and the positions of those that are not numbers."""
    values, mantissa, plain = _plain(texts)
    return _read_others(texts, values, plain & (mantissa <= _EXACT))


def singles(texts: Texts) -> tuple[NDArray[np.float32], Integers]:
    values, mantissa, sure = _plain(texts)
    if not bool(np.all(mantissa <= _EXACT)):
        # within two units of the last place: exact, unless a single may be rounded either way
        lost = (values.view(np.uint64) & _LOST) - (_MIDDLE - _NEAR)
        sure = sure & ((mantissa <= _EXACT) | (lost > _NEAR + _NEAR))
    values, wrong = _read_others(texts, values, sure)
    with np.errstate(over="ignore"):
        return values.astype(np.float32), wrong


def _read_others(
    texts: Texts, values: NDArray[np.float64], sure: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], Integers]:
    wrong: list[int] = []
    for place in np.flatnonzero(~sure).tolist():
        text = texts.bytes_at(place)
        if _NUMBER.fullmatch(text):
            values[place] = float(text)
        else:
            wrong.append(place)
    return values, np.array(wrong, dtype=np.int64)


def _plain(texts: Texts) -> tuple[NDArray[np.float64], Hashes, NDArray[np.bool_]]:
    """Return numbers read as digits with a point among them, their digits, and which are such."""
    if not len(texts):
        return np.zeros(0), np.zeros(0, np.uint64), np.zeros(0, np.bool_)
    negative = texts.buffer[texts.starts] == ord("-")
    size = texts.lengths - negative
    ends = texts.starts + texts.lengths
    point = _point(texts, ends, size)
    behind = np.maximum(point - 1, 0)
    before = size - point
    whole, right = _digits(texts, ends - point, before)
    mantissa, good = _digits(texts, ends, np.minimum(behind, 8))
    right &= good & (before + behind > 0) & (before + behind <= _MOST)
    for done in range(8, min(int(np.max(behind)), _MOST), 8):
        more, good = _digits(texts, ends - done, np.clip(behind - done, 0, 8))
        right &= good
        mantissa += more * _POWERS[done]
    power = np.minimum(behind, _MOST)
    mantissa += whole * _POWERS[power]
    # a mantissa up to 2^53 over a power of ten up to 10^22 is rounded once, and so exactly
    # (Clinger, How to Read Floating Point Numbers Accurately, 1990); else twice
    values = mantissa.astype(np.float64) / _TENS[power]
    np.negative(values, out=values, where=negative)
    return values, mantissa, right


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
_CARRIAGE = re.compile(rb"\r[^\r\n]")
QRELS, RANKING = "QUERY 0 DOCUMENT GRADE", "QUERY Q0 DOCUMENT RANK SCORE NAME"
"""The form of a line; the query, the document and the number at the end are needed."""
_NEEDED = {QRELS: (0, 2, 3), RANKING: (0, 2, 4)}


def read(
    path: Path, form: str, problems: Problems, on_read: OnRead | None = None
) -> Iterator[Batch]:
    with opened(path, on_read) as stream:
        for fields, starts in _parts(stream, form, problems):
            queries, documents, written = fields.texts
            if form == QRELS:
                values, wrong = numbers(written)
                wrong = np.union1d(wrong, np.flatnonzero(np.isinf(values)))
                what, fix = "grade", "use whole numbers, usually 0, 1 or 2"
            else:
                values, wrong = singles(written)
                what, fix = "score", "a document without a score cannot be ranked"
            for place in wrong.tolist():
                seen = f"the {what} {quoted(written.text(place))} is not a number"
                problems.add(seen, fix, line=int(fields.lines[place]))
            names = queries.part(starts).strings()
            sizes = np.diff(starts, append=len(queries))
            yield Batch.of(names, sizes, documents, values, fields.lines)


def _parts(stream: Stream, form: str, problems: Problems) -> Iterator[tuple[Fields, Integers]]:
    rest, before, last = b"", 1, False
    while not last:
        content, last = stream.after(rest, AT_ONCE)
        end = len(content) if last else content.rfind(b"\n") + 1
        if b"\r" in content and (found := _CARRIAGE.search(content, 0, end)):
            line = content.count(b"\n", 0, found.start()) + before
            fix = "end lines with line feeds"
            problems.add("there is a carriage return inside the line", fix, line=line)
            problems.raise_found()
        fields = fields_of(content[:end], _NEEDED[form], least=len(form.split()))
        rest = content[end:]
        starts = fields.texts[0].changes()
        if form == RANKING and not last:  # the last query may continue after what was read
            if len(starts) < 2:
                rest = content
                continue
            rest = content[int(fields.begins[starts[-1]]) :]
            end, starts = int(starts[-1]), starts[:-1]
            line = int(fields.lines[end])
            fields = Fields(
                texts=tuple(each.part(slice(end)) for each in fields.texts),
                lines=fields.lines[:end],
                begins=fields.begins[:end],
                short=fields.short[fields.short < line],
                count=line,
            )
        short: list[int] = fields.short.tolist()
        lines = content.split(b"\n") if short else []
        for place in short:
            seen = f"{quoted(lines[place].decode('utf-8', 'replace'))!r} has too few fields"
            problems.add(seen, f"write {form}", line=place + before)
        if len(fields.lines):
            yield replace(fields, lines=fields.lines + before), starts
        before += fields.count
