"""Text files: CSV and TSV with a header, JSON, JSON Lines, and YAML."""

import csv
import json
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import cast
from zlib import crc32

import jmespath
from jmespath.exceptions import JMESPathError
from yaml.nodes import MappingNode, SequenceNode

from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import plain_name
from ragstone._internal.yaml import load_yaml
from ragstone.datasets import table
from ragstone.datasets.columns import FIELD_OF, field_of
from ragstone.datasets.table import Block, File, FileRows, Record, Table, Unreadable
from ragstone.datasets.values import DECODER, parsed_json
from ragstone.errors import Problem, UsageError

_SEPARATOR = re.compile(r"sep=(.)\r?\n")  # above the header, Excel sets the delimiter by it
_LONGEST = 2**31 - 1  # characters of a cell; the csv module's limit, 131072, is short for contexts
_HEADER = 100_000  # how many characters are read to find the delimiter


def read_csv(file: File, limit: int | None = None) -> Table:
    """Read a CSV or TSV file (RFC 4180); its delimiter gives the most known names in the header."""
    file.check_text()
    try:
        rows = CsvRows(file, limit=limit)
    except UnicodeError:
        file.text()  # raises an error with the line
        raise
    except ValueError as error:
        raise file.refused(str(error)) from error
    columns, notes = tuple(filter(None, rows.names)), table.unnamed_note(rows.unnamed)
    return Table(rows, columns, unit="line", notes=notes, end=limit and rows.end, names=columns)


class CsvRows(FileRows):
    """The rows of a CSV file below its header; `unnamed` are columns with values, but no name."""

    def __init__(self, file: File, *, limit: int | None) -> None:
        at, line = len(table.MARK) if file.start.startswith(table.MARK) else 0, file.header_row or 1
        with closing(_Lines(file.path, at)) as lines, _long_cells():
            above = "".join(islice(lines, line - 1))
            at, begin = lines.at, "".join(islice(lines, 1))
            if separator := _SEPARATOR.match(above):
                self._delimiter = separator[1]
            elif separator := _SEPARATOR.fullmatch(begin):
                self._delimiter, line, at = separator[1], 2, lines.at
            else:
                while len(begin) < _HEADER and (more := next(lines, "")):
                    begin += more
                known = ",;\t|" if file.suffix != ".tsv" else "\t"
                self._delimiter = max(known, key=lambda each: _known_names(begin[:_HEADER], each))
        with closing(_Lines(file.path, at)) as lines, _long_cells():
            found = _cells(lines, self._delimiter, line)
            header: table.Cells | Problem = next(found, (0, ()))
            self._start, self._line = lines.at, line + lines.count
            below = [] if file.header_row else [*islice(found, table.COMPARED)]
        if isinstance(header, Problem):
            raise file.refused(header.seen, header.fix, line=header.row)
        if not header[1]:
            file.checked()
            if file.header_row:
                raise ValueError(f"there is no header in line {file.header_row} or below it")
        self.names = table.header_names(header[1], below)
        self.unnamed = set[int]()
        super().__init__(file, limit=limit)

    def _scan(self, limit: int | None) -> Iterator[Block]:
        with closing(_Lines(self.path, self._start)) as lines, _long_cells():
            place = rows = 0
            start, line = self._start, self._line
            end = checksum = 0
            for found in islice(_cells(lines, self._delimiter, line), limit):
                if isinstance(found, Problem):
                    self.tail = found
                    break
                rows += 1
                self.unnamed.update(table.filled_unnamed(self.names, found[1]))
                end, below, checksum = lines.at, self._line + lines.count, lines.checksum
                if end - start >= self.size:
                    yield Block(place, rows, line, start, end, checksum)
                    place, rows, start, line, lines.checksum = place + rows, 0, end, below, 0
            if rows:
                yield Block(place, rows, line, start, end, checksum)

    def _parts(self, block: Block) -> Sequence[table.Cells]:
        text = StringIO(self.bytes_of(block).decode(), newline="")
        with _long_cells():
            found = list(_cells(text, self._delimiter, block.line))
        return [row for row in found if not isinstance(row, Problem)]

    def _row(self, parts: Sequence[table.Cells], place: int) -> Record | Problem:
        fix = "name the column, or put a cell that contains the delimiter in quotes"
        return table.record_under(self.names, parts[place], fix)


