"""The value of a model's reply: JSON, or plain text as older prompts ask for it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import TypeGuard, TypeVar

from ragstone._internal.text import MARK, quoted
from ragstone.errors import Cause
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|draft)"
_THOUGHT = re.compile(
    rf"[<\[◁]({_TAG})\s*[>\]▷].*?(?:[<\[◁]/\1\s*[>\]▷]|\Z)"
    r"|<\|channel\|>\s*analysis\b.*?(?:<\|end\|>|(?=<\|(?:start|channel)\|>)|\Z)"
    r"|\A\s*analysis(?=\w).*?(?:assistantfinal|\Z)"  # the same without its tokens
    r"|<\|(?:start_thinking|begin_of_thought)\|>.*?(?:<\|end_(?:thinking|of_thought)\|>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT_TAG = re.compile(rf"[<\[◁]/?{_TAG}\s*[>\]▷]", re.IGNORECASE)
_SPECIAL = (
    r"(?:<\|(?:channel|message|return|call|constrain|python_tag|eot_id|eom_id|im_start|im_end"
    r"|endoftext|(?:start|begin|end)(?:_(?:header_id|thinking|response|of_(?:text|turn|thought"
    r"|solution)))?)\|>|</s>)"
)
_MARKUP = re.compile(
    rf"{_THOUGHT_TAG.pattern}|{_SPECIAL}|\A\s*(?:analysis(?=\w)|assistant\s*\n)", re.IGNORECASE
)
_HEADER = re.compile(
    rf"\s*(?:(?:{_SPECIAL}[^<{{\n]{{0,60}})*?<\|(?:message|end_header_id)\|>|{_SPECIAL}"
    r"|assistant\s*\n)\s*",
    re.IGNORECASE,
)
_FOOTER = re.compile(rf"{_SPECIAL}\Z", re.IGNORECASE)
_WRAPPERS = frozenset(
    "response result results output answer finalanswer final data json evaluation".split()
)
"""Keys of an object that has nothing but the answer in it."""
_CALL = frozenset(("name", "type", "id", "arguments", "parameters"))
"""Keys of the call of a tool."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"```\w*\s*(?=(?P<flat>\[[^\[\]{}]*\])\s*```)"  # a list of plain labels, alone in its fence
    r'|\{(?=\s*["}])|\[(?=\s*[\[{"])'
)
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_COMMA = re.compile(rf'("(?:[^"\\]|\\.)*+(?:"|\Z))|{_LAST_COMMA.pattern}', re.DOTALL)
"""A text, or the comma after the last item."""
_MOST_VALUES = 500
"""JSON values in one reply."""
_KEY_GAPS = re.compile(r"[\W_]+")
_GAPS = re.compile(r"[-_\s]+")
_WORD = re.compile(r"[\s_*\"'`]*(.*?)[\s_*\"'`.!]*", re.DOTALL)
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


_RECONSIDERS = re.compile(
    r"(?:^|[.;:!?\n(–—]\s*|\s-\s)[\s*\"'`]*(?:no,? )?(?:actually|correction|corrected|wait"
    r"|on second|on reflection|scratch that|sorry|i was wrong|i mean|my mistake|revised"
    r"|final (?:answer|verdict|label)s?|updated?|korrektur|eigentlich|en fait|correcci[oó]n"
    r"|en realidad)\b|\b(?:should be|chang(?:e|ed|ing)\b.{0,40}\bto|revised to|to be revised"
    r"|disregard|no,? wait|verdict revised)\b|更正|≠|!="
    r"|(?:^|\n)\s*(?:\.\.\.|…)\s*(?:$|\n)",
    re.IGNORECASE,
)
"""Words that take an answer back."""
_HARMLESS = frozenset(
    files("ragstone.judges.llm.parsing")
    .joinpath("harmless_words.txt")
    .read_text(encoding="utf-8")
    .split()
)
"""Words around an answer that cannot change it, if it has no others."""
_CHINESE = re.compile(
    "(?:以下|如下|是|为|的|我|对|每|条|个|结果|判断|评估|答案|根据|提供|上下文|格式|分析|json|通り|です|の|結果|は|次)+"
)
_PROSE = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_STEM = 5
"""Letters that words of one stem have in common."""
_FORMAT = re.compile(r"\W*(?:the )?(?:\w+ )?(?:format|schema)\b", re.IGNORECASE)
_FOLLOWS = re.compile(r"\b(?:follow\w*|below|json|output)\b", re.IGNORECASE)
"""Words of a sentence about the answer after it."""
_CELL = re.compile(r"\|[^|]*\||[:=|–—-][\s*\"'`]*[0-9]+[\s*\"'`.|)\]]*$")
"""A row of a table, or a number as a value."""
_RUNS_ON = re.compile(r"[ \t`\"'*]*(?:[,;][ \t]*\w|[a-z])")
"""The rest of a sentence that quotes what is before it."""
_TRUSTED = re.compile("correct|valid|accurate|accepted|confirmed|final|^true")
_DISTRUSTED = re.compile("negat|invert|revers|wrong|incorrect|invalid|draft|reject|retract")
"""Flags that set an object aside: the first if they are false, the others if they are true."""
_REMARK = re.compile("note|comment|remark|correct|edit|update")


