"""JSON text: the JSON objects and arrays that a reply is, or holds."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeGuard, TypeVar

from ragstone._internal.text import MARK, quoted
from ragstone.errors import Cause
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")


_THOUGHT = re.compile(r"<think(?:ing)?>(?:.*?</think(?:ing)?>|.*)", re.DOTALL | re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"```\w*\s*(?=(?P<flat>\[[^\[\]{}]*\])\s*```)"  # a list of plain labels, alone in its fence
    r'|\{(?=\s*["}])|\[(?=\s*[\[{"])'
)


def whole(text: str) -> str:
    """Return the text with halves of characters replaced: they can be neither stored nor sent."""
    return text if text.isascii() else _HALF.sub(MARK, text)


def answer_of(reply: str) -> str:
    """Return a reply without the thoughts that stand before it; "" if there is nothing else."""
    text = reply.strip().removeprefix("\ufeff").strip()
    thought = _THOUGHT.match(text)
    return text[thought.end() :].strip() if thought else text


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a JSON value is an array."""
    return isinstance(value, list)


def text_at(fields: Mapping[str, object], *keys: str) -> str | None:
    """Return the text under the first of the keys that has one."""
    for key in keys:
        if isinstance(value := fields.get(key), str):
            return whole(value)
    return None


def texts_at(entries: Sequence[object], *keys: str) -> tuple[str, ...] | None:
    """Return the texts that entries are, or have under one of the keys; None if one has none."""
    texts = [
        text_at(entry, *keys)
        if is_object(entry)
        else (whole(entry) if isinstance(entry, str) else None)
        for entry in entries
    ]
    known = tuple(text for text in texts if text is not None)
    return known if len(known) == len(texts) else None


def json_values(text: str, shown: Sequence[str] = ()) -> tuple[object, ...]:
    """Return every JSON object and array of a text, outermost only; keys are in lower case.

    The whole text may be one, or it holds some: in fences, or between words. A list within words
    counts if it holds objects, lists or texts: `[1]` is a footnote. Between words, what stands in
    a text that the model was `shown` as well is a repetition of that, and left out.

    Raises:
        ValueError: something in it begins like JSON and is not, because it is cut off, say; or
            all that there is are repetitions.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _values_within(text, shown)
    return (value,) if is_object(value) or is_list(value) else ()


def _values_within(text: str, shown: Sequence[str]) -> tuple[object, ...]:
    found: list[object] = []
    bare = [_bare(other) for other in shown] if _START.search(text) else []
    repeated = at = 0
    while start := _START.search(text, at):
        begin = max(start.start(), start.start("flat"))
        try:
            value, at = _DECODER.raw_decode(text, begin)
        except RecursionError:
            raise ValueError("its lists stand too deep in one another") from None
        if any(_bare(text[begin:at]) in other for other in bare):
            repeated += 1
        else:
            found.append(value)
    if repeated and not found:
        raise ValueError("it only repeats what the judge was shown")
    return tuple(found)


def _bare(text: str) -> str:
    return "".join(text.split())


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = {key.lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return fields


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


# Listed: the items that a reply's JSON value holds, whatever they are about.


def listed(
    value: object,
    due: int,
    *,
    keys: Sequence[str],
    read: Callable[[object], T],
    known: Callable[[object, T], bool],
) -> tuple[T, ...] | None:
    """Return the items that a JSON value holds; None if it does not look like such items.

    They are a list of objects or of words, by itself or under one of the `keys` of an object;
    where one is due, they may be one object. `known` tells, of an entry and what was read of it,
    whether it is such an item.
    """

    def items(entries: list[object]) -> tuple[T, ...] | None:
        found = tuple(map(read, entries))
        return found if not found or any(map(known, entries, found)) else None

    if is_list(value):
        return items(value)
    if not is_object(value):
        return None
    for key in keys:
        if is_list(inner := value.get(key)) and (found := items(inner)) is not None:
            return found
    single = read(value)
    return (single,) if due == 1 and known(value, single) else None


# Word: what a word, or the JSON value that a model writes for it, stands for.

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

_GAPS = re.compile(r"[-_\s]+")


def read_word(written: object, words: Mapping[str, T]) -> T | None:
    """Return what `words` has for a JSON value; true and false stand for 1 and 0.

    The words are in lower case, with single spaces.
    """
    if isinstance(written, str):
        return words.get(_GAPS.sub(" ", written[:80]).strip(" .!\"'`*").lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return words.get(str(int(written)))
    return None


# Refusal: how a model says that it will not, or cannot, answer.

_REFUSAL = re.compile(
    r"\b(?:"
    r"i (?:cannot|can't|can not|could not|couldn't|won't|will not|must decline|decline|refuse)"
    r"|i(?: a|')m (?:unable|not able|not allowed|sorry|afraid)"
    r"|i apologi[sz]e|my apologies|sorry,? but|as an ai\b"
    r"|(?:cannot|can't|can not|unable to) "
    r"(?:determine|verify|assess|evaluate|provide|comply|assist)"
    r"|(?:insufficient|lacks?|no) (?:information|context|evidence) (?:to|for|is|was|provided)"
    r"|insufficient (?:information|context|evidence)"
    r"|(?:not|\w+n't)(?: \w+){0,3} (?:enough|sufficient) (?:information|info|context|evidence)"
    r"|no verdicts|(?:refuse|decline)d? to answer"
    r"|against my (?:policy|policies|guidelines|programming)"
    r")",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Tell whether a text says, in English, that its writer does not answer."""
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


