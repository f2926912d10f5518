"""The value of a model's reply: JSON, or plain text as older prompts ask for it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, TypeGuard, TypeVar

from ragstone._internal.text import MARK, quoted
from ragstone.errors import Cause
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

_TAG = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|draft)"
_THOUGHT = re.compile(
    rf"[<\[◁]({_TAG})\s*[>\]▷].*?(?:[<\[◁]/\1\s*[>\]▷]|\Z)", re.DOTALL | re.IGNORECASE
)
_THOUGHT_TAG = re.compile(rf"[<\[◁]/?{_TAG}\s*[>\]▷]", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_START = re.compile(
    r"```\w*\s*(?=(?P<flat>\[[^\[\]{}]*\])\s*```)"  # a list of plain labels, alone in its fence
    r'|\{(?=\s*["}])|\[(?=\s*[\[{"])'
)
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
    r")",
    re.IGNORECASE,
)
_BUT = (
    "(?:but|however|though|although|except|unless|yet|partial|partially|partly|mostly|not|never"
    "|none|nothing|hardly|barely|actually|unclear|only (?:part|half|some|the|if|when|for|in)\\w*"
    "|aber|jedoch|allerdings|nicht|nur|mais|cependant|sauf|pas|pero|aunque|salvo|mas|porém|exceto"
    "|ma|però|tranne|maar|niet|но|однако|кроме|не)"
)
_LIMITS = re.compile(
    rf"[\s*\"'`.:;,()\[\]–—=-]*{_BUT}\b|\s*[,(]\s*(?:if|when|only)\b|[\s*\"'`:=–—-]+[✗✘❌]",
    re.IGNORECASE,
)
"""A qualification right after a label."""
_NUMBER_NEXT = re.compile(
    r"[\s*\"'`.:;,()\[\]–—=-]*(?>[0-9]+(?:[.,][0-9]+)*)\s*(?:%|/|percent|of\b)"
    r"|[\s*\"'`]*[:=–—-][\s*\"'`]*(?>[0-9]+(?:[.,][0-9]+)*)[\s*\"'`]*(?:$|[.;)](?:\s|$))",
    re.IGNORECASE,
)
"""A number right after a label, as its value."""
_HOWEVER = re.compile(
    r"(?:^|[.;:!?\n(–—]\s*)[\s*\"'`]*(?:however|but|rather|instead|doch)\b", re.IGNORECASE
)
_RECONSIDERS = re.compile(
    r"(?:^|[.;:!?\n(–—]\s*|\s-\s)[\s*\"'`]*(?:no,? )?(?:actually|correction|corrected|wait"
    r"|on second|on reflection|scratch that|sorry|i was wrong|i mean|my mistake|revised"
    r"|final (?:answer|verdict|label)s?|updated?|korrektur|eigentlich|en fait|correcci[oó]n"
    r"|en realidad)\b|\b(?:should be|chang(?:e|ed|ing)\b.{0,40}\bto|revised to|to be revised"
    r"|disregard|no,? wait|verdict revised)\b",
    re.IGNORECASE,
)
"""Words that take an answer back."""
_NOTHING = re.compile(
    r"(?:\b(?:nothing|none|nor|neither|without|not|never|no)|n't)\b[^.;:]*$", re.IGNORECASE
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_REFERENCES = re.compile(
    rf"\b(?:claims?|statements?|contexts?|sentences?)\s*#?([0-9]{{1,4}})|\b({'|'.join(_ORDINALS)})\b",
    re.IGNORECASE,
)
"""Items that a sentence is about."""
_CLAUSES = re.compile(r"[.,;:!?()\[\]{}|\n–—/]+|\s-+\s|->|→|=")
_LEAD = (
    "(?:actually|in fact|well|so|therefore|hence|thus|overall|rather|instead|no wait|wait|sorry"
    "|final|the|verdict|answer|label"
    "|grade|claim|statement|it|this|that|is|it's|are|as|to|and|or|really|clearly|[0-9]+)"
)
_KEY = re.compile(r"\b(?:labels?|verdicts?|grades?|judge?ments?)\W{0,3}:", re.IGNORECASE)
"""The name of an answer."""
_DENIAL = "(?:nope|nein|non|нет|wrong|incorrect|untrue|falsch|faux|falso)"
_ANSWERS = re.compile(
    r"[\s*\"'`]*[:=–—-]+[\s*\"'`]*(yes|no|true|false)(?=[\s*\"'`]*(?:[.,;!)]|$))", re.IGNORECASE
)
_EDGES = " \t\r*_\"'`~"


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
    reply: RawReply,
    accept: Callable[[object], T | None],
    plain: Callable[[str], T | None],
    disagrees: Callable[[T, str, str], bool] = lambda _value, _before, _after: False,
) -> T:
    """Return the one value of a reply that is accepted: JSON, else plain text.

    A reply that can be read in two ways has no value: several different JSON values, or JSON with
    which the text around it disagrees. One of them may be a draft, or repeat a text that was shown.

    Args:
        reply: the reply.
        accept: returns the value of a JSON object or array; None if it is something else.
        plain: returns the value of a text without JSON; None if it has none.
        disagrees: whether the text before or after the JSON contradicts the value.

    Raises:
        JudgeFailureError: there is no value, or there are several.
    """
    answer = storable(reply.text).strip().removeprefix("\ufeff").strip()
    values: Sequence[tuple[object, int, int]] = ()
    invalid = ""
    try:
        whole: object = _DECODER.decode(answer)
    except (ValueError, RecursionError):
        answer = _without_thoughts(answer, reply.shown)
        try:
            values = _json_values(answer, reply.shown)
        except ValueError as error:
            invalid = f"invalid JSON ({error})"
    else:
        values = [(whole, 0, len(answer))] if is_object(whole) or is_list(whole) else ()
    if not answer:
        raise reply.unusable(Cause.MALFORMED, "the reply is empty")
    accepted = [
        (read, begin, end) for value, begin, end in values if (read := accept(value)) is not None
    ]
    if len({read for read, _, _ in accepted}) == 1:
        read, start, end = accepted[0][0], accepted[0][1], accepted[-1][2]
        more = any(begin >= end for _, begin, _ in values)  # a patch, or another part
        if not more and not disagrees(read, answer[:start], answer[end:]):
            return read
        seen = "its JSON and the text around it disagree"
    elif invalid:
        seen = invalid
    elif accepted:
        seen = f"{len(accepted)} different answers in one reply"
    elif values:
        seen = "no JSON in the requested form"
    else:
        read = plain(answer)
        if read is not None and not reply.strict_json:
            return read
        if read is None and is_refusal(answer):
            raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(answer)}")
        form = "no JSON in the requested form"
        seen = form if reply.strict_json else "neither JSON nor another known form"
    raise reply.unusable(Cause.MALFORMED, f"{seen}; the reply begins {quoted(answer)!r}")


def _without_thoughts(text: str, shown: Sequence[str]) -> str:
    """Return a text without the model's thoughts: tagged parts, and what precedes a closing tag.

    Tags in JSON are left in place, and those that a shown text contains as well.
    """
    tags = {tag.lower() for tag in _THOUGHT_TAG.findall(text)}
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
    return kept[closing[-1] if closing else 0 :].strip()


def _json_values(text: str, shown: Sequence[str]) -> list[tuple[object, int, int]]:
    """Return every JSON object and array of a text, outermost only, with its begin and end.

    They may be in fences or between words. Keys are in lower case, without gaps. A list between
    words counts if it contains objects, lists or texts: `[1]` is a footnote. A value that repeats
    part of a text that the model was `shown` is left out.

    Raises:
        ValueError: something in it begins like JSON and is not, for example because it is cut
            off; or it contains repetitions only.
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


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


