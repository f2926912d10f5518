import pytest
from tests.cases import each_case

from ragstone.targets.spec import fill, fill_headers, fill_url

VALUES = {"query": "a b", "k": 5, "threshold": 0.5, "reference": None, "tags.level": True}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-{query}-1")
    monkeypatch.delenv("NO_SUCH", raising=False)


@each_case(
    ("template", "value"),
    [
        ("{query}", "a b"),
        ("{reference}", None),
        ("k={k}, {query}!", "k=5, a b!"),
        ("Bearer ${KEY} {k}", "Bearer sk-{query}-1 5"),
        ("${NO_SUCH}", ""),
        ('{"a": 1} { id } {}', '{"a": 1} { id } {}'),
        ({"a": ["{k}", {"b": "{query}"}], "c": None}, {"a": [5, {"b": "a b"}], "c": None}),
    ],
)
def test_fill(template: object, value: object) -> None:
    made = fill(template, VALUES)
    assert made == value
    assert type(made) is type(value)


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert fill("{query}", {"query": "{k} ${KEY}"}) == "{k} ${KEY}"
    assert fill("<{query}>", {"query": "{k} ${KEY}", "k": 5}) == "<{k} ${KEY}>"


@each_case(
    ("url", "base", "made"),
    [
        ("{base}/docs/{id}", "http://h", "http://h/docs/a%2Fb%3F%26%20%C3%A9"),
        ("{base}/x?q=1", "http://h/?key=abc", "http://h/x?q=1&key=abc"),
        ("{base}/x", "http://${KEY}", "http://sk-{query}-1/x"),
    ],
)
def test_fill_url(url: str, base: str, made: str) -> None:
    assert fill_url(url, {"id": "a/b?& é"}, base=base) == made


def test_a_header_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("query", "tags.note"):
        made = fill_headers({"A": f"a {{{name}}} "}, {name: "x\r\nHost: evil\0\n"})
        assert made == {"A": "a x Host: evil"}
    assert fill_headers({"A": "{id}"}, {"id": "\ud83d"}) == {"A": "?"}
    assert fill_url("{base}/{id}", {"id": "\ud83d"}, base="http://h") == "http://h/%3F"
    monkeypatch.setenv("KEY", "sk-1\n")
    assert fill_headers({"A": "Bearer ${KEY}"}, {}) == {"A": "Bearer sk-1"}
