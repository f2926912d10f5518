"""GradeItem: one grade as a reply has it, before it is known what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    is_object,
    is_refusal,
    label_pattern,
    listed,
    numbered_pattern,
    read_value,
    read_word,
    unanswered,
)
from ragstone.judges.llm.parsing.verdicts import (
    ReplyMismatchError,
    as_written,
    number_at,
    order,
    reason_at,
)
from ragstone.types.claim import Grade

# Relevance: the words in which models say whether something is relevant.

RELEVANCE: Mapping[str, bool] = MappingProxyType(
    {
        **YES_OR_NO,
        **dict.fromkeys(("relevant", "useful"), True),
        **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
    }
)
"""Word in lower case, with single spaces -> whether it says that something is relevant."""


def read_relevance(written: object) -> bool | None:
    """Return what a JSON value stands for: a word, 1 or 0, true or false; else None."""
    return read_word(written, RELEVANCE)


_LISTS = ("grades", "contexts", "sentences", "verdicts", "results", "labels")
_GRADES = ("relevant", "is_relevant", "relevance", "useful", "grade", "verdict", "label")
_NUMBERS = (
    "number", "context", "context_number", "context_id", "sentence", "sentence_number",
    "sentence_id", "index", "id",
)  # fmt: skip
_GRADE = label_pattern(RELEVANCE)
_NUMBERED = numbered_pattern("context", "sentence")


class GradeItem(NamedTuple):
    """One grade as written.

    Attributes:
        number: what it says it is about; None if it does not say.
        written: the grade as written; None if there is none.
        relevant: what that stands for; None if nothing.
    """

    number: int | None = None
    written: str | None = None
    relevant: bool | None = None
    reason: str | None = None


def grade_items(value: object, due: int) -> tuple[GradeItem, ...] | None:
    """Return the grades that a JSON value holds; None if it does not look like grades.

    They are a list of objects or of words, by itself or in an object; where one is due, they may
    be one object.
    """
    return listed(value, due, keys=_LISTS, read=_item, known=_is_grade)


def plain_grades(text: str, shown: Sequence[str] = ()) -> tuple[GradeItem, ...] | None:
    """Return the grades on the numbered lines of a text; None if it has none, or refuses.

    A line that repeats a text that the judge was shown is no grade. A reason may sound like a
    refusal: what stands around the lines is what counts.
    """
    lines = text.splitlines()
    if is_refusal("\n".join(line for line in lines if not _NUMBERED.fullmatch(line))):
        return None
    items = tuple(_numbered(lines, shown))
    return items if any(item.relevant is not None for item in items) else None


def _is_grade(entry: object, item: GradeItem) -> bool:
    named = is_object(entry) and any(key in entry for key in _GRADES)
    return named or item.relevant is not None


def _item(entry: object) -> GradeItem:
    if not is_object(entry):
        return GradeItem(written=as_written(entry), relevant=read_relevance(entry))
    grades = [entry[key] for key in _GRADES if key in entry]
    read = {read_relevance(grade) for grade in grades}
    return GradeItem(
        number=number_at(entry, *_NUMBERS),
        written=as_written(grades[0]) if grades else None,
        relevant=read.pop() if len(read) == 1 else None,  # keys that contradict one another
        reason=reason_at(entry),
    )


def _numbered(lines: Sequence[str], shown: Sequence[str]) -> Iterator[GradeItem]:
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            number, said = int(numbered[1]), numbered[2].strip()
            grade = _GRADE.match(said)
            if grade and (grade.end() == len(said) or not any(said in text for text in shown)):
                reason = said[grade.end() :].strip(" -–—:;.()[]*")
                yield GradeItem(number, grade[1], read_relevance(grade[1]), reason or None)
            else:
                yield GradeItem(number, said[:200])


# Grade reply: what a model wrote on contexts or sentences, read as one grade each.


def read_grades(
    text: str, due: int, *, of: str, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[Grade, ...]:
    """Read the grades of a reply: exactly one for each of the `due` things, in their order.

    `of` says what they are, `shown` are the texts that the model was shown.

    Raises:
        JudgeFailureError: it cannot be read, or there is not one readable grade for each.
    """
    items = read_value(
        text,
        lambda value: grade_items(value, due),
        lambda answer: plain_grades(answer, shown),
        shown=shown,
        strict_json=strict_json,
    )
    try:
        places = order([item.number for item in items], due, "grades", of=of)
    except ReplyMismatchError as error:
        raise unanswered(text, Cause.COUNT_MISMATCH, str(error)) from None
    grades: list[Grade] = []
    for item in (items[place] for place in places):
        if item.relevant is None:
            seen = f"{quoted(item.written)!r} is no grade" if item.written else "a grade is missing"
            raise unanswered(text, Cause.MALFORMED, seen)
        grades.append(Grade(relevant=item.relevant, reason=item.reason))
    return tuple(grades)
