"""Server-sent events: what a stream of `data:` lines says (HTML standard, section 9.2)."""

import re

from ragstone.errors import CallError, Cause
from ragstone.messages import quoted

_DONE = "[DONE]"
_LINE_END = re.compile(r"\r\n|\r|\n")


def events_of(content: bytes) -> list[str]:
    """Return the data of each event, in order, without the `[DONE]` that closes many streams.

    Raises:
        CallError: there is no event, or one that is named `error`.
    """
    events: list[str] = []
    data: list[str] = []
    name = ""
    lines = _LINE_END.split(content.decode("utf-8-sig", "replace"))
    for line in [*lines, ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif not line:
            if name == "error":
                said = quoted(" ".join(data))
                raise CallError(Cause.UNREACHABLE, f"the reply broke off with an error: {said}")
            if data and data != [_DONE]:
                events.append("\n".join(data))
            data, name = [], ""
    if not events:
        said = quoted(content[:200].decode("utf-8", "replace"))
        raise CallError(Cause.MALFORMED, f"the reply has no events: {said}")
    return events
