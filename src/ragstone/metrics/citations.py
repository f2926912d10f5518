"""Citation metrics: marks in a response that name contexts, and the claims they support."""

import re
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import ClassVar, NamedTuple

from pydantic.dataclasses import dataclass

from ragstone._internal.fields import Span
from ragstone._internal.marks import ID, NOUNS, ORIGIN, PAGE, WrittenMark, find_marks
from ragstone._internal.sentences import find_quote, split_sentences
from ragstone.metrics import claim_checks
from ragstone.metrics.registry import register
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score


class Source(NamedTuple):
    name: str
    contexts: tuple[int, ...]  # the indexes of those with this name


class Mark(NamedTuple):
    """A mark such as `[1, 3]`, its position in the response, and the sources it names."""

    start: int
    end: int
    sources: tuple[Source, ...]


class Cited(NamedTuple):
    claims: tuple[int, ...]  # the indexes of the sentence's claims
    sources: tuple[Source, ...]  # that it cites, each once


_DEFINITION = re.compile(r"(?m)^[ ]{0,3}\[[^\[\]\n]{1,200}\]:")
_PART = re.compile(r"[,;，、；&]")
_RANGE = re.compile(r"(\d{1,3})\s?[-–—]\s?(\d{1,3})")
_WORDED = re.compile(
    rf"(?:doc|{ORIGIN}|{NOUNS})(?:[\s.:：#]+|(?<![a-z])(?=\d))(\S.*)", re.IGNORECASE
)
_SAYS = re.compile(rf"\^|†.*|{PAGE}", re.IGNORECASE)  # beside the name of a source
_ID = re.compile(ID, re.IGNORECASE)
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
# code is between runs of as many backticks; an unclosed run of three or more extends to the end,
# shorter ones end at a blank line
_CODE = re.compile(
    r"""(?<!`)(`{3,})(?!`) .*? (?:(?<!`)\1(?!`) | \Z)
    |(?<!`)(``?)(?!`) (?:(?!\n\n).)*? (?<!`)\2(?!`)""",
    re.VERBOSE | re.DOTALL,
)
_WORD_BEFORE = re.compile(r"(?<![\w'’])[A-Za-z_$][\w$]*\Z")
_VARIABLE = re.compile(r"[a-z]|\w*[_$][\w$]*|[a-z]{2,}(?:[A-Z][a-z]+)+")
_USED = re.compile(r"\s?[-+*/]?=|\.[a-z_]")


def find_citations(response: str, contexts: Sequence[Context]) -> tuple[Mark, ...]:
    """Return the marks of a response that name contexts, in order; not code, links or `a[1]`."""
    found = list(_bracketed(response))
    clear = [mark.text for mark in found if mark.is_clear or mark.is_mark]
    names = _Names(contexts, list(chain.from_iterable(map(_parts, clear))))
    read = {mark: names.sources(mark) for mark in found}
    return tuple(Mark(mark.start, mark.end, read[mark]) for mark in found if read[mark])


def cited_sentences(
    response: str, contexts: Sequence[Context], claims: Sequence[JudgedClaim]
) -> tuple[list[Cited], frozenset[int]]:
    """Return the sentences with marks, and the claims that cannot be assigned to a sentence."""
    marks = find_citations(response, contexts)
    # Without the marks, because "It is. [id] it was." may be one sentence or two.
    characters = list(response)
    for mark in marks:
        characters[mark.start : mark.end] = " " * (mark.end - mark.start)
    plain = "".join(characters)
    spans = [(start, end) for _, start, end in split_sentences(plain)]
    if not marks or not spans:
        return [], frozenset()
    starts, ends = zip(*spans, strict=True)
    unplaced: set[int] = set()
    claims_of: defaultdict[int, list[int]] = defaultdict(list)
    for number, claim in enumerate(claims):
        start, end = claim.span or find_quote(claim.text, plain, spans) or (0, 0)
        places = range(bisect_right(ends, start), bisect_left(starts, end))
        for at in places:
            claims_of[at].append(number)
        unplaced |= set() if places else {number}
    sources: defaultdict[int, dict[Source, None]] = defaultdict(dict)
    for at, mark in zip(_sentences_of(marks, spans, plain), marks, strict=True):
        sources[at] |= dict.fromkeys(mark.sources)
    sentences = [Cited(tuple(claims_of[at]), tuple(sources[at])) for at in sorted(sources)]
    return sentences, frozenset(unplaced)


