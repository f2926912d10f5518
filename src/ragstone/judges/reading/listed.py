"""Listed: the items that a reply's JSON value holds, whatever they are about."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragstone.judges.reading.json_text import is_list, is_object

T = TypeVar("T")


def listed(
    value: object,
    due: int,
    *,
    keys: Sequence[str],
    read: Callable[[object], T],
    known: Callable[[object, T], bool],
) -> tuple[T, ...] | None:
    """Return the items that a JSON value holds; None if it does not look like such items.

    They are a list of objects or of words, by itself or under one of the `keys` of an object;
    where one is due, they may be one object. `known` tells, of an entry and what was read of it,
    whether it is such an item.
    """

    def items(entries: list[object]) -> tuple[T, ...] | None:
        found = tuple(map(read, entries))
        return found if not found or any(map(known, entries, found)) else None

    if is_list(value):
        return items(value)
    if not is_object(value):
        return None
    for key in keys:
        if is_list(inner := value.get(key)) and (found := items(inner)) is not None:
            return found
    single = read(value)
    return (single,) if due == 1 and known(value, single) else None
