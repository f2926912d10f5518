"""Structured contexts as sentences, for judges that read only prose.

JSON, tables (Markdown, HTML, CSV) and `key: value` lines become sentences such as "Monday hours:
9:00 to 17:00."; evidence is mapped back to the original text. The work grows with the length of
the text and no faster.
"""

import csv
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from itertools import groupby
from typing import NamedTuple, cast

from ragstone.types.claim import Evidence, Verdict

CACHE_SIZE = 256
"""Contexts whose prose is kept: the claims of a response are often judged one by one."""
MAX_KEY = 60
"""Characters of the longest key of a `key: value` line."""
_NAMES = ("name", "title", "label")
"""Keys whose value names an object in the sentences about its other keys."""
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[-\w.+]++|[{}\[\]:,]')
_WORDS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|[_\-]+")
_RANGE = re.compile(r"\b(\d{1,2}):(\d{1,2})\s*[-–]\s*(\d{1,2}):(\d{1,2})\b")
_PAIR = re.compile(
    rf"[ \t]*(?:[-*•][ \t]+)?([^\s:|<>{{}}\[\]][^:|<>\n]{{0,{MAX_KEY}}}):[ \t]+(\S.*)"
)
_RULE = re.compile(r"[\s|:\-]*-[\s|:\-]*")
_ROW = re.compile(r"<tr\b[^>]*+>(.*?)(?=</tr>|<tr\b|</table>|\Z)", re.IGNORECASE | re.DOTALL)
_CELL = re.compile(r"<t[hd]\b[^>]*+>(.*?)(?=</t[hd]>|<t[hd]\b|\Z)", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"<table\b.*?(?:</table>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*+>")
_DELIMITERS = (",", ";", "\t")


class Piece(NamedTuple):
    """A part of the original text, as prose; `verbatim` means that it did not change."""

    prose: str
    start: int
    end: int
    verbatim: bool = False


@dataclass(frozen=True)
class Prose:
    """A context as prose: its text, and where each piece begins in it."""

    text: str
    pieces: tuple[Piece, ...]
    starts: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first, bisect_left(self.starts, end) - 1)
        one, other = self.pieces[first], self.pieces[last]
        begin = one.start + (start - self.starts[first] if one.verbatim else 0)
        stop = other.start + (end - self.starts[last]) if other.verbatim else other.end
        return begin, max(begin, min(stop, other.end))


@lru_cache(maxsize=CACHE_SIZE)
def as_prose(text: str) -> Prose | None:
    pieces = _json_pieces(text) if text.lstrip()[:1] in ("{", "[") else None
    if pieces is None:
        pieces = list(_pieces(text))
        if all(piece.verbatim for piece in pieces) and len(pieces) < 2:
            return None
    starts: list[int] = []
    at = 0
    for piece in pieces:
        starts.append(at)
        at += len(piece.prose) + 2
    return Prose("\n\n".join(piece.prose for piece in pieces), tuple(pieces), tuple(starts))


