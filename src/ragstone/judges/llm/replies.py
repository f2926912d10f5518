"""How replies are read: the one JSON value of a reply, and the parsers of each kind of answer.

A reply is read only if it can mean one thing: JSON alone, or JSON in one fence, in both cases
after the model's thoughts. Text around JSON may call it a draft, limit it or take it back, in any
language, so such a reply is not interpreted: the judge is asked again. For the same reason the
JSON must have the requested form: its keys, no others, and one entry for each number.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from tomllib import loads
from typing import NamedTuple, TypeVar

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from ragstone._internal.fields import is_list, no_constant
from ragstone._internal.sentences import QuoteFinder, find_in
from ragstone._internal.text import MARK, count, quoted
from ragstone.errors import Cause
from ragstone.judges.offline.judge import abstains
from ragstone.types import claim
from ragstone.types.questions import FindAnswer, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict

NO_JSON = "no JSON in the requested form"

_THOUGHT_TAG = re.compile(r"<(/?)(?:think(?:ing)?|thoughts?|reasoning|analysis)>", re.IGNORECASE)
_FENCE = "```"
_LANGUAGE = re.compile(r"\A\w*")
_JSON = re.compile(r'[\[{]\s*[\[{"\]}]')  # what begins like JSON; `[1]` is a footnote
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD_GAPS = re.compile(r"[-_\s]+")
_MAX_WORD = 80
_WORD_EDGES = " \t\r\n_*\"'`"
_PHRASES = loads(files("ragstone.judges.llm").joinpath("phrases.toml").read_text("utf-8"))
REFUSAL, SUMMARY, ANNOUNCEMENT = (
    re.compile("|".join(_PHRASES[kind]), re.IGNORECASE)
    for kind in ("refusals", "summaries", "announcements")
)


def storable(text: str) -> str:  # lone surrogates cannot be stored or sent
    return text if text.isascii() else _SURROGATE.sub(MARK, text)


def is_refusal(text: str) -> bool:
    return REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None


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


def json_value(reply: RawReply) -> object:
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


def has_thoughts(text: str) -> bool:
    return _THOUGHT_TAG.search(text) is not None


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


def _text(value: object) -> str:
    return storable(value).strip() if isinstance(value, str) else ""


def _one_line(value: object) -> str:
    return " ".join(_text(value).split())


def _word(written: str) -> str:
    """Return a label in capitals; dots and exclamation marks may follow it."""
    bare = written.strip(_WORD_EDGES).rstrip(f"{_WORD_EDGES}.!")
    return _WORD_GAPS.sub("_", bare).upper() if len(bare) <= _MAX_WORD else ""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a key twice")
    return fields


# not strict: texts may contain line breaks
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=no_constant, strict=False)


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


class _Form(BaseModel, extra="forbid", strict=True):
    """The form of a reply or a part of it: other keys and other types are refused."""


class _ContextQuote(_Form):
    context: int  # its number, from 1
    quote: str


class _PassageQuote(_Form):
    passage: int
    quote: str


class _Verdict(_Form):
    claim: int
    evidence: list[_ContextQuote] = []
    label: str
    reason: str | None = None


class _Verdicts(_Form):
    verdicts: list[_Verdict]


class _Listed(_Form):
    """A verdict of RAGAS (1, 0) or DeepEval (yes, no, idk): one for each claim, in order."""

    statement: str | None = None
    reason: str | None = None
    verdict: int | str


class _Listing(_Form):
    verdicts: list[_Listed] = Field(validation_alias=AliasChoices("verdicts", "statements"))


class _Grade(_Form):
    number: int
    reason: str | None = None
    relevant: bool


class _Grades(_Form):
    grades: list[_Grade]


class _Claims(_Form):
    claims: list[str] = Field(validation_alias=AliasChoices("claims", "statements", "truths"))


class _Explanation(_Form):
    explanation: str


class _Queries(_Form):
    commits: bool
    queries: dict[str, str]


class _Found(_Form):
    answer: str = ""
    evidence: list[_ContextQuote] = []
    found: bool


class _Draft(_Form):
    query: str
    reference: str = ""
    claims: list[str] = []
    quotes: list[_PassageQuote] = []


class _Drafts(_Form):
    questions: list[_Draft]


class _Abstention(_Form):
    label: str


F = TypeVar("F", bound=BaseModel)


def read_form(reply: RawReply, form: type[F]) -> F:
    return _validated(reply, json_value(reply), form)


def _validated(reply: RawReply, value: object, form: type[F]) -> F:
    try:
        return form.model_validate(value, strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = quoted(".".join(map(str, fault["loc"])))
        words = f"{NO_JSON} ({place}: {fault['msg']})" if place else NO_JSON
        raise reply.malformed(words) from None


class _Item(NamedTuple):
    """A verdict as it came; its number is None if it is about another claim than it should be."""

    number: int | None
    written: str
    label: claim.Label | None
    reason: str | None = None
    quotes: Sequence[_ContextQuote] = ()


def _read_verdicts(reply: RawReply, claims: Sequence[str]) -> list[_Item]:
    """Read verdicts in our form, or in one of those that other tools ask for."""
    if reply.legacy_text and (words := verdicts_in_text(reply.text)) is not None:
        places = [n for n, _ in words] if any(n for n, _ in words) else range(1, len(words) + 1)
        named = zip(places, (word for _, word in words), strict=True)
        return [_Item(n, word, _PROMPTFOO.get(word.lower())) for n, word in named]
    value = json_value(reply)
    with suppress(ValidationError):
        listed = _Listing.model_validate({"verdicts": value} if is_list(value) else value).verdicts
        return [_in_place(n, item, claims) for n, item in enumerate(listed, 1)]
    verdicts = _validated(reply, value, _Verdicts).verdicts
    return [
        _Item(item.claim, item.label, _LABELS.get(_word(item.label)), item.reason, item.evidence)
        for item in verdicts
    ]


def _in_place(number: int, item: _Listed, claims: Sequence[str]) -> _Item:
    own = claims[number - 1] if number <= len(claims) else ""
    is_own = not item.statement or _one_line(item.statement).casefold() == _one_line(own).casefold()
    written = str(item.verdict)
    label = {**_LABELS, **_OTHER_LABELS}.get(_word(written))
    return _Item(number if is_own else None, written, label, item.reason)


_NAMED_LABEL = re.compile(
    rf"\b(?:label|verdict) (?:is|(?:should|must|has to|ought to) be) ({'|'.join(claim.Label)})\b"
)
_Reasons = Sequence[tuple[int | None, str | None]]  # the number of each entry, and its reason
_QUOTE = re.compile(r"""["'“‘„«]([^"“”„«»]{20,}?)["'”’»](?!\w)""")
_LABELS = {label.value: label for label in claim.Label}
_PROMPTFOO = {"yes": claim.Label.SUPPORTED, "no": claim.Label.CONTRADICTED}
_OTHER_LABELS = {
    **dict.fromkeys(("1", "YES"), claim.Label.SUPPORTED),
    **dict.fromkeys(("0", "IDK"), claim.Label.NOT_ENOUGH_INFO),
    "NO": claim.Label.CONTRADICTED,
}


