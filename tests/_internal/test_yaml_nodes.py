from pathlib import Path

import pytest
from yaml.nodes import MappingNode, ScalarNode

from ragstone._internal.yaml import MOST, root_of
from ragstone.errors import InputError, UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


def test_an_empty_file_has_no_root(file: Path) -> None:
    file.write_text("# nothing\n")
    assert root_of(file) is None


@pytest.mark.parametrize(("typed", "tag"), [(True, "int"), (False, "str")])
def test_a_number_is_one_or_text(file: Path, typed: bool, tag: str) -> None:
    file.write_text("\ufeffk: 5\n", encoding="utf-8")
    root = root_of(file, typed=typed)
    assert isinstance(root, MappingNode)
    (key, value) = root.value[0]
    assert isinstance(key, ScalarNode)
    assert (key.value, value.tag) == ("k", f"tag:yaml.org,2002:{tag}")


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\t- x", "a: \x00", "[" * 5000])
def test_what_is_no_yaml_is_told(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match="invalid YAML"):
        root_of(file)


def test_what_cannot_be_read_is_told(file: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        root_of(file)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(UsageError, match="cannot be read"):
        root_of(file)


def test_a_file_that_nobody_wrote_is_not_read(file: Path) -> None:
    file.write_text("#" * (MOST + 1))
    with pytest.raises(UsageError, match="no file of settings"):
        root_of(file)
