"""Structured contexts as sentences, for judges that read only prose.

JSON, tables (Markdown, HTML, CSV) and `key: value` lines become sentences such as "Monday hours:
9:00 to 17:00."; evidence is mapped back to the original text.
"""

import csv
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import accumulate, takewhile
from typing import NamedTuple, TypeVar

from ragstone.types.claim import Evidence, FoundAnswer, Verdict

Found = TypeVar("Found", Verdict, FoundAnswer)
CACHE_SIZE = 256
MAX_KEY = 60
_GAP = "\n\n"
_NAMES = ("name", "title", "label")  # keys whose value is the subject of sentences about other keys
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


class Segment(NamedTuple):
    prose: str
    start: int
    end: int
    verbatim: bool = False


Row = tuple[list[str], int, int]  # the cells of a row of a table, and its place in the text


class RenderedContext(NamedTuple):
    text: str
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]

    def original(self, start: int, end: int) -> tuple[int, int]:
        first = max(0, bisect_right(self.starts, start) - 1)
        last = max(first, bisect_left(self.starts, end) - 1)
        one, other = self.segments[first], self.segments[last]
        begin = one.start + (start - self.starts[first] if one.verbatim else 0)
        stop = other.start + (end - self.starts[last]) if other.verbatim else other.end
        return begin, max(begin, min(stop, other.end))


@lru_cache(maxsize=CACHE_SIZE)
def render_structured(text: str) -> RenderedContext | None:
    """Return a context as prose; None if it is prose already."""
    segments = _of_json(text) if text.lstrip()[:1] in ("{", "[") else []
    segments = segments or list(_of_text(text))
    if len(segments) < 2 and all(segment.verbatim for segment in segments):
        return None
    lengths = (len(segment.prose) + len(_GAP) for segment in segments[:-1])
    starts = tuple(accumulate(lengths, initial=0))
    return RenderedContext(_GAP.join(each.prose for each in segments), tuple(segments), starts)


class ReadableContexts(NamedTuple):
    texts: tuple[str, ...]
    contexts: tuple[str, ...]

    @classmethod
    def of(cls, contexts: Sequence[str]) -> "ReadableContexts":
        rendered = [(text, render_structured(text)) for text in contexts]
        return cls(tuple(prose.text if prose else text for text, prose in rendered), (*contexts,))

    def restore(self, found: Found) -> Found:
        return found.model_copy(update={"evidence": tuple(map(self._restored, found.evidence))})

    def _restored(self, item: Evidence) -> Evidence:
        text = self.contexts[item.context]
        prose = render_structured(text)
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


