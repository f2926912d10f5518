from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.yaml import (
    MAX_BYTES,
    YamlValue,
    expand_variables,
    read_yaml_values,
)
from ragstone.errors import InputError, Problem, UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "f.yaml"


def test_values_are_text_lists_and_names_as_written(file: Path) -> None:
    file.write_text(
        "a: no\nb: 2024-05-01\nc: [010, 1:30, 'null']\nd: {x: 1_0}\ne:\nf: ~\ng: '~'\nh: ''\n",
        encoding="utf-8",
    )
    entries = list(read_yaml_values(file))
    assert [(entry.row, entry.key) for entry in entries] == [*enumerate("abcdefgh", 1)]
    lists = ["010", "1:30", "null"]
    values = [entry.value for entry in entries]
    assert values == ["no", "2024-05-01", lists, {"x": "1_0"}, None, None, "~", ""]


def test_variables_are_filled_everywhere_and_never_shown(file: Path, monkeypatch) -> None:
    monkeypatch.setenv("A_KEY", "secret")
    file.write_text("a: x${A_KEY}\nb: ['${A_KEY}']\nc: {x: '${A_KEY}'}\n", encoding="utf-8")
    entries = [entry for entry in read_yaml_values(file) if isinstance(entry, YamlValue)]
    assert [entry.value for entry in entries] == ["xsecret", ["secret"], {"x": "secret"}]
    assert [str(entry) for entry in entries] == ["a 'x${A_KEY}'", "b", "c"]
    assert "secret" not in repr(entries)


@each_case(
    ("text", "told"),
    [
        ("a: [[1]]", "line 1: a: nested lists and mappings"),
        ("k: 1\na: {b: {c: 1}}", "line 2: a: nested lists and mappings"),
        ("a: {b: 1, b: 2}", "line 1: a: duplicate name 'b'"),
        ("a: !!python/name:os.system x", "python/name:os.system is not supported here"),
    ],
)
def test_what_is_no_entry_is_a_problem_in_its_place(file: Path, text: str, told: str) -> None:
    file.write_text(text, encoding="utf-8")
    (problem,) = [entry for entry in read_yaml_values(file) if isinstance(entry, Problem)]
    assert told in str(problem)


@each_case(
    ("text", "told"),
    [
        *((text, "invalid YAML") for text in ("a: 'x", "a: 1\n---\nb: 2", "[" * 500, "a: \x00")),
        ("- a", "no `key: value` lines"),
    ],
)
def test_what_is_no_file_of_entries_is_refused(file: Path, text: str, told: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=told):
        read_yaml_values(file)


def test_a_file_that_cannot_be_read_is_a_usage_error(file: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*f\.yaml"):
        read_yaml_values(file)
    file.write_bytes(b"a: \xff")
    with pytest.raises(UsageError, match=r"f\.yaml cannot be read"):
        read_yaml_values(file)
    file.write_text("#" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match="too many for settings"):
        read_yaml_values(file)


def test_all_that_cannot_be_filled_is_told_at_once_and_no_value(monkeypatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-${B_KEY}-1")
    filled = "x sk-${B_KEY}-1/sk-${B_KEY}-1 $A_KEY {A_KEY}"
    assert expand_variables("x ${A_KEY}/${A_KEY} $A_KEY {A_KEY}") == filled
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ValueError) as raised:
        expand_variables("${A_KEY} ${NOT_SET} ${NOT_SET} ${A_KEY:-none}")
    assert str(raised.value) == (
        "the environment variable NOT_SET is not set; "
        "${A_KEY:-none} is not a valid variable; write ${NAME}"
    )
