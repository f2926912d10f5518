"""Claims, facts, explanations, queries, abstention and ratings, as models write them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.judges.llm.legacy_text import statements_in_text
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
    storable,
    text_at,
)
from ragstone.judges.llm.verdicts import find_evidence, number_in, quotes_at, reason_at
from ragstone.types.claim import DraftQuestion, FoundAnswer, GeneratedQueries, Rating
from ragstone.types.questions import FindAnswer

PLACEHOLDER = re.compile(
    r"[^\w<]*(?:\.\.\.|(?:none|null|n/?a|string|(?:no|keine) (?:claims?|facts?|statements?"
    r"|aussagen)(?: \w+)?|(?:claim|fact|statement)[\s_]*[0-9]*|<[^<>]*>)\W*)"
    r"|.*[–—:(-]\s*(?-i:SUPPORTED|CONTRADICTED|NOT_ENOUGH_INFO)\W*",
    re.IGNORECASE,
)
"""A text that is none: a blank to fill in, a word for nothing, or a verdict."""
_ABSTAINS: Mapping[str, bool] = MappingProxyType({"abstains": True, "answers": False})
_EVADES: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {"noncommittal": YES_OR_NO, "commits": {word: not yes for word, yes in YES_OR_NO.items()}}
)
"""Key -> whether a response evades the question, by the word under the key."""
_DIGITS = re.compile("[0-9]{1,4}")
_LEVEL = re.compile("-?[0-9]{1,9}")
_CLAIMS = ("claims", "statements", "truths", "facts")
_CLAIM = ("claim", "statement", "truth", "fact", "text")


def parse_claims(reply: RawReply, source: str = "") -> tuple[str, ...]:
    """Return the claims of a reply; refusals are claims only if their `source` refuses as well."""

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
    """Return the texts of a list, each by itself or as the only value of an object."""
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
    """Return the questions of a reply, each text on one line.

    Quotes stay as they are, because they are looked up. A question without a query is left out.
    """

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
    return parse_value(
        reply, lambda value: read_word((known_object(value, "label") or {}).get("label"), _ABSTAINS)
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
