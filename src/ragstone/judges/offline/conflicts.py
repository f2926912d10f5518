"""Conflicts: signs that a claim differs from the contexts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ragstone.judges.offline.figures import LEEWAY
from ragstone.judges.offline.matching import ClaimText, ContextIndex, Match, pieces_of
from ragstone.judges.offline.words import Language, opposites, stem

CONFLICTS = ("figure", "name", "negation", "opposite")
NEAR = 3
"""How many words on each side of a word are its neighbors."""
_BOUNDS = frozenset(map(stem, LEEWAY))


def find_conflicts(claim: ClaimText, match: Match, index: ContextIndex) -> Mapping[str, str]:
    """Return the kinds of conflict between a claim and its window, with how they differ.

    A figure or name that no context has is one too, with an empty text.
    """
    language = index.passages[index.places[match.first].context].language
    window = [each for place in range(match.first, match.last + 1) for each in index.stems[place]]
    found: dict[str, str] = {}
    if match.rival:
        number, stated = match.rival
        shown = claim.figures[number].shown
        found["figure"] = f"the claim says {shown}, but the text says {stated.shown}"
    else:
        for number, figure in enumerate(claim.figures):
            is_exact = figure.dimension or any(map(str.isdecimal, figure.shown))
            if is_exact and number not in match.anywhere:
                found["figure"] = ""
    if any(_is_missing(name, index) for name in claim.names - match.anywhere):
        found["name"] = ""
    mine = _negated(claim.stems, claim.language)
    for place in range(match.first, match.last + 1):
        stems = index.stems[place]
        theirs = _negated(stems, language)
        side, other, spoken = (
            ("claim", stems, language) if mine else ("text", claim.stems, claim.language)
        )
        if bool(mine) != bool(theirs) and spoken.denial_stems.isdisjoint(other):
            for negated in sorted((mine | theirs) & {*stems} & {*claim.stems}):
                found["negation"] = f"only the {side} negates {claim.shown(negated)!r}"
    is_denied = bool(mine) != bool(_negated(window, language))
    for each in () if is_denied else _reversed(claim, match, window):
        found["opposite"] = f"the claim says {claim.shown(each)!r}, the text says the opposite"
    return found


class Contradiction(NamedTuple):
    """What the probability of contradiction depends on, if there is evidence of one.

    Attributes:
        frame: the share of the words around the claim's figure that are around the stated one.
        is_year: 1 for a year, else 0: many events happen in several years.
    """

    frame: float
    is_year: float


def find_contradiction(
    claim: ClaimText, match: Match, index: ContextIndex, conflicts: Iterable[str]
) -> Contradiction | None:
    """Return the evidence that a figure contradicts the contexts; None without any.

    One sentence must have another figure in its place, no third one of that kind, and half of the
    claim's other words; no name may be missing, and neither figure rounded or a bound.
    """
    if not match.rival or match.first != match.last or "name" in conflicts:
        return None
    number, stated = match.rival
    figure = claim.figures[number]
    here = sum([claim.terms[term] for term in claim.content if term in match.here])
    if (
        sum(each.is_like(figure) for each in index.figures(match.first)) > 1
        or any(figure.leeway + stated.leeway)
        or 2 * here < sum([claim.terms[term] for term in claim.content])
    ):
        return None
    return Contradiction(match.frame, float(figure.is_year))


def _is_missing(name: str, index: ContextIndex) -> bool:
    """Return whether the contexts have no more than half of a name's pieces."""
    pieces = pieces_of(name)
    return 2 * sum(map(index.has_piece, pieces)) <= len(pieces)


def _negated(stems: Sequence[str], language: Language) -> set[str]:
    """Return the stems after a negation that have a topic, or those before if none is after."""
    content = [n for n, each in enumerate(stems) if each not in language.function_stems]
    found: set[str] = set()
    for number, each in enumerate(stems):
        following = stems[number + 1] if number + 1 < len(stems) else ""
        is_bound = following in _BOUNDS or following in language.denial_stems
        if each in language.negation_stems and not is_bound:  # `no more than`, `not only`
            after = [place for place in content if place > number][:1]
            found.update(stems[place] for place in after or content[-1:])
    return found


def _reversed(claim: ClaimText, match: Match, window: Sequence[str]) -> Iterator[str]:
    """Yield the claim's words for which the window has the opposite near a shared word."""
    mine = {*claim.stems}
    for here, each in enumerate(claim.stems):
        for other in opposites().get(each, ()) if each not in match.here else ():
            around = {*claim.stems[max(0, here - NEAR) : here + NEAR + 1]} & {*claim.content}
            places = [n for n, word in enumerate(window) if word == other and other not in mine]
            near = {word for n in places for word in window[max(0, n - NEAR) : n + NEAR + 1]}
            if around & near:
                yield each
