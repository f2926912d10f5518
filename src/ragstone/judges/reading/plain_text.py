"""Plain text: verdicts and claims as older prompts ask for them, without JSON."""

import re
from collections.abc import Iterator

from ragstone.judges.reading.items import Item
from ragstone.judges.reading.labels import LABELS, read_label
from ragstone.judges.reading.lines import label_pattern, numbered_pattern
from ragstone.judges.reading.refusals import is_refusal

_MARKER = re.compile(r"final verdicts? for each (?:statement|claim) in order\s*:", re.IGNORECASE)
_LABEL = label_pattern(LABELS)
_LISTED = re.compile(r"\s*(?:[-*•–]|[(\[]?[0-9]{1,4}[.):\]])\s+(\S.*)")
_NUMBERED = numbered_pattern("claim", "statement", "verdict")
_VERDICT = re.compile(
    r"\bverdict(?:\s+(?:for\s+)?(?:(?:claim|statement)\s+)?#?([0-9]{1,4}))?\**\s*:\**\s*"
    r"((?:(?!\bverdict\b).)*)",
    re.IGNORECASE,
)
_REASONED = re.compile(r"\s*\**(?:reason|reasoning|explanation|rationale)\b", re.IGNORECASE)


def plain_texts(text: str) -> tuple[str, ...] | None:
    """Return the numbered or bulleted lines of a text; None if there are none, or it refuses."""
    if is_refusal(text):
        return None
    lines = [match[1].strip() for line in text.splitlines() if (match := _LISTED.fullmatch(line))]
    return tuple(line for line in lines if any(map(str.isalnum, line))) or None


def plain_verdicts(text: str) -> tuple[Item, ...] | None:
    """Return the verdicts of a text; None if it has none that can be read, or refuses.

    They stand after the words `Final verdict for each statement in order:`, else after `Verdict:`
    on lines of their own or at a line's end, else on numbered lines. A reason may sound like a
    refusal: what stands around verdicts and reasons is what counts.
    """
    lines = text.splitlines()
    if is_refusal("\n".join(line for line in lines if not _speaks_of_one(line))):
        return None
    items = _after_marker(text) or tuple(_after_verdict(lines)) or tuple(_numbered(lines))
    return items if any(item.label for item in items) else None


def _speaks_of_one(line: str) -> bool:
    return bool(_NUMBERED.fullmatch(line) or _VERDICT.search(line) or _REASONED.match(line))


def _after_marker(text: str) -> tuple[Item, ...]:
    parts = _MARKER.split(text)
    if len(parts) != 2:  # where the words stand twice, it is not clear which are the verdicts
        return ()
    if listed := tuple(_numbered(parts[1].splitlines())):
        return listed
    pieces = [piece.strip(" *\t\r\n") for piece in re.split(r"[.,;\n]", parts[1])]
    return tuple(
        Item(written=piece[:200], label=None if piece.isdigit() else read_label(piece))
        for piece in pieces
        if piece
    )


def _after_verdict(lines: list[str]) -> Iterator[Item]:
    number = None
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            number = int(numbered[1])
        for verdict in _VERDICT.finditer(line):
            yield _item(int(verdict[1]) if verdict[1] else number, verdict[2])
            number = None


def _numbered(lines: list[str]) -> Iterator[Item]:
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            yield _item(int(numbered[1]), numbered[2])


def _item(number: int | None, said: str) -> Item:
    if not (match := _LABEL.match(said)):
        return Item(number=number, written=said.strip()[:200])
    reason = said[match.end() :].strip(" -–—:;.()[]*")
    return Item(number, None, match[1], read_label(match[1]), reason or None)