class _Names:
    def __init__(self, contexts: Sequence[Context], parts: Sequence[str]) -> None:
        self._count = len(contexts)
        self._ids: dict[str, tuple[int, ...]] = {}
        for number, context in enumerate(contexts):
            if context.id is not None:
                self._ids[context.id] = (*self._ids.get(context.id, ()), number)
        self._shapes = set(map(_shape, self._ids)) - {""}
        numbers = {part for part in parts if part.isdecimal()}
        named = {part for part in numbers if part in self._ids or len(part) <= 3}
        # if some number is not a position and all are ids, all are read as ids
        self._by_id = named <= self._ids.keys() and not all(map(self._place, named))

    def sources(self, mark: WrittenMark) -> tuple[Source, ...]:
        """Return what a mark names; an id that no context has is a source without contexts."""
        whole = mark.target or mark.text
        if (whole in self._ids and not whole.isdecimal()) or (mark.target and self._like(whole)):
            return (Source(whole, self._ids.get(whole, ())),)
        if mark.target or not (mark.is_clear or mark.is_mark):
            return ()
        clear = mark.is_clear or not whole[:1].isdigit()  # (Passage 9), but not (9)
        named = [self._named(part, clear) for part in _parts(whole)]
        return tuple(chain.from_iterable(named)) if all(named) else ()

    def _named(self, part: str, clear: bool) -> list[Source]:
        ids = self._ids.get(part, ())
        if part.isdecimal():
            contexts = ids if self._by_id else self._place(part) or ids
            # a larger one is more likely a year, and one in parentheses may count something
            is_number = len(part) <= 3 and int(part) > 0 and clear
            return [Source(part, contexts)] if contexts or is_number else []
        if ids or not (ends := _RANGE.fullmatch(part)):
            return [Source(part, ids)] if ids or self._like(part) or _ID.fullmatch(part) else []
        first, last = int(ends[1]), int(ends[2])
        if 1 <= first <= last <= self._count:
            return [Source(str(number), (number - 1,)) for number in range(first, last + 1)]
        return [Source(part, ())] if first else []

    def _like(self, name: str) -> bool:
        return _shape(name) in self._shapes

    def _place(self, part: str) -> tuple[int, ...]:
        return (int(part) - 1,) if 1 <= int(part) <= self._count else ()


def _shape(name: str) -> str:
    """Return the form of an id; "" for one of letters only, which any word may be."""
    if "://" in name:
        return "://"
    shape = _LETTERS.sub("a", _DIGITS.sub("9", name))
    return "" if shape.replace(" ", "").isalpha() or shape == "9" else shape


def _parts(text: str) -> list[str]:
    found: list[str] = []
    for part in _PART.split(text):
        name = _SAYS.sub("", part).strip()
        if name or not part.strip():
            found.append(word[1] if (word := _WORDED.fullmatch(name)) else name)
    return found


def _bracketed(response: str) -> Iterator[WrittenMark]:
    skipped = [match.span() for match in _CODE.finditer(response)]
    skipped = sorted([*skipped, *(match.span() for match in _DEFINITION.finditer(response))])
    begins = [start for start, _ in skipped]
    index = -1  # where the last index ended: a[1][2]
    for mark in find_marks(response):
        start, end = mark.start, mark.end
        at = bisect_right(begins, start) - 1
        if (at >= 0 and start < skipped[at][1]) or response[start - 1 : start] == "!":
            continue
        if response[start] == "[" and not mark.target:
            word = _WORD_BEFORE.search(response[max(0, start - 40) : start])
            named = word and (_VARIABLE.fullmatch(word[0]) or _USED.match(response, end))
            if start == index or named:
                index = end
                continue
        yield mark


def _sentences_of(marks: Sequence[Mark], spans: Sequence[Span], plain: str) -> Iterator[int]:
    # A mark belongs to the sentence that contains it or that it follows; at the start of a line,
    # to that line.
    starts = [start for start, _ in spans]
    lines = [match.start() for match in re.finditer("\n", plain)]
    for mark in marks:
        before = bisect_right(starts, mark.start) - 1
        after = before + 1
        if before < 0 or after == len(spans) or mark.start < spans[before][1]:
            yield max(before, 0)
            continue
        line = bisect_left(lines, mark.start)  # the first line break after the mark
        heads = line > 0 and lines[line - 1] >= spans[before][1]
        words = line == len(lines) or lines[line] >= starts[after]
        yield after if heads and words else before


