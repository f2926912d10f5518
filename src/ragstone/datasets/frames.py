"""Objects of other libraries as rows: data frames that export Arrow streams, and data sets."""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

from ragstone._internal.text import one_line
from ragstone.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from polars import DataFrame, Series


class Frame(Protocol):
    """A table with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Model(Protocol):
    """A row that is a Pydantic model, such as a sample of ragas or a test case of deepeval."""

    def model_dump(self) -> Mapping[str, Any]: ...


class TestCases(Protocol):
    """A data set of deepeval."""

    @property
    def test_cases(self) -> Sequence[object]: ...


_METHODS: Mapping[str, Mapping[str, str]] = {
    "to_pylist": {"maps_as_pydicts": "strict"},  # PyArrow
    "to_dicts": {},  # polars
    "to_dict": {"orient": "records"},  # pandas
}


def rows_of(data: object) -> Iterable[Mapping[str, object]] | None:
    """Return the rows of a frame or of deepeval's data set; None if it is neither."""
    if isinstance(cases := getattr(data, "test_cases", None), list):
        return cast("Any", cases or getattr(data, "goldens", []))
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    names: Any = getattr(data, "columns", ())
    if library_of(data) == "pandas" and (twice := list(names[names.duplicated()])):
        raise UsageError(f"two columns of the frame are named {twice[0]!r}; rename one")
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


def library_of(data: object) -> str | None:
    modules = {cls.__module__.partition(".")[0] for cls in type(data).__mro__}
    return next((name for name in ("pandas", "polars", "pyarrow") if name in modules), None)


def without_texts(data: object, tags: Collection[str], rows: Sequence[int]) -> object:
    """Return rows of a frame of pandas or polars: the index, and the columns that are tags."""
    frame, library = cast("Any", data), library_of(data)
    if library not in ("pandas", "polars") or not hasattr(frame, "columns"):
        return None
    names = [name for name in frame.columns if name in tags]
    return frame[names].take(rows) if library == "pandas" else frame[rows, names]


def frame_of(
    columns: Mapping[str, Sequence[object]], types: Mapping[str, type], *, like: object
) -> Frame:
    """Return columns of texts and floats in the library of `like`; otherwise PyArrow or polars."""
    library = library_of(like)
    made_with = {"polars": ("polars",), "pandas": ("pyarrow",)}
    names = made_with.get(library or "", ("pyarrow", "polars"))
    typed = {name: (kind, columns[name]) for name, kind in types.items()}
    made: Any = frame_in(next(filter(find_spec, names), names[0]), typed)
    return made.to_pandas() if library == "pandas" else made


_KINDS: Mapping[str, Mapping[type, str]] = {
    "pandas": {str: "string", int: "Int64", float: "Float64", bool: "boolean"},
    "pyarrow": {str: "string", int: "int64", float: "float64", bool: "bool"},
}
"""Library -> its type of a column; polars takes Python's, and those of pandas have nulls."""


Typed = tuple[type | None, Sequence[object]]
"""A column's type and values; without a type, it is a column of the library."""


def frame_in(library: str, columns: Mapping[str, Typed]) -> Frame:
    """Return columns as a frame of `pandas` or `polars`, or a table of `pyarrow`; None is null."""
    if find_spec(library) is None:
        raise UsageError(f"this needs {library}, which is not installed: pip install {library}")
    made: Any = import_module(library)
    if library == "polars":
        return made.DataFrame(
            [made.Series(n, values, kind) for n, (kind, values) in columns.items()]
        )
    texts: Any = "object" if library == "pandas" else made.list_(made.string())
    kinds = {**_KINDS[library], list[str]: texts}
    arrays = {
        name: made.array(values, kinds[kind]) if kind else values
        for name, (kind, values) in columns.items()
    }
    return made.DataFrame(arrays) if library == "pandas" else made.table(arrays)


@contextmanager
def column_errors(name: str) -> Generator[None, None, None]:
    """Raise errors about columns in the block as an InputError about the file of that name."""
    from polars.exceptions import PanicException, PolarsError  # an extra, and slow to import

    try:
        yield
    except (PolarsError, PanicException, OSError, ValueError) as error:
        seen = f"cannot read the columns: {one_line(str(error), 200)}"
        raise InputError(name, [Problem(seen)]) from error


ITEM = 64  # how many bytes an item of a list needs in Python, about


def text_size(frame: "DataFrame") -> int:
    """Return about how many bytes the rows need; a category counts for each row that has it."""
    return sum(map(_size, frame))


def _size(column: "Series") -> int:
    from polars import Array, Categorical, Enum, List, Struct

    if isinstance(column.dtype, Struct):
        return sum(map(_size, column.struct.unnest()))
    if isinstance(column.dtype, List | Array):
        items = column.explode()
        return ITEM * len(items) + _size(items)
    if isinstance(column.dtype, Categorical | Enum):
        return int(column.cat.len_bytes().sum())
    return int(column.estimated_size())
