"""Claims by sentence: the answer to a question that wants no model asked."""

from ragstone.claims import Claim
from ragstone.judges.offline.extraction import extract_claims
from ragstone.questions import ExtractClaims


def sentences_asked_for(question: object) -> tuple[Claim, ...] | None:
    """Return the claims of a question that wants sentences for claims; None for any other."""
    if isinstance(question, ExtractClaims) and question.by == "sentences":
        return extract_claims(question.response)
    return None
