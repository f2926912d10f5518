"""GradeItem: one grade as a reply has it, before it is known what it is about."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragstone.judges.reading.items import as_written, number_at, reason_at
from ragstone.judges.reading.json_text import is_object
from ragstone.judges.reading.lines import label_pattern, numbered_pattern
from ragstone.judges.reading.listed import listed
from ragstone.judges.reading.refusals import is_refusal
from ragstone.judges.reading.relevance import RELEVANCE, read_relevance

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