def _check_numbers(
    reply: RawReply, numbers: Sequence[int | None], expected: int, name: str
) -> None:
    """Refuse entries that are not one for each number from 1 to `expected`."""
    if sorted(number or 0 for number in numbers) == list(range(1, expected + 1)):
        return
    if len(numbers) != expected:
        message = f"got {count(len(numbers), name)} for {expected}"
    else:
        seen = ", ".join("none" if n is None else str(n)[:20] for n in numbers[:50])
        message = f"the {name}s for 1 to {expected} are numbered {seen}"
    raise reply.unusable(Cause.COUNT_MISMATCH, message)


def _check_reasons(
    reply: RawReply, reasons: _Reasons, texts: Sequence[str], contexts: Sequence[str] = ()
) -> None:
    """Refuse entries if most of their reasons quote other texts than their own."""
    lines, known = ([" ".join(each.split()) for each in some] for some in (texts, contexts))
    wrong = 0
    for number, reason in reasons:
        quotes = [" ".join(quote.split()) for quote in _QUOTE.findall(reason or "")]
        free = [quote for quote in quotes if not any(quote in context for context in known)]
        places = {n for quote in free for n, line in enumerate(lines, 1) if quote in line}
        wrong += bool(places) and number not in places
    if wrong > 1 and 2 * wrong > len(reasons):
        raise reply.malformed("its reasons quote other entries than their numbers")


