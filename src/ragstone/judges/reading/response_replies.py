"""Response reply: what a model wrote on a response as a whole, read as the value asked for."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ragstone.grades import Guesses, Rating
from ragstone.judges.reading.items import number_at
from ragstone.judges.reading.json_text import is_list, is_object, text_at, whole
from ragstone.judges.reading.lines import label_pattern
from ragstone.judges.reading.value import read_value

_LABELS: Mapping[str, bool] = MappingProxyType({"abstains": True, "answers": False})
_LABEL = label_pattern(_LABELS)
_TRUTHS: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)
_LEVEL = re.compile(r"\W*(?:level|rating)\W*?(-?[0-9]{1,9})\W*", re.IGNORECASE)


def read_guesses(text: str, *, shown: Sequence[str] = (), strict_json: bool = False) -> Guesses:
    """Read the queries of a reply, and whether the response evades. Only JSON says both.

    Raises:
        Unanswered: it cannot be read.
    """
    return read_value(text, _guesses, lambda _: None, shown=shown, strict_json=strict_json)


def read_abstention(text: str, *, shown: Sequence[str] = (), strict_json: bool = False) -> bool:
    """Read whether a response abstains.

    Raises:
        Unanswered: it cannot be read.
    """
    return read_value(text, _abstains, _plain_label, shown=shown, strict_json=strict_json)


def read_rating(text: str, *, shown: Sequence[str] = (), strict_json: bool = False) -> Rating:
    """Read a level and the reason for it.

    Raises:
        Unanswered: it cannot be read.
    """

    def plain(answer: str) -> Rating | None:
        return _plain_level(answer, shown)

    return read_value(text, _rating, plain, shown=shown, strict_json=strict_json)


def _truth(value: object) -> bool | None:
    if isinstance(value, str):
        return _TRUTHS.get(value.strip(" .").lower())
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None


def _said(fields: Mapping[str, object], yes: Sequence[str], no: Sequence[str]) -> bool | None:
    """Return what the keys say: those of `yes` as they are, those of `no` turned round.

    None where none says it, or they contradict one another.
    """
    found = {_truth(fields[key]) for key in yes if key in fields}
    turned = {_truth(fields[key]) for key in no if key in fields}
    found |= {None if each is None else not each for each in turned}
    return found.pop() if len(found) == 1 else None


def _guesses(value: object) -> Guesses | None:
    if not is_object(value):
        return None
    evades = _said(value, ("noncommittal", "evades"), ("commits", "committal"))
    queries = _queries(value.get("queries", value.get("questions")))
    if evades is None or queries is None:
        return None
    return Guesses(queries=queries, noncommittal=evades)


def _queries(value: object) -> tuple[str, ...] | None:
    if is_object(value):
        if not all(key.isdecimal() for key in value):
            return None
        value = [value[key] for key in sorted(value, key=int)]
    if not is_list(value):
        return None
    texts = [
        text_at(entry, "query", "question", "text")
        if is_object(entry)
        else (whole(entry) if isinstance(entry, str) else None)
        for entry in value
    ]
    known = [" ".join(text.split()) for text in texts if text is not None]
    return tuple(text for text in known if text) if len(known) == len(texts) else None


def _abstains(value: object) -> bool | None:
    if not is_object(value):
        return None
    if (label := text_at(value, "label", "verdict")) is not None:
        return _LABELS.get(label.strip(" .*\"'`").lower())
    return _said(value, ("abstains", "abstention", "noncommittal"), ("answers",))


def _plain_label(answer: str) -> bool | None:
    """Return what a text says that begins with one label and does not have the other."""
    label = _LABEL.match(answer)
    labels = {word for word in _LABELS if re.search(rf"\b{word}\b", answer, re.IGNORECASE)}
    return _LABELS[label[1].lower()] if label and len(labels) == 1 else None


def _rating(value: object) -> Rating | None:
    level = number_at(value, "level", "rating", "score") if is_object(value) else None
    if level is None or not is_object(value):
        return None
    reason = text_at(value, "reason", "explanation", "rationale", "justification")
    return Rating(level=level, reason=(reason or "").strip() or None)


def _plain_level(answer: str, shown: Sequence[str]) -> Rating | None:
    """Return the level of the one line `Level: 4` that no text has that the judge was shown."""
    lines = [line for line in answer.splitlines() if _LEVEL.fullmatch(line)]
    own = [line for line in lines if not any(line.strip() in text for text in shown)]
    levels = {int(match[1]) for line in own if (match := _LEVEL.fullmatch(line))}
    return Rating(level=levels.pop()) if len(levels) == 1 else None
