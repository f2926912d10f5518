"""Negations: one taken out, or put in, in the languages of which the words are here."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ragstone.judge_test.material import Material
from ragstone.judges.offline.languages import guess_language
from ragstone.judges.offline.words import split_forms

LONG, MORE = 6, 5
"""Words from which a claim tells its language by itself; claims beside it that are looked at."""

_HELPERS = "is|are|was|were|can|could|will|would|should|must|may|has been|have been"
_TAKEN_OUT = (
    (re.compile(rf"\b({_HELPERS}|does|do|did|has|have|had) not\b ?"), r"\1 "),
    (re.compile(r"\bcannot\b"), "can"),
    (re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan['’]t\b"), "can"),
    (re.compile(r"\b(ist|sind|war|waren|wird|werden|kann|können|hat|haben) nicht\b"), r"\1"),
    (re.compile(r"\bn(?:e |['’])(\w+) pas\b"), r"\1"),
    (re.compile(r"\bno (es|son|era|está|están|tiene|puede|pueden)\b"), r"\1"),
    (re.compile(r"\bnon (è|sono|era|ha|può|possono)\b"), r"\1"),
    (re.compile(r"\bnão (é|são|era|tem|pode|podem)\b"), r"\1"),
    (re.compile(r"\b(is|zijn|was|kan|kunnen|heeft|hebben) niet\b"), r"\1"),
    (re.compile(r"不(是|会|能|可以|需要)"), r"\1"),
)
_PUT_IN = (
    (re.compile(rf"\b({_HELPERS})\b(?! not)"), r"\1 not", "en"),
    (re.compile(r"\b(ist|sind|war|waren|wird|werden|kann|können)\b"), r"\1 nicht", "de"),
    (re.compile(r"\b(es|son|era|está|están|tiene|puede|pueden)\b"), r"no \1", "es"),
    (re.compile(r"(?<=\s)(è|sono|era|ha|può|possono)\b"), r"non \1", "it"),
    (re.compile(r"(?<=\s)(é|são|era|tem|pode|podem)\b"), r"não \1", "pt"),
    (re.compile(r"\b(is|zijn|was|kan|kunnen)\b"), r"\1 niet", "nl"),
    (re.compile(r"(?<!不)(是|会|能|可以)"), r"不\1", "zh"),
)
_DENIALS: Mapping[str, str] = MappingProxyType(
    {
        "en": "It is not true that ",
        "de": "Es stimmt nicht, dass ",
        "fr": "Il est faux que ",
        "es": "No es cierto que ",
        "it": "Non è vero che ",
        "pt": "Não é verdade que ",
        "nl": "Het is niet waar dat ",
        "ru": "Неверно, что ",
        "zh": "并非",
    }
)
"""Language -> what denies a sentence that follows; for those without a helping verb."""


def turn_negation(claim: str, material: Material) -> str | None:
    """Take a negation out, else put one in, else deny the whole."""
    for pattern, plain in _TAKEN_OUT:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    language = _language(claim, material)
    for pattern, denied, name in _PUT_IN:
        if name == language and pattern.search(claim):
            return pattern.sub(denied, claim, count=1)
    if language not in _DENIALS:
        return None
    begins = claim[:2]
    lower = begins[:1].lower() + claim[1:] if begins.istitle() or len(begins) < 2 else claim
    return _DENIALS[language] + lower


def _language(claim: str, material: Material) -> str:
    """Return the language of a claim; a short one is taken to be in that of the others."""
    text = claim
    if len(claim.split()) < LONG:
        text = " ".join((claim, *material.sentences[:MORE]))
    return guess_language(text, split_forms(text)).name
