"""Verdicts on claims, as models write them."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from ragstone._internal.sentences import QuoteFinder
from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.items import (
    Item,
    ItemFormat,
    Quote,
    ReplyMismatchError,
    first_number,
    in_order,
    number_keys,
    parse_items,
    plain_item,
    plain_items,
)
from ragstone.judges.llm.parsing.json import RawReply, is_reconsidered, is_refusal, read_word
from ragstone.judges.llm.parsing.labels import LabelPattern, number_of, numbered_pattern
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import PartialVerdict

_Item: TypeAlias = Item[Label]

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
_LABELS: Mapping[str, Label] = MappingProxyType(
    {word: label for label, words in _WORDS.items() for word in words.split(", ")}
)
_SIDES = {Label.SUPPORTED: 2, Label.PARTIALLY_SUPPORTED: 1}
_VERDICTS = ItemFormat(
    lists=("verdicts", "statements", "claims", "results", "labels"),
    labels=(
        "label", "verdict", "supported", "issupported", "entailed", "faithful", "attributed",
        "judgement", "judgment",
    ),
    numbers=number_keys("claim", "statement"),
    texts=("statement", "claim", "text", "fact"),
    words={**_LABELS, **{label.value: label for label in Label}},
    label=LabelPattern(
        {word: label for word, label in _LABELS.items() if word != "support"},
        side=lambda label: _SIDES.get(label, 0),
    ),
    line=numbered_pattern("claim", "statement", "verdict"),
    side=lambda label: label is Label.SUPPORTED,
    quoted=True,
)  # fmt: skip
_MARKER = re.compile(r"final verdicts? for each (?:statement|claim) in order\s*:", re.IGNORECASE)
_VERDICT = re.compile(
    r"\b(verdict|label)(?:\s+(?:for\s+)?(?:(?:claim|statement)\s+)?#?([0-9]{1,4}))?\**\s*:\**\s*"
    r"((?:(?!\b(?:verdict|label)\b).)*)",
    re.IGNORECASE,
)
_VERDICT_LEAD = re.compile(
    r"(?:^|[.!?)\]|–—-])[\s*_#]*"
    r"(?:(?:final|overall|my|the|claim|statement|#?[0-9]{1,4}[.):]*)\s+)*\**$",
    re.IGNORECASE,
)
"""The end of the text before a verdict that nothing quotes or introduces."""
_CLAIM = re.compile(
    r"\b(?:claim|statement)[\s_#:]*(?:[0-9]|one|two|three|four|five|[a-e]\b)", re.IGNORECASE
)
"""Names a claim."""
_OTHER_NUMBER = re.compile(
    r"\W*(?:[a-z]+[\s_.#-]*)?[0-9]{1,4}(?:st|nd|rd|th|\s*/)?\b.{0,30}verdict", re.IGNORECASE
)
"""A verdict after a number in a form that is not read."""
_REASON = re.compile(r"\s*\**(?:reason|reasoning|explanation|rationale)\b", re.IGNORECASE)


def parse_verdicts(reply: RawReply, question: VerifyClaims) -> tuple[Verdict, ...]:
    expected = len(question.claims)

    @cache
    def is_shown(letters: str) -> bool:
        return any(letters in _letters(other) for other in reply.shown)

    items = parse_items(reply, expected, _VERDICTS, lambda text: _plain_verdicts(text, is_shown))
    finders: dict[int, QuoteFinder] = {}

    def verdict_of(item: _Item) -> Verdict | None:
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
    shift = 1 - first_number([item.number for item in items if item.number is not None], expected)
    returned = tuple(
        PartialVerdict(
            None if item.number is None else item.number + shift, item.written, verdict_of(item)
        )
        for item in items
    )
    raise reply.unusable(cause, message, returned)


def find_evidence(
    quotes: Sequence[Quote], contexts: Sequence[str], finders: dict[int, QuoteFinder]
) -> tuple[Evidence, ...]:
    """Find each quote in the context that it names, else in the others.

    A quote that is in none is not verified and has no position. `finders` caches one finder per
    context.
    """
    found: list[Evidence] = []
    for number, words in quotes if contexts else ():
        named = number - 1 if number and 1 <= number <= len(contexts) else 0
        for context in (named, *(other for other in range(len(contexts)) if other != named)):
            if context not in finders:
                finders[context] = QuoteFinder(contexts[context])
            if span := finders[context].find(words):
                found.append(
                    Evidence(
                        context=context, start=span[0], end=span[1], quote=words, verified=True
                    )
                )
                break
        else:
            found.append(Evidence(context=named, quote=words, verified=False))
    return tuple(found)


def _plain_verdicts(text: str, is_shown: Callable[[str], bool]) -> tuple[_Item, ...] | None:
    """Return the verdicts of a text; None if it has none or refuses.

    They follow `Final verdict for each statement in order:`, else `Verdict:`, else a line's
    number. A reason may read like a refusal: only the other lines count.
    """
    lines = text.splitlines()
    others = (
        line
        for line in lines
        if not (_VERDICTS.line.fullmatch(line) or _VERDICT.search(line) or _REASON.match(line))
    )
    if is_refusal("\n".join(others)):
        return None
    items: list[_Item] = []
    parts = _MARKER.split(text)
    if len(parts) == 2 and not (items := list(plain_items(parts[1].splitlines(), _VERDICTS))):
        pieces = [piece.strip(" *\t\r\n") for piece in re.split(r"[.,;\n]", parts[1])]
        items = [
            Item(None, piece[:200], None if piece.isdigit() else read_word(piece, _LABELS))
            for piece in pieces
            if piece
        ]
    numbered = list(plain_items(lines, _VERDICTS))
    named = _named_verdicts(lines, is_shown) if not items else []
    if named is None or (named and any(item.value for item in numbered)):
        return None
    items = items or named or numbered
    return tuple(items) if any(item.value for item in items) else None


def _named_verdicts(lines: Sequence[str], is_shown: Callable[[str], bool]) -> list[_Item] | None:
    number, named, own = None, list[_Item](), set[int]()
    for place, line in enumerate(lines):
        if begin := _VERDICTS.line.fullmatch(line):
            number = number_of(begin[1])
        elif _OTHER_NUMBER.match(line):
            return None
        verdicts = list(_VERDICT.finditer(line))
        if verdicts and is_reconsidered(line):
            return None
        for verdict in verdicts:
            own.add(place)
            item = plain_item(int(verdict[2]) if verdict[2] else number, verdict[3], _VERDICTS)
            if item.value and is_shown(_letters(verdict[1] + (item.written or ""))):
                return None  # the reply may quote it
            if not _VERDICT_LEAD.search(line[max(0, verdict.start() - 80) : verdict.start()]):
                return None
            named.append(item)
            number = None
    if len(named) > 1 and any(item.number is None for item in named):
        between = (lines[place] for place in range(min(own), max(own)) if place not in own)
        reasons = all(not line.strip() or _REASON.match(line) for line in between)
        return named if reasons and not any(map(_CLAIM.search, lines)) else None
    return named


def _letters(text: str | None) -> str:
    return "".join(filter(str.isalnum, text or "")).casefold()
