"""Value: the one thing that a reply says, as JSON or as plain text."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragstone.errors import Cause
from ragstone.exchanges import Failure, JudgeFailureError, PartialVerdict
from ragstone.judges.reading.json_text import answer_of, json_values, whole
from ragstone.judges.reading.refusals import is_refusal
from ragstone.messages import quoted

T = TypeVar("T")


def read_value(
    text: str,
    accept: Callable[[object], T | None],
    plain: Callable[[str], T | None],
    *,
    shown: Sequence[str] = (),
    strict_json: bool,
) -> T:
    """Return the one value of a reply that is accepted: JSON, else plain text.

    Several JSON values that differ are none: which of them is the model's own word, and which
    one it repeats from a text that it was `shown`, cannot be told.

    Raises:
        JudgeFailureError: there is none, or there are several.
    """
    answer = answer_of(whole(text))
    if not answer:
        raise unanswered(text, Cause.MALFORMED, "an empty reply")
    try:
        values = json_values(answer, shown)
    except ValueError as error:
        raise _unread(text, f"JSON that cannot be read ({error})") from None
    accepted = list(dict.fromkeys(read for value in values if (read := accept(value)) is not None))
    if len(accepted) == 1:
        return accepted[0]
    if accepted:
        raise _unread(text, f"{len(accepted)} different answers in one reply")
    if values or strict_json:
        raise _unread(text, "no JSON of the kind that was asked for")
    if (read := plain(answer)) is not None:
        return read
    if is_refusal(answer):
        raise unanswered(text, Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
    raise _unread(text, "neither JSON nor any other known shape")


def _unread(text: str, seen: str) -> JudgeFailureError:
    begins = f"the reply begins {quoted(answer_of(text))!r}"
    return unanswered(text, Cause.MALFORMED, f"{seen}; {begins}")


def unanswered(
    text: str, cause: Cause, said: str, returned: tuple[PartialVerdict, ...] = ()
) -> JudgeFailureError:
    """Return the failure of a reply, with the whole of it."""
    return JudgeFailureError(Failure(cause, said, returned, raw=whole(text)))