def parse_verdicts(reply: RawReply, question: VerifyClaims) -> tuple[claim.Verdict, ...]:
    items, expected = _read_verdicts(reply, question.claims), len(question.claims)
    finders = list(map(QuoteFinder, question.contexts))
    returned: list[PartialVerdict] = []
    for item in items:
        verdict = None
        if item.label and (question.partial or item.label is not claim.Label.PARTIALLY_SUPPORTED):
            evidence = find_evidence(item.quotes, finders)
            reason = _text(item.reason) or None
            verdict = claim.Verdict(label=item.label, reason=reason, evidence=evidence)
        returned.append(PartialVerdict(item.number, item.written[:200], verdict))
    try:
        _check_numbers(reply, [item.number for item in items], expected, "verdict")
    except JudgeFailureError as error:
        raise JudgeFailureError(replace(error.failure, returned=tuple(returned))) from None
    if unread := next((item for item in returned if item.verdict is None), None):
        message = f"{quoted(unread.written or '')!r} is not a label"
        raise reply.unusable(Cause.MALFORMED, message, tuple(returned))
    reasons = [(item.number, item.reason) for item in items]
    _check_reasons(reply, reasons, question.claims, question.contexts)
    for item in items:
        named = _NAMED_LABEL.search(item.reason or "")
        if named and item.label and named[1] != item.label.value:
            raise reply.malformed(f"its reason for {item.label.value} asks for {named[1]}")
    in_order = sorted(returned, key=lambda item: item.number or 0)
    return tuple(item.verdict for item in in_order if item.verdict)


def find_evidence(
    quotes: Sequence[_ContextQuote], finders: Sequence[QuoteFinder]
) -> tuple[claim.Evidence, ...]:
    """Find each quote in the context that it names, else in the others."""
    evidence: list[claim.Evidence] = []
    for quote in quotes if finders else ():
        if words := _text(quote.quote):
            named = quote.context - 1 if 1 <= quote.context <= len(finders) else 0
            number, span = find_in(finders, words, named) or (named, None)
            start, end = span or (None, None)
            found = bool(span)
            evidence.append(
                claim.Evidence(context=number, start=start, end=end, quote=words, verified=found)
            )
    return tuple(evidence)


def parse_grades(reply: RawReply, graded: Sequence[str]) -> tuple[claim.Grade, ...]:
    grades = read_form(reply, _Grades).grades
    _check_numbers(reply, [each.number for each in grades], len(graded), "grade")
    _check_reasons(reply, [(each.number, each.reason) for each in grades], graded)
    in_order = sorted(grades, key=lambda each: each.number)
    return tuple(claim.Grade(relevant=g.relevant, reason=_text(g.reason) or None) for g in in_order)


PLACEHOLDER = re.compile(  # no text: a blank to fill in, a word for nothing or more, a verdict
    r"[^\w<]*(?:\.\.\.|(?:none|null|n/?a|string|(?:no|keine) (?:claims?|facts?|statements?"
    r"|aussagen)(?: \w+)?|(?:claim|fact|statement)[\s_]*[0-9]*|<[^<>]*>|etc"
    r"|(?:and )?(?:[0-9]+ )?more (?:claims?|facts?|statements?)(?: follow)?)\W*)"
    r"|.*[–—:(-]\s*(?-i:SUPPORTED|CONTRADICTED|NOT_ENOUGH_INFO)\W*",
    re.IGNORECASE,
)


