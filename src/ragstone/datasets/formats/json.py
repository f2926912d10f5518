"""JSON files: a list of objects (.json, RFC 8259), or one object per line (.jsonl and .ndjson)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from zlib import crc32

from ragstone.datasets.blocks import Block, FileRows
from ragstone.datasets.table import (
    MARK,
    File,
    Record,
    Table,
    Unreadable,
    broken_byte,
    encoding_fix,
    encoding_problem,
    type_in_words,
)
from ragstone.datasets.values import parsed_json
from ragstone.errors import Problem

ENVELOPES = ("samples", "data", "rows", "tests", "examples")
"""Names that the list of rows may have in an object."""
OTHERS = ("test_cases", "goldens", "responses", "results", "resourceSpans")
"""Names in other tools' files, used if there is none of the above."""


@dataclass(frozen=True)
class Listed:
    """The list of rows in a file, a note on what is beside it, and the file's `metadata`."""

    items: list[object]
    notes: tuple[str, ...] = ()
    beside: Mapping[str, object] = field(default_factory=dict[str, object])


def read(file: File, _limit: int | None = None) -> Table:
    text = file.text()
    try:
        value = parsed_json(text)
    except json.JSONDecodeError as error:
        several = error.msg == "Extra data"
        fix = "if it has one object per line, rename it to .jsonl" if several else ""
        seen = f"invalid JSON: {error.msg} (column {error.colno})"
        raise file.refused(seen, fix, line=error.lineno) from error
    except ValueError as error:
        found = re.search(r"\d{4301}", text)  # more digits than Python reads
        line = text.count("\n", 0, found.start()) + 1 if found else None
        raise file.refused(f"cannot read this JSON: {error}", line=line) from error
    found = rows_in(value, file)
    records = [Record.of(row, item) for row, item in enumerate(found.items, 1)]
    return Table(records, unit="item", notes=found.notes, beside=found.beside)


def read_lines(file: File, limit: int | None = None) -> Table:
    file.check_text()
    rows = JsonLines(file.path, limit=limit)
    if not rows:
        file.checked()
    return Table(rows, unit="line", end=limit and rows.end)


class JsonLines(FileRows):
    """The rows of a JSON Lines file; blank lines are skipped."""

    def _scan(self, limit: int | None) -> Iterator[Block]:
        place, line = 0, 1
        with self.path.open("rb") as file:
            start = len(MARK) if file.read(len(MARK)) == MARK else 0
            file.seek(start)
            while self.tail is None and (limit is None or place < limit):
                if not (content := file.read(self.size) + file.readline()):
                    return
                # Split before decoding: a line may contain U+2028, at which Python would split.
                lines = content.split(b"\n")
                given = [number for number, each in enumerate(lines) if each.strip()]
                if limit is not None and place + len(given) >= limit:
                    given = given[: limit - place]
                    lines = lines[: given[-1] + 1]
                self.tail = self._problem(lines, given, first=not place)
                if self.tail is not None:
                    lines = lines[: (self.tail.row or line) - line]
                    given = [number for number in given if number < len(lines)]
                content = content[: sum(map(len, lines)) + len(lines)]
                end = start + len(content)
                yield Block(place, len(given), line, start, end, crc32(content))
                place, line, start = place + len(given), line + content.count(b"\n"), end

    def _problem(
        self, lines: Sequence[bytes], given: Sequence[int], *, first: bool
    ) -> Problem | None:
        if first and given and isinstance(self._row((0, lines[given[0]])), Problem):
            whole = self.path.read_bytes().removeprefix(MARK)
            if (found := _over_lines(whole)) is not None:
                return found
        try:
            b"\n".join(lines).decode()
        except UnicodeDecodeError:
            if not self._checked:
                self._checked = True
                return encoding_problem(self.path.read_bytes().removeprefix(MARK))
        return None

    _checked = False

    def _parts(self, block: Block) -> Sequence[tuple[int, bytes]]:
        lines = enumerate(self.bytes_of(block).split(b"\n"), block.line)
        return [(number, line) for number, line in lines if line.strip()]

    def _row(self, part: tuple[int, bytes]) -> Record | Problem:
        number, line = part
        try:
            return Record.of(number, parsed_json(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            return Problem(broken_byte(line, error), encoding_fix(line), row=number)
        except json.JSONDecodeError as error:
            comma = error.doc[error.pos :].strip() == ","
            fix = "remove the comma after the object" if comma else ""
            return Problem(f"invalid JSON: {error.msg} (column {error.colno})", fix, row=number)
        except ValueError as error:
            return Problem(f"cannot read this JSON: {error}", row=number)


def rows_in(value: object, file: File) -> Listed:
    if isinstance(value, list):
        return Listed(cast("list[object]", value))
    expected = (
        f"write a list of objects, or an object with one under {', '.join(ENVELOPES)} (other "
        f"tools' files: {', '.join(OTHERS)})"
    )
    if not isinstance(value, Mapping):
        raise file.refused(f"the file contains {type_in_words(value)}, not a list", expected)
    parts = cast("Mapping[object, object]", value)
    names = [name for name in ENVELOPES if isinstance(parts.get(name), list | Unreadable)]
    names = names or [name for name in OTHERS if isinstance(parts.get(name), list | Unreadable)]
    if not names and isinstance(inner := parts.get("results"), Mapping):  # as promptfoo nests them
        return rows_in(cast("object", inner), file)
    if len(names) != 1:
        seen = f", only {', '.join(map(repr, list(parts)[:12]))}" if parts else ""
        what = f"lists under {' and '.join(names)}" if names else f"no list of rows{seen}"
        raise file.refused(f"the top-level object has {what}", expected)
    rows = parts[names[0]]
    if isinstance(rows, Unreadable):
        raise file.refused(rows.seen, expected)
    metadata = parts.get("metadata")
    beside = cast("Mapping[str, object]", metadata if isinstance(metadata, Mapping) else {})
    others = ", ".join(str(name) for name in parts if name != names[0])
    notes = (f"ignored keys: {others}",) if others else ()
    return Listed(cast("list[object]", rows), notes, beside)


def _over_lines(content: bytes) -> Problem | None:
    text = content.lstrip()
    row = content.count(b"\n", 0, len(content) - len(text)) + 1
    try:
        json.loads(text.partition(b"\n")[0])
        return None
    except (ValueError, RecursionError):
        pass
    try:
        whole = text.decode()
        _, end = json.JSONDecoder().raw_decode(whole)
    except (ValueError, RecursionError):
        return None
    if "\n" not in whole[:end]:
        return None
    if whole[end:].strip():
        seen = "the JSON value that starts here spans several lines"
        return Problem(seen, "write one object per line", row=row)
    seen = "this is a single JSON value that spans several lines"
    return Problem(seen, "rename the file to .json, or write one object per line", row=row)
