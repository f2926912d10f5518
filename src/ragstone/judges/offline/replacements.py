"""Replacement: the one word of a short claim for which a sentence that says the rest has another.

`The phone is black`, where a context says that it is red. Only the first word, where both are
names by their capitals, and the last are looked at: a word between others has often the same
meaning in other words (of such claims, people call more supported than not), and so has a long
claim. Text without spaces between words has no words to compare so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragstone.judges.offline.spellings import is_same_spelt
from ragstone.judges.offline.stretches import Stretch, Stretches
from ragstone.judges.offline.synonyms import synonyms
from ragstone.judges.offline.terms import ClaimText, Term
from ragstone.judges.offline.windows import Window
from ragstone.judges.offline.words import Word, likeness

ALIKE = 0.8
SHORT = 8
"""The most terms of a claim that is short."""
LONGEST = 2
"""How many words in a row may be replaced, by as many: `dark red`, `New York`."""
BEST = 6
"""How many sentences are looked at, those first that hold most of the claim."""

_WITHIN = frozenset("-\u2010\u2011/'’\"“”„«»*_")
"""Marks that end no clause: those within a word, and those around one."""
_JOINING: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        name: frozenset(words.split())
        for name, words in {
            "en": "and or but",
            "de": "und oder aber sowie",
            "fr": "et ou mais",
            "es": "y e o u pero",
            "pt": "e ou mas",
            "it": "e ed o ma",
            "nl": "en of maar",
            "sv": "och og eller men",
            "pl": "i oraz lub albo ale a",
            "ru": "и или но а",
        }.items()
    }
)
"""Language -> its conjunctions, after which another phrase begins."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What a claim says, as it writes it, and what a sentence has in its place."""

    claimed: str
    stated: str

    @property
    def reason(self) -> str:
        """What differs, in words."""
        return f"the claim says {self.claimed!r} where the context says {self.stated!r}"


def find_replacement(
    claim: ClaimText,
    sentences: Mapping[int, Window],
    everywhere: Mapping[int, float],
    stretches: Stretches,
) -> Replacement | None:
    """Return what a sentence has in the place of something that no context says of a short claim.

    The sentence has every other term of the claim, in the same order.
    """
    lacking = [term for number, term in enumerate(claim.terms) if number not in everywhere]
    rest = len(claim.terms) - len(lacking)
    slot = _slot(claim, lacking)
    if slot is None or not rest or len(claim.terms) > SHORT:
        return None
    whole = [window for window in sentences.values() if len(window.found) == rest]
    for window in whole[:BEST]:
        stretch = stretches.of(window.first, window.last)
        if _has_order(claim, window, stretch):
            for stated in _stated(claim.words, slot, stretch):
                return Replacement(_shown(claim.words[slot.start : slot.stop]), _shown(stated))
    return None


def _slot(claim: ClaimText, lacking: Sequence[Term]) -> range | None:
    """Return the words' numbers if they are the claim's first word or its last with content."""
    places = [term.word for term in lacking if term.word is not None]
    if not places or len(places) < len(lacking) or len(places) > LONGEST:
        return None
    slot = range(places[0], places[-1] + 1)
    if len(slot) != len(places) or any(claim.words[place].gram for place in slot):
        return None
    after = (term.word is not None and term.word > slot[-1] for term in claim.terms)
    is_name = slot[0] == 0 and claim.words[0].is_capital
    return slot if is_name or not any(after) else None


def _has_order(claim: ClaimText, window: Window, stretch: Stretch) -> bool:
    """Tell whether a sentence has the claim's terms that it has in the claim's order."""
    forms = iter(word.form for word in stretch.words)
    places = [claim.terms[number].word for number in sorted(window.found)]
    mine = [claim.words[place].form for place in places if place is not None]
    return all(any(likeness(one, other) >= ALIKE for other in forms) for one in mine)


def _stated(mine: Sequence[Word], slot: range, stretch: Stretch) -> Iterator[Sequence[Word]]:
    """Yield what stands between the same words, in as many words, none of them the claim's."""
    theirs = stretch.words
    known = {word.form for word in mine}
    for begin in range(len(theirs) - len(slot) + 1):
        there = range(begin, begin + len(slot))
        held = theirs[there.start : there.stop]
        if (
            _stands_so(mine, slot, theirs, there)
            and (begin == 0 or slot[0] > 0)
            and held[0].is_capital == mine[slot[0]].is_capital
            and all(_has_content(word, stretch) and word.form not in known for word in held)
            and not _goes_on(stretch, there, is_last=slot[-1] == len(mine) - 1)
            and not _means_same(mine[slot[-1]], held[-1])
        ):
            yield held


def _stands_so(mine: Sequence[Word], slot: range, theirs: Sequence[Word], there: range) -> bool:
    """Tell whether the same word stands on both sides, or two on one at an end of the claim."""
    left = [_same(mine, slot[0] - step, theirs, there[0] - step) for step in (1, 2)]
    right = [_same(mine, slot[-1] + step, theirs, there[-1] + step) for step in (1, 2)]
    if slot[0] == 0:
        return right[0] and (right[1] or slot[-1] + 2 >= len(mine))
    if slot[-1] == len(mine) - 1:
        return left[0] and (left[1] or slot[0] < 2)
    return left[0] and right[0]


def _same(mine: Sequence[Word], here: int, theirs: Sequence[Word], there: int) -> bool:
    if not (0 <= here < len(mine) and 0 <= there < len(theirs)):
        return False
    return likeness(mine[here].form, theirs[there].form) >= ALIKE


def _goes_on(stretch: Stretch, there: range, *, is_last: bool) -> bool:
    """Tell whether what stands there is but the beginning of a phrase: `free` of `free of charge`.

    A claim's last word ends its clause; so has what is in its place, by a mark or a conjunction.
    """
    words = stretch.words
    if not is_last or there.stop == len(words):
        return False
    between = stretch.text[words[there[-1]].end : words[there.stop].start]
    is_joined = words[there.stop].form in _JOINING.get(stretch.language.name, ())
    return not is_joined and all(mark.isspace() or mark in _WITHIN for mark in between)


def _has_content(word: Word, stretch: Stretch) -> bool:
    language = stretch.language
    is_empty = word.form in language.function_words or word.form in language.negations
    return word.form.isalpha() and not is_empty


def _means_same(one: Word, other: Word) -> bool:
    known = synonyms().get(one.form, frozenset((one.form,)))
    return (
        any(likeness(word, other.form) >= ALIKE for word in known)
        or any(likeness(one.form, word) >= ALIKE for word in synonyms().get(other.form, ()))
        or is_same_spelt(one.form, other.form, is_name=one.is_capital)
    )


def _shown(words: Sequence[Word]) -> str:
    return " ".join(word.shown for word in words)
