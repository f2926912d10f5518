"""Window: as much of the contexts as a model takes at once, whole sentences wherever they fit."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from ragstone._internal.sentences import split_sentences
from ragstone.errors import UsageError
from ragstone.judges.local.settings import library

OVERLAP = 4
"""A window repeats the last sentence of the one before if it takes no more than a 4th of the room:
what two neighbouring sentences say together is then said in one of them."""


@dataclass(frozen=True)
class Stretch:
    """A sentence of a context, or a part of one that is too long by itself.

    Attributes:
        context: the context's number, from 0; `start` and `end` are characters in it.
        tokens: what it takes, and what stands between it and the next.
    """

    context: int
    start: int
    end: int
    tokens: int


@dataclass(frozen=True)
class Window:
    """Neighbouring stretches, of one context or several, and their text."""

    stretches: tuple[Stretch, ...]
    text: str


def stretches_of(
    contexts: Sequence[str], starts: Callable[[str], Sequence[int]], room: int
) -> list[Stretch]:
    """Cut contexts between sentences, and sentences of more than `room` tokens within.

    `starts` tells where the tokens of a text begin. What stands between two sentences takes
    tokens of the first one: many tokenizers have some for blanks and lines.
    """
    found: list[Stretch] = []
    for number, context in enumerate(contexts):
        begins = starts(context)
        sentences = split_sentences(context)
        following = [*(each.start for each in sentences), len(context)][1:]
        for sentence, after in zip(sentences, following, strict=True):
            first, last = (bisect_left(begins, at) for at in (sentence.start, sentence.end))
            cuts = [sentence.start, *begins[first + room : last : room], sentence.end]
            tokens = bisect_left(begins, after) - first
            found += [
                Stretch(number, start, end, max(1, min(room, tokens - n * room)))
                for n, (start, end) in enumerate(pairwise(cuts))
            ]
    return found


def windows_of(
    contexts: Sequence[str], stretches: Sequence[Stretch], room: int, *, join: bool
) -> list[Window]:
    """Join stretches to windows of at most `room` tokens, in order, with some overlap.

    Those of several contexts are put into one window only with `join`.
    """
    texts = [stretches]
    if not join:
        by_context = groupby(stretches, key=lambda each: each.context)
        texts = [list(own) for _, own in by_context]
    parts = (part for text in texts for part in _parts(text, room))
    return [Window(part, _text(contexts, part)) for part in parts]


def halves_of(
    contexts: Sequence[str], window: Window, starts: Callable[[str], Sequence[int]]
) -> list[Window]:
    """Cut a window before its last stretch, one of a lone stretch between tokens in its middle.

    The second window repeats a short stretch of the first, as neighbours do. There is none where
    nothing is left to cut.
    """
    *before, last = window.stretches
    if before:
        room = sum(each.tokens for each in window.stretches)
        again = len(before) > 1 and _repeated(before[-1], last, room)
        parts = [tuple(before), (before[-1], last) if again else (last,)]
        return [Window(part, _text(contexts, part)) for part in parts]
    begins = starts(window.text)
    middle = last.start + (begins[len(begins) // 2] if begins else 0)
    if not last.start < middle < last.end:
        return []
    tokens = -(-last.tokens // 2)
    cut = [
        Stretch(last.context, *each, tokens) for each in pairwise((last.start, middle, last.end))
    ]
    return [Window((each,), _text(contexts, (each,))) for each in cut]


def _parts(stretches: Sequence[Stretch], room: int) -> Iterator[tuple[Stretch, ...]]:
    part: list[Stretch] = []
    left = room
    for stretch in stretches:
        if part and stretch.tokens + _line(part, stretch) > left:
            yield tuple(part)
            part = [part[-1]] if _repeated(part[-1], stretch, room) else []
            left = room - sum(each.tokens for each in part)
        left -= stretch.tokens + _line(part, stretch)
        part.append(stretch)
    if part:
        yield tuple(part)


def _line(part: Sequence[Stretch], stretch: Stretch) -> int:
    """Return the token that the line between two contexts may take."""
    return int(bool(part) and part[-1].context != stretch.context)


def _repeated(last: Stretch, stretch: Stretch, room: int) -> bool:
    """Tell whether the window that begins with a stretch repeats the one before it."""
    short = last.tokens <= room // OVERLAP and last.tokens + stretch.tokens <= room
    return short and last.context == stretch.context


def _text(contexts: Sequence[str], part: Sequence[Stretch]) -> str:
    """Return the stretches' text: as it stands within a context, a line a context."""
    lines: list[str] = []
    for number in dict.fromkeys(each.context for each in part):
        own = [each for each in part if each.context == number]
        lines.append(contexts[number][own[0].start : own[-1].end])
    return "\n".join(lines)


# Pair: a context window and a claim, as the numbers that a model takes.

Token: TypeAlias = tuple[int, int, int]
"""A token of the claim: its place among all tokens, and its characters' in the claim."""


class _Encoding(Protocol):
    ids: list[int]
    type_ids: list[int]
    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]


class _Tokenizer(Protocol):
    def encode(
        self, sequence: str, pair: str | None = None, *, add_special_tokens: bool = True
    ) -> _Encoding: ...

    def token_to_id(self, token: str) -> int | None: ...

    def no_padding(self) -> None: ...

    def no_truncation(self) -> None: ...


@dataclass(frozen=True)
class Pair:
    """A context window and a claim.

    Attributes:
        ids: the tokens' numbers, those that are the model's own included.
        types: which text each is of, as some models want to know.
        claim: the tokens of the claim.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    claim: tuple[Token, ...]


class Pairs:
    """Makes pairs, by the model's tokenizer; with a `template`, of one text with both in it.

    Attributes:
        padding: the number that fills up pairs of one batch.
    """

    def __init__(self, tokenizer: Path, template: str | None, name: str) -> None:
        found = library("tokenizers", name)
        try:
            made = found.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # the library raises nothing finer
            raise UsageError(f"local:{name}: {tokenizer} is no tokenizer: {error}") from error
        self._tokenizer = cast("_Tokenizer", made)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._template = template
        if (
            template is not None
            and not template.count("{context}") == template.count("{claim}") == 1
        ):
            raise UsageError(
                f"local:{name}: the template must have {{context}} and {{claim}}, once each"
            )
        known = map(self._tokenizer.token_to_id, ("[PAD]", "<pad>", "<|pad|>"))
        self.padding = next((number for number in known if number is not None), 0)

    def starts(self, text: str) -> list[int]:
        """Return where each token of a text begins."""
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [start for start, _ in found.offsets]

    def pair(self, context: str, claim: str) -> Pair:
        """Encode a context window and a claim."""
        if self._template is None:
            found = self._tokenizer.encode(context, claim)
            places = enumerate(zip(found.sequence_ids, found.offsets, strict=True))
            tokens = [(n, start, end) for n, (text, (start, end)) in places if text == 1]
            return Pair(tuple(found.ids), tuple(found.type_ids), tuple(tokens))
        before, _, after = self._template.partition("{claim}")
        before, after = (part.replace("{context}", context) for part in (before, after))
        found = self._tokenizer.encode(f"{before}{claim}{after}")
        tokens = _within(found.offsets, len(before), len(before) + len(claim))
        return Pair(tuple(found.ids), tuple(found.type_ids), tuple(tokens))


def _within(offsets: Sequence[tuple[int, int]], begin: int, end: int) -> list[Token]:
    return [
        (n, max(0, start - begin), min(stop, end) - begin)
        for n, (start, stop) in enumerate(offsets)
        if start < end and stop > begin and stop > start
    ]
