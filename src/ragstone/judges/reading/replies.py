"""Reply: what a model wrote, read as the value that its question asks for."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ragstone.claims import Verdict
from ragstone.errors import Cause
from ragstone.judges.reading.evidence import Sources
from ragstone.judges.reading.items import Item, items_of
from ragstone.judges.reading.json_text import (
    answer_of,
    is_list,
    is_object,
    json_values,
    text_at,
    whole,
)
from ragstone.judges.reading.matching import Mismatch, first_number, in_order
from ragstone.judges.reading.plain_text import plain_texts, plain_verdicts
from ragstone.judges.reading.refusals import is_refusal
from ragstone.messages import quoted
from ragstone.questions import Failure, Returned, Unanswered, VerifyClaims

T = TypeVar("T")

_LISTS = ("claims", "statements", "truths", "facts")
_TEXTS = ("claim", "statement", "truth", "fact", "text")


def read_claims(
    text: str, *, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[str, ...]:
    """Read the claims of a reply, each one line, in order; blank ones and repetitions left out.

    `shown` are the texts that the model was shown: JSON that it repeats of them is no reply.

    Raises:
        Unanswered: there are none that can be read; that a text makes no claim can be read.
    """
    return _lines(_read(text, _texts, plain_texts, shown=shown, strict_json=strict_json))


def read_truths(
    text: str, *, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[str, ...]:
    """Read the facts of a reply, as claims are read.

    Raises:
        Unanswered: there are none that can be read.
    """
    return read_claims(text, shown=shown, strict_json=strict_json)


def read_explanation(text: str, *, strict_json: bool = False) -> str:
    """Read an explanation: JSON, else the whole text.

    Raises:
        Unanswered: there is none, or the text is a refusal.
    """

    def plain(answer: str) -> str | None:
        return None if is_refusal(answer) else answer

    return _read(text, _explanation, plain, strict_json=strict_json)


def read_verdicts(
    text: str, question: VerifyClaims, *, strict_json: bool = False
) -> tuple[Verdict, ...]:
    """Read the verdicts of a reply: exactly one a claim, in the claims' order.

    Raises:
        Unanswered: it cannot be read, or there is not one readable verdict a claim; its Failure
            has the verdicts that did come.
    """
    due = len(question.claims)
    items = _read(
        text,
        lambda value: items_of(value, due),
        plain_verdicts,
        shown=(*question.contexts, *question.claims),
        strict_json=strict_json,
    )
    sources = Sources(question.contexts)
    try:
        ordered = in_order(items, question.claims)
    except Mismatch as error:
        returned = _returned(items, due, sources)
        raise _failure(text, Cause.COUNT_MISMATCH, str(error), returned) from None
    verdicts = [verdict for item in ordered if (verdict := _verdict(item, sources))]
    if len(verdicts) < due:
        written = next(item.written for item in items if not item.label)
        seen = f"{quoted(written)!r} is no label" if written else "a verdict has no label"
        raise _failure(text, Cause.MALFORMED, seen, _returned(items, due, sources))
    return tuple(verdicts)


def _read(
    text: str,
    accept: Callable[[object], T | None],
    plain: Callable[[str], T | None],
    *,
    shown: Sequence[str] = (),
    strict_json: bool,
) -> T:
    """Return the one value of a text that is accepted: JSON, else plain text.

    Several JSON values that differ are none: which of them is the model's own word, and which
    one it repeats from a text that it was shown, cannot be told.
    """
    answer = answer_of(whole(text))
    if not answer:
        raise _failure(text, Cause.MALFORMED, "an empty reply")
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
        raise _failure(text, Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
    raise _unread(text, "neither JSON nor any other known shape")


def _unread(text: str, seen: str) -> Unanswered:
    begins = f"the reply begins {quoted(answer_of(text))!r}"
    return _failure(text, Cause.MALFORMED, f"{seen}; {begins}")


def _failure(text: str, cause: Cause, said: str, returned: tuple[Returned, ...] = ()) -> Unanswered:
    return Unanswered(Failure(cause, said, returned, raw=whole(text)))


def _texts(value: object) -> tuple[str, ...] | None:
    if is_list(value):
        texts = [
            text_at(entry, *_TEXTS)
            if is_object(entry)
            else (whole(entry) if isinstance(entry, str) else None)
            for entry in value
        ]
        known = [text for text in texts if text is not None]
        return tuple(known) if len(known) == len(texts) else None
    if is_object(value):
        for key in _LISTS:
            if is_list(inner := value.get(key)):
                return _texts(inner)
    return None


def _explanation(value: object) -> str | None:
    said = text_at(value, "explanation", "reason", "text") if is_object(value) else None
    return (said or "").strip() or None


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    lines = (" ".join(text.split()) for text in texts)
    return tuple(dict.fromkeys(line for line in lines if line))


def _verdict(item: Item, sources: Sources) -> Verdict | None:
    if not item.label:
        return None
    evidence = sources.evidence(item.quotes)
    return Verdict(label=item.label, reason=item.reason, evidence=evidence)


def _returned(items: Sequence[Item], due: int, sources: Sources) -> tuple[Returned, ...]:
    """Return the verdicts as they came, the claims' numbers from 1."""
    shift = 1 - first_number([item.number for item in items if item.number is not None], due)
    return tuple(
        Returned(
            item.number + shift if item.number is not None else None,
            item.written,
            _verdict(item, sources),
        )
        for item in items
    )