@dataclass(frozen=True)
class ReadableContexts:
    """Contexts as prose, to be judged, and the way back for the evidence."""

    texts: tuple[str, ...]
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, contexts: Sequence[str]) -> "ReadableContexts":
        prose = [as_prose(text) for text in contexts]
        texts = [
            text if one is None else one.text for text, one in zip(contexts, prose, strict=True)
        ]
        return cls(tuple(texts), tuple(contexts))

    def restore(self, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
        if self.texts == self.contexts:
            return tuple(verdicts)
        return tuple(
            verdict.model_copy(update={"evidence": self.restore_evidence(verdict.evidence)})
            for verdict in verdicts
        )

    def restore_evidence(self, evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
        return tuple(map(self._restored, evidence))

    def _restored(self, item: Evidence) -> Evidence:
        text = self.contexts[item.context]
        prose = as_prose(text)
        if prose is None or item.start is None or item.end is None:
            return item
        start, end = prose.original(item.start, item.end)
        return item.model_copy(update={"start": start, "end": end, "quote": text[start:end]})


def _sentence(subject: str, pairs: Sequence[tuple[str, str]]) -> str:
    parts = [f"{key}: {value}" if key else value for key, value in pairs if value]
    text = f"{subject} {'; '.join(parts)}".strip()
    return text if text[-1:] in ".!?" else f"{text}."


def _key(text: str) -> str:
    return " ".join(_WORDS.sub(" ", text).split())


def _value(text: str) -> str:
    text = {"true": "yes", "false": "no", "null": ""}.get(text.strip().lower(), text.strip())
    return _RANGE.sub(
        lambda m: f"{m[1]}:{m[2].zfill(2)} to {m[3]}:{m[4].zfill(2)}", " ".join(text.split())
    )


class _Leaf(NamedTuple):
    owner: int
    path: tuple[str, ...]
    value: str
    start: int
    end: int


def _json_pieces(text: str) -> list[Piece] | None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    leaves: list[_Leaf] = []
    names: dict[int, str] = {}
    # of each open container: its number, whether it is an object, and its path
    stack: list[tuple[int, bool, tuple[str, ...]]] = []
    parents: dict[int, int] = {}
    count, key, key_start = 0, "", None
    tokens = list(_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        found = token[0]
        owner, in_object, path = stack[-1] if stack else (0, False, ())
        if found in "{[":
            count += 1
            parents[count] = owner
            stack.append((count, found == "{", (*path, key) if in_object and key else path))
            key, key_start = "", None
        elif found in "}]":
            stack.pop()
        elif found in ":,":
            continue
        elif in_object and tokens[number + 1][0] == ":" and key_start is None:
            key, key_start = _key(cast("str", json.loads(found))), token.start()
        else:
            value = cast("str", json.loads(found)) if found[0] == '"' else found
            value = _value(value)
            if in_object and key.lower() in _NAMES:
                names[owner] = value
            where = (*path, key) if in_object else path
            start = token.start() if key_start is None else key_start
            if value:
                leaves.append(_Leaf(owner, where, value, start, token.end()))
            key, key_start = "", None
    pieces: list[Piece] = []
    for (owner, path), several in groupby(leaves, key=lambda leaf: (leaf.owner, leaf.path)):
        same = list(several)
        while owner and owner not in names:
            owner = parents[owner]
        subject = names.get(owner, "")
        is_name = path[-1:] and path[-1].lower() in _NAMES
        subject = "" if is_name else subject
        prose = _sentence(subject, [(" ".join(path), ", ".join(leaf.value for leaf in same))])
        pieces.append(Piece(prose, same[0].start, same[-1].end))
    return pieces or None


def _pieces(text: str) -> Iterator[Piece]:
    at = 0
    for table in _TABLE.finditer(text) if "<t" in text or "<T" in text else ():
        rows = [
            ([_plain(cell[1]) for cell in _CELL.finditer(row[1])], row.start(), row.end())
            for row in _ROW.finditer(text, table.start(), table.end())
        ]
        if found := list(_table(rows)):
            yield from _lines(text, at, table.start())
            yield from found
            at = table.end()
    yield from _lines(text, at, len(text))


def _plain(cell: str) -> str:
    return " ".join(unescape(_TAG.sub(" ", cell)).split())


_Row = tuple[list[str], int, int]


def _table(rows: Sequence[_Row]) -> Iterator[Piece]:
    if len(rows) < 2:
        return
    head = [_key(cell) for cell in rows[0][0]]
    yield Piece(_sentence("", [("", ", ".join(head))]), *rows[0][1:])
    for cells, start, end in rows[1:]:
        pairs = list(zip(head, map(_value, cells), strict=False))
        if any(value for _, value in pairs):
            yield Piece(_sentence("", pairs), start, end)


def _lines(text: str, start: int, end: int) -> Iterator[Piece]:
    lines: list[tuple[str, int, int]] = []
    at = start
    for line in text[start:end].splitlines(keepends=True):
        lines.append((line.rstrip(), at, at + len(line.rstrip())))
        at += len(line)
    begin = start
    number = 0
    while number < len(lines):
        found, used = _block(lines, number)
        if found:
            yield from _verbatim(text, begin, lines[number][1])
            yield from found
            begin = lines[number + used - 1][2]
        number += used
    yield from _verbatim(text, begin, end)


def _verbatim(text: str, start: int, end: int) -> Iterator[Piece]:
    piece = text[start:end]
    if left := piece.strip():
        begin = start + len(piece) - len(piece.lstrip())
        yield Piece(left, begin, begin + len(left), verbatim=True)


def _block(lines: Sequence[tuple[str, int, int]], number: int) -> tuple[list[Piece], int]:
    line = lines[number][0]
    if "|" in line and number + 1 < len(lines) and "|" in lines[number + 1][0]:
        if _RULE.fullmatch(lines[number + 1][0]):
            count = _run(lines, number, lambda each: "|" in each)
            rows = [
                ([cell.strip(" *`") for cell in one.strip().strip("|").split("|")], start, end)
                for one, start, end in lines[number : number + count]
                if not _RULE.fullmatch(one)
            ]
            return list(_table(rows)), count
    elif count := _run(lines, number, _PAIR.fullmatch):
        pieces: list[Piece] = []
        for one, start, end in lines[number : number + count]:
            if match := _PAIR.fullmatch(one):
                prose = _sentence("", [(_key(match[1]), _value(match[2]))])
                written = one[match.start(1) :]
                same = prose.removesuffix(".") == written.removesuffix(".")
                begin = start + match.start(1)
                pieces.append(Piece(written if same else prose, begin, end, verbatim=same))
        return (pieces, count) if count > 1 else ([], 1)
    elif delimiter := next((mark for mark in _DELIMITERS if mark in line), None):
        columns = line.count(delimiter)
        count = _run(lines, number, lambda each: each.count(delimiter) >= columns)
        rows = [
            (next(csv.reader([one], delimiter=delimiter, skipinitialspace=True)), start, end)
            for one, start, end in lines[number : number + count]
        ]
        widths = {len(cells) for cells, _, _ in rows}
        short = all(len(cell) <= MAX_KEY for cell in rows[0][0])
        if count > 2 and columns and short and len(widths) == 1 and line[-1] not in ".!?:;,":
            return list(_table(rows)), count
        return [], count
    return [], 1


def _run(lines: Sequence[tuple[str, int, int]], number: int, fits: Callable[[str], object]) -> int:
    following = range(number, len(lines))
    end = next((each for each in following if not fits(lines[each][0])), len(lines))
    return end - number
