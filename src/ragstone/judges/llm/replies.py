"""The one JSON value of a model's reply.

A reply is read only if it can mean one thing: JSON alone, or JSON in one fence, in both cases
after the model's thoughts. Text around JSON may call it a draft, limit it or take it back, in any
language, so such a reply is not interpreted: the judge is asked again. For the same reason the
parsers know every key of an object, and refuse an object with another one.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TypeGuard, TypeVar

from ragstone._internal.text import MARK, quoted
from ragstone.errors import Cause
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

NO_JSON = "no JSON in the requested form"

_THOUGHT_TAG = re.compile(r"<(/?)(?:think(?:ing)?|thoughts?|reasoning|analysis)>", re.IGNORECASE)
_FENCE = "```"
_LANGUAGE = re.compile(r"\A\w*")
_JSON = re.compile(r'[\[{]\s*[\[{"\]}]')
"""What begins like JSON; `[1]` is a footnote."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_KEY_GAPS = re.compile(r"[\W_]+")
_WORD_GAPS = re.compile(r"[-_\s]+")
_MAX_WORD = 80
_WORD_EDGES = " \t\r\n_*\"'`"
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
    r"|tut mir leid|leider kann ich|ich kann (?:\w+ )?nicht|je suis désolée?|je ne peux pas"
    r"|lo siento|no puedo"
    r")|抱歉|对不起|我无法|申し訳",
    re.IGNORECASE,
)


def storable(text: str) -> str:
    """Replace lone surrogates: they cannot be stored or sent."""
    return text if text.isascii() else _SURROGATE.sub(MARK, text)


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def is_refusal(text: str) -> bool:
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


@dataclass(frozen=True)
class RawReply:
    """A reply as the model wrote it, and the texts that it was shown: repeating one is no reply."""

    text: str
    shown: Sequence[str] = ()
    legacy_text: bool = False
    """Whether the plain text of promptfoo's older prompts is read too."""

    def unusable(
        self, cause: Cause, message: str, returned: tuple[PartialVerdict, ...] = ()
    ) -> JudgeFailureError:
        return JudgeFailureError(Failure(cause, message, returned, raw=storable(self.text)))

    def malformed(self, message: str) -> JudgeFailureError:
        begins = quoted(storable(self.text).strip())
        return self.unusable(Cause.MALFORMED, f"{message}; the reply begins {begins!r}")


def parse_value(reply: RawReply, accept: Callable[[object], T | None]) -> T:
    """Return what `accept` reads in the JSON of a reply; it returns None for another form."""
    read = accept(_json_value(reply))
    if read is None:
        raise reply.malformed(NO_JSON)
    return read


def _json_value(reply: RawReply) -> object:
    """Return the one JSON value of a reply; keys are in lower case, without gaps."""
    text = storable(reply.text).strip().removeprefix("\ufeff").strip()
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        if not text.startswith(_FENCE):  # else a tag is in a text in the JSON
            text = _without_thoughts(text, reply.shown)
    if not text:
        raise reply.unusable(Cause.MALFORMED, "the reply is empty")
    if len(text) >= 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        text = _LANGUAGE.sub("", text[len(_FENCE) : -len(_FENCE)], 1).strip()
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise reply.malformed("its JSON is nested too deeply") from None
    except ValueError as error:
        if _JSON.search(text):
            raise reply.malformed(f"it is not one JSON value ({error})") from None
        if is_refusal(text):
            message = f"the judge refused: {quoted(text)}"
            raise reply.unusable(Cause.REFUSAL, message) from None
        raise reply.malformed(NO_JSON) from None
    bare = "".join(text.split())  # in a fence or after thoughts, it may quote what was shown
    if any(bare in "".join(other.split()) for other in reply.shown):
        raise reply.malformed("it only repeats what the judge was shown")
    return value


def _without_thoughts(text: str, shown: Sequence[str]) -> str:
    """Return what follows the last closing tag of thoughts, which begin the text."""
    tags = list(_THOUGHT_TAG.finditer(text))
    ends = [tag.end() for tag in tags if tag[1]]
    if not ends or (not tags[0][1] and text[: tags[0].start()].strip()):
        return text
    written = {tag[0].lower() for tag in tags}
    if any(tag in other.lower() for other in shown for tag in written):
        return text  # the reply may quote it
    return text[ends[-1] :].strip()


