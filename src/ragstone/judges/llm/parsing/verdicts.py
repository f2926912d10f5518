"""Verdicts on claims, as models write them: JSON, else plain text."""

import re
from collections.abc import Iterable, Mapping, Sequence
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
    sides_of,
)
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    RawReply,
    is_reconsidered,
    is_refusal,
    may_change,
    read_word,
)
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
_VERDICTS = ItemFormat(
    lists=("verdicts", "statements", "claims", "results", "labels"),
    labels=(
        "label", "verdict", "supported", "issupported", "entailed", "faithful", "attributed",
        "judgement", "judgment",
    ),
    numbers=number_keys("claim", "statement"),
    texts=("statement", "claim", "text", "fact"),
    words={**_LABELS, **{label.value: label for label in Label}},
    side=lambda label: label is Label.SUPPORTED,
    quoted=True,
)  # fmt: skip


def parse_verdicts(reply: RawReply, question: VerifyClaims) -> tuple[Verdict, ...]:
    """Return the verdicts of a reply: exactly one per claim, in the claims' order."""
    expected = len(question.claims)
    items = parse_items(
        reply, expected, _VERDICTS, lambda text: _plain_verdicts(text, reply.shown), _numbered
    )
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


_DOUBTS = re.compile(
    r"(?:\b(?:but|assuming|supposing|provided|however|though|although|except|unless|yet|partial"
    r"|partially|partly|mostly|not|no|nor|never|none|nothing|neither|without|hardly|barely"
    r"|unclear|only|rather|instead|nope|wrong|incorrect|untrue|false"
    r"|aber|jedoch|allerdings|nicht|nur|nein|doch|falsch|mais|cependant|sauf|pas|non|faux"
    r"|pero|aunque|salvo|falso|mas|porém|exceto|ma|però|tranne|maar|niet|но|однако|кроме|не|нет)\b"
    r"|n['’]t\b|[,(]\s*(?:if|when)\b|[✗✘❌])",
    re.IGNORECASE,
)
"""Words that limit or deny an affirmative label before them."""
_VALUE = re.compile(
    r"[\s*\"'`.:;,()\[\]–—=-]*(?>[0-9]+(?:[.,][0-9]+)*)\s*(?:%|/|percent|of\b)"
    r"|[\s*\"'`]*[:=–—-][\s*\"'`]*(?>[0-9]+(?:[.,][0-9]+)*)[\s*\"'`]*(?:$|[.;)](?:\s|$))",
    re.IGNORECASE,
)
"""A number right after a label, as its value."""
_ANSWER = re.compile(
    r"[\s*\"'`]*[:=–—-]+[\s*\"'`]*(?:yes|no|true|false)(?=[\s*\"'`]*(?:[.,;!)]|$))", re.IGNORECASE
)
_AFFIRMED = re.compile(r"\b(?:yes|true|correct|ja|oui|sí|да)\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"(?:\b(?:nothing|none|nor|neither|without|not|never|no)|n['’]t)\b[^.;:]*$", re.IGNORECASE
)
_PLAIN = sorted((w for w in _LABELS if not w.isdigit() and w != "support"), key=len, reverse=True)
_START = re.compile(
    rf"[*\"'`]*({'|'.join(_PLAIN).replace(' ', '[-_ ]')})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,)",
    re.IGNORECASE,
)
"""A label at the start of a text; a lone 1 is the number of a claim or a footnote."""
_NUMBERED = re.compile(
    r"\s*(?:(?:[-*•]|#{1,6})\s+)?\*{0,3}(?:(?:claim|statement|verdict|[cs])[\s_]*)?[#(\[]?"
    r"([0-9]{1,4})(?:[.):\]]+|\s+[-–—]|\*+\s*:|\**\s*$)(?![0-9])\**\s*(.*)",
    re.IGNORECASE,
)
"""A numbered line: `1. ...`, `Claim 1: ...`."""
_MARKER = re.compile(r"final verdicts? for each (?:statement|claim) in order\s*:", re.IGNORECASE)
_VERDICT = re.compile(
    r"\b(?:verdict|label)(?:\s+(?:for\s+)?(?:(?:claim|statement)\s+)?#?([0-9]{1,4}))?\**\s*:\**\s*"
    r"((?:(?!\b(?:verdict|label)\b[\w\s#*]{0,30}:).)*)",
    re.IGNORECASE,
)
_VERDICT_LEAD = re.compile(
    r"(?:^|[.!?)\]|–—-])[\s*_#]*"
    r"(?:(?:final|overall|my|the|claim|statement|#?[0-9]{1,4}[.):]*)\s+)*\**$",
    re.IGNORECASE,
)
"""The end of the text before a verdict that nothing quotes or introduces."""
_REASON = re.compile(
    r"[ \t]+\S|[-*• ]*(?:reason|reasoning|explanation|rationale|evidence|quote)s?\b", re.IGNORECASE
)
"""A line that belongs to the item beside it."""
_LETTER = re.compile(r"[^\W\d_]")
_FOOTNOTE = re.compile(r"[1-9][0-9]{0,2}")
_SHORT = 12
"""Letters of a line that may occur in a text that was shown by chance."""
_MOST_LINES = 5_000
"""Lines of the longest plain text that is read."""


def _plain_verdicts(text: str, shown: Sequence[str]) -> tuple[_Item, ...] | None:
    """Return the verdicts of a text; None if it has none, or another line may change them.

    They follow `Final verdict for each statement in order:`, else `Verdict:`, else a line's
    number. Every other line has a reason, or only words that cannot change a verdict.
    """
    if text.count("\n") > _MOST_LINES:
        return None
    before, *after = _MARKER.split(text)
    lines = [line for line in (after or [before])[0].splitlines() if line.strip(" *")]
    items = _numbered(lines)
    named = _named_verdicts(lines)
    if len(after) > 1 or named is None or (named and any(item.value for item in items)):
        return None
    own = {line for line in lines if _NUMBERED.fullmatch(line) or _VERDICT.search(line)}
    if after and not any(item.value for item in items):
        pieces = [piece.strip(" *\t") for line in lines for piece in re.split("[.,;]", line)]
        labels = {piece: read_word(piece, _LABELS) for piece in pieces if not piece.isdigit()}
        items = [Item(None, piece[:200], labels.get(piece)) for piece in pieces if piece]
        own = set(lines)
    items = named or items
    others = [line for line in lines if line not in own and not _REASON.match(line)]
    drafts = [item for item in _numbered(before) if item.value] if after else []
    heading = [line for line in before.splitlines() if after and not _NUMBERED.fullmatch(line)]
    if (
        not any(item.value for item in items)
        or any(_repeats(line, shown) for line in own)
        or any(_VERDICTS.named.search(line) for line in others)
        or is_refusal("\n".join(heading))
        or any(is_reconsidered(line) for line in lines if line not in own)
        or may_change("", "\n".join(["", *others]), shown)
        or (drafts and sides_of(drafts, _VERDICTS) != sides_of(items, _VERDICTS))
    ):
        return None
    reasons = [item.reason for item in items if item.reason and _side(item.value)]
    if may_change("", "\n".join(["", *reasons]), shown) or not all(
        _LETTER.search(reason) or _FOOTNOTE.fullmatch(reason) for reason in reasons
    ):  # a share or a symbol may be another answer
        return None
    return tuple(items)


def _repeats(line: str, shown: Sequence[str]) -> bool:
    """Return whether a line, or what it numbers, is a part of a text that was shown."""
    numbered = _NUMBERED.fullmatch(line)
    parts = [part.strip().casefold() for part in (line, numbered[2] if numbered else "")]
    texts = [text.casefold() for text in shown]
    whole = any(parts[0] in map(str.strip, text.splitlines()) for text in texts)
    return whole or any(len(part) > _SHORT and part in text for part in parts for text in texts)


def _numbered(text: str | Iterable[str]) -> tuple[_Item, ...]:
    """Return the items on the numbered lines of a text."""
    lines = text.splitlines() if isinstance(text, str) else text
    found = filter(None, map(_NUMBERED.fullmatch, lines))
    return tuple(_plain_item(int(line[1]), line[2]) for line in found)


def _named_verdicts(lines: Sequence[str]) -> list[_Item] | None:
    """Return the verdicts after `Verdict:` or `Label:`; None if their claims are not clear."""
    number, named, others = None, list[_Item](), list[str]()
    for line in lines:
        if begin := _NUMBERED.fullmatch(line):
            number = int(begin[1])
        verdicts = list(_VERDICT.finditer(line))
        if not verdicts:
            others.append(line)
        for verdict in verdicts:
            lead = line[max(0, verdict.start() - 80) : verdict.start()]
            number = int(verdict[1]) if verdict[1] else number
            if not _VERDICT_LEAD.search(lead) or (number is None and re.search("[0-9]", lead)):
                return None
            named.append(_plain_item(number, verdict[2]))
            number = None
    if len(named) > 1 and any(item.number is None for item in named):
        in_place = all(item.number is None for item in named) and all(map(_REASON.match, others))
        return named if in_place else None
    return named


def _plain_item(number: int | None, text: str) -> _Item:
    """Return the item of a text that starts with its label.

    After it, a reason may follow. It must not answer again, take the label back, or name a label
    of another side; after an affirmative label, it must not limit or deny anything either.
    """
    text = text.strip()
    unclear = Item[Label](number, text[:200])
    if not (label := _START.match(text)):
        return unclear
    value = read_word(label[1], _LABELS)
    rest, side = text[label.end(1) :], _side(value)
    answer = _ANSWER.match(rest)
    if answer and not (side and _AFFIRMED.search(answer[0])):  # `Entailment: no`
        return unclear
    if _VALUE.match(rest) or is_reconsidered(rest) or (_DOUBTS if side else _AFFIRMED).search(rest):
        return unclear
    for other in _VERDICTS.named.finditer(rest):
        named = other[0].lower() not in YES_OR_NO
        denied = _NOTHING.search(rest, max(0, other.start() - 40), other.start())
        if named and not denied and _side(read_word(other[0], _LABELS)) != side:
            return unclear
    reason = rest.strip(" -–—:;.()[]*\"'`")
    return Item(number, label[1], value, reason or None)


def _side(label: Label | None) -> int:
    """Return 0 unless the label affirms a claim, or a part of it."""
    return {Label.SUPPORTED: 2, Label.PARTIALLY_SUPPORTED: 1}.get(label, 0) if label else 0
