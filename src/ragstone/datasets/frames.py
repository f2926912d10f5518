"""Data frames as rows: pandas, polars, PyArrow, DuckDB, and others that export Arrow streams."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol, cast

from ragstone.errors import UsageError


class Frame(Protocol):
    """A table with the Arrow PyCapsule interface.

    https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


_METHODS: Mapping[str, Mapping[str, str]] = {
    "to_pylist": {"maps_as_pydicts": "strict"},  # PyArrow
    "to_dicts": {},  # polars
    "to_dict": {"orient": "records"},  # pandas
}


def rows_of(data: object) -> Iterable[Mapping[str, object]] | None:
    """Return the rows of a data frame, a mapping of its columns each; None if it is not one.

    An index of pandas is not a column.
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


_MADE_WITH: Mapping[str, Sequence[str]] = MappingProxyType(
    {"polars": ("polars",), "pandas": ("pyarrow",)}
)
"""Library -> the libraries with which its frames can be made."""


def frame_of(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, type], *, like: object
) -> Frame:
    """Return columns of texts and floats as a frame of polars or pandas, if `like` is one.

    Otherwise it is a table of PyArrow, or of polars if PyArrow is not installed.
    """
    library = type(like).__module__.partition(".")[0]
    names = _MADE_WITH.get(library, ("pyarrow", "polars"))
    for name in names:
        try:
            made = cast("Any", import_module(name))
        except ImportError:
            continue
        if name == "polars":
            kinds = {str: made.String, float: made.Float64}
            return made.DataFrame(columns, schema={name: kinds[t] for name, t in types.items()})
        kinds = {str: made.string(), float: made.float64()}
        table = made.table(columns, schema=made.schema([(n, kinds[t]) for n, t in types.items()]))
        return table.to_pandas() if library == "pandas" else table
    raise UsageError(f"returning a table needs {' or '.join(names)}: pip install {names[0]}")
