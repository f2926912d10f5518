"""Claims, facts, explanations, queries, abstention and ratings, as models write them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.items import REASON_LINE, number_at, quotes_at, reason_at
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_refusal,
    may_change,
    parse_value,
    read_word,
    text_at,
    texts_at,
)
from ragstone.judges.llm.parsing.labels import LabelPattern
from ragstone.judges.llm.parsing.verdicts import find_evidence
from ragstone.types.claim import DraftQuestion, FoundAnswer, GeneratedQueries, Rating
from ragstone.types.questions import FindAnswer

_LISTED = re.compile(
    r"(?P<indent>\s*)(?:[-*•–]|\**(?:(?:claim|statement|fact)\s+)?[(\[]?(?P<number>[0-9]{1,4})"
    r"[.):\]]+\**)\s+(?P<text>\S.*)",
    re.IGNORECASE,
)
_WHOLLY = re.compile(r'(\*\*|["“`])(?P<text>[^*"“”`]+)(?:\1|”)')
"""A text in quotation marks, or in bold."""
PLACEHOLDER = re.compile(
    r"[^\w<]*(?:\.\.\.|(?:none|null|n/?a|string|(?:no|keine) (?:claims?|facts?|statements?"
    r"|aussagen)(?: \w+)?|(?:claim|fact|statement)[\s_]*[0-9]*|<[^<>]*>)\W*)"
    r"|.*[–—:(-]\s*(?-i:SUPPORTED|CONTRADICTED|NOT_ENOUGH_INFO)\W*",
    re.IGNORECASE,
)
"""A text that is none: a blank to fill in, a word for nothing, or a verdict."""
_FEWEST_LETTERS = 8
"""Letters of the shortest explanation."""
_ABSTAINS: Mapping[str, bool] = MappingProxyType({"abstains": True, "answers": False})
_LABEL = LabelPattern(_ABSTAINS, side=bool)
_ANSWER = re.compile(
    r"(?:^|[.,:;=–—-])\W*(?:yes|no|not|true|false|nein|non)\W*(?:$|[.,;!\n])", re.IGNORECASE
)
_NAME = re.compile(r"[\s*_#\"'`]*label[\s*_\"'`]*:[\s*_\"'`]*", re.IGNORECASE)
_LABEL_KEY = re.compile(r"(?:final|revised|corrected)?(?:label|verdict)?")
_LEVEL_KEY = re.compile(r"(?:final|revised|corrected|overall)?(?:level|rating|score)?")
_LEVEL_NEXT = re.compile(
    r"(?:level|rating|score|rate|^)[^0-9\n.]{0,20}([0-9]{1,4})\b", re.IGNORECASE | re.MULTILINE
)
_LEVEL_WORD = re.compile(r"level|rating|score", re.IGNORECASE)
_LEVEL_LINE = re.compile(
    r"[\s*_\"'`#-]*(?:level|rating)(?:-|(?=[0-9])|[\s*_\"'`.:=()#]+)(-?[0-9]{1,9})[\s*_\"'`.)]*",
    re.IGNORECASE,
)
_LEVEL = re.compile(r"\s*(?:(?:level|rating)(?:\s*:\s*|\s+|-))?(-?[0-9]{1,9})\.?\s*", re.IGNORECASE)


def parse_claims(reply: RawReply) -> tuple[str, ...]:
    def accept(value: object) -> tuple[str, ...] | None:
        if is_object(value):
            value = _only(value, "claims", "statements", "truths", "facts")
        names = ("claim", "statement", "truth", "fact", "text")
        return texts_at(value, *names) if is_list(value) else None

    def plain(answer: str) -> tuple[str, ...] | None:
        lines = [line for line in answer.splitlines() if line.strip()]
        listed = {n: found for n, line in enumerate(lines) if (found := _LISTED.fullmatch(line))}
        if not listed or is_refusal(answer):
            return None
        first, last = min(listed), max(listed)
        before, after = "\n".join(lines[:first]), "\n".join(["", *lines[last + 1 :]])
        forms = {(len(m["indent"]) // 2, m["number"] is None) for m in listed.values()}
        numbers = [int(match["number"] or place) for place, match in listed.items()]
        counted = all(two - one == 1 for one, two in pairwise(numbers))
        if len(forms) > 1 or not counted or last - first >= len(listed):
            return None
        if not all(any(map(str.isalnum, match["text"])) for match in listed.values()):
            return None
        if may_change(before, after, reply.shown):
            return None
        texts = [match["text"].strip() for match in listed.values()]
        return tuple(bare["text"] if (bare := _WHOLLY.fullmatch(text)) else text for text in texts)

    texts = parse_value(
        reply, accept, plain, lambda _texts, _before, after: plain(after) is not None
    )
    claims = tuple(dict.fromkeys(_one_line(texts)))
    _check_filled(claims, reply)
    answered = not all(map(is_refusal, claims)) or any(map(is_refusal, reply.shown))
    if claims and reply.shown and not answered:
        raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(claims[0])}")
    return claims


def _only(value: Mapping[str, object], *keys: str) -> object:
    found = [
        key
        for key in value
        if key.endswith(keys) and (is_list(value[key]) or is_object(value[key]))
    ]
    return value[found[0]] if len(found) == 1 and found[0] in keys else None


def _one_line(texts: Iterable[str]) -> Iterator[str]:
    return (line for each in texts if (line := " ".join(each.split())))


def _check_filled(texts: Sequence[str], reply: RawReply) -> None:
    if blank := next(filter(PLACEHOLDER.fullmatch, texts), None):
        raise reply.unusable(Cause.MALFORMED, f"{quoted(blank)!r} is a placeholder")


def parse_explanation(reply: RawReply) -> str:
    def accept(value: object) -> str | None:
        if not is_object(value) or sum("explanation" in key for key in value) > 1:
            return None
        return (text_at(value, "explanation", "reason", "text") or "").strip() or None

    def plain(answer: str) -> str | None:
        text = answer.strip("`\n")
        data = text.startswith(("{", "[")) or len(re.findall(r"\w", text)) < _FEWEST_LETTERS
        return None if data or is_refusal(text) else text

    return parse_value(reply, accept, plain)


def parse_queries(reply: RawReply) -> GeneratedQueries:
    def accept(value: object) -> GeneratedQueries | None:
        if not is_object(value):
            return None
        evades = _flag(value, ("noncommittal", "evades"), ("commits", "committal"))
        queries = _only(value, "queries", "questions")
        if is_object(queries) and all(re.fullmatch("[0-9]{1,4}", key) for key in queries):
            queries = [queries[key] for key in sorted(queries, key=int)]
        texts = texts_at(queries, "query", "question", "text") if is_list(queries) else None
        if evades is None or texts is None:
            return None
        return GeneratedQueries(queries=tuple(_one_line(texts)), noncommittal=evades)

    def disagrees(_queries: GeneratedQueries, _before: str, after: str) -> bool:
        return re.search(r"commit|evasive|evades", after, re.IGNORECASE) is not None

    generated = parse_value(reply, accept, lambda _: None, disagrees)
    _check_filled(generated.queries, reply)
    return generated


def parse_found(reply: RawReply, question: FindAnswer) -> FoundAnswer:
    def accept(value: object) -> FoundAnswer | None:
        if not is_object(value) or (found := _flag(value, ("found",), ())) is None:
            return None
        evidence = find_evidence(quotes_at(value), question.contexts, {}) if found else ()
        answer = " ".join((text_at(value, "answer") or "").split()) if found else ""
        return FoundAnswer(found=found, answer=answer, evidence=evidence)

    return parse_value(reply, accept, lambda _: None)


def parse_drafts(reply: RawReply) -> tuple[DraftQuestion, ...]:
    """Return the questions of a reply, each text on one line; JSON only.

    Quotes stay as they are, because they are looked up. A question without a query is left out.
    """

    def draft(entry: Mapping[str, object]) -> DraftQuestion | None:
        claims = entry.get("claims", [])
        stated = texts_at(claims, "claim", "fact", "text") if is_list(claims) else None
        if stated is None:
            return None
        return DraftQuestion(
            query=" ".join((text_at(entry, "query", "question") or "").split()),
            reference=" ".join((text_at(entry, "reference", "answer") or "").split()),
            claims=tuple(dict.fromkeys(_one_line(stated))),
            quotes=tuple(quotes_at(entry)),
        )

    def accept(value: object) -> tuple[DraftQuestion, ...] | None:
        entries = _only(value, "questions") if is_object(value) else value
        if not is_list(entries) or not all(map(is_object, entries)):
            return None
        drafts = [draft(entry) for entry in filter(is_object, entries)]
        kept = tuple(each for each in drafts if each is not None)
        return kept if len(kept) == len(drafts) else None

    drafts = parse_value(reply, accept, lambda _: None)
    _check_filled([text for each in drafts for text in (each.query, *each.claims)], reply)
    return tuple(each for each in drafts if each.query)


def parse_abstention(reply: RawReply) -> bool:
    def accept(value: object) -> bool | None:
        if not is_object(value):
            return None
        read = {
            read_word(value[key], _ABSTAINS) for key in value if key and _LABEL_KEY.fullmatch(key)
        }
        flags = ("abstains", "abstention", "noncommittal"), ("answers",)
        if any(key in value for key in (*flags[0], *flags[1])):
            read.add(_flag(value, *flags))
        return read.pop() if len(read) == 1 else None

    def plain(answer: str) -> bool | None:
        name = _NAME.match(answer)
        label = _LABEL.match(answer, name.end() if name else 0)
        if name and label and any(answer[: label.end(1)] in other for other in reply.shown):
            return None
        rest = answer[label.end(1) :] if label else ""
        if _ANSWER.search(rest) or may_change("", "".join(rest.partition("\n")[1:]), reply.shown):
            return None
        labels = {word for word in _ABSTAINS if re.search(rf"\b{word}\b", answer, re.IGNORECASE)}
        return _ABSTAINS[label[1].lower()] if label and len(labels) == 1 else None

    return parse_value(
        reply, accept, plain, lambda value, _, after: _LABEL.revised_in(after, {1: value})
    )


def parse_rating(reply: RawReply) -> Rating:
    def accept(value: object) -> Rating | None:
        if not is_object(value):
            return None
        keys = [key for key in value if key and _LEVEL_KEY.fullmatch(key)]
        levels = {number_at(value, key, written=_LEVEL) for key in keys}
        level = levels.pop() if len(levels) == 1 else None
        return None if level is None else Rating(level=level, reason=reason_at(value))

    def plain(answer: str) -> Rating | None:
        others = [line for line in answer.splitlines() if not REASON_LINE.match(line)]
        lines = [line for line in others if _LEVEL_WORD.search(line)]
        place = others.index(lines[0]) if lines else 0
        before, after = "\n".join(others[:place]), "\n".join(["", *others[place + 1 :]])
        if may_change(before, after, reply.shown):
            return None
        matches = [_LEVEL_LINE.fullmatch(line) for line in lines]
        levels = {int(match[1]) if match else None for match in matches}
        level = levels.pop() if len(levels) == 1 else None
        repeats = any(line.strip() in other for line in lines for other in reply.shown)
        return None if level is None or repeats else Rating(level=level)

    def disagrees(value: Rating, _before: str, after: str) -> bool:
        levels = {int(level) for level in _LEVEL_NEXT.findall(after)}
        return not levels <= {value.level}

    return parse_value(reply, accept, plain, disagrees)


def _flag(fields: Mapping[str, object], yes: Sequence[str], no: Sequence[str]) -> bool | None:
    found = {read_word(fields[key], YES_OR_NO) for key in yes if key in fields}
    negated = {read_word(fields[key], YES_OR_NO) for key in no if key in fields}
    found |= {None if each is None else not each for each in negated}
    return found.pop() if len(found) == 1 else None