def storable(text: str) -> str:
    """Return the text with lone surrogates replaced: they cannot be stored or sent."""
    return text if text.isascii() else _SURROGATE.sub(MARK, text)


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def is_refusal(text: str) -> bool:
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


def is_reconsidered(text: str) -> bool:
    return _RECONSIDERS.search(text) is not None


def may_change(before: str, after: str, shown: Sequence[str] = ()) -> bool:
    """Return whether the text around an answer may give it another meaning.

    It may not if it introduces the answer ("Here are the verdicts:"), ends the reply, or explains
    the answer in words of the texts that were `shown`. Of the text before, only an introduction
    counts: the rest is the analysis that leads to the answer.
    """
    lines = before.rstrip(" \t\r\n`~*#_>-").removesuffix("json").rstrip(" \t\r\n`~*#_>-")
    last = re.split(r"[.!?。！？]\s|[\n}\]]", lines[-400:])[-1]
    if last and (_RUNS_ON.match(after) or _FORMAT.match(last)):
        return True
    if last.endswith((".", "!", "?", "。")) and not _FOLLOWS.search(last):
        last = ""
    stems: set[str] | None = None
    for sentence in filter(None, (last, *re.split(r"[.;!?]\s|[。！？\n]", after))):
        words = _PROSE.findall(sentence.replace("’", "'").casefold())
        other = [w for w in words if not (w in _HARMLESS or w.isdigit() or _CHINESE.fullmatch(w))]
        if other and stems is None:
            known = {word for text in shown for word in _PROSE.findall(text.casefold())}
            known -= _HARMLESS | YES_OR_NO.keys()
            stems = {word[:_STEM] for word in known if len(word) > 3}
        shared = [word for word in other if sentence != last and word[:_STEM] in (stems or ())]
        if len(other) > 2 * len(shared) or (sentence != last and _CELL.search(sentence)):
            return True
    return is_reconsidered(after)


def text_at(fields: Mapping[str, object], *keys: str) -> str | None:
    for key in keys:
        if isinstance(value := fields.get(key), str):
            return storable(value)
    return None


def is_withdrawn(fields: Mapping[str, object]) -> bool:
    for key, value in fields.items():
        if isinstance(value, bool) and (_DISTRUSTED if value else _TRUSTED).search(key):
            return True
        if isinstance(value, str) and _REMARK.search(key) and is_reconsidered(value):
            return True
    return False


def texts_at(entries: Sequence[object], *keys: str) -> tuple[str, ...] | None:
    texts: list[str] = []
    for entry in entries:
        text = text_at(entry, *keys) if is_object(entry) else entry
        if not isinstance(text, str) or (is_object(entry) and is_withdrawn(entry)):
            return None
        texts.append(storable(text))
    return tuple(texts)


def read_word(written: object, words: Mapping[str, T]) -> T | None:
    if isinstance(written, str):
        if written in words:  # nearly always
            return words[written]
        word = _WORD.fullmatch(written) if len(written) <= 80 else None
        return words.get(_GAPS.sub(" ", word[1]).lower()) if word else None
    if isinstance(written, bool | int | float) and written in (0, 1):
        return words.get(str(int(written)))
    return None


@dataclass(frozen=True)
class RawReply:
    """A reply as the model wrote it.

    Attributes:
        shown: the texts that the model was shown; a reply that repeats one does not count.
    """

    text: str
    shown: Sequence[str] = ()
    strict_json: bool = False

    def unusable(
        self, cause: Cause, message: str, returned: tuple[PartialVerdict, ...] = ()
    ) -> JudgeFailureError:
        return JudgeFailureError(Failure(cause, message, returned, raw=storable(self.text)))


