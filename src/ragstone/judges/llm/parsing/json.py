"""The value of a model's reply: JSON, or plain text as older prompts ask for it."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeGuard, TypeVar

from ragstone._internal.text import MARK, quoted
from ragstone.errors import Cause
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

_THOUGHT = re.compile(r"<think(?:ing)?>(?:.*?</think(?:ing)?>|.*)", re.DOTALL | re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"```\w*\s*(?=(?P<flat>\[[^\[\]{}]*\])\s*```)"  # a list of plain labels, alone in its fence
    r'|\{(?=\s*["}])|\[(?=\s*[\[{"])'
)
_GAPS = re.compile(r"[-_\s]+")
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
_BUT = "(?:but|however|though|although|except|partial|partly|mostly)"


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced: they cannot be stored or sent."""
    return text if text.isascii() else _SURROGATE.sub(MARK, text)


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a JSON value is an array."""
    return isinstance(value, list)


def is_refusal(text: str) -> bool:
    """Return whether a text states, in English, that its author does not answer."""
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


def text_at(fields: Mapping[str, object], *keys: str) -> str | None:
    """Return the text under the first of the keys that has one."""
    for key in keys:
        if isinstance(value := fields.get(key), str):
            return storable(value)
    return None


def texts_at(entries: Sequence[object], *keys: str) -> tuple[str, ...] | None:
    """Return the text of each entry, which is a text or has one under a key; else None."""
    texts: list[str] = []
    for entry in entries:
        text = text_at(entry, *keys) if is_object(entry) else entry
        if not isinstance(text, str):
            return None
        texts.append(storable(text))
    return tuple(texts)


def read_word(written: object, words: Mapping[str, T]) -> T | None:
    """Return the value of a JSON word in `words`; true and false count as 1 and 0.

    The keys of `words` are in lower case, with single spaces.
    """
    if isinstance(written, str):
        if written in words:  # nearly always
            return words[written]
        return words.get(_GAPS.sub(" ", written[:80]).strip(" .!\"'`*").lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return words.get(str(int(written)))
    return None


@dataclass(frozen=True)
class RawReply:
    """A reply as the model wrote it.

    Attributes:
        shown: the texts that the model was shown; a reply that repeats one does not count.
        strict_json: whether only JSON counts.
    """

    text: str
    shown: Sequence[str] = ()
    strict_json: bool = False

    def unusable(
        self, cause: Cause, message: str, returned: tuple[PartialVerdict, ...] = ()
    ) -> JudgeFailureError:
        """Return the failure of this reply, with its whole text."""
        return JudgeFailureError(Failure(cause, message, returned, raw=storable(self.text)))


def parse_value(
    reply: RawReply, accept: Callable[[object], T | None], plain: Callable[[str], T | None]
) -> T:
    """Return the one value of a reply that is accepted: JSON, else plain text.

    Several different JSON values count as none: one of them may repeat a text that was shown.

    Raises:
        JudgeFailureError: there is none, or there are several.
    """
    answer = storable(reply.text).strip().removeprefix("\ufeff").strip()
    if thought := _THOUGHT.match(answer):
        answer = answer[thought.end() :].strip()
    if not answer:
        raise reply.unusable(Cause.MALFORMED, "the reply is empty")
    values: tuple[object, ...] = ()
    invalid = ""
    try:
        values = _json_values(answer, reply.shown)
    except ValueError as error:
        invalid = f"invalid JSON ({error})"
    accepted = list(dict.fromkeys(read for value in values if (read := accept(value)) is not None))
    if len(accepted) == 1:
        return accepted[0]
    if invalid:
        seen = invalid
    elif accepted:
        seen = f"{len(accepted)} different answers in one reply"
    elif values:
        seen = "no JSON in the requested form"
    elif (read := plain(answer)) is not None and not reply.strict_json:
        return read
    elif read is None and is_refusal(answer):
        raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
    elif reply.strict_json:
        seen = "no JSON in the requested form"
    else:
        seen = "neither JSON nor another known form"
    raise reply.unusable(Cause.MALFORMED, f"{seen}; the reply begins {quoted(answer)!r}")


def _json_values(text: str, shown: Sequence[str]) -> tuple[object, ...]:
    """Return every JSON object and array of a text, outermost only; keys are in lower case.

    The whole text may be one, or it has some in fences or between words. A list between words
    counts if it contains objects, lists or texts: `[1]` is a footnote. A value between words that
    repeats part of a text that the model was `shown` is left out.

    Raises:
        ValueError: something in it begins like JSON and is not, for example because it is cut
            off; or it contains repetitions only.
    """
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        pass
    else:
        return (value,) if is_object(value) or is_list(value) else ()
    found: list[object] = []
    bare = ["".join(other.split()) for other in shown] if _START.search(text) else []
    repeated = at = 0
    while start := _START.search(text, at):
        begin = max(start.start(), start.start("flat"))
        try:
            value, at = _DECODER.raw_decode(text, begin)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if any("".join(text[begin:at].split()) in other for other in bare):
            repeated += 1
        else:
            found.append(value)
    if repeated and not found:
        raise ValueError("it only repeats what the judge was shown")
    return tuple(found)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = {key.lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("an object has a key twice")
    return fields


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def label_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of a label at the start of a text, alone or with a reason after it.

    Words of digits are left out: a lone 1 is the number of a claim or a footnote.
    """
    longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
    either = "|".join(re.escape(word).replace(r"\ ", r"[-_\s]") for word in longest)
    return re.compile(
        rf"[*\"'`]*({either})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,(?!\s*{_BUT}))", re.IGNORECASE
    )


def numbered_pattern(*nouns: str) -> re.Pattern[str]:
    """Return the pattern of a numbered line: `1. ...`, `Claim 1: ...`."""
    return re.compile(
        rf"\s*(?:[-*•]\s+)?\**(?:(?:{'|'.join(nouns)})\s*)?[#(\[]?([0-9]{{1,4}})"
        r"(?:[.):\]]+|\s+[-–—])(?![0-9])\**\s*(.*)",
        re.IGNORECASE,
    )
