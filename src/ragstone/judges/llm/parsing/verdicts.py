"""Reply: what a model wrote, read as the value that its question asks for."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ragstone._internal.quotes import QuoteFinder
from ragstone._internal.text import count, quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.json import (
    is_list,
    is_object,
    is_refusal,
    label_pattern,
    listed,
    numbered_pattern,
    read_value,
    read_word,
    text_at,
    texts_at,
    unanswered,
    whole,
)
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import PartialVerdict

# Label: the words in which models say what the contexts say about a claim.

_WORDS = {
    Label.SUPPORTED: (
        "supported, supports, support, yes, true, 1, entailed, entails, entailment, faithful, "
        "attributed"
    ),
    Label.PARTIALLY_SUPPORTED: "partially supported, partly supported, partial, partially, partly",
    Label.CONTRADICTED: "contradicted, contradicts, contradiction, no, refuted, refutes",
    Label.NOT_ENOUGH_INFO: (
        "not enough info, not enough information, insufficient information, nei, idk, unknown, "
        "0, false, not supported, unsupported, not entailed, neutral, unverifiable, "
        "not mentioned, unfaithful, not faithful"
    ),
}
LABELS: Mapping[str, Label] = MappingProxyType(
    {word: label for label, words in _WORDS.items() for word in words.split(", ")}
)
"""Word in lower case, with single spaces -> label."""

_OWN: Mapping[str, Label] = {label.value: label for label in Label}


def read_label(written: object) -> Label | None:
    """Return the label that a JSON value stands for: a word, 1 or 0, true or false; else None."""
    own = _OWN.get(written) if isinstance(written, str) else None  # nearly always
    return own or read_word(written, LABELS)


# Item: one verdict as a reply has it, before it is known which claim it is about.

Quote = tuple[int | None, str]
"""The number of the context that is named, from 1 (None: none is), and the words."""

_ITEMS_LISTS = ("verdicts", "statements", "claims", "results", "labels")
_LABELS = (
    "label", "verdict", "supported", "is_supported", "entailed", "faithful", "attributed",
    "judgement", "judgment",
)  # fmt: skip
_NUMBERS = (
    "claim", "claim_number", "claim_id", "statement", "statement_number", "statement_id",
    "number", "index", "id",
)  # fmt: skip
_NUMBER = re.compile(r"\s*(?:claim|statement)?\s*#?\s*([0-9]{1,9})\.?\s*", re.IGNORECASE)


class Item(NamedTuple):
    """One verdict as written.

    Attributes:
        number: the claim it names; None if it names none by number.
        statement: the claim as it repeats it, if it does.
        written: the label as written; None if there is none.
        label: what that stands for; None if nothing.
    """

    number: int | None = None
    statement: str | None = None
    written: str | None = None
    label: Label | None = None
    reason: str | None = None
    quotes: tuple[Quote, ...] = ()


def items_of(value: object, due: int) -> tuple[Item, ...] | None:
    """Return the verdicts that a JSON value holds; None if it does not look like verdicts.

    They are a list of objects or of labels, by itself or in an object; where one is due, they
    may be one object.
    """
    return listed(value, due, keys=_ITEMS_LISTS, read=_item, known=_is_verdict)


def _is_verdict(entry: object, item: Item) -> bool:
    named = is_object(entry) and any(key in entry for key in _LABELS)
    return named or item.label is not None


def _item(entry: object) -> Item:
    if not is_object(entry):
        return Item(written=as_written(entry), label=read_label(entry))
    labels = [entry[key] for key in _LABELS if key in entry]
    return Item(
        number=number_at(entry, *_NUMBERS),
        statement=text_at(entry, "statement", "claim", "text", "fact"),
        written=as_written(labels[0]) if labels else None,
        label=_agreed(labels),
        reason=reason_at(entry),
        quotes=_quotes(entry.get("evidence", entry.get("quotes", entry.get("quote")))),
    )


def _agreed(labels: list[object]) -> Label | None:
    """Return the first label; None if another key contradicts it on what counts most."""
    read = [read_label(label) for label in labels]
    supported = {label is Label.SUPPORTED for label in read}
    return read[0] if len(supported) == 1 else None


def as_written(value: object) -> str | None:
    """Return a JSON value as a message shows it; None if there is none."""
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return whole(value if isinstance(value, str) else json.dumps(value))[:200]


def reason_at(fields: Mapping[str, object]) -> str | None:
    """Return the reason that an entry gives; None if it gives none."""
    reason = text_at(fields, "reason", "explanation", "rationale", "justification")
    return (reason or "").strip() or None


def number_at(
    fields: Mapping[str, object], *keys: str, written: re.Pattern[str] = _NUMBER
) -> int | None:
    """Return the whole number under the first of the keys that has one, or a text `written` so."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
            return int(value)
        if isinstance(value, str) and (match := written.fullmatch(value)):
            return int(match[1])
    return None