class LabelPattern(Generic[T]):
    """Labels at the start of a text, alone or with a reason after them.

    Words of digits do not start a text: a lone 1 is the number of a claim or a footnote.

    Args:
        words: word in lower case, with single spaces -> its meaning.
        side: meanings of one side do not contradict each other; true for the affirmative side.
    """

    def __init__(self, words: Mapping[str, T], side: Callable[[T], object]) -> None:
        longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
        escaped = {word: re.escape(word).replace(r"\ ", r"[-_\s]") for word in longest}
        either = "|".join(escaped.values())
        named = [word for word in longest if word not in YES_OR_NO]
        affirmed = "|".join(escaped[word] for word in named if side(words[word]))
        self._words = words
        self.side = side
        self._start = re.compile(
            rf"[*\"'`]*({either})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,)", re.IGNORECASE
        )
        self._clause = re.compile(
            rf"(?:{_LEAD}\b[\s,]*)*({either}|{_DENIAL})(?:$|[^\w\s]|\s+by\b)", re.IGNORECASE
        )
        self._named = re.compile(
            rf"\b({'|'.join(escaped[word] for word in named)})\b", re.IGNORECASE
        )
        self._denied = re.compile(
            rf"(?:n't|n’t|\b(?:not|never|no longer))\s+(?:\w+\s+){{0,3}}(?:{affirmed})\b",
            re.IGNORECASE,
        )

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """Match the label (group 1) at `at`; None if there is none, or the rest contradicts it.

        The rest may give a reason. It must not answer again, take the label back, or state the
        other side; after an affirmative label, it must not limit or deny it either.
        """
        label = self._start.match(text, at)
        if not label or (value := read_word(label[1], self._words)) is None:
            return None
        rest = text[label.end(1) :]
        if (answer := _ANSWERS.match(rest)) and (
            not YES_OR_NO[answer[1].lower()] or read_word(answer[1], self._words) != value
        ):
            return None  # `Entailment: no`, `Contradiction: no`
        if _NUMBER_NEXT.match(rest) or self.reconsidered_in(rest):
            return None
        if self.side(value) and (
            _LIMITS.match(rest) or _HOWEVER.search(rest) or self._denied.search(rest)
        ):
            return None
        clauses = (self._clause.match(clause.strip(_EDGES)) for clause in _CLAUSES.split(rest))
        others = [clause[1] for clause in clauses if clause]
        others += [other[1] for other in self._mentions(rest)]
        return label if all(self._side_of(other) == self.side(value) for other in others) else None

    def reconsidered_in(self, text: str) -> bool:
        """Return whether a text takes an answer back."""
        return _RECONSIDERS.search(text) is not None

    def revised_in(self, text: str, sides: Mapping[int, object]) -> bool:
        """Return whether a text after an answer may change it.

        `sides` has the side of each item, by its number. A sentence may repeat it: "Claim 2 is
        contradicted."
        """
        if not text.strip(" \r\n`"):
            return False
        known = set(sides.values())
        clauses = (clause.strip(_EDGES) for clause in _CLAUSES.split(text))
        if (
            self.reconsidered_in(text)
            or _KEY.search(text)
            or any(
                self._clause.match(clause) for clause in clauses if not _REFERENCES.search(clause)
            )
        ):
            return True
        for sentence in re.split(r"(?<=[.;!?])\s|\n", text):
            mentioned = {self._side_of(each[1]) for each in self._mentions(sentence)}
            if self._denied.search(sentence):
                mentioned.add(None)
            numbers = _REFERENCES.findall(sentence)
            if not mentioned or (len(known) == 1 and mentioned == known):
                continue
            number = sum(map(_number_of, numbers[0])) if len(numbers) == 1 else 0
            if len(mentioned) > 1 or number not in sides or mentioned != {sides[number]}:
                return True
        return False

    def _mentions(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the labels in a text; not those after `nothing` or `not`."""
        for each in self._named.finditer(text):
            if not _NOTHING.search(text, max(0, each.start() - 40), each.start()):
                yield each

    def _side_of(self, word: str) -> object:
        denial = re.fullmatch(_DENIAL, word, re.IGNORECASE)
        value = read_word("no" if denial else word, self._words)
        return None if value is None else self.side(value)


def _number_of(written: str) -> int:
    return int(written) if written.isdigit() else _ORDINALS.get(written.lower(), 0)


def numbered_pattern(*nouns: str) -> re.Pattern[str]:
    """Return the pattern of a numbered line: `1. ...`, `Claim 1: ...`, `claim_1: ...`."""
    return re.compile(
        rf"\s*(?:(?:[-*•]|#{{1,6}})\s+)?\**(?:(?:{'|'.join(nouns)})[\s_]*)?[#(\[]?([0-9]{{1,4}})"
        r"(?:[.):\]]+|\s+[-–—]|\*+\s*:|\**\s*$)(?![0-9])\**\s*(.*)",
        re.IGNORECASE,
    )
