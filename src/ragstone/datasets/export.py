"""Writing samples to a file that `load` reads back, and telling what the format cannot hold."""

# XlsxWriter is typed in part and without a marker that says so
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import cast

from ragstone.datasets.adapters.detect import SHAPES
from ragstone.datasets.columns import CONVERSATIONS, FIELD_OF, plain_name
from ragstone.errors import InputError, Problem, UsageError
from ragstone.types.sample import Context, Sample

Cell = str | int | float | bool | None
HEADINGS: Mapping[str, str] = MappingProxyType(
    {"query": "Query", "relevance": "Point_ids", "reference": "Ground_truth_answer"}
)
"""Field of a Sample -> its column in a workbook, as `rag_evaluation` has it."""
_ORDER = ("query", "relevance", "reference")
_AFTER = ("id", "response", "contexts", "ranking", "reference_claims")
LONGEST = 32_767
"""How many UTF-16 units a cell of Excel holds; what is longer would be cut."""
MOST = 1_048_575
"""How many rows a sheet of Excel holds below its header."""
_TELLING = chain.from_iterable(group for shape in SHAPES for group in shape.needs)
_TAKEN = frozenset((*FIELD_OF, *map(plain_name, (*CONVERSATIONS, *_TELLING))))
"""What no column of a tag may be called: a field, or what tells another tool's file."""


def write_samples(samples: Sequence[Sample], path: Path, *, suffix: str) -> None:
    """Write samples in the format of a suffix, one of WRITERS.

    Raises:
        UsageError: there is no such format, or a sheet has not so many rows.
        InputError: a text is longer than a cell of Excel.
    """
    WRITERS[check_format(suffix)](samples, path)


def check_format(suffix: str) -> str:
    """Return a suffix in lower case, if such files can be written.

    Raises:
        UsageError: they cannot.
    """
    if suffix.lower() not in WRITERS:
        known = ", ".join(WRITERS)
        raise UsageError(f"{suffix or 'a file without an ending'} cannot be written; use {known}")
    return suffix.lower()


def texts_in(samples: Sequence[Sample]) -> Iterable[str]:
    """Yield the texts of all cells that samples take in a table."""
    for cells in _cells(samples, {}):
        yield from (cell for cell in cells if isinstance(cell, str))


def losses(given: Sequence[Sample], kept: Sequence[Sample]) -> tuple[str, ...]:
    """Return, a line a field, what is another in samples that were written and read back."""
    told: list[str] = []
    for field in Sample.model_fields:
        pairs = zip(given, kept, strict=True)
        changed = [
            (one, other)
            for one, other in pairs
            if not _same(getattr(one, field), getattr(other, field))
        ]
        if changed:
            one, other = changed[0]
            rows = f"{len(changed)} row{'s' if len(changed) > 1 else ''}, first {one.id}"
            why = _why(field, getattr(one, field), getattr(other, field))
            told.append(f"{field} ({rows}): {why}")
    return tuple(told)