def parse_value(
    reply: RawReply,
    accept: Callable[[object], T | None],
    plain: Callable[[str], T | None],
    disagrees: Callable[[T, str, str], bool] = lambda _value, _before, _after: False,
) -> T:
    """Return the one value of a reply that is accepted: JSON, else plain text.

    A reply that can be read in two ways has no value: several different JSON values, or JSON with
    which the text around it disagrees. One of them may be a draft, or repeat a text that was shown.

    `accept` returns the value of a JSON object or array, `plain` that of a text without JSON, or
    None. `disagrees` returns whether the text before or after the JSON contradicts the value.
    """
    answer = storable(reply.text).strip().removeprefix("\ufeff").strip()
    values: Sequence[tuple[object, int, int]] = ()
    invalid = ""
    whole = _decoded(answer)
    if is_object(whole) or is_list(whole):
        values = [(whole, 0, len(answer))]
    else:
        text = whole.strip() if isinstance(whole, str) else answer
        answer = _without_thoughts(text, reply.shown)
        if _LAST_COMMA.search(answer):
            answer = _COMMA.sub(r"\1", answer)
        try:
            values = _json_values(answer, reply.shown)
        except ValueError as error:
            invalid = f"invalid JSON ({error})"
    if not answer:
        raise reply.unusable(Cause.MALFORMED, "the reply is empty")
    accepted = [
        (read, begin, end)
        for value, begin, end in values
        if (read := _accepted(value, accept)) is not None
    ]
    if len({read for read, _, _ in accepted}) == 1:
        read, start, end = accepted[0][0], accepted[0][1], accepted[-1][2]
        more = any(begin >= end for _, begin, _ in values)  # a patch, or another part
        before, after = answer[:start], answer[end:]
        known = (*reply.shown, answer[start:end])
        changed = bool(before or after) and may_change(before, after, known)
        if not more and not changed and not disagrees(read, before, after):
            return read
        seen = "its JSON and the text around it disagree"
    elif invalid:
        seen = invalid
    elif accepted:
        seen = f"{len(accepted)} different answers in one reply"
    elif values:
        seen = "no JSON in the requested form"
    else:
        read = None if "~~" in answer else plain(answer)
        if read is not None and not reply.strict_json:
            return read
        if read is None and is_refusal(answer):
            raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
        form = "no JSON in the requested form"
        seen = form if reply.strict_json else "neither JSON nor another known form"
    raise reply.unusable(Cause.MALFORMED, f"{seen}; the reply begins {quoted(answer)!r}")


def _decoded(text: str) -> object:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _accepted(value: object, accept: Callable[[object], T | None], depth: int = 3) -> T | None:
    if (read := accept(value)) is not None or not depth:
        return read
    inner: object = None
    if is_list(value) and len(value) == 1 and is_object(value[0]):
        inner = value[0]
    elif is_object(value) and value.keys() <= (_WRAPPERS if len(value) == 1 else _CALL):
        inner = [value[key] for key in value if key not in ("name", "type", "id")]
        inner = inner[0] if len(inner) == 1 else None
    inner = _decoded(inner) if isinstance(inner, str) else inner
    return _accepted(inner, accept, depth - 1) if is_object(inner) else None


def _without_thoughts(text: str, shown: Sequence[str]) -> str:
    """Return a text without the model's thoughts: tagged parts, and what precedes a closing tag.

    The tokens around a message are removed as well. Tags in JSON are left in place, and those that
    a shown text contains as well.
    """
    tags = {tag.lower() for tag in _MARKUP.findall(text)}
    if not tags or any(tag in other.lower() for other in shown for tag in tags):
        return text
    parts: list[str] = []
    at = 0
    while start := _START.search(text, at):
        try:
            _, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            break
        parts += [text[at : start.start()], "-" * (end - start.start())]
        at = end
    masked = "".join(parts) + text[at:]
    kept, shadow, at = "", "", 0
    for thought in (*_THOUGHT.finditer(masked), None):
        end = thought.start() if thought else len(text)
        kept, shadow, at = (
            kept + text[at:end],
            shadow + masked[at:end],
            thought.end() if thought else 0,
        )
    closing = [tag.end() for tag in _THOUGHT_TAG.finditer(shadow)]
    kept = kept[closing[-1] if closing else 0 :].strip()
    if header := _HEADER.match(kept):
        kept = kept[header.end() :]
    for _ in range(3):
        if footer := _FOOTER.search(kept, max(0, len(kept) - 40)):
            kept = kept[: footer.start()].rstrip()
    return kept


def _json_values(text: str, shown: Sequence[str]) -> list[tuple[object, int, int]]:
    """Return every JSON object and array of a text, outermost only, with its begin and end.

    They may be in fences or between words. Keys are in lower case, without gaps. A list between
    words counts if it contains objects, lists or texts: `[1]` is a footnote. A value that repeats
    part of a text that the model was `shown` is left out. What begins like JSON and is not, for
    example because it is cut off, is a ValueError, as are repetitions only.
    """
    found: list[tuple[object, int, int]] = []
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
            found.append((value, begin, at))
            if len(found) > _MOST_VALUES:
                raise ValueError("it has too many parts")
    if repeated and not found:
        raise ValueError("it only repeats what the judge was shown")
    return found


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
