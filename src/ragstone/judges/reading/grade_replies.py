"""Grade reply: what a model wrote on contexts or sentences, read as one grade each."""

from collections.abc import Sequence

from ragstone.errors import Cause
from ragstone.grades import Grade
from ragstone.judges.reading.grade_items import grade_items, plain_grades
from ragstone.judges.reading.matching import ReplyMismatchError, order
from ragstone.judges.reading.value import read_value, unanswered
from ragstone.messages import quoted


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
