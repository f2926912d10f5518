"""Plain text of promptfoo's older prompts, which its plan for RAGAS reads where JSON is missing.

Only the policy `promptfoo-plan` reads it, and not with `--strict-json`. Words around an answer may
change it, so a reply is read only if all its lines have one of the known forms.
"""

import re

from ragstone.judges.llm.replies import is_refusal

MARKER = "final verdict for each statement in order:"
"""Case-insensitive prefix of the verdicts, which end in full stops."""

_MARKER = re.compile(MARKER, re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:(?:claim|statement)\s+)?[(\[]?([0-9]{1,4})[.):\]]+\s*(.*)", re.IGNORECASE
)
_BULLETED = re.compile(r"()[-*•]\s+(\S.*)")
_VERDICT = re.compile(r"(?=\bverdict\s*:)", re.IGNORECASE)
_LABEL = re.compile(r"(?:verdict\s*:[\s*]*)?(yes|no)[\s.*]*", re.IGNORECASE)
_REASON = re.compile(r"(?:reason|explanation)\s*:", re.IGNORECASE)


def statements_in_text(text: str) -> tuple[str, ...] | None:
    """Return the entries of a numbered or bulleted list; None if the text is anything else.

    One line that ends with a colon may introduce it.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].endswith(":"):
        lines = lines[1:]
    listed = [_NUMBERED.fullmatch(line) or _BULLETED.fullmatch(line) for line in lines]
    entries = [(entry[1], entry[2].strip()) for entry in listed if entry and entry[2].strip()]
    numbers = [number for number, _ in entries]
    counted = numbers == [str(place) for place in range(1, len(lines) + 1)]
    if not entries or len(entries) < len(lines) or not (counted or set(numbers) == {""}):
        return None
    return None if is_refusal(text) else tuple(entry for _, entry in entries)


def verdicts_in_text(text: str) -> tuple[tuple[int | None, str], ...] | None:
    """Return the number of each verdict, None without any, and its word; None without verdicts.

    They follow the marker, else they are `yes` or `no` after `Verdict:` or a line's number.
    """
    if "{" in text or is_refusal(text):
        return None
    before, *after = _MARKER.split(text)
    if after:
        pieces = [piece.strip(" *\t\r") for piece in re.split(r"[.\n]", after[-1])]
        words = tuple((None, piece) for piece in pieces if piece)
        return words if len(after) == 1 and words else None
    verdicts: list[tuple[int | None, str]] = []
    number: int | None = None
    for line in (line.strip(" *\t\r") for line in _VERDICT.sub("\n", before).splitlines()):
        rest = line
        if numbered := _NUMBERED.fullmatch(line):
            if number is not None:
                return None  # the one before has no verdict
            number, rest = int(numbered[1]), numbered[2].strip(" *")
        if label := _LABEL.fullmatch(rest):
            verdicts.append((number, label[1]))
            number = None
        elif line and not numbered and not _REASON.match(line):
            return None
    return tuple(verdicts) if verdicts and number is None else None
