import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause
from ragstone.targets.http import events_of


@each_case(
    ("stream", "events"),
    [
        ("data: a\n\ndata: b\n\n", ["a", "b"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        ("data: a\r\rdata: b\r\r", ["a", "b"]),
        ("data: a\n\ndata: b", ["a", "b"]),
        ("\ufeffdata: a\n\n", ["a"]),
        ("data:a\n\ndata:  b\n\n", ["a", " b"]),
        ("data: a\ndata: b\n\n", ["a\nb"]),
        ("data: a\ndata:\ndata\n\n", ["a\n\n"]),
        (": ping\n\ndata: a\n: ping\n\n: ping\n\n", ["a"]),
        ("event: token\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
        ("data: a\n\ndata: [DONE]\n\n", ["a"]),
        ("event: done\n\ndata: a\n\n", ["a"]),
        ("\n\n\ndata: \n\n", [""]),
        ("data: a: b\n\n", ["a: b"]),
        ("data: é\u2028x\n\n", ["é\u2028x"]),
    ],
)
def test_events(stream: str, events: list[str]) -> None:
    assert events_of(stream.encode()) == events


@each_case("stream", [b"", b"\n\n", b": ping\n\n", b"data: [DONE]\n\n", b"<html>"])
def test_a_reply_without_events(stream: bytes) -> None:
    with pytest.raises(CallError, match="the reply contains no events") as caught:
        events_of(stream)
    assert caught.value.cause is Cause.MALFORMED


def test_an_event_named_error_fails_the_reply() -> None:
    stream = b"data: half an\n\nevent: error\ndata: out of\ndata: memory\n\ndata: answer\n\n"
    with pytest.raises(CallError, match="stopped with an error: out of memory") as caught:
        events_of(stream)
    assert caught.value.cause is Cause.UNREACHABLE
