import pytest

from ragstone._internal.yaml import expanded


def test_a_variable_stands_for_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-${B_KEY}-1")
    assert expanded("x ${A_KEY}/${A_KEY} $A_KEY {A_KEY}") == (
        "x sk-${B_KEY}-1/sk-${B_KEY}-1 $A_KEY {A_KEY}"
    )


def test_all_that_cannot_be_filled_is_told_at_once_and_no_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "sk-1")
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(ValueError) as raised:
        expanded("${A_KEY} ${NOT_SET} ${NOT_SET} ${A_KEY:-none}")
    assert str(raised.value) == (
        "the environment variable NOT_SET is not set; "
        "${A_KEY:-none} is not a variable; write ${NAME}"
    )
