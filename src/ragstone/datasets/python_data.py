"""Rows that are in Python already, such as dictionaries or the records of a pandas frame."""

from collections.abc import Iterable, Iterator, Mapping
from math import isnan

from ragstone.datasets.table import Record
from ragstone.errors import Problem
from ragstone.samples import Sample


def records_of(
    rows: Iterable[Sample | Mapping[str, object]],
) -> Iterator[Sample | Record | Problem]:
    """Yield Samples as they are, and mappings as records numbered from 1."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, Sample):
            yield row
            continue
        record = Record.of(number, row)
        if isinstance(record, Record):
            values = {name: _value(value) for name, value in record.values.items()}
            record = Record(number, values)
        yield record


def _value(value: object) -> object:
    """Return Python's own value for NumPy's, and None for NaN, which pandas writes for missing."""
    native = getattr(value, "tolist", None)
    value = native() if callable(native) else value
    return None if isinstance(value, float) and isnan(value) else value