def _quotes(evidence: object) -> tuple[Quote, ...]:
    entries = evidence if is_list(evidence) else [evidence]
    quotes: list[Quote] = []
    for entry in entries:
        if is_object(entry):
            text = text_at(entry, "quote", "text", "evidence")
            number = number_at(entry, "context", "context_number", "source")
        else:
            text, number = (whole(entry) if isinstance(entry, str) else None), None
        if text and text.strip():
            quotes.append((number, text.strip()))
    return tuple(quotes)


# Matching: which verdict or grade is about what, or why that cannot be told.

_MATCHING_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """There is not one verdict, or grade, for each thing asked about; the message says how."""


def in_order(items: Sequence[Item], claims: Sequence[str]) -> Sequence[Item]:
    """Return the verdicts in the claims' order, one a claim.

    They are told apart by the numbers they give (from 1; from 0 if all are so), else by the
    claims they repeat, else by their place.

    Raises:
        ReplyMismatchError: there are more or fewer than claims, or they contradict one another.
    """
    numbers = [item.number for item in items]
    places = order(numbers, len(claims), "verdicts", of="claims")
    if all(number is None for number in numbers):
        return _by_statement(items, claims)
    return [items[place] for place in places]


def order(numbers: Sequence[int | None], due: int, what: str, *, of: str) -> Sequence[int]:
    """Return the places in a reply of the words on each of the things asked about, in their order.

    `numbers` are what the words say they are about; where none says it, they stand in order.

    Raises:
        ReplyMismatchError: there is not one word for each.
    """
    if (came := len(numbers)) != due:
        counted = count(came, what.removesuffix("s"))
        raise ReplyMismatchError(f"{counted} came back for {count(due, of.removesuffix('s'))}")
    told = [number for number in numbers if number is not None]
    if not told:
        return range(due)
    first = first_number(told, due)
    if sorted(told) != list(range(first, first + due)):
        said = ", ".join("none" if number is None else str(number)[:20] for number in numbers[:50])
        raise ReplyMismatchError(f"{due} {of} were asked about, the {what} are about {of} {said}")
    places = {number: place for place, number in enumerate(numbers)}
    return [places[number] for number in range(first, first + due)]


def first_number(numbers: Sequence[int], due: int) -> int:
    """Return where the numbers begin: 0 if one is 0 and none is `due`."""
    return 0 if 0 in numbers and due not in numbers else 1


def _by_statement(items: Sequence[Item], claims: Sequence[str]) -> Sequence[Item]:
    """Order by the claims they repeat; a verdict that repeats none word for word keeps its place.

    Raises:
        ReplyMismatchError: a claim is repeated in another claim's place, and not all claims are
            repeated.
    """
    texts = [_line(claim) for claim in claims]
    repeated = [_line(item.statement or "") for item in items]
    if repeated == texts:
        return items
    if len(set(texts)) == len(texts) and set(repeated) == set(texts):
        return [items[repeated.index(text)] for text in texts]
    if strayed := [n for n, text in enumerate(repeated) if text != texts[n] and text in texts]:
        raise ReplyMismatchError(
            f"verdict {strayed[0] + 1} repeats another claim than claim {strayed[0] + 1}"
        )
    return items


def _line(text: str) -> str:
    return " ".join(_MATCHING_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")


# Evidence: the quotes of a reply, looked up in the contexts they are said to be from.


class Sources:
    """The contexts of one question; each is made ready for looking up once, when it is needed."""

    def __init__(self, contexts: tuple[str, ...]) -> None:
        self._contexts = contexts
        self._finders: dict[int, QuoteFinder] = {}

    def evidence(self, quotes: tuple[Quote, ...]) -> tuple[Evidence, ...]:
        """Look quotes up, each in the context that it names, else in the others, in order.

        A quote that stands nowhere is not verified and has no place. Without contexts there is
        no evidence.
        """
        return tuple(self._found(quote) for quote in quotes) if self._contexts else ()

    def _found(self, quote: Quote) -> Evidence:
        number, words = quote
        named = number - 1 if number and 1 <= number <= len(self._contexts) else 0
        for context in self._order(named):
            if span := self._finder(context).find(words):
                start, end = span
                return Evidence(context=context, start=start, end=end, quote=words, verified=True)
        return Evidence(context=named, quote=words, verified=False)

    def _order(self, named: int) -> Iterator[int]:
        yield named
        for context in range(len(self._contexts)):
            if context != named:
                yield context

    def _finder(self, context: int) -> QuoteFinder:
        if context not in self._finders:
            self._finders[context] = QuoteFinder(self._contexts[context])
        return self._finders[context]


# Plain text: verdicts and claims as older prompts ask for them, without JSON.

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
            yield _plain_text_item(int(verdict[1]) if verdict[1] else number, verdict[2])
            number = None


def _numbered(lines: list[str]) -> Iterator[Item]:
    for line in lines:
        if numbered := _NUMBERED.fullmatch(line):
            yield _plain_text_item(int(numbered[1]), numbered[2])


def _plain_text_item(number: int | None, said: str) -> Item:
    if not (match := _LABEL.match(said)):
        return Item(number=number, written=said.strip()[:200])
    reason = said[match.end() :].strip(" -–—:;.()[]*")
    return Item(number, None, match[1], read_label(match[1]), reason or None)


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