@dataclass(frozen=True)
class CitationMetric(claim_checks.CheckMetric):
    """Compares the citations of sentences with the quotes that support their claims."""

    checks = (claim_checks.RESPONSE_IN_CONTEXTS,)

    @abstractmethod
    def count_citations(
        self, sentences: Sequence[Cited], supporting: Mapping[int, frozenset[int]]
    ) -> Score:
        """Return the score; `supporting` is claim -> the contexts that contain its quotes."""

    def compute(self, sample: Sample, *judged: claim_checks.JudgedClaims) -> Score:
        (claims,) = judged
        if not claims:
            return Score.undefined(claim_checks.NO_CLAIMS)
        found, unplaced = cited_sentences(sample.response or "", sample.contexts or (), claims)
        supporting: dict[int, frozenset[int]] = {}
        without_quote = 0
        for number, claim in enumerate(claims):
            supported = claim.label is Label.SUPPORTED
            contexts = claim_checks.quoted(claim, sample) if supported else frozenset[int]()
            if supported and not contexts:
                without_quote += 1
            elif number not in unplaced:
                supporting[number] = contexts
        left_out = {"supported_without_quote": without_quote, "unplaced": len(unplaced)}
        if not supporting:
            counts = ", ".join(f"{name.replace('_', ' ')}: {n}" for name, n in left_out.items())
            return Score.undefined(f"the claims' correct sources are unknown ({counts})")
        sentences = [
            Cited(tuple(filter(supporting.__contains__, claims)), sources)
            for claims, sources in found
        ]
        score = self.count_citations(sentences, supporting)
        counts = {name: number for name, number in left_out.items() if number}
        return score.model_copy(update={"detail": {**score.detail, **counts}})


@register("citation_precision")
class CitationPrecision(CitationMetric):
    """The share of the response's citations that support a claim of their sentence.

    Formula: cited sources that contain a quote of a SUPPORTED claim of their sentence / cited
    sources. A citation of no known context is wrong; citations of a sentence without claims, such
    as a list of sources, do not count. A judge quotes one source even if two would do, so a second
    correct citation may count as wrong and the score is rather low. Range 0 to 1. 1.0: every
    citation is correct. 0.0: none is. Undefined: no claims, no citations, or no quotes. Two calls
    per sample, shared with faithfulness.
    Source: after Gao et al., ALCE (EMNLP 2023), which verifies each sentence again.
    """

    label: ClassVar[str] = "Citation Precision"

    def count_citations(
        self, sentences: Sequence[Cited], supporting: Mapping[int, frozenset[int]]
    ) -> Score:
        right = [
            any(supporting[claim].intersection(source.contexts) for claim in sentence.claims)
            for sentence in sentences
            for source in sentence.sources
            if sentence.claims or not source.contexts
        ]
        if not right:
            return Score.undefined("no claim of the response cites anything")
        detail = {"citations": len(right), "right": sum(right)}
        return Score.scored(sum(right) / len(right), detail=detail)


@register("citation_recall")
class CitationRecall(CitationMetric):
    """The share of the response's claims that cite a context that supports them.

    Formula: claims whose sentence cites a context with a quote of their SUPPORTED verdict / claims.
    A judge quotes one source even if two would do, so a correct citation may count as wrong and the
    score is rather low. Range 0 to 1. 1.0: every claim cites its source. 0.0: none does. Undefined:
    no claims, or no quotes. Two calls per sample, shared with faithfulness.
    Source: after Gao et al., ALCE (EMNLP 2023), which counts sentences and joins their citations.
    """

    label: ClassVar[str] = "Citation Recall"

    def count_citations(
        self, sentences: Sequence[Cited], supporting: Mapping[int, frozenset[int]]
    ) -> Score:
        cited = {
            claim
            for sentence in sentences
            for claim in sentence.claims
            if any(supporting[claim].intersection(source.contexts) for source in sentence.sources)
        }
        detail = {"claims": len(supporting), "cited": len(cited)}
        return Score.scored(len(cited) / len(supporting), detail=detail)