# Value: the one thing that a reply says, as JSON or as plain text.


def read_value(
    text: str,
    accept: Callable[[object], T | None],
    plain: Callable[[str], T | None],
    *,
    shown: Sequence[str] = (),
    strict_json: bool,
) -> T:
    """Return the one value of a reply that is accepted: JSON, else plain text.

    Several JSON values that differ are none: which of them is the model's own word, and which
    one it repeats from a text that it was `shown`, cannot be told.

    Raises:
        JudgeFailureError: there is none, or there are several.
    """
    answer = answer_of(whole(text))
    if not answer:
        raise unanswered(text, Cause.MALFORMED, "an empty reply")
    try:
        values = json_values(answer, shown)
    except ValueError as error:
        raise _unread(text, f"JSON that cannot be read ({error})") from None
    accepted = list(dict.fromkeys(read for value in values if (read := accept(value)) is not None))
    if len(accepted) == 1:
        return accepted[0]
    if accepted:
        raise _unread(text, f"{len(accepted)} different answers in one reply")
    if values or strict_json:
        raise _unread(text, "no JSON of the kind that was asked for")
    if (read := plain(answer)) is not None:
        return read
    if is_refusal(answer):
        raise unanswered(text, Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
    raise _unread(text, "neither JSON nor any other known shape")


def _unread(text: str, seen: str) -> JudgeFailureError:
    begins = f"the reply begins {quoted(answer_of(text))!r}"
    return unanswered(text, Cause.MALFORMED, f"{seen}; {begins}")


def unanswered(
    text: str, cause: Cause, said: str, returned: tuple[PartialVerdict, ...] = ()
) -> JudgeFailureError:
    """Return the failure of a reply, with the whole of it."""
    return JudgeFailureError(Failure(cause, said, returned, raw=whole(text)))


# Lines: patterns of how models write labels and numbers where they write no JSON.

_BUT = "(?:but|however|though|although|except|partial|partly|mostly)"


def label_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of a label at the beginning of a text: it ends there, or a reason follows.

    A word of digits is left out: a lone 1 is a number, of a claim or a footnote.
    """
    longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
    either = "|".join(re.escape(word).replace(r"\ ", r"[-_\s]") for word in longest)
    return re.compile(
        rf"[*\"'`]*({either})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,(?!\s*{_BUT}))", re.IGNORECASE
    )


def numbered_pattern(*nouns: str) -> re.Pattern[str]:
    """Return the pattern of a line with a number before it: `1. ...`, `Claim 1: ...`."""
    return re.compile(
        rf"\s*(?:[-*•]\s+)?\**(?:(?:{'|'.join(nouns)})\s*)?[#(\[]?([0-9]{{1,4}})"
        r"(?:[.):\]]+|\s+[-–—])(?![0-9])\**\s*(.*)",
        re.IGNORECASE,
    )
