"""How replies are read: the one JSON value of a reply, and the parsers of each kind of answer.

A reply is read only if it can mean one thing: JSON alone, or JSON in one fence, in both cases
after the model's thoughts. Text around JSON may call it a draft, limit it or take it back, in any
language, so such a reply is not interpreted: the judge is asked again. For the same reason the
parsers know every key of an object, and refuse an object with another one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from ragstone._internal.fields import is_list, is_object
from ragstone._internal.sentences import QuoteFinder, find_in
from ragstone._internal.text import MARK, count, quoted
from ragstone.errors import Cause
from ragstone.types.claim import (
    DraftQuestion,
    Evidence,
    FoundAnswer,
    GeneratedQueries,
    Grade,
    Label,
    Rating,
    Verdict,
)
from ragstone.types.questions import FindAnswer, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

T = TypeVar("T")

YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
NO_JSON = "no JSON in the requested form"

_THOUGHT_TAG = re.compile(r"<(/?)(?:think(?:ing)?|thoughts?|reasoning|analysis)>", re.IGNORECASE)
_FENCE = "```"
_LANGUAGE = re.compile(r"\A\w*")
_JSON = re.compile(r'[\[{]\s*[\[{"\]}]')  # what begins like JSON; `[1]` is a footnote
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


def storable(text: str) -> str:  # lone surrogates cannot be stored or sent
    return text if text.isascii() else _SURROGATE.sub(MARK, text)


def is_refusal(text: str) -> bool:
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


@dataclass(frozen=True)
class RawReply:
    """A reply as the model wrote it, and the texts shown to it: repeating one is not a reply."""

    text: str
    shown: Sequence[str] = ()
    legacy_text: bool = False  # whether the plain text of promptfoo's older prompts is read too

    def unusable(
        self, cause: Cause, message: str, returned: tuple[PartialVerdict, ...] = ()
    ) -> JudgeFailureError:
        return JudgeFailureError(Failure(cause, message, returned, raw=storable(self.text)))

    def malformed(self, message: str) -> JudgeFailureError:
        begins = quoted(storable(self.text).strip())
        return self.unusable(Cause.MALFORMED, f"{message}; the reply begins {begins!r}")

    def required(self, read: T | None) -> T:
        """Return what was read in the JSON; None if that does not have the requested form."""
        if read is None:
            raise self.malformed(NO_JSON)
        return read


def json_value(reply: RawReply) -> object:
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


def known_object(value: object, *keys: str) -> Mapping[str, object]:
    """Return an object if it has only these keys, else {}: another might change its meaning."""
    return value if is_object(value) and value.keys() <= set(keys) else {}


def _text(value: object) -> str:
    return storable(value).strip() if isinstance(value, str) else ""


def _one_line(value: object) -> str:
    return " ".join(_text(value).split())


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


# not strict: texts may contain line breaks
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, strict=False)


# Plain text of promptfoo's older prompts, which its plan for RAGAS reads where JSON is missing.
# Only the policy `promptfoo-plan` reads it, and not with `strict_json`. Words around an answer
# may change it, so a reply is read only if all its lines have one of the known forms.

MARKER = "final verdict for each statement in order:"  # in any case; verdicts end in full stops

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
    entries = [(entry[1], _one_line(entry[2])) for entry in listed if entry and entry[2].strip()]
    numbers = [number for number, _ in entries]
    counted = [str(place) for place in range(1, len(lines) + 1)]
    if not lines or len(entries) < len(lines) or numbers not in (counted, [""] * len(lines)):
        return None
    return None if is_refusal(text) else tuple(entry for _, entry in entries)


def verdicts_in_text(text: str) -> tuple[tuple[int | None, str], ...] | None:
    """Return the number, if any, and the word of each verdict; None without verdicts."""
    if "{" in text or is_refusal(text):
        return None
    before, *after = _MARKER.split(text)
    if after:
        pieces = [piece.strip(" *\t\r") for piece in re.split(r"[.\n]", after[-1])]
        words = tuple((None, piece) for piece in pieces if piece)
        return words if len(after) == 1 and words else None
    # without a marker, they are `yes` or `no` after `Verdict:` or a line's number
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


Quote = tuple[int | None, str]  # the number of the quoted context, from 1, and the words

_NUMBER = re.compile(
    r"\s*(?:(?:claim|statement|context|sentence|passage)[\s_]*)?[#\[(]?([0-9]{1,9})[\].):]?\s*",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """A reply does not have exactly one item for each thing."""


class Item(NamedTuple, Generic[T]):
    number: int | str | None = None  # the number that it names, or a text if that cannot be read
    written: str | None = None  # its label, and under `value` what it means
    value: T | None = None
    reason: str | None = None
    text: str | None = None  # the claim that it repeats
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True)
class ItemFormat(Generic[T]):
    """The keys and words of one kind of item; keys and words are in lower case, without gaps."""

    lists: tuple[str, ...]
    labels: tuple[str, ...]  # all that are present must mean the same, and all `numbers` must agree
    numbers: tuple[str, ...]
    texts: tuple[str, ...]  # keys of the text that an item repeats; the number may be there instead
    notes: tuple[str, ...]
    words: Mapping[str, T]

    def items(self, value: object, expected: int) -> tuple[Item[T], ...] | None:
        """Return the items of a JSON value; None if it is not a list of such items."""
        if is_object(value):
            if len(value) == 1 and (key := next(iter(value))) in self.lists:
                value = value[key]
            elif expected == 1:
                value = [value] if any(key in value for key in self.labels) else None
        if not is_list(value):
            return None
        known = (*self.labels, *self.numbers, *self.texts, *self.notes)
        if not all(known_object(entry, *known) for entry in value if is_object(entry)):
            return None
        items = tuple(self._item(entry) for entry in value)
        labelled = (
            any(key in entry for key in self.labels) if is_object(entry) else item.value is not None
            for entry, item in zip(value, items, strict=True)
        )
        return items if not items or any(labelled) else None

    def _item(self, entry: object) -> Item[T]:
        if not is_object(entry):
            return Item(written=_as_written(entry), value=read_word(entry, self.words))
        labels = [entry[key] for key in self.labels if key in entry]
        values = {read_word(label, self.words) for label in labels}
        numbers: set[int | str] = set()
        texts: set[str] = set()
        for key in (*self.numbers, *self.texts):
            named = entry.get(key)
            is_number = key in self.numbers and isinstance(named, str) and _NUMBER.fullmatch(named)
            if key in self.texts and isinstance(named, str) and not is_number:
                texts.add(_text(named))
            elif named is not None:
                numbers.add(number_in(named))
        return Item(
            number=numbers.pop() if len(numbers) == 1 else " / ".join(map(str, numbers)) or None,
            written=_as_written(labels[0]) if labels else None,
            value=values.pop() if len(values) == 1 else None,
            reason=_text(entry.get("reason")) or None,
            text=" / ".join(texts) or None,
            quotes=quotes_at(entry.get("evidence")),
        )


def number_in(written: object) -> int | str:
    if isinstance(written, str):
        match = _NUMBER.fullmatch(written)
        return int(match[1]) if match else storable(written)
    if isinstance(written, int | float) and not isinstance(written, bool) and written % 1 == 0:
        return int(written)
    return _as_written(written) or ""


def _as_written(value: object) -> str | None:
    if value is None:
        return None
    if is_list(value) or is_object(value):
        return "[...]" if is_list(value) else "{...}"
    return storable(value if isinstance(value, str) else json.dumps(value))[:200]


def quotes_at(evidence: object) -> tuple[Quote, ...]:
    quotes: list[Quote] = []
    for entry in evidence if is_list(evidence) else [evidence]:
        fields = entry if is_object(entry) else {"quote": entry}
        number = number_in(fields.get("context", fields.get("passage")))
        if words := _text(fields.get("quote")):
            quotes.append((number if isinstance(number, int) else None, words))
    return tuple(quotes)


def in_order(
    items: Sequence[Item[T]], expected: int, name: str, of: str, texts: Sequence[str] = ()
) -> Sequence[Item[T]]:
    """Return one item for each of the `expected` things, in their order."""
    # items are matched by the numbers they name, else by the texts they repeat, else by position
    thing = of.removesuffix("s")
    if len(items) != expected:
        counted = count(len(items), name.removesuffix("s"))
        raise ReplyMismatchError(f"got {counted} for {count(expected, thing)}")
    numbers = [item.number for item in items if item.number is not None]
    first = _first_number(numbers, expected)
    bare = list(map(_bare, texts))
    repeated = [_bare(item.text or "") for item in items]
    places = list(range(expected))
    if numbers:
        places = [number - first for number in numbers if isinstance(number, int)]
        if sorted(places) != list(range(expected)):
            seen = ", ".join("none" if item.number is None else str(item.number)[:20]
                             for item in items[:50])  # fmt: skip
            raise ReplyMismatchError(f"the {name} of {expected} {of} are numbered {seen}")
    elif any(repeated):
        if sorted(repeated) != sorted(set(bare)):
            raise ReplyMismatchError(f"the {name} do not repeat the {of}, one each")
        places = list(map(bare.index, repeated))
    for place, text in zip(places, repeated, strict=True):
        if text and text != bare[place]:
            raise ReplyMismatchError(f"{name.removesuffix('s')} {place + 1} is on another {thing}")
    return [item for _, item in sorted(zip(places, items, strict=True), key=lambda pair: pair[0])]


def _first_number(numbers: Sequence[int | str], expected: int) -> int:
    return 0 if 0 in numbers and expected not in numbers else 1


def _bare(text: str) -> str:
    return " ".join(_LINE_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")


_WORDS = {
    Label.SUPPORTED: (
        "supported, supports, support, yes, true, 1, entailed, entails, entailment, faithful, "
        "attributed"
    ),
    Label.PARTIALLY_SUPPORTED: "partially supported, partly supported, partial, partially, partly",
    Label.CONTRADICTED: "contradicted, contradicts, contradiction, no, refuted, refutes",
    Label.NOT_ENOUGH_INFO: (
        "not enough info, not enough information, insufficient information, nei, idk, unknown, "
        "0, false, not supported, unsupported, not entailed, neutral, unverifiable, "
        "not mentioned, unfaithful, not faithful"
    ),
}
_LABELS = {word: label for label, words in _WORDS.items() for word in words.split(", ")}
_VERDICTS = ItemFormat(
    lists=("verdicts", "statements", "claims"),
    labels=("label", "verdict"),
    numbers=tuple("claim claimnumber claimid statement statementid number index id".split()),
    texts=("claim", "statement", "text"),
    notes=("reason", "evidence"),
    words={**_LABELS, **{label.value: label for label in Label}},
)
_GRADES = ItemFormat(
    lists=("grades", "verdicts"),
    labels=("relevant", "verdict"),
    numbers=("number", "context", "sentence", "index", "id"),
    texts=(),
    notes=("reason",),
    words={
        **YES_OR_NO,
        **dict.fromkeys(("relevant", "useful"), True),
        **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
    },
)


def parse_verdicts(reply: RawReply, question: VerifyClaims) -> tuple[Verdict, ...]:
    expected = len(question.claims)
    items: Sequence[Item[Label]] | None = None
    if reply.legacy_text and (written := verdicts_in_text(reply.text)) is not None:
        labels = {"yes": Label.SUPPORTED, "no": Label.CONTRADICTED}
        items = [Item(number, word[:200], labels.get(word.lower())) for number, word in written]
    items = items or reply.required(_VERDICTS.items(json_value(reply), expected))
    finders = list(map(QuoteFinder, question.contexts))

    def verdict_of(item: Item[Label]) -> Verdict | None:
        if not item.value:
            return None
        evidence = find_evidence(item.quotes, finders)
        return Verdict(label=item.value, reason=item.reason, evidence=evidence)

    try:
        ordered = in_order(items, expected, "verdicts", "claims", question.claims)
    except ReplyMismatchError as error:
        cause, message = Cause.COUNT_MISMATCH, str(error)
    else:
        verdicts = tuple(filter(None, map(verdict_of, ordered)))
        if len(verdicts) == expected:
            return verdicts
        written = next(item.written for item in items if not item.value)
        message = f"{quoted(written)!r} is not a label" if written else "a verdict has no label"
        cause = Cause.MALFORMED
    numbers = [item.number for item in items if item.number is not None]
    shift = 1 - _first_number(numbers, expected)
    returned = [
        PartialVerdict(
            item.number + shift if isinstance(item.number, int) else None,
            item.written,
            verdict_of(item),
        )
        for item in items
    ]
    raise reply.unusable(cause, message, tuple(returned))


def find_evidence(quotes: Sequence[Quote], finders: Sequence[QuoteFinder]) -> tuple[Evidence, ...]:
    """Find each quote in the context that it names, else in the others."""
    evidence: list[Evidence] = []
    for number, words in quotes if finders else ():
        named = number - 1 if number and 1 <= number <= len(finders) else 0
        context, span = find_in(finders, words, named) or (named, None)
        start, end = span or (None, None)
        evidence.append(
            Evidence(context=context, start=start, end=end, quote=words, verified=bool(span))
        )
    return tuple(evidence)


def parse_grades(reply: RawReply, expected: int, *, of: str) -> tuple[Grade, ...]:
    items = reply.required(_GRADES.items(json_value(reply), expected))
    try:
        ordered = in_order(items, expected, "grades", of)
    except ReplyMismatchError as error:
        raise reply.unusable(Cause.COUNT_MISMATCH, str(error)) from None
    read = [Grade(relevant=i.value, reason=i.reason) for i in ordered if i.value is not None]
    if len(read) < expected:
        word = next(item.written for item in ordered if item.value is None)
        seen = f"{quoted(word)!r} is not a grade" if word else "a grade is missing"
        raise reply.unusable(Cause.MALFORMED, seen)
    return tuple(read)


PLACEHOLDER = re.compile(  # no text: a blank to fill in, a word for nothing, or a verdict
    r"[^\w<]*(?:\.\.\.|(?:none|null|n/?a|string|(?:no|keine) (?:claims?|facts?|statements?"
    r"|aussagen)(?: \w+)?|(?:claim|fact|statement)[\s_]*[0-9]*|<[^<>]*>)\W*)"
    r"|.*[–—:(-]\s*(?-i:SUPPORTED|CONTRADICTED|NOT_ENOUGH_INFO)\W*",
    re.IGNORECASE,
)
_DIGITS = re.compile("[0-9]{1,4}")
_LEVEL = re.compile("-?[0-9]{1,9}")
_CLAIMS = ("claims", "statements", "truths", "facts")
_CLAIM = ("claim", "statement", "truth", "fact", "text")


def parse_claims(reply: RawReply, source: str = "") -> tuple[str, ...]:
    """Return the claims; refusals are claims only if their `source` refuses as well."""
    texts = statements_in_text(reply.text) if reply.legacy_text else None
    if texts is None:
        value = json_value(reply)
        if is_object(value) and len(value) == 1:
            value = next((value[key] for key in _CLAIMS if key in value), None)
        texts = reply.required(_texts(value, *_CLAIM))
    claims = tuple(dict.fromkeys(texts))
    _check_filled(claims, reply)
    if claims and source and all(map(is_refusal, claims)) and not is_refusal(source):
        raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(claims[0])}")
    return claims


def _texts(entries: object, *keys: str) -> tuple[str, ...] | None:
    """Return the texts of a list, on one line each; objects have the text under one of `keys`."""
    if not is_list(entries):
        return None
    texts: list[str] = []
    for entry in entries:
        fields = known_object(entry, *keys)
        text = next(iter(fields.values())) if len(fields) == 1 else entry
        if not isinstance(text, str):
            return None
        texts.append(_one_line(text))
    return tuple(filter(None, texts))


def _check_filled(texts: Sequence[str], reply: RawReply) -> None:
    if blank := next(filter(PLACEHOLDER.fullmatch, texts), None):
        raise reply.unusable(Cause.MALFORMED, f"{quoted(blank)!r} is a placeholder")


def parse_explanation(reply: RawReply) -> str:
    fields = known_object(json_value(reply), "explanation")
    return reply.required(_text(fields.get("explanation")) or None)


def parse_queries(reply: RawReply) -> GeneratedQueries:
    fields = known_object(json_value(reply), "commits", "noncommittal", "queries")
    commits = {word: not yes for word, yes in YES_OR_NO.items()}
    words = {"noncommittal": YES_OR_NO, "commits": commits}
    evades = {read_word(fields[key], words[key]) for key in words if key in fields}
    noncommittal = reply.required(evades.pop() if len(evades) == 1 else None)
    queries = fields.get("queries")
    if is_object(queries) and all(map(_DIGITS.fullmatch, queries)):
        queries = [queries[key] for key in sorted(queries, key=int)]
    texts = reply.required(_texts(queries, "query", "question"))
    _check_filled(texts, reply)
    return GeneratedQueries(queries=texts, noncommittal=noncommittal)


def parse_found(reply: RawReply, question: FindAnswer) -> FoundAnswer:
    fields = known_object(json_value(reply), "answer", "evidence", "found")
    if not reply.required(read_word(fields.get("found"), YES_OR_NO)):
        return FoundAnswer(found=False)
    finders = list(map(QuoteFinder, question.contexts))
    evidence = find_evidence(quotes_at(fields.get("evidence")), finders)
    return FoundAnswer(found=True, answer=_one_line(fields.get("answer")), evidence=evidence)


def parse_drafts(reply: RawReply) -> tuple[DraftQuestion, ...]:
    value = json_value(reply)
    fields = known_object(value, "questions")
    entries = fields.get("questions") if fields else value
    drafts: list[DraftQuestion] = []
    for entry in reply.required(entries if is_list(entries) else None):
        fields = known_object(entry, "query", "reference", "claims", "quotes")
        claims = _texts(fields.get("claims", []), "claim", "fact", "text") if fields else None
        draft = DraftQuestion(
            query=_one_line(fields.get("query")),
            reference=_one_line(fields.get("reference")),
            claims=tuple(dict.fromkeys(reply.required(claims))),
            quotes=quotes_at(fields.get("quotes")),
        )
        drafts.append(draft)
    _check_filled([text for each in drafts for text in (each.query, *each.claims)], reply)
    return tuple(each for each in drafts if each.query)


def parse_abstention(reply: RawReply) -> bool:
    fields = known_object(json_value(reply), "label")
    return reply.required(read_word(fields.get("label"), {"abstains": True, "answers": False}))


def parse_rating(reply: RawReply) -> Rating:
    fields = known_object(json_value(reply), "level", "reason")
    level = fields.get("level")
    if isinstance(level, str):
        level = int(level) if _LEVEL.fullmatch(level.strip()) else None
    level = number_in(level)
    if not isinstance(level, int):
        raise reply.malformed(NO_JSON)
    return Rating(level=level, reason=_text(fields.get("reason")) or None)
