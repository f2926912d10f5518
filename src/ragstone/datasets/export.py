"""Write samples to a file that `load` reads back, and report what a workbook cannot store."""

# XlsxWriter has type hints in part, and no py.typed
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ragstone._internal.files import write_file
from ragstone._internal.text import count, plain_name
from ragstone.datasets.columns import CONVERSATIONS, FIELD_OF
from ragstone.datasets.dataset import load
from ragstone.datasets.detect import SHAPES
from ragstone.datasets.values import spelled
from ragstone.errors import InputError, Problem, UsageError
from ragstone.types.sample import Sample

Cell = str | int | float | bool | None
HEADINGS: Mapping[str, str] = {  # Sample field -> its column in a workbook, as in `rag_evaluation`
    "query": "Query",
    "relevance": "Point_ids",
    "reference": "Ground_truth_answer",
}
_BEFORE = ("query", "relevance", "reference")
_AFTER = ("id", "history", "response", "contexts", "ranking", "reference_claims")
_RECORD = (  # the fields of a JSON object, in order; `tags` are last, if there are any
    "id", "query", "history", "response", "reference", "reference_claims", "contexts", "ranking",
    "relevance",
)  # fmt: skip
LONGEST = 32_767  # UTF-16 units in an Excel cell; longer texts would be cut
MOST = 1_048_575  # rows of an Excel sheet below its header
_IDENTIFYING = chain.from_iterable(group for shape in SHAPES for group in shape.needs)
_TAKEN = frozenset((*FIELD_OF, *map(plain_name, (*CONVERSATIONS, *_IDENTIFYING))))
"""Names that a tag's column cannot have: fields, and names that identify another format."""


def write_samples(samples: Sequence[Sample], path: Path, *, suffix: str) -> None:
    WRITERS[check_format(suffix)](samples, path)


def check_format(suffix: str) -> str:
    """Return a suffix in lower case, or raise a UsageError if there is no writer for it."""
    if suffix.lower() not in WRITERS:
        known = ", ".join(WRITERS)
        raise UsageError(f"{suffix or 'a file with no extension'} cannot be written; use {known}")
    return suffix.lower()


def losses_in_file(samples: Sequence[Sample], path: Path) -> list[str]:
    """Write a copy of the file elsewhere and read it; return what the format does not store."""
    with TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        write_file(made, partial(write_samples, samples, suffix=path.suffix))
        try:
            return list(losses(samples, load(made).samples))
        except UsageError as error:
            raise UsageError(
                f"{path.suffix.lower()} cannot store these rows ({error}); use .jsonl"
            ) from error


def losses(given: Sequence[Sample], stored: Sequence[Sample]) -> tuple[str, ...]:
    found: list[str] = []
    for field in Sample.model_fields:
        pairs = zip(given, stored, strict=True)
        values = [(one.id, getattr(one, field), getattr(two, field)) for one, two in pairs]
        changes = [change for change in values if not _is_kept(field, *change[1:])]
        if not changes:
            continue
        name, before, after = changes[0]
        if after is None:
            why = "empty values are read back as missing"
        elif field == "tags":
            why = "numbers are stored as in Excel, and blank texts are read back as missing"
        else:
            why = f"read back as another value: {str(before)[:40]!r} became {str(after)[:40]!r}"
        found.append(f"{field} ({count(len(changes), 'row')}, first {name}): {why}")
    return tuple(found)


def _is_kept(field: str, before: Any, after: Any) -> bool:
    if field != "tags" or before != after:
        return before == after
    return all(type(before[name]) is type(after[name]) for name in before)  # 1 is not True or 1.0


def _record(sample: Sample) -> dict[str, object]:
    given = sample.model_dump(exclude_none=True)
    record: dict[str, object] = {field: given[field] for field in _RECORD if field in given}
    if isinstance(text := sample.reference, str) and spelled(text) is not None:
        record["reference"] = [text]  # otherwise it would be read as the list that it spells
    return {**record, "tags": dict(sample.tags)} if sample.tags else record


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write_lines(samples: Sequence[Sample], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_json(_record(sample)) + "\n" for sample in samples)


def _write_workbook(samples: Sequence[Sample], path: Path) -> None:
    if len(samples) > MOST:
        raise UsageError(
            f"an Excel sheet has at most {MOST:,} rows, not {len(samples):,}; use .jsonl"
        )
    rows = list(_cells(samples))
    problems = [
        Problem(
            f"{size:,} characters, but an Excel cell has at most {LONGEST:,}",
            "use .jsonl",
            row=number,
            column=str(name),
            sample_id=sample.id,
        )
        for number, (cells, sample) in enumerate(zip(rows[1:], samples, strict=True), 2)
        for name, cell in zip(rows[0], cells, strict=True)
        if isinstance(cell, str) and (size := len(cell.encode("utf-16-le")) // 2) > LONGEST
    ]
    if problems:
        raise InputError("the workbook", problems)
    import xlsxwriter  # slow to import

    content = BytesIO()  # Python's ZipFile prints a traceback if it cannot finish a file
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    sheet = book.add_worksheet("Questions")
    bold = book.add_format({"bold": True})
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            if isinstance(cell, str) and cell:
                sheet.write_string(row, column, cell, None if row else bold)
            elif isinstance(cell, int | float):
                sheet.write(row, column, cell)
    book.close()
    path.write_bytes(content.getvalue())


WRITERS: Mapping[str, Callable[[Sequence[Sample], Path], None]] = {
    ".jsonl": _write_lines,
    ".xlsx": _write_workbook,
}


def _cells(samples: Sequence[Sample]) -> Iterable[Sequence[Cell]]:
    fields = [
        field
        for field in (*_BEFORE, *_AFTER)
        if any(getattr(sample, field) is not None for sample in samples)
    ]
    if all(sample.id == str(number) for number, sample in enumerate(samples, 1)):
        fields = [field for field in fields if field != "id"]  # the default when the file is read
    tags = list(dict.fromkeys(chain.from_iterable(sample.tags for sample in samples)))
    stripped = Counter(tag.strip() for tag in tags)
    # A tag gets a column if its name would be read back as the same tag.
    named = [
        tag
        for tag in tags
        if tag and tag == tag.strip() and stripped[tag] == 1 and plain_name(tag) not in _TAKEN
    ]
    more = [tag for tag in tags if tag not in named]
    before = [field for field in fields if field in _BEFORE]
    after = [field for field in fields if field not in _BEFORE]
    header = [*before, *named, *after, *(["tags"] if more else [])]
    yield [HEADINGS.get(name, name) for name in header]
    for sample in samples:
        record = _record(sample)
        record["tags"] = {tag: sample.tags[tag] for tag in more if tag in sample.tags} or None
        if sample.relevance is not None and all(grade == 1 for grade in sample.relevance.values()):
            record["relevance"] = list(sample.relevance)
        cells: dict[str, Cell] = {tag: sample.tags.get(tag) for tag in named}
        for name, value in record.items():
            cells[name] = value if isinstance(value, str) or value is None else _json(value)
        yield [cells.get(name) for name in header]