class _Lines(Iterator[str]):
    """The lines of a file from a byte on; `at` is the byte after the last one."""

    def __init__(self, path: Path, at: int) -> None:
        file = path.open("rb")
        file.seek(at)
        self._text = TextIOWrapper(file, "utf-8", newline="")
        self.at, self.count, self.checksum = at, 0, 0

    def __next__(self) -> str:
        line = next(self._text)
        if "\0" in line:
            raise UnicodeError("the text contains a NUL character")
        content = line.encode()
        self.at += len(content)
        self.count += 1
        self.checksum = crc32(content, self.checksum)
        return line

    def close(self) -> None:
        self._text.close()


@contextmanager
def _long_cells() -> Generator[None, None, None]:
    usual = csv.field_size_limit(_LONGEST)  # the csv module has one limit for the whole process
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _cells(lines: Iterable[str], delimiter: str, line: int) -> Iterator[table.Cells | Problem]:
    # Strict, because otherwise a quote that is never closed silently takes the rest of the file.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begins = line
    try:
        for texts in reader:
            cells = [cell if cell.strip() else None for cell in texts]
            if not table.is_blank(cells):
                yield begins, cells
            begins = reader.line_num + line
    except csv.Error as error:
        yield Problem(
            f"cannot parse the row that starts here: {error}",
            'quote cells that contain quotes, and double the quotes inside: "say ""yes"""',
            row=begins,
        )


def _known_names(text: str, delimiter: str) -> tuple[int, int]:
    found = islice(_cells(StringIO(text, newline=""), delimiter, 1), table.COMPARED)
    rows = [[c for c in row[1] if c is not None] for row in found if not isinstance(row, Problem)]
    known = [sum(plain_name(str(cell)) in FIELD_OF for cell in row) for row in rows]
    return max(known, default=0), len(rows[0]) if rows else 0


ENVELOPES = ("samples", "data", "rows", "tests", "examples")  # of the list of rows in an object
OTHERS = ("test_cases", "goldens", "responses", "results", "resourceSpans", "resource_spans")
"""Names in other tools' files, used if there is none of the above."""


