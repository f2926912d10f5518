from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.secrets import redact_known
from ragstone.errors import InputError, UsageError
from ragstone.targets.spec import ApiDescription

LEAST = """\
calls:
  ask:
    url: http://h/ask
    reply: {response: answer}
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-{secret}-value")
    monkeypatch.setenv("SHORT", "zq7")
    monkeypatch.delenv("NO_SUCH", raising=False)
    monkeypatch.delenv("NOR_THIS", raising=False)


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        ApiDescription.parse(text, "rag.yaml")
    message = str(caught.value)
    assert message.startswith("rag.yaml: ")
    assert "sk-" not in message
    assert "zq7" not in message
    return message


def with_call(**lines: str) -> str:
    given = {"url": "http://h/ask", "reply": "{response: answer}", **lines}
    return "calls:\n  ask:\n" + "".join(f"    {name}: {text}\n" for name, text in given.items())


@each_case(
    ("value", "hidden"),
    [
        ("8f14e45fceea167a", True),
        ("my_documents_2024_final", False),
        ("c56a4180-65aa-42ec-a945-5fd21dec0538", False),
    ],
)
def test_a_variable_of_a_url_that_looks_like_a_key_is_hidden_in_replies(
    value: str, *, hidden: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLACE", value)
        call = "{url: 'http://h/${PLACE}?q={query}', reply: {response: a}}"
        ApiDescription.parse(f"calls: {{ask: {call}}}", "rag.yaml").remember_secrets()
    assert ("[hidden]" in redact_known(f"at {value}/x")) is hidden


@each_case(
    ("text", "expected"),
    [
        ("", "the file: must be a mapping"),
        ("a: [", "invalid YAML: did not find expected node content"),
        ("calls: {ask: {url: http://h}}", "calls.ask.reply: is missing"),
        (with_call(reply="{answer: a}"), "calls.ask.reply.answer: unknown key; use: response, c"),
        (with_call(reply="{response: 'a[?'}"), "'a[?' is not a valid JMESPath expression"),
        (with_call(url="rag/ask"), "calls.ask.url: it must start with http:// or https://"),
        (with_call(url="'{base}/x'"), "the file: a URL starts with {base}, but base is not set"),
        (with_call(url="'http://h/{qery}'"), "calls.ask.url: {qery} is not a field here; did you"),
        (with_call(body="'${NO_SUCH} ${NOR_THIS}'"), "variable NO_SUCH is not set; the environ"),
        (with_call(body="'${KEY:-x}'"), "${KEY:-x} is not a valid variable; write ${NAME}"),
        (with_call(body="&b {x: *b}"), "an alias refers to a value that contains it"),
        (with_call(method="DELETE"), "calls.ask.method: expected GET or POST or PUT, got"),
        (with_call(headers="{'X Y': a}"), "calls.ask.headers.X Y: the name of a header may"),
        (with_call(headers="'Bearer sk-1'", url="'u:sk-2@h'"), "calls.ask.headers: must be a map"),
        (LEAST + "base: '{id}'", "base: {id} is not a field here; use: none"),
        (LEAST + "  b: {url: http://h, reply: {response: a}}", "response is used in 2 calls; use"),
        (LEAST + "proxy: a\nproxy: b\n", "line 6: invalid YAML: duplicate name 'proxy' in an"),
    ],
)
def test_what_is_wrong_is_reported(text: str, expected: str) -> None:
    assert expected in refused(text)


def test_each_problem_has_its_line_its_key_and_the_nearest_name() -> None:
    message = refused(
        "base: localhost:8000\ncalls:\n  ask:\n    url: http://h/{questoin}\n    methd: POST\n"
        "    headers: {X: 5}\n    body: {1: '{qurey}', b: '{query}'}\n    reply: {respons: a}\n"
        "bse: x\n"
    )
    for line in (
        "line 1: base: it must start with http:// or https://; did you mean http://localhost:8000?",
        "line 4: calls.ask.url: {questoin} is not a field here; ",
        "line 5: calls.ask.methd: unknown key; did you mean method?",
        "line 6: calls.ask.headers.X: must be text; put it in quotes",
        "line 7: calls.ask.body.1: must be text; put it in quotes",
        "line 8: calls.ask.reply.respons: unknown key; did you mean response?",
        "line 9: bse: unknown key; did you mean base?",
    ):
        assert line in message


def test_a_placeholder_in_another_syntax_is_refused() -> None:
    message = refused(with_call(body="{a: 'Q: {{query}}', b: '{ id }', c: '{ json }'}"))
    for wrong, right in (("{{query}}", "{query}"), ("{ id }", "{id}")):
        assert f"{wrong} is not a placeholder; write {right}" in message
    assert "json" not in message


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rag.yaml"
    with pytest.raises(UsageError, match=r"there is no file .*rag\.yaml"):
        ApiDescription.read(path)
    path.write_text(f"\ufeff{LEAST}", encoding="utf-8")
    assert list(ApiDescription.read(path).calls) == ["ask"]
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=r"rag\.yaml cannot be read"):
        ApiDescription.read(path)
