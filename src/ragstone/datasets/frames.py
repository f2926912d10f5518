"""Data frames as rows: pandas, polars, PyArrow, DuckDB, and others that export Arrow streams."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from ragstone.errors import UsageError


class Frame(Protocol):
    """A table with the Arrow PyCapsule interface.

    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


_METHODS: Mapping[str, Mapping[str, str]] = {
    "to_pylist": {},  # PyArrow
    "to_dicts": {},  # polars
    "to_dict": {"orient": "records"},  # pandas
}


def rows_of(data: object) -> Iterable[Mapping[str, object]] | None:
    """Return the rows of a data frame, a mapping of its columns each; None if it is not one.

    An index of pandas is not a column.

    Raises:
        UsageError: the frame needs polars to be read, which is not installed.
    """
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    for method, options in _METHODS.items():
        if convert := getattr(data, method, None):
            return cast("Iterable[Mapping[str, object]]", convert(**options))
    try:
        import polars
    except ImportError:
        raise UsageError(
            f"reading a {type(data).__name__} needs polars: pip install 'ragstone[parquet]'"
        ) from None
    return polars.DataFrame(cast("Any", data)).to_dicts()
