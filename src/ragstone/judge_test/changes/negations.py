"""Negations: one taken out, or put in, in the languages of which the words are here."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ragstone.judge_test.capitals import WORD, language_in
from ragstone.judge_test.material import Material
from ragstone.judges.offline.languages import Language, language_of
from ragstone.judges.offline.words import split_forms

LONG, MORE = 6, 5
"""Words from which a claim tells its language alone; claims of its sample looked at else."""

_HELPERS = "is|are|was|were|can|could|will|would|should|must|may|has been|have been"
_ADVERB = r"\s+(?:also|still|\w+ly)"
_TAKEN_OUT = (
    (re.compile(rf"\b((?:{_HELPERS}|does|do|did|has|have|had)(?:{_ADVERB})?)\s+not\b"), r"\1"),
    (re.compile(r"\bcannot\b"), "can"),
    (re.compile(r"\b(is|are|was|were|could|would|should|does|do|did|has|have|had)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan['’]t\b"), "can"),
    (
        re.compile(
            r"\b((?:ist|sind|war|waren|wird|werden|kann|können|hat|haben)(?: \w+)?) nicht\b"
        ),
        r"\1",
    ),
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
_HARDLY = re.compile(r"\b(?:hardly|scarcely|barely)\b", re.IGNORECASE)
_NE = re.compile(r"\b(?:ne\s|n['’])", re.IGNORECASE)
"""French: `ne ... plus` denies, where `plus` alone is `more`; `ne` alone is `of it` in Italian."""
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
    """Take a negation out; where there is none, put one in, or deny the whole.

    None where there is one that cannot be taken out: a second one would tell nothing plainly.
    """
    for pattern, plain in _TAKEN_OUT:
        if pattern.search(claim):
            return pattern.sub(plain, claim, count=1)
    language = _language(claim, material)
    if _denied(claim, language):
        return None
    for pattern, denied, name in _PUT_IN:
        if name == language.name and pattern.search(claim):
            return pattern.sub(denied, claim, count=1)
    if language.name not in _DENIALS:
        return None
    return _DENIALS[language.name] + _continued(claim, material, language)


def _denied(claim: str, language: Language) -> bool:
    """Tell whether a claim has a negation, in its language or one that it may be in as well."""
    forms = set(split_forms(claim))
    if forms & language.negations or any(language.find_inside(claim)):
        return True
    if _HARDLY.search(claim) or (language.name == "fr" and _NE.search(claim)):
        return True
    return any(language_of(name).negations & forms for name in _DENIALS if not language.name)


def _continued(claim: str, material: Material, language: Language) -> str:
    """Return a claim as it stands within a sentence: its first word without the capital.

    A word that the sample's texts never have without one may be a name, and keeps it.
    """
    match = WORD.match(claim)
    if match is None or not match[0].istitle():
        return claim
    lower = match[0].lower()
    form = next(iter(split_forms(lower)), lower)
    known = lower in material.capitals.lowered or form in language.function_words
    return lower + claim[match.end() :] if known else claim


def _language(claim: str, material: Material) -> Language:
    """Return the language of a claim; a short one is taken to be in that of its sample."""
    text = claim
    if len(claim.split()) < LONG:
        text = " ".join((claim, *material.claims[:MORE]))
    return language_in(text)