def parse_claims(reply: RawReply, source: str) -> tuple[str, ...]:
    """Return the claims; refusals are claims only if their `source` refuses as well."""
    listed = statements_in_text(reply.text) if reply.legacy_text else None
    texts = _texts(reply, read_form(reply, _Claims).claims if listed is None else listed, source)
    *others, last = texts or ("",)
    if others and last[-1].isalnum() and all(text[-1] in ".!?…。" for text in others):
        _, *rests = " ".join(source.split()).split(last)
        if rests and all(rest[:2].strip()[:1].isalnum() for rest in rests):
            raise reply.malformed(f"its last claim is cut off: {quoted(last)!r}")
    return texts


def _texts(reply: RawReply, listed: Iterable[str], source: str = "") -> tuple[str, ...]:
    texts = tuple(dict.fromkeys(text for text in map(_one_line, listed) if text))
    if blank := next(filter(PLACEHOLDER.fullmatch, texts), None):
        raise reply.unusable(Cause.MALFORMED, f"{quoted(blank)!r} is a placeholder")
    if texts and source and all(map(is_refusal, texts)) and not is_refusal(source):
        raise reply.unusable(Cause.REFUSAL, f"the judge refused: {quoted(texts[0])}")
    return texts


def parse_explanation(reply: RawReply) -> str:
    explanation = _text(read_form(reply, _Explanation).explanation)
    if not explanation:
        raise reply.malformed("the explanation is empty")
    return explanation


def parse_queries(reply: RawReply, expected: int) -> claim.GeneratedQueries:
    read = read_form(reply, _Queries)
    texts = [read.queries[key] for key in map(str, range(1, expected + 1)) if key in read.queries]
    if len(texts) < len(read.queries):
        raise reply.malformed(f"the queries are not numbered from 1 to {expected}")
    _texts(reply, texts)
    queries = tuple(text for text in map(_one_line, texts) if text)
    return claim.GeneratedQueries(queries=queries, noncommittal=not read.commits)


def parse_found(reply: RawReply, question: FindAnswer) -> claim.FoundAnswer:
    read = read_form(reply, _Found)
    if not read.found:
        return claim.FoundAnswer(found=False)
    evidence = find_evidence(read.evidence, list(map(QuoteFinder, question.contexts)))
    quoted_one = any(each.verified for each in evidence)
    if not (answer := _one_line(read.answer)) or (abstains(answer) and not quoted_one):
        raise reply.malformed("it found an answer, but gives none")
    return claim.FoundAnswer(found=True, answer=answer, evidence=evidence)


def parse_drafts(reply: RawReply) -> tuple[claim.DraftQuestion, ...]:
    drafts = read_form(reply, _Drafts).questions
    _texts(reply, [text for each in drafts for text in (each.query, *each.claims)])
    return tuple(
        claim.DraftQuestion(
            query=query,
            reference=_one_line(each.reference),
            claims=_texts(reply, each.claims),
            quotes=tuple((q.passage, text) for q in each.quotes if (text := _text(q.quote))),
        )
        for each in drafts
        if (query := _one_line(each.query))
    )


def parse_abstention(reply: RawReply) -> bool:
    written = read_form(reply, _Abstention).label
    if (label := _word(written)) not in ("ABSTAINS", "ANSWERS"):
        raise reply.malformed(f"{quoted(written)!r} is not a label")
    return label == "ABSTAINS"


def parse_rating(reply: RawReply) -> claim.Rating:
    rating = read_form(reply, claim.Rating)
    return rating.model_copy(update={"reason": _text(rating.reason) or None})
