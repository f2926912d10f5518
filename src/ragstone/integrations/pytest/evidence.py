"""Evidence of a claim: what its verdict quotes, or else the sentence that is most like it."""

from ragstone.claims import JudgedClaim, Texts
from ragstone.judges.offline.likeness import compare_texts
from ragstone.metrics.families.checks import Check
from ragstone.samples import Sample
from ragstone.sentences import split_sentences


def evidence_of(sample: Sample, claim: JudgedClaim) -> list[str]:
    """Return each quote with its place; where there is none, the sentence that is most like it."""
    if not claim.evidence:
        return [nearest(sample, claim)]
    found: list[str] = []
    for evidence in claim.evidence:
        doubt = "" if evidence.verified else " (the judge's quote; it does not stand there)"
        found.append(
            f"evidence in {_place(claim.against, evidence.context)}{doubt}: {evidence.quote}"
        )
    return found


def nearest(sample: Sample, claim: JudgedClaim) -> str:
    """Return the sentence that is most like a claim, with its place, of all it is held against."""
    check = Check("response", claim.against)
    sentences = [
        (number, sentence.text)
        for number, text in enumerate(check.sources(sample))
        for sentence in split_sentences(text)
    ]
    if not sentences:
        return check.no_sources_reason
    alike = compare_texts(claim.text, [text for _, text in sentences])
    best = max(range(len(alike)), key=alike.__getitem__)
    if not alike[best]:
        return f"nothing in the {claim.against} is like it"
    number, text = sentences[best]
    return f"nearest in {_place(claim.against, number)}: {text}"


def _place(against: Texts, number: int) -> str:
    return f"context {number + 1}" if against == "contexts" else f"the {against}"
