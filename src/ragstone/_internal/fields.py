"""Validated field types that the data classes share."""

import copyreg
import math
import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, TypeGuard, TypeVar, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from ragstone.errors import other_name

K = TypeVar("K")
V = TypeVar("V")


def metric_name(text: str) -> str:
    head, comma, parameters = text.partition(",")
    return head.lower() + comma + parameters


def base_name(metric: str) -> str:
    return re.split("[:,@]", metric, maxsplit=1)[0]


def cutoff_of(metric: str) -> int | None:
    """Return the k in the name of a metric, such as 5 of `hit@5`."""
    found = re.search(r"@(\d+)", metric)
    return int(found[1]) if found else None


def split_threshold(metric: str) -> tuple[str, float | None]:
    found = re.search(r",threshold=([^,]+)", metric)
    return base_name(metric), float(found[1]) if found else None


MetricName = Annotated[str, AfterValidator(metric_name)]


class NamesHint:
    """Its AttributeError has the name to use for an attribute of another tool's class."""

    if not TYPE_CHECKING:  # type checkers report missing attributes

        def __getattr__(self, name: str) -> object:
            """Raise an AttributeError, because nothing else has the attribute."""
            seen, hint = type(self).__name__, other_name(type(self).__name__, name)
            missing = f"{seen!r} object has no attribute {name!r}"
            raise AttributeError(f"{missing}; {hint}" if hint else missing, name=name, obj=self)


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _frozen(given: Mapping[K, V]) -> MappingProxyType[K, V]:
    def whole(name: K) -> K:
        if not isinstance(name, str) or name.isascii():
            return name
        return type(name)(name.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    return MappingProxyType({whole(name): value for name, value in given.items()})


def _pickled(mapping: MappingProxyType[K, V]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return _frozen, (dict(mapping),)


copyreg.pickle(MappingProxyType, _pickled)  # Python cannot pickle read-only mappings


Span = tuple[int, int]  # character offsets in a text; the end is exclusive

FrozenMap = Annotated[Mapping[K, V], AfterValidator(_frozen), PlainSerializer(dict)]
"""A mapping that is copied and made read-only. Lone surrogates in keys become U+FFFD."""


def known(value: V) -> V | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# null is unbounded, because JSON has no infinity
LowEnd = Annotated[float, BeforeValidator(lambda end: -math.inf if end is None else end)]
HighEnd = Annotated[float, BeforeValidator(lambda end: math.inf if end is None else end)]

Figure = Annotated[str | int | float | bool | None, AfterValidator(known)]  # NaN becomes None


def is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")  # NaN or Infinity, which Python reads


_WHOLE = re.compile(r"(-?[0-9]+)\.0+")


def document_id(value: object) -> str:
    """Return a document's id as text: `5`, `5.0`, `"5"` and `"5.0"` are the same id."""
    if isinstance(value, str):
        if not (text := value.strip()):
            raise ValueError("a document id is blank")
        if text[-1] == "0" and (whole := _WHOLE.fullmatch(text)):
            return whole[1]  # pandas writes 5 like this in a column with blanks
        return text
    if hasattr(value, "__index__") and not isinstance(value, bool):
        return str(operator.index(cast("SupportsIndex", value)))  # also NumPy integers
    if not isinstance(value, float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a document id (text or a number)")
    return str(int(value) if value.is_integer() else value)


DocumentId = Annotated[str, BeforeValidator(document_id)]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the value is blank")
    return text


NotBlank = Annotated[str, AfterValidator(_not_blank)]


def tag_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
