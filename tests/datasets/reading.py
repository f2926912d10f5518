"""How the tests write files and read them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragstone.datasets import Dataset, load
from ragstone.errors import InputError

Write = Callable[..., Path]


def problems(path: Path, **options: Any) -> list[str]:
    """Load a file that cannot be read, and return what is wrong with it."""
    with pytest.raises(InputError) as caught:
        load(path, **options)
    assert caught.value.file == path.name
    return [str(problem) for problem in caught.value.problems]


def lines(path: Path, *records: object, **options: Any) -> Dataset:
    """Load a file with a line of JSON for each record."""
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return load(path, **options)


def each_of(*groups: tuple[object, list[Any]]) -> list[tuple[Any, Any]]:
    """Return a case for each value of a group, whose values come to the same."""
    return [(value, same) for same, values in groups for value in values]


def expect(read: Callable[[Any], object], value: object, expected: object) -> None:
    """Check what a value is read as, or the message of its refusal where a text is expected."""
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)):
            read(value)
    else:
        assert read(value) == expected
