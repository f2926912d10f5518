"""What is secret, and how it is replaced however it is written."""

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone._internal.secrets import redact, redact_known, remember
from ragstone.errors import InputError, Problem, UsageError

KEY = "sk-+/=&<>%'\"\\ é𝒳M4RK7F3A9C-zz"


@each_case(
    "written",
    [
        KEY,
        *(base64.b64encode(b"." * n + KEY.encode() + b".").decode() for n in range(5)),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        quote(base64.b64encode(KEY.encode()), safe=""),
    ],
)
def test_a_secret_is_found_however_it_is_written(written: str) -> None:
    remember(KEY, "OPENAI_API_KEY")
    cores = [base64.b64encode(b"." * n + b"M4RK7F3A9C")[4:12].decode() for n in range(3)]
    for found in (redact(f"a {written} b"), redact_known(f"a {written} b")):
        assert "[hidden]" in found
        assert found.startswith("a ")
        assert found.endswith(" b")
        assert not [core for core in ("M4RK", *cores) if core in found]


@each_case(
    "url", [f"https://some.user:{quote(KEY, safe='')}@h", "https://some.user:hunterhunter@h/"]
)
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_with_a_secret_is_hidden_as_a_whole(url: str, encode: object) -> None:
    """Neither the user before a password nor what follows it in the same token is left."""
    remember(url)
    password = KEY if "hunter" not in url else "hunterhunter"
    for before in ("", "x", "xy"):
        for after in ("", "x", "xy", ", and more"):
            token = encode(f"{before}some.user:{password}{after}".encode()).decode()  # type: ignore[operator]
            for written in (token, quote(token, safe=""), html.escape(token), json.dumps(token)):
                for hide in (redact, redact_known):
                    shown = hide(f"It is {written} there")
                    assert shown.replace('"', "") == "It is [hidden] there", (before, after)


@given(st.text(min_size=8), st.text(), st.sampled_from([str, json.dumps, quote]))
def test_any_secret_is_found(secret: str, before: str, write: object) -> None:
    try:
        remember(secret, "token")
        written = write(secret.strip())  # type: ignore[operator]
    except UnicodeEncodeError:
        return
    if len(secret.strip()) >= 8 and secret.strip() not in "[hidden]":
        assert secret.strip() not in redact(before + written)


@each_case(
    ("name", "value", "text", "shown"),
    [
        ("OPENAI_API_KEY", "abcdefgh", "no abcdefgh", "no [hidden]"),
        ("AWS_SESSION_TOKEN_2", "abcdefgh", "no abcdefgh", "no [hidden]"),
        ("Authorization", "Bearer abcdefgh", "no abcdefgh", "no [hidden]"),
        ("Authorization", "Basic bWU6YWJjZGVmZ2g=", "no abcdefgh", "no [hidden]"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=a%20abcdefgh", "abcdefgh", "[hidden]"),
        ("HTTPS_PROXY", "http://me:abc%40defgh@h:1", "no abc@defgh", "no [hidden]"),
        ("RAG", "http://h/?code=abcdefgh&q=x", "no abcdefgh", "no [hidden]"),
        ("OPENAI_API_KEY", "ollama", "no model ollama", "no model ollama"),
        ("MONKEYS", "abcdefgh", "no abcdefgh", "no abcdefgh"),
        ("RAG", "http://h:8000/abcdefgh/@me", "no abcdefgh", "no abcdefgh"),
        ("RAG", "http:/me:abc@defgh@h", "no abc@defgh", "no [hidden]"),
        ("RAG", "host=h password=abcdefgh", "no abcdefgh", "no [hidden]"),
    ],
)
def test_what_is_a_secret(name: str, value: str, text: str, shown: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragstone._internal.secrets._known", {})
        remember({name: value})
        assert redact(text) == shown


@each_case(
    ("value", "changed"),
    [("password", False), ("postgres", False), ("hunter2hunter", True), ("p4ssw0rd", True)],
)
def test_a_common_word_that_is_a_key_changes_no_reply(value: str, *, changed: bool) -> None:
    remember(value, "key")
    remember("tenant-2024", "key", in_replies=False)
    assert ("[hidden]" in redact_known(f"Reset your {value} at tenant-2024.")) is changed
    assert redact_known("tenant-2024") == "tenant-2024"
    assert redact(f"{value} of tenant-2024") == "[hidden] of [hidden]"


@each_case(
    ("text", "shown"),
    [
        ("at http://me:abc@h/x", "at http://[hidden]@h/x"),
        ("at http:/me:abc@h/x", "at http:/[hidden]@h/x"),
        ("at 'http://me:a/b?c#d@h'", "at 'http://[hidden]@h'"),
        ("at https://abc@h", "at https://[hidden]@h"),
        ("postgresql://USER@HOST/DATABASE", "postgresql://USER@HOST/DATABASE"),
        ("http://h:80/@me/x", "http://h:80/@me/x"),
        ("Authorization: Bearer abc-defgh.", "Authorization: Bearer [hidden]"),
        ("http://h/?key=abc&q=x", "http://h/?key=[hidden]&q=x"),
        ('{"api_key": "abc", "q": "x"}', '{"api_key": "[hidden]", "q": "x"}'),
        (r"{\"authorization\": \"Bearer abc\"}", r"{\"authorization\": \"Bearer [hidden]\"}"),
        ("options such as api_key= are", "options such as api_key= are"),
    ],
)
def test_what_must_be_a_secret_is_hidden_in_messages_only(text: str, shown: str) -> None:
    assert redact(text) == redact(redact(text)) == shown
    assert redact_known(text) == text


@each_case(
    "part", ["a", "http://", "http://a:", "\\", "M4RK", "%5C", "token=", '"token": "', "&amp;"]
)
def test_long_texts_take_linear_time(huge: int, part: str) -> None:
    remember(KEY, "key")
    text = part * (huge // len(part)) + "M4RK7F3A9C"
    assert redact_known(text) == text
    assert redact(text)


def test_an_error_contains_no_secret() -> None:
    remember(["sk-12345", "sk-1234567"], "key")
    assert str(UsageError("no sk-12345,\nnor sk-1234567")) == "no [hidden],\nnor [hidden]"
    error = InputError("a.yaml", [Problem("no sk-12345", "write sk-12345", row=1)])
    assert "sk-12345" not in f"{error} {error.problems[0]}"
