"""Parsers: verdicts, grades, claims and the other answers of models, as they write them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from ragstone._internal.sentences import QuoteFinder
from ragstone._internal.text import count, quoted
from ragstone.errors import Cause
from ragstone.judges.llm.replies import (
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_refusal,
    known_object,
    one_line_at,
    parse_value,
    read_word,
    statements_in_text,
    storable,
    text_at,
    verdicts_in_text,
)
from ragstone.types.claim import (
    DraftQuestion,
    Evidence,
    FoundAnswer,
    GeneratedQueries,
    Grade,
    Label,
    Rating,
    Verdict,
)
from ragstone.types.questions import FindAnswer, VerifyClaims
from ragstone.types.reply import PartialVerdict

V = TypeVar("V")

Quote = tuple[int | None, str]
"""The number of the quoted context, from 1, and the words."""

_NUMBER = re.compile(
    r"\s*(?:(?:claim|statement|context|sentence|passage)[\s_]*)?[#\[(]?([0-9]{1,9})[\].):]?\s*",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """A reply does not have exactly one item for each thing."""


class Item(NamedTuple, Generic[V]):
    """One item as written."""

    number: int | str | None = None
    """The number that it names, or a text if that cannot be read."""
    written: str | None = None
    """Its label, and under `value` what it means."""
    value: V | None = None
    reason: str | None = None
    text: str | None = None
    """The claim that it repeats."""
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True)
class ItemFormat(Generic[V]):
    """The keys and words of one kind of item; keys and words are in lower case, without gaps."""

    lists: tuple[str, ...]
    labels: tuple[str, ...]
    """All that are present must mean the same, and all `numbers` must agree."""
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    """Keys of the text that an item repeats; such a key may have the number instead."""
    notes: tuple[str, ...]
    words: Mapping[str, V]

    def items(self, value: object, expected: int) -> tuple[Item[V], ...] | None:
        """Return the items of a JSON value; None if it is not a list of such items."""
        if is_object(value):
            if len(value) == 1 and (key := next(iter(value))) in self.lists:
                value = value[key]
            elif expected == 1:
                value = [value] if any(key in value for key in self.labels) else None
        if not is_list(value):
            return None
        known = (*self.labels, *self.numbers, *self.texts, *self.notes)
        if not all(known_object(entry, *known) for entry in value if is_object(entry)):
            return None
        items = tuple(self._item(entry) for entry in value)
        labelled = (
            item.value is not None
            or (is_object(entry) and any(key in entry for key in self.labels))
            for entry, item in zip(value, items, strict=True)
        )
        return items if not items or any(labelled) else None

    def _item(self, entry: object) -> Item[V]:
        if not is_object(entry):
            return Item(written=_as_written(entry), value=read_word(entry, self.words))
        labels = [entry[key] for key in self.labels if key in entry]
        values = {read_word(label, self.words) for label in labels}
        numbers: set[int | str] = set()
        texts: set[str] = set()
        for key in (*self.numbers, *self.texts):
            named = entry.get(key)
            if isinstance(named, str) and key in self.texts:
                is_number = key in self.numbers and _NUMBER.fullmatch(named)
                if not is_number:
                    texts.add(storable(named).strip())
                    continue
            if named is not None:
                numbers.add(number_in(named))
        return Item(
            number=numbers.pop() if len(numbers) == 1 else " / ".join(map(str, numbers)) or None,
            written=_as_written(labels[0]) if labels else None,
            value=values.pop() if len(values) == 1 else None,
            reason=reason_at(entry),
            text=" / ".join(texts) or None,
            quotes=tuple(quotes_at(entry.get("evidence"))),
        )


def number_in(written: object) -> int | str:
    if isinstance(written, str):
        match = _NUMBER.fullmatch(written)
        return int(match[1]) if match else storable(written)
    if isinstance(written, int | float) and not isinstance(written, bool) and written % 1 == 0:
        return int(written)
    return _as_written(written) or ""


def _as_written(value: object) -> str | None:
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return storable(value if isinstance(value, str) else json.dumps(value))[:200]


def reason_at(fields: Mapping[str, object]) -> str | None:
    return (text_at(fields, "reason") or "").strip() or None


def quotes_at(evidence: object) -> list[Quote]:
    quotes: list[Quote] = []
    for entry in evidence if is_list(evidence) else [evidence]:
        fields = entry if is_object(entry) else {"quote": entry}
        number = number_in(fields.get("context", fields.get("passage")))
        if words := (text_at(fields, "quote") or "").strip():
            quotes.append((number if isinstance(number, int) else None, words))
    return quotes


def in_order(
    items: Sequence[Item[V]], expected: int, name: str, of: str, texts: Sequence[str] = ()
) -> Sequence[Item[V]]:
    """Return one item for each of the `expected` things, in their order.

    They are matched by the numbers that they name, from 1 or all from 0, else by the texts that
    they repeat, else by position.
    """
    thing = of.removesuffix("s")
    if len(items) != expected:
        counted = count(len(items), name.removesuffix("s"))
        raise ReplyMismatchError(f"got {counted} for {count(expected, thing)}")
    numbers = [item.number for item in items if item.number is not None]
    first = firstnumber_in(numbers, expected)
    bare = list(map(_bare, texts))
    repeated = [_bare(item.text or "") for item in items]
    if numbers:
        if set(numbers) != set(range(first, first + expected)) or len(numbers) < expected:
            seen = ", ".join("none" if item.number is None else str(item.number)[:20]
                             for item in items[:50])  # fmt: skip
            raise ReplyMismatchError(f"the {name} of {expected} {of} are numbered {seen}")
        places = [number - first for number in numbers if isinstance(number, int)]
    elif any(repeated):
        if sorted(repeated) != sorted(set(bare)):
            raise ReplyMismatchError(f"the {name} do not repeat the {of}, one each")
        places = list(map(bare.index, repeated))
    else:
        places = list(range(expected))
    for place, text in zip(places, repeated, strict=True):
        if text and text != bare[place]:
            raise ReplyMismatchError(f"{name.removesuffix('s')} {place + 1} is on another {thing}")
    return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]


def firstnumber_in(numbers: Sequence[int | str], expected: int) -> int:
    return 0 if 0 in numbers and expected not in numbers else 1


def _bare(text: str) -> str:
    return " ".join(_LINE_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")


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
_LABELS = {word: label for label, words in _WORDS.items() for word in words.split(", ")}
_VERDICTS = ItemFormat(
    lists=("verdicts", "statements", "claims"),
    labels=("label", "verdict"),
    numbers=tuple("claim claimnumber claimid statement statementid number index id".split()),
    texts=("claim", "statement", "text"),
    notes=("reason", "evidence"),
    words=MappingProxyType({**_LABELS, **{label.value: label for label in Label}}),
)
_GRADES = ItemFormat(
    lists=("grades", "verdicts"),
    labels=("relevant", "verdict"),
    numbers=("number", "context", "sentence", "index", "id"),
    texts=(),
    notes=("reason",),
    words=MappingProxyType(
        {
            **YES_OR_NO,
            **dict.fromkeys(("relevant", "useful"), True),
            **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
        }
    ),
)


def parse_verdicts(reply: RawReply, question: VerifyClaims) -> tuple[Verdict, ...]:
    expected = len(question.claims)
    items: Sequence[Item[Label]] | None = None
    if reply.legacy_text and (written := verdicts_in_text(reply.text)) is not None:
        labels = {"yes": Label.SUPPORTED, "no": Label.CONTRADICTED}
        items = [Item(number, word[:200], labels.get(word.lower())) for number, word in written]
    items = items or parse_value(reply, lambda value: _VERDICTS.items(value, expected))
    finders: dict[int, QuoteFinder] = {}

    def verdict_of(item: Item[Label]) -> Verdict | None:
        if not item.value:
            return None
        evidence = find_evidence(item.quotes, question.contexts, finders)
        return Verdict(label=item.value, reason=item.reason, evidence=evidence)

    try:
        ordered = in_order(items, expected, "verdicts", "claims", question.claims)
    except ReplyMismatchError as error:
        cause, message = Cause.COUNT_MISMATCH, str(error)
    else:
        verdicts = [verdict for item in ordered if (verdict := verdict_of(item))]
        if len(verdicts) == expected:
            return tuple(verdicts)
        written = next(item.written for item in items if not item.value)
        message = f"{quoted(written)!r} is not a label" if written else "a verdict has no label"
        cause = Cause.MALFORMED
    shift = 1 - firstnumber_in([item.number for item in items if item.number is not None], expected)
    returned = tuple(
        PartialVerdict(
            item.number + shift if isinstance(item.number, int) else None,
            item.written,
            verdict_of(item),
        )
        for item in items
    )
    raise reply.unusable(cause, message, returned)


def find_evidence(
    quotes: Sequence[Quote], contexts: Sequence[str], finders: dict[int, QuoteFinder]
) -> tuple[Evidence, ...]:
    """Find each quote in the context that it names, else in the others."""
    evidence: list[Evidence] = []
    for number, words in quotes if contexts else ():
        named = number - 1 if number and 1 <= number <= len(contexts) else 0
        for context in (named, *(other for other in range(len(contexts)) if other != named)):
            if context not in finders:
                finders[context] = QuoteFinder(contexts[context])
            if span := finders[context].find(words):
                start, end = span
                evidence.append(
                    Evidence(context=context, start=start, end=end, quote=words, verified=True)
                )
                break
        else:
            evidence.append(Evidence(context=named, quote=words, verified=False))
    return tuple(evidence)


def parse_grades(reply: RawReply, expected: int, *, of: str) -> tuple[Grade, ...]:
    items = parse_value(reply, lambda value: _GRADES.items(value, expected))
    try:
        ordered = in_order(items, expected, "grades", of)
    except ReplyMismatchError as error:
        raise reply.unusable(Cause.COUNT_MISMATCH, str(error)) from None
    grades: list[Grade] = []
    for item in ordered:
        if item.value is None:
            word = item.written
            seen = f"{quoted(word)!r} is not a grade" if word else "a grade is missing"
            raise reply.unusable(Cause.MALFORMED, seen)
        grades.append(Grade(relevant=item.value, reason=item.reason))
    return tuple(grades)


PLACEHOLDER = re.compile(
    r"[^\w<]*(?:\.\.\.|(?:none|null|n/?a|string|(?:no|keine) (?:claims?|facts?|statements?"
    r"|aussagen)(?: \w+)?|(?:claim|fact|statement)[\s_]*[0-9]*|<[^<>]*>)\W*)"
    r"|.*[–—:(-]\s*(?-i:SUPPORTED|CONTRADICTED|NOT_ENOUGH_INFO)\W*",
    re.IGNORECASE,
)
"""A text that is none: a blank to fill in, a word for nothing, or a verdict."""
_EVADES: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {"noncommittal": YES_OR_NO, "commits": {word: not yes for word, yes in YES_OR_NO.items()}}
)
"""Key -> whether a response evades the question, by the word under the key."""
_DIGITS = re.compile("[0-9]{1,4}")
_LEVEL = re.compile("-?[0-9]{1,9}")
_CLAIMS = ("claims", "statements", "truths", "facts")
_CLAIM = ("claim", "statement", "truth", "fact", "text")


def parse_claims(reply: RawReply, source: str = "") -> tuple[str, ...]:
    """Return the claims; refusals are claims only if their `source` refuses as well."""

    def accept(value: object) -> tuple[str, ...] | None:
        if is_object(value) and len(value) == 1:
            value = next((value[key] for key in _CLAIMS if key in value), None)
        return _texts(value, *_CLAIM)

    texts = statements_in_text(reply.text) if reply.legacy_text else None
    if texts is None:
        texts = parse_value(reply, accept)
    claims = tuple(dict.fromkeys(_one_line(texts)))
    _check_filled(claims, reply)
    if claims and source and all(map(is_refusal, claims)) and not is_refusal(source):
        raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(claims[0])}")
    return claims


def _texts(entries: object, *keys: str) -> tuple[str, ...] | None:
    if not is_list(entries):
        return None
    texts: list[str] = []
    for entry in entries:
        fields = known_object(entry, *keys)
        text = text_at(fields, *keys) if fields and len(fields) == 1 else entry
        if not isinstance(text, str):
            return None
        texts.append(storable(text))
    return tuple(texts)


def _one_line(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for each in texts if (line := " ".join(each.split())))


def _check_filled(texts: Sequence[str], reply: RawReply) -> None:
    if blank := next(filter(PLACEHOLDER.fullmatch, texts), None):
        raise reply.unusable(Cause.MALFORMED, f"{quoted(blank)!r} is a placeholder")


def parse_explanation(reply: RawReply) -> str:
    def accept(value: object) -> str | None:
        fields = known_object(value, "explanation") or {}
        return (text_at(fields, "explanation") or "").strip() or None

    return parse_value(reply, accept)


def parse_queries(reply: RawReply) -> GeneratedQueries:
    def accept(value: object) -> GeneratedQueries | None:
        fields = known_object(value, "commits", "noncommittal", "queries") or {}
        evades = {read_word(fields[key], _EVADES[key]) for key in _EVADES if key in fields}
        queries = fields.get("queries")
        if is_object(queries) and all(map(_DIGITS.fullmatch, queries)):
            queries = [queries[key] for key in sorted(queries, key=int)]
        texts = _texts(queries, "query", "question")
        noncommittal = evades.pop() if len(evades) == 1 else None
        if noncommittal is None or texts is None:
            return None
        return GeneratedQueries(queries=_one_line(texts), noncommittal=noncommittal)

    generated = parse_value(reply, accept)
    _check_filled(generated.queries, reply)
    return generated


def parse_found(reply: RawReply, question: FindAnswer) -> FoundAnswer:
    def accept(value: object) -> FoundAnswer | None:
        fields = known_object(value, "answer", "evidence", "found") or {}
        found = read_word(fields.get("found"), YES_OR_NO)
        if not found:
            return None if found is None else FoundAnswer(found=False)
        evidence = find_evidence(quotes_at(fields.get("evidence")), question.contexts, {})
        return FoundAnswer(found=True, answer=one_line_at(fields, "answer"), evidence=evidence)

    return parse_value(reply, accept)


def parse_drafts(reply: RawReply) -> tuple[DraftQuestion, ...]:

    def draft(entry: object) -> DraftQuestion | None:
        fields = known_object(entry, "query", "reference", "claims", "quotes")
        claims = _texts(fields.get("claims", []), "claim", "fact", "text") if fields else None
        if fields is None or claims is None:
            return None
        return DraftQuestion(
            query=one_line_at(fields, "query"),
            reference=one_line_at(fields, "reference"),
            claims=tuple(dict.fromkeys(_one_line(claims))),
            quotes=tuple(quotes_at(fields.get("quotes"))),
        )

    def accept(value: object) -> tuple[DraftQuestion, ...] | None:
        fields = known_object(value, "questions")
        entries = fields.get("questions") if fields else value
        if not is_list(entries):
            return None
        drafts = tuple(filter(None, map(draft, entries)))
        return drafts if len(drafts) == len(entries) else None

    drafts = parse_value(reply, accept)
    _check_filled([text for each in drafts for text in (each.query, *each.claims)], reply)
    return tuple(each for each in drafts if each.query)


def parse_abstention(reply: RawReply) -> bool:
    words = {"abstains": True, "answers": False}
    return parse_value(
        reply, lambda value: read_word((known_object(value, "label") or {}).get("label"), words)
    )


def parse_rating(reply: RawReply) -> Rating:
    def accept(value: object) -> Rating | None:
        fields = known_object(value, "level", "reason") or {}
        level = fields.get("level")
        if isinstance(level, str):
            level = int(level) if _LEVEL.fullmatch(level.strip()) else None
        level = number_in(level)
        return Rating(level=level, reason=reason_at(fields)) if isinstance(level, int) else None

    return parse_value(reply, accept)