def _same(one: object, other: object) -> bool:
    """Tell whether two values are equal; among tags, 1 is neither True nor 1.0."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        tags, kept = cast("Mapping[str, object]", one), cast("Mapping[str, object]", other)
        return tags == kept and all(type(tags[name]) is type(kept[name]) for name in tags)
    return one == other


def _why(field: str, given: object, kept: object) -> str:
    if kept is None:
        return "empty values are read back as missing"
    if field == "tags":
        return "numbers and booleans are read back as text, and blank texts as missing"
    return f"read back as another value: {str(given)[:40]!r} became {str(kept)[:40]!r}"


def _record(sample: Sample) -> dict[str, object]:
    """Return what a sample holds, by our names, as an object of JSON."""
    made: dict[str, object] = {"id": sample.id, "query": sample.query}
    for field in ("response", "reference", "reference_claims"):
        if (value := getattr(sample, field)) is not None:
            made[field] = value  # a tuple is a list in JSON
    for field in ("contexts", "ranking"):
        if (documents := getattr(sample, field)) is not None:
            made[field] = [_document(each) for each in documents]
    if sample.relevance is not None:
        made["relevance"] = dict(sample.relevance)
    if sample.tags:
        made["tags"] = dict(sample.tags)
    return made


def _document(context: Context) -> dict[str, object]:
    return {"text": context.text, **context.model_dump(include={"id", "score"}, exclude_none=True)}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_json(samples: Sequence[Sample], path: Path) -> None:
    text = json.dumps([_record(sample) for sample in samples], ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def _write_lines(samples: Sequence[Sample], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_json(_record(sample)) + "\n" for sample in samples)


def _write_csv(samples: Sequence[Sample], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(_cells(samples, {}))


def _write_workbook(samples: Sequence[Sample], path: Path) -> None:
    rows = list(_cells(samples, HEADINGS))
    _refuse_size(rows, samples)
    import xlsxwriter  # slow to import, and nobody else of this room writes workbooks

    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("Questions")
        bold = book.add_format({"bold": True})
        for row, cells in enumerate(rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, str) and cell:
                    sheet.write_string(row, column, cell, None if row else bold)
                elif isinstance(cell, bool):
                    sheet.write_boolean(row, column, cell)
                elif isinstance(cell, int | float):
                    sheet.write_number(row, column, cell)


WRITERS: Mapping[str, Callable[[Sequence[Sample], Path], None]] = MappingProxyType(
    {".jsonl": _write_lines, ".json": _write_json, ".csv": _write_csv, ".xlsx": _write_workbook}
)
"""Suffix -> what writes such a file."""


def _refuse_size(rows: Sequence[Sequence[Cell]], samples: Sequence[Sample]) -> None:
    if len(samples) > MOST:
        raise UsageError(
            f"an Excel sheet holds at most {MOST:,} rows, not {len(samples):,}; use .jsonl"
        )
    problems: list[Problem] = []
    for number, (cells, sample) in enumerate(zip(rows[1:], samples, strict=True), 2):
        for name, cell in zip(rows[0], cells, strict=True):
            size = len(cell.encode("utf-16-le")) // 2 if isinstance(cell, str) else 0
            if size > LONGEST:
                seen = f"{size:,} characters, but an Excel cell holds at most {LONGEST:,}"
                problems.append(
                    Problem(seen, "use .jsonl", row=number, column=str(name), sample_id=sample.id)
                )
    if problems:
        raise InputError("the workbook", problems)


def _cells(samples: Sequence[Sample], headings: Mapping[str, str]) -> Iterable[Sequence[Cell]]:
    """Yield the header and the rows; a field or tag that no sample has gets no column."""
    fields = [field for field in (*_ORDER, *_AFTER) if _is_held(samples, field)]
    tags = list(dict.fromkeys(chain.from_iterable(sample.tags for sample in samples)))
    named = [tag for tag in tags if _is_column(tag, tags)]
    more = [tag for tag in tags if tag not in named]
    before = [field for field in fields if field in _ORDER]
    after = [field for field in fields if field not in _ORDER]
    header = [headings.get(field, field) for field in before]
    yield [*header, *named, *after, *(["tags"] if more else [])]
    for sample in samples:
        others = {tag: sample.tags[tag] for tag in more if tag in sample.tags}
        rest = [_json(others) if others else None] if more else []
        own = [sample.tags.get(tag) for tag in named]
        yield [*(_cell(sample, f) for f in before), *own, *(_cell(sample, f) for f in after), *rest]


def _is_held(samples: Sequence[Sample], field: str) -> bool:
    if field == "id":  # a row without one is called by its number when it is read
        return any(sample.id != str(number) for number, sample in enumerate(samples, 1))
    return any(getattr(sample, field) is not None for sample in samples)


def _is_column(tag: str, tags: Sequence[str]) -> bool:
    """Tell whether a tag's name is that of no field, and would come back as it is."""
    alike = sum(name.strip() == tag.strip() for name in tags)
    return bool(tag) and tag == tag.strip() and alike == 1 and plain_name(tag) not in _TAKEN


def _cell(sample: Sample, field: str) -> Cell:
    record = _record(sample)
    if field == "relevance" and sample.relevance is not None:
        graded = any(grade != 1 for grade in sample.relevance.values())
        return _json(dict(sample.relevance) if graded else list(sample.relevance))
    value = record.get(field)
    return value if isinstance(value, str) or value is None else _json(value)
