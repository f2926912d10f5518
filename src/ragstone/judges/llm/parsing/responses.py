"""Response reply: what a model wrote on a response as a whole, read as the value asked for."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    is_list,
    is_object,
    label_pattern,
    read_value,
    read_word,
    text_at,
    texts_at,
)
from ragstone.judges.llm.parsing.verdicts import number_at, reason_at
from ragstone.types.claim import GeneratedQueries, Rating

_LABELS: Mapping[str, bool] = MappingProxyType({"abstains": True, "answers": False})
_LABEL = label_pattern(_LABELS)
_NAME = re.compile(r"[\s*_#\"'`]*label[\s*_\"'`]*:[\s*_\"'`]*", re.IGNORECASE)
_LEVEL = re.compile(r"\W*(?:level|rating)\W*?(-?[0-9]{1,9})\W*", re.IGNORECASE)
_LEVEL_VALUE = re.compile(r"\s*(?:(?:level|rating)\s*:?)?\s*(-?[0-9]{1,9})\.?\s*", re.IGNORECASE)


def read_queries(
    text: str, *, shown: Sequence[str] = (), strict_json: bool = False
) -> GeneratedQueries:
    """Read the queries of a reply, and whether the response evades. Only JSON says both.

    Raises:
        JudgeFailureError: it cannot be read.
    """
    return read_value(text, _guesses, lambda _: None, shown=shown, strict_json=strict_json)


def read_abstention(text: str, *, shown: Sequence[str] = (), strict_json: bool = False) -> bool:
    """Read whether a response abstains.

    Raises:
        JudgeFailureError: it cannot be read.
    """

    def plain(answer: str) -> bool | None:
        return _plain_label(answer, shown)

    return read_value(text, _abstains, plain, shown=shown, strict_json=strict_json)


def read_rating(text: str, *, shown: Sequence[str] = (), strict_json: bool = False) -> Rating:
    """Read a level and the reason for it.

    Raises:
        JudgeFailureError: it cannot be read.
    """

    def plain(answer: str) -> Rating | None:
        return _plain_level(answer, shown)

    return read_value(text, _rating, plain, shown=shown, strict_json=strict_json)


def _said(fields: Mapping[str, object], yes: Sequence[str], no: Sequence[str]) -> bool | None:
    """Return what the keys say: those of `yes` as they are, those of `no` turned round.

    None where none says it, or they contradict one another.
    """
    found = {read_word(fields[key], YES_OR_NO) for key in yes if key in fields}
    turned = {read_word(fields[key], YES_OR_NO) for key in no if key in fields}
    found |= {None if each is None else not each for each in turned}
    return found.pop() if len(found) == 1 else None


def _guesses(value: object) -> GeneratedQueries | None:
    if not is_object(value):
        return None
    evades = _said(value, ("noncommittal", "evades"), ("commits", "committal"))
    queries = _queries(value.get("queries", value.get("questions")))
    if evades is None or queries is None:
        return None
    return GeneratedQueries(queries=queries, noncommittal=evades)


def _queries(value: object) -> tuple[str, ...] | None:
    if is_object(value):
        if not all(key.isdecimal() for key in value):
            return None
        value = [value[key] for key in sorted(value, key=int)]
    texts = texts_at(value, "query", "question", "text") if is_list(value) else None
    if texts is None:
        return None
    return tuple(line for text in texts if (line := " ".join(text.split())))


def _abstains(value: object) -> bool | None:
    if not is_object(value):
        return None
    if (label := text_at(value, "label", "verdict")) is not None:
        return read_word(label, _LABELS)
    return _said(value, ("abstains", "abstention", "noncommittal"), ("answers",))


def _plain_label(answer: str, shown: Sequence[str]) -> bool | None:
    """Return what a text says that begins with one label and does not have the other.

    `Label:` may stand before it, where no text has both so that the judge was shown.
    """
    name = _NAME.match(answer)
    label = _LABEL.match(answer, name.end() if name else 0)
    if name and label and any(answer[: label.end(1)] in text for text in shown):
        return None
    labels = {word for word in _LABELS if re.search(rf"\b{word}\b", answer, re.IGNORECASE)}
    return _LABELS[label[1].lower()] if label and len(labels) == 1 else None


def _rating(value: object) -> Rating | None:
    if not is_object(value):
        return None
    level = number_at(value, "level", "rating", "score", written=_LEVEL_VALUE)
    return None if level is None else Rating(level=level, reason=reason_at(value))


def _plain_level(answer: str, shown: Sequence[str]) -> Rating | None:
    """Return the level of the one line `Level: 4` that no text has that the judge was shown."""
    lines = [line for line in answer.splitlines() if _LEVEL.fullmatch(line)]
    own = [line for line in lines if not any(line.strip() in text for text in shown)]
    levels = {int(match[1]) for line in own if (match := _LEVEL.fullmatch(line))}
    return Rating(level=levels.pop()) if len(levels) == 1 else None
