"""Claims, facts, explanations, queries, abstention and ratings, as models write them."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ragstone.judges.llm.parsing.items import number_at, reason_at
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    RawReply,
    is_list,
    is_object,
    is_refusal,
    parse_value,
    read_word,
    text_at,
    texts_at,
)
from ragstone.judges.llm.parsing.labels import LabelPattern
from ragstone.types.claim import GeneratedQueries, Rating

_LISTED = re.compile(r"\s*(?:[-*•–]|[(\[]?[0-9]{1,4}[.):\]])\s+(\S.*)")
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
    """Return the claims (or facts) of a reply, each on one line, without blanks and repetitions.

    Raises:
        JudgeFailureError: the reply cannot be parsed; an empty list of claims is an answer.
    """

    def accept(value: object) -> tuple[str, ...] | None:
        if is_object(value):
            keys = ("claims", "statements", "truths", "facts")
            value = next((value[key] for key in keys if is_list(value.get(key))), None)
        names = ("claim", "statement", "truth", "fact", "text")
        return texts_at(value, *names) if is_list(value) else None

    def plain(answer: str) -> tuple[str, ...] | None:
        if is_refusal(answer):
            return None
        lines = [match[1] for line in answer.splitlines() if (match := _LISTED.fullmatch(line))]
        return tuple(line for line in lines if any(map(str.isalnum, line))) or None

    texts = parse_value(
        reply, accept, plain, lambda _texts, _before, after: plain(after) is not None
    )
    return tuple(dict.fromkeys(line for each in texts if (line := " ".join(each.split()))))


def parse_explanation(reply: RawReply) -> str:
    """Return an explanation: JSON, else the whole text.

    Raises:
        JudgeFailureError: there is none, or the text is a refusal.
    """

    def accept(value: object) -> str | None:
        found = text_at(value, "explanation", "reason", "text") if is_object(value) else None
        return (found or "").strip() or None

    def plain(answer: str) -> str | None:
        return None if is_refusal(answer) else answer

    return parse_value(reply, accept, plain)


def parse_queries(reply: RawReply) -> GeneratedQueries:
    """Return the queries of a reply, and whether the response is evasive; JSON only.

    Raises:
        JudgeFailureError: the reply cannot be parsed.
    """

    def accept(value: object) -> GeneratedQueries | None:
        if not is_object(value):
            return None
        evades = _flag(value, ("noncommittal", "evades"), ("commits", "committal"))
        queries = value.get("queries", value.get("questions"))
        if is_object(queries) and all(re.fullmatch("[0-9]{1,4}", key) for key in queries):
            queries = [queries[key] for key in sorted(queries, key=int)]
        texts = texts_at(queries, "query", "question", "text") if is_list(queries) else None
        if evades is None or texts is None:
            return None
        lines = tuple(line for each in texts if (line := " ".join(each.split())))
        return GeneratedQueries(queries=lines, noncommittal=evades)

    def disagrees(_queries: GeneratedQueries, _before: str, after: str) -> bool:
        return re.search(r"commit|evasive|evades", after, re.IGNORECASE) is not None

    return parse_value(reply, accept, lambda _: None, disagrees)


def parse_abstention(reply: RawReply) -> bool:
    """Return whether a response abstains.

    Raises:
        JudgeFailureError: the reply cannot be parsed.
    """

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
        """Return the one label at the start, perhaps after `Label:` if no shown text has that."""
        name = _NAME.match(answer)
        label = _LABEL.match(answer, name.end() if name else 0)
        if name and label and any(answer[: label.end(1)] in other for other in reply.shown):
            return None
        if label and _ANSWER.search(answer[label.end(1) :]):
            return None
        labels = {word for word in _ABSTAINS if re.search(rf"\b{word}\b", answer, re.IGNORECASE)}
        return _ABSTAINS[label[1].lower()] if label and len(labels) == 1 else None

    return parse_value(
        reply, accept, plain, lambda value, _, after: _LABEL.revised_in(after, {1: value})
    )


def parse_rating(reply: RawReply) -> Rating:
    """Return a level and the reason for it.

    Raises:
        JudgeFailureError: the reply cannot be parsed.
    """

    def accept(value: object) -> Rating | None:
        if not is_object(value):
            return None
        keys = [key for key in value if key and _LEVEL_KEY.fullmatch(key)]
        levels = {number_at(value, key, written=_LEVEL) for key in keys}
        level = levels.pop() if len(levels) == 1 else None
        return None if level is None else Rating(level=level, reason=reason_at(value))

    def plain(answer: str) -> Rating | None:
        """Return the level of the one line `Level: 4` that no shown text has."""
        lines = [line for line in answer.splitlines() if _LEVEL_WORD.search(line)]
        matches = [_LEVEL_LINE.fullmatch(line) for line in lines]
        levels = {int(match[1]) if match else None for match in matches}
        level = levels.pop() if len(levels) == 1 else None
        repeats = any(line.strip() in other for line in lines for other in reply.shown)
        return None if level is None or repeats else Rating(level=level)

    def disagrees(value: Rating, _before: str, after: str) -> bool:
        levels = {int(level) for level in _LEVEL_NEXT.findall(after)}
        return _LABEL.reconsidered_in(after) or not levels <= {value.level}

    return parse_value(reply, accept, plain, disagrees)


def _flag(fields: Mapping[str, object], yes: Sequence[str], no: Sequence[str]) -> bool | None:
    """Return the value of the keys, those of `no` negated; None if missing or contradictory."""
    found = {read_word(fields[key], YES_OR_NO) for key in yes if key in fields}
    negated = {read_word(fields[key], YES_OR_NO) for key in no if key in fields}
    found |= {None if each is None else not each for each in negated}
    return found.pop() if len(found) == 1 else None