def _of_json(text: str) -> list[Segment]:
    # The JSON is read by tokens, because a parsed value does not tell its place in the text. A
    # sentence begins with the name of the nearest object that has one.
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return []
    # of each fact: its container's number, its path, its begin, and its values with their ends
    facts: list[tuple[int, tuple[str, ...], int, list[tuple[str, int]]]] = []
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    # of each open container: its number, whether it is an object, and its path
    stack: list[tuple[int, bool, tuple[str, ...]]] = [(0, False, ())]
    key, key_start = "", None
    tokens = list(_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        written = token[0]
        owner, in_object, path = stack[-1]
        if written in ":,":
            continue
        if written in "}]":
            stack.pop()
            continue
        if in_object and tokens[number + 1][0] == ":" and key_start is None:
            key, key_start = _key(str(json.loads(written))), token.start()
            continue
        inner = (*path, key) if in_object else path
        if written in "{[":
            child = len(parents) + 1
            parents[child] = owner
            stack.append((child, written == "{", inner if key else path))
        else:
            value = _value(str(json.loads(written)) if written[0] == '"' else written)
            if in_object and key.lower() in _NAMES:
                names[owner] = value
            start = token.start() if key_start is None else key_start
            if value and facts and facts[-1][:2] == (owner, inner):
                facts[-1][3].append((value, token.end()))
            elif value:
                facts.append((owner, inner, start, [(value, token.end())]))
        key, key_start = "", None
    segments: list[Segment] = []
    for owner, path, start, values in facts:
        while owner and owner not in names:
            owner = parents[owner]
        is_name = path and path[-1].lower() in _NAMES
        subject = "" if is_name else names.get(owner, "")
        shown = ", ".join(value for value, _ in values)
        prose = _sentence(subject, [(" ".join(path), shown)])
        segments.append(Segment(prose, start, values[-1][1]))
    return segments


def _of_text(text: str) -> Iterator[Segment]:
    at = 0
    for table in _TABLE.finditer(text) if "<t" in text or "<T" in text else ():
        rows: list[Row] = []
        for row in _ROW.finditer(text, table.start(), table.end()):
            cells = [unescape(_TAG.sub(" ", cell)) for cell in _CELL.findall(row[1])]
            rows.append((cells, row.start(), row.end()))
        if segments := _of_table(rows):
            yield from _of_lines(text, at, table.start())
            yield from segments
            at = table.end()
    yield from _of_lines(text, at, len(text))


def _of_table(rows: Sequence[Row]) -> list[Segment]:
    if len(rows) < 2:
        return []
    keys = list(map(_key, rows[0][0]))
    segments = [Segment(_sentence("", [("", ", ".join(keys))]), *rows[0][1:])]
    for cells, start, end in rows[1:]:
        pairs = list(zip(keys, map(_value, cells), strict=False))
        if any(value for _, value in pairs):
            segments.append(Segment(_sentence("", pairs), start, end))
    return segments


def _of_lines(text: str, start: int, end: int) -> Iterator[Segment]:
    lines: list[tuple[str, int, int]] = []
    at = start
    for line in text[start:end].splitlines(keepends=True):
        lines.append((line.rstrip(), at, at + len(line.rstrip())))
        at += len(line)
    lines.append(("", end, end))
    number = 0
    while number < len(lines):
        segments, count = _block(lines, number)
        if segments or number == len(lines) - 1:
            piece = text[start : lines[number][1]]
            if plain := piece.strip():
                begin = start + len(piece) - len(piece.lstrip())
                yield Segment(plain, begin, begin + len(plain), verbatim=True)
            yield from segments
            start = lines[number + count - 1][2]
        number += count


def _block(lines: Sequence[tuple[str, int, int]], number: int) -> tuple[list[Segment], int]:
    def run(fits: Callable[[str], object]) -> Sequence[tuple[str, int, int]]:
        following = range(number, len(lines))
        return [lines[n] for n in takewhile(lambda n: fits(lines[n][0]), following)]

    line = lines[number][0]
    rule = lines[number + 1][0] if number + 1 < len(lines) else ""
    if "|" in line and "|" in rule:
        if not _RULE.fullmatch(rule):
            return [], 1
        block = run(lambda text: "|" in text)
        rows = [
            ([cell.strip(" *`") for cell in text.strip().strip("|").split("|")], start, end)
            for text, start, end in block
            if not _RULE.fullmatch(text)
        ]
        return _of_table(rows), len(block)
    if block := run(_PAIR.fullmatch):
        segments: list[Segment] = []
        for text, start, end in block:
            match = _PAIR.fullmatch(text)
            assert match is not None
            prose = _sentence("", [(_key(match[1]), _value(match[2]))])
            written = text[match.start(1) :]
            same = prose.removesuffix(".") == written.removesuffix(".")
            start += match.start(1)
            segments.append(Segment(written if same else prose, start, end, verbatim=same))
        return (segments, len(block)) if len(block) > 1 else ([], 1)
    if not (delimiter := next((mark for mark in _DELIMITERS if mark in line), "")):
        return [], 1
    columns = line.count(delimiter)
    block = run(lambda text: text.count(delimiter) >= columns)
    rows = [
        (next(csv.reader([text], delimiter=delimiter, skipinitialspace=True)), start, end)
        for text, start, end in block
    ]
    is_short = all(len(cell) <= MAX_KEY for cell in rows[0][0])
    is_even = len({len(cells) for cells, _, _ in rows}) == 1
    is_table = len(block) > 2 and is_short and is_even and line[-1] not in ".!?:;,"
    return (_of_table(rows) if is_table else []), len(block)