def read_json(file: File, limit: int | None = None) -> Table:
    text = file.text()
    try:
        value = parsed_json(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and "\n" not in text[: error.pos].strip():
            return replace(read_json_lines(file, limit), notes=("one object per line",))
        if error.msg == "Extra data" and text[error.pos] == "{":
            return Table(_consecutive(text, file), unit="line", notes=("consecutive objects",))
        raise _invalid(error, file) from error
    except ValueError as error:
        found = re.search(r"\d{4301}", text)  # more digits than Python reads
        line = text.count("\n", 0, found.start()) + 1 if found else None
        raise file.refused(f"cannot read this JSON: {error}", line=line) from error
    items, notes, beside = _rows_in(value, file)
    records = [Record.of(number, item) for number, item in enumerate(items, 1)]
    return Table(records, unit="item", notes=notes, beside=beside)


def _invalid(error: json.JSONDecodeError, file: File) -> Exception:
    seen = f"invalid JSON: {error.msg} (column {error.colno})"
    return file.refused(seen, line=error.lineno)


def _consecutive(text: str, file: File) -> list[Record | Problem]:
    """Return objects of several lines, as OpenTelemetry's console exporter writes its spans."""
    records: list[Record | Problem] = []
    line, end = 1, 0
    try:
        while found := _TEXT.search(text, end):
            line += text.count("\n", end, found.start())
            value, after = DECODER.raw_decode(text, found.start())
            records.append(Record.of(line, value))
            line, end = line + text.count("\n", found.start(), after), after
    except json.JSONDecodeError as error:
        raise _invalid(error, file) from error
    except (ValueError, RecursionError) as error:
        raise file.refused(f"cannot read this JSON: {error}", line=line) from error
    return records


_TEXT = re.compile(r"\S")
_INDENTED = re.compile(rb"\s*\{\s*\n")  # the start of an object that is not on one line


def read_json_lines(file: File, limit: int | None = None) -> Table:
    if _INDENTED.match(file.start.removeprefix(table.MARK)):
        return read_json(file)
    file.check_text()
    rows = JsonLines(file, limit=limit)
    if not rows:
        file.checked()
    return Table(rows, unit="line", end=limit and rows.end)


class JsonLines(FileRows):
    def _scan(self, limit: int | None) -> Iterator[Block]:
        place, line = 0, 1
        with self.path.open("rb") as file:
            start = len(table.MARK) if file.read(len(table.MARK)) == table.MARK else 0
            file.seek(start)
            while limit is None or place < limit:
                if not (content := file.read(self.size) + file.readline()):
                    return
                # Split before decoding: a line may contain U+2028, at which Python would split.
                lines = content.split(b"\n")
                given = [number for number, each in enumerate(lines) if each.strip()]
                if limit is not None and place + len(given) >= limit:
                    given = given[: limit - place]
                    content = content[: sum(len(line) + 1 for line in lines[: given[-1] + 1])]
                end = start + len(content)
                yield Block(place, len(given), line, start, end, crc32(content))
                place, line, start = place + len(given), line + content.count(b"\n"), end

    def _parts(self, block: Block) -> Sequence[tuple[int, bytes]]:
        lines = enumerate(self.bytes_of(block).split(b"\n"), block.line)
        return [(number, line) for number, line in lines if line.strip()]

    def _row(self, parts: Sequence[tuple[int, bytes]], place: int) -> Record | Problem:
        number, line = parts[place]
        try:
            return Record.of(number, parsed_json(line.decode("utf-8")))
        except UnicodeDecodeError as error:
            return Problem(table.broken_byte(line, error), table.AS_UTF8, row=number)
        except json.JSONDecodeError as error:
            fixes = {",": "remove the comma after the object", "": "write one object per line"}
            fix = fixes.get(error.doc[error.pos :].strip(), "")
            return Problem(f"invalid JSON: {error.msg} (column {error.colno})", fix, row=number)
        except ValueError as error:
            return Problem(f"cannot read this JSON: {error}", row=number)


def _rows_in(
    value: object, file: File
) -> tuple[list[object], tuple[str, ...], Mapping[str, object]]:
    """Return the list of rows, notes on where it was, and the file's `metadata`."""
    expected = f"write a list of objects, or an object with one under {', '.join(ENVELOPES)}"
    if file.rows:
        try:
            value = cast("object", jmespath.search(file.rows, value))
        except JMESPathError as error:
            raise UsageError(f"sheet {file.rows} is not JMESPath: {error}") from error
        expected = f"use --sheet with the path of a list of objects, not {file.rows}"
    if is_list(value):
        return value, (f"rows read from {file.rows}",) if file.rows else (), {}
    if not is_object(value):
        seen = f"{file.rows or 'the file'} contains {table.type_in_words(value)}, not a list"
        raise file.refused(seen, expected)
    if (rows := _rows_of_mappings(value)) is not None:
        return rows, (f"read from the keys {', '.join(map(str, value))}",), {}
    names = [name for name in ENVELOPES if isinstance(value.get(name), list | Unreadable)]
    names = names or [name for name in OTHERS if isinstance(value.get(name), list | Unreadable)]
    if not names and _asks(value):
        return [value], ("read as one row",), {}
    if value and all(map(is_object, value.values())) and any(map(_asks, value.values())):
        rows = [{"id": name, **row} for name, row in value.items() if is_object(row)]
        return [*rows], (f"read from {len(rows):,} keys",), {}
    if not names and is_object(inner := value.get("results")):  # as promptfoo nests them
        return _rows_in(inner, file)
    lists = {name: value[name] for name in names} or dict(_record_lists(value))
    asking = [path for path, rows in lists.items() if is_list(rows) and any(map(_asks, rows))]
    lists = {path: lists[path] for path in asking} if len(asking) == 1 else lists
    if len(lists) > 1:
        choices = " or ".join(f"--sheet {path}" for path in lists)
        raise file.refused(f"there are lists of rows under {' and '.join(lists)}", f"use {choices}")
    if not lists:
        seen = f", only {', '.join(map(repr, list(value)[:12]))}" if value else ""
        raise file.refused(f"the top-level object has no list of rows{seen}", expected)
    (path, rows), *_ = lists.items()
    if isinstance(rows, Unreadable):
        raise file.refused(rows.seen, expected)
    metadata = value.get("metadata")
    others = ", ".join(str(name) for name in value if name != path.partition(".")[0])
    notes = () if path in (*ENVELOPES, *OTHERS) else (f"rows read from {path}",)
    notes += (f"ignored keys: {others}",) if others else ()
    return cast("list[object]", rows), notes, metadata if is_object(metadata) else {}


def _asks(row: object) -> bool:
    texts = [name for name, part in row.items() if isinstance(part, str)] if is_object(row) else []
    return "query" in map(field_of, map(str, texts))


_DEEPEST = 4  # objects around a list of rows


def _record_lists(value: object, path: str = "") -> Iterator[tuple[str, list[object]]]:
    """Yield the lists of objects in objects, each with its path."""
    for name, part in value.items() if is_object(value) else ():
        inner = f"{path}.{name}" if path else str(name)
        if is_list(part) and part and all(map(is_object, part)):
            yield inner, part
        elif inner.count(".") < _DEEPEST:
            yield from _record_lists(part, inner)


def _rows_of_mappings(value: Mapping[str, object]) -> list[object] | None:
    """Return the rows of what LlamaIndex, Langfuse and pandas write as an object, or None."""
    queries, relevant = value.get("queries"), value.get("relevant_docs", value.get("qrels"))
    if is_object(queries) and is_object(relevant):
        return [
            {"id": name, "query": query, "relevance": relevant.get(name)}
            for name, query in queries.items()
        ]
    if is_object(trace := value.get("trace")) and is_list(value.get("observations")):
        return [trace]
    names, rows = value.get("columns"), value.get("data")
    if is_list(names) and is_list(rows) and all(is_list(r) and len(r) == len(names) for r in rows):
        return [
            dict(zip(names, row, strict=True)) for row in rows if is_list(row)
        ]  # orient="split"
    objects = [part for part in value.values() if is_object(part)]
    keys = [*objects[0]] if objects else []  # of rows, if orient="columns"
    columns = [
        [part[key] for key in keys] if is_object(part) and {*part} == {*keys} else part
        for part in value.values()
    ]
    lists = [column for column in columns if is_list(column) and not any(map(is_object, column))]
    same = len(lists) == len(columns) and len(set(map(len, lists))) == 1
    if same and any(FIELD_OF.get(plain_name(name)) == "query" for name in value):
        return [dict(zip(value, row, strict=True)) for row in zip(*lists, strict=True)]
    return None


def read_yaml(file: File, _limit: int | None = None) -> Table:
    root, value = load_yaml(file.text(), file.name)
    if root is None:
        raise file.refused("the file is empty", "add at least one row with a query")
    items, notes, beside = _rows_in(value, file)

    # The list of items is the root, or is in it.
    if isinstance(root, MappingNode) and not file.rows:
        lists = [part for name, part in root.value if name.value in ENVELOPES]
        lists = lists or [part for name, part in root.value if name.value in OTHERS]
        root = lists[-1] if lists else root  # a merged object may have the name; the last counts
    lines, unit = range(1, len(items) + 1), "item"
    if isinstance(root, SequenceNode) and not file.rows:
        lines, unit = [item.start_mark.line + 1 for item in root.value], "line"
    records = [Record.of(row, item) for row, item in zip(lines, items, strict=True)]
    return Table(records, unit=unit, notes=notes, beside=beside)
