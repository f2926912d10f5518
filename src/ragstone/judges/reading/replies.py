"""Reply: what a model wrote, read as the value that its question asks for."""

from collections.abc import Iterable, Sequence

from ragstone.claims import Verdict
from ragstone.errors import Cause
from ragstone.exchanges import PartialVerdict
from ragstone.judges.reading.evidence import Sources
from ragstone.judges.reading.items import Item, items_of
from ragstone.judges.reading.json_text import (
    is_list,
    is_object,
    text_at,
    texts_at,
)
from ragstone.judges.reading.matching import ReplyMismatchError, first_number, in_order
from ragstone.judges.reading.plain_text import plain_texts, plain_verdicts
from ragstone.judges.reading.refusals import is_refusal
from ragstone.judges.reading.value import read_value, unanswered
from ragstone.messages import quoted
from ragstone.questions import VerifyClaims

_LISTS = ("claims", "statements", "truths", "facts")
_TEXTS = ("claim", "statement", "truth", "fact", "text")


def read_claims(
    text: str, *, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[str, ...]:
    """Read the claims of a reply, each one line, in order; blank ones and repetitions left out.

    `shown` are the texts that the model was shown: JSON that it repeats of them is no reply.

    Raises:
        JudgeFailureError: there are none that can be read; that a text makes no claim can be read.
    """
    return _lines(read_value(text, _texts, plain_texts, shown=shown, strict_json=strict_json))


def read_truths(
    text: str, *, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[str, ...]:
    """Read the facts of a reply, as claims are read.

    Raises:
        JudgeFailureError: there are none that can be read.
    """
    return read_claims(text, shown=shown, strict_json=strict_json)


def read_explanation(text: str, *, strict_json: bool = False) -> str:
    """Read an explanation: JSON, else the whole text.

    Raises:
        JudgeFailureError: there is none, or the text is a refusal.
    """

    def plain(answer: str) -> str | None:
        return None if is_refusal(answer) else answer

    return read_value(text, _explanation, plain, strict_json=strict_json)


def read_verdicts(
    text: str, question: VerifyClaims, *, strict_json: bool = False
) -> tuple[Verdict, ...]:
    """Read the verdicts of a reply: exactly one a claim, in the claims' order.

    Raises:
        JudgeFailureError: it cannot be read, or there is not one readable verdict a claim; its
            Failure has the verdicts that did come.
    """
    due = len(question.claims)
    items = read_value(
        text,
        lambda value: items_of(value, due),
        plain_verdicts,
        shown=(*question.contexts, *question.claims),
        strict_json=strict_json,
    )
    sources = Sources(question.contexts)
    try:
        ordered = in_order(items, question.claims)
    except ReplyMismatchError as error:
        returned = _returned(items, due, sources)
        raise unanswered(text, Cause.COUNT_MISMATCH, str(error), returned) from None
    verdicts = [verdict for item in ordered if (verdict := _verdict(item, sources))]
    if len(verdicts) < due:
        written = next(item.written for item in items if not item.label)
        seen = f"{quoted(written)!r} is no label" if written else "a verdict has no label"
        raise unanswered(text, Cause.MALFORMED, seen, _returned(items, due, sources))
    return tuple(verdicts)


def _texts(value: object) -> tuple[str, ...] | None:
    if is_list(value):
        return texts_at(value, *_TEXTS)
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


def _returned(items: Sequence[Item], due: int, sources: Sources) -> tuple[PartialVerdict, ...]:
    """Return the verdicts as they came, the claims' numbers from 1."""
    shift = 1 - first_number([item.number for item in items if item.number is not None], due)
    return tuple(
        PartialVerdict(
            item.number + shift if item.number is not None else None,
            item.written,
            _verdict(item, sources),
        )
        for item in items
    )
