"""Windows of the contexts, and their pairs with a claim as the tokens a model takes."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from ragstone._internal.sentences import split_sentences
from ragstone.errors import UsageError
from ragstone.judges.local.files import library

OVERLAP = 4
"""A window repeats the last sentence of the one before if it takes at most a 4th of the room, so
that statements over two neighboring sentences are in one window."""
Token: TypeAlias = tuple[int, int, int]
"""A token of the claim: its number among all tokens, and its characters in the claim."""


@dataclass(frozen=True)
class Span:
    """A sentence of a context, or a part of one that is too long.

    Attributes:
        context: the number of the context, from 0; `start` and `end` are characters in it.
        tokens: its tokens, and those before the next sentence.
    """

    context: int
    start: int
    end: int
    tokens: int


@dataclass(frozen=True)
class Window:
    """Neighboring spans, of one context or several, and their text."""

    spans: tuple[Span, ...]
    text: str


def split_spans(
    contexts: Sequence[str], starts: Callable[[str], Sequence[int]], room: int
) -> list[Span]:
    """Cut contexts between sentences, and sentences of more than `room` tokens inside.

    `starts` returns where the tokens of a text begin. Many tokenizers have tokens for spaces and
    new lines; those between two sentences count for the first one.
    """
    found: list[Span] = []
    for number, context in enumerate(contexts):
        begins = starts(context)
        sentences = split_sentences(context)
        following = [*(each.start for each in sentences), len(context)][1:]
        for sentence, after in zip(sentences, following, strict=True):
            first, last = (bisect_left(begins, at) for at in (sentence.start, sentence.end))
            cuts = [sentence.start, *begins[first + room : last : room], sentence.end]
            tokens = bisect_left(begins, after) - first
            found += [
                Span(number, start, end, max(1, min(room, tokens - n * room)))
                for n, (start, end) in enumerate(pairwise(cuts))
            ]
    return found


def make_windows(
    contexts: Sequence[str], spans: Sequence[Span], room: int, *, join: bool
) -> list[Window]:
    """Join spans to windows of at most `room` tokens, in order, with some overlap.

    Only with `join` does a window have spans of several contexts.
    """
    groups = [spans]
    if not join:
        groups = [list(own) for _, own in groupby(spans, key=lambda each: each.context)]
    parts = (part for group in groups for part in _parts(group, room))
    return [Window(part, _text(contexts, part)) for part in parts]


def split_window(
    contexts: Sequence[str], window: Window, starts: Callable[[str], Sequence[int]]
) -> list[Window]:
    """Cut a window before its last span; one of a single span between tokens in its middle.

    The second window repeats a short span of the first, like neighboring windows. The list is
    empty if there is nothing left to cut.
    """
    *before, last = window.spans
    if before:
        room = sum(each.tokens for each in window.spans)
        again = len(before) > 1 and _is_repeated(before[-1], last, room)
        parts = [tuple(before), (before[-1], last) if again else (last,)]
        return [Window(part, _text(contexts, part)) for part in parts]
    begins = starts(window.text)
    middle = last.start + (begins[len(begins) // 2] if begins else 0)
    if not last.start < middle < last.end:
        return []
    tokens = -(-last.tokens // 2)
    halves = pairwise((last.start, middle, last.end))
    cut = [Span(last.context, start, end, tokens) for start, end in halves]
    return [Window((each,), _text(contexts, (each,))) for each in cut]


def _parts(spans: Sequence[Span], room: int) -> Iterator[tuple[Span, ...]]:
    part: list[Span] = []
    left = room
    for span in spans:
        line = int(bool(part) and part[-1].context != span.context)  # a new line between contexts
        if part and span.tokens + line > left:
            yield tuple(part)
            part = [part[-1]] if _is_repeated(part[-1], span, room) else []
            left = room - sum(each.tokens for each in part)
            line = int(bool(part) and part[-1].context != span.context)
        left -= span.tokens + line
        part.append(span)
    if part:
        yield tuple(part)


def _is_repeated(last: Span, span: Span, room: int) -> bool:
    is_short = last.tokens <= room // OVERLAP and last.tokens + span.tokens <= room
    return is_short and last.context == span.context


def _text(contexts: Sequence[str], part: Sequence[Span]) -> str:
    lines: list[str] = []
    for number, group in groupby(part, key=lambda each: each.context):
        own = list(group)
        lines.append(contexts[number][own[0].start : own[-1].end])
    return "\n".join(lines)


@dataclass(frozen=True)
class Pair:
    """A context window and a claim.

    Attributes:
        ids: the token ids, with the model's special tokens.
        types: the number of each token's text, for models that use it.
        claim: the tokens of the claim.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    claim: tuple[Token, ...]


class PairEncoder:
    """Encodes pairs with the model's tokenizer, with a `template` as one text.

    Attributes:
        padding: the id that fills up the pairs of a batch.
    """

    def __init__(self, tokenizer: Path, template: str | None, name: str) -> None:
        tokenizers = library("tokenizers", name)
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the library has no errors of its own
            raise UsageError(f"local:{name}: {tokenizer} is not a tokenizer: {error}") from error
        places = ("{context}", "{claim}")
        if template is not None and [template.count(each) for each in places] != [1, 1]:
            raise UsageError(
                f"local:{name}: the template must have {{context}} and {{claim}}, once each"
            )
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._template = template
        known = map(self._tokenizer.token_to_id, ("[PAD]", "<pad>", "<|pad|>"))
        self.padding = next((number for number in known if number is not None), 0)

    def starts(self, text: str) -> list[int]:
        return [
            start for start, _ in self._tokenizer.encode(text, add_special_tokens=False).offsets
        ]

    def pair(self, context: str, claim: str) -> Pair:
        if self._template is None:
            encoded = self._tokenizer.encode(context, claim)
            places = enumerate(zip(encoded.sequence_ids, encoded.offsets, strict=True))
            tokens = [(n, start, end) for n, (text, (start, end)) in places if text == 1]
        else:
            before, _, after = self._template.partition("{claim}")
            before, after = (part.replace("{context}", context) for part in (before, after))
            encoded = self._tokenizer.encode(f"{before}{claim}{after}")
            begin, end = len(before), len(before) + len(claim)
            tokens = [
                (n, max(0, start - begin), min(stop, end) - begin)
                for n, (start, stop) in enumerate(encoded.offsets)
                if start < end and stop > begin and stop > start
            ]
        return Pair(tuple(encoded.ids), tuple(encoded.type_ids), tuple(tokens))