def known_object(value: object, *keys: str) -> dict[str, object] | None:
    """Return an object if it has none but these keys; another might change its meaning."""
    return value if is_object(value) and value.keys() <= set(keys) else None


def text_at(fields: Mapping[str, object], *keys: str) -> str | None:
    for key in keys:
        if isinstance(value := fields.get(key), str):
            return storable(value)
    return None


def one_line_at(fields: Mapping[str, object], *keys: str) -> str:
    return " ".join((text_at(fields, *keys) or "").split())


def read_word(written: object, words: Mapping[str, T]) -> T | None:
    if isinstance(written, str):
        if written in words:  # nearly always
            return words[written]
        if len(written) > _MAX_WORD:
            return None
        bare = written.lstrip(_WORD_EDGES).rstrip(f"{_WORD_EDGES}.!")
        return words.get(_WORD_GAPS.sub(" ", bare).lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return words.get(str(int(written)))
    return None


@lru_cache(maxsize=1000)
def _bare_key(key: str) -> str:
    return _KEY_GAPS.sub("", key.lower())


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = {_bare_key(key): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("an object has a key twice")
    return fields


def _constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, strict=False)
"""Texts may contain line breaks."""


# Plain text of promptfoo's older prompts, which its plan for RAGAS reads where JSON is missing.
# Only the policy `promptfoo-plan` reads it, and not with `--strict-json`. Words around an answer
# may change it, so a reply is read only if all its lines have one of the known forms.

MARKER = "final verdict for each statement in order:"
"""Case-insensitive prefix of the verdicts, which end in full stops."""

_MARKER = re.compile(MARKER, re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?:(?:claim|statement)\s+)?[(\[]?([0-9]{1,4})[.):\]]+\s*(.*)", re.IGNORECASE
)
_BULLETED = re.compile(r"()[-*•]\s+(\S.*)")
_VERDICT = re.compile(r"(?=\bverdict\s*:)", re.IGNORECASE)
_LABEL = re.compile(r"(?:verdict\s*:[\s*]*)?(yes|no)[\s.*]*", re.IGNORECASE)
_REASON = re.compile(r"(?:reason|explanation)\s*:", re.IGNORECASE)


def statements_in_text(text: str) -> tuple[str, ...] | None:
    """Return the entries of a numbered or bulleted list; None if the text is anything else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].endswith(":"):  # it introduces the list
        lines = lines[1:]
    listed = [_NUMBERED.fullmatch(line) or _BULLETED.fullmatch(line) for line in lines]
    entries = [(entry[1], entry[2].strip()) for entry in listed if entry and entry[2].strip()]
    numbers = [number for number, _ in entries]
    counted = numbers == [str(place) for place in range(1, len(lines) + 1)]
    if not entries or len(entries) < len(lines) or not (counted or set(numbers) == {""}):
        return None
    return None if is_refusal(text) else tuple(entry for _, entry in entries)


def verdicts_in_text(text: str) -> tuple[tuple[int | None, str], ...] | None:
    """Return the number, if any, and the word of each verdict; None without verdicts.

    They follow the marker, else they are `yes` or `no` after `Verdict:` or a line's number.
    """
    if "{" in text or is_refusal(text):
        return None
    before, *after = _MARKER.split(text)
    if after:
        pieces = [piece.strip(" *\t\r") for piece in re.split(r"[.\n]", after[-1])]
        words = tuple((None, piece) for piece in pieces if piece)
        return words if len(after) == 1 and words else None
    verdicts: list[tuple[int | None, str]] = []
    number: int | None = None
    for line in (line.strip(" *\t\r") for line in _VERDICT.sub("\n", before).splitlines()):
        rest = line
        if numbered := _NUMBERED.fullmatch(line):
            if number is not None:
                return None  # the one before has no verdict
            number, rest = int(numbered[1]), numbered[2].strip(" *")
        if label := _LABEL.fullmatch(rest):
            verdicts.append((number, label[1]))
            number = None
        elif line and not numbered and not _REASON.match(line):
            return None
    return tuple(verdicts) if verdicts and number is None else None
