from ragstone.judges.llm.judge import sentences_asked_for
from ragstone.types.questions import ExtractClaims, VerifyClaims

BATTERY, CASE = "The battery lasts twenty hours.", "The case is made of metal."


def test_sentences_are_claims_only_where_they_are_asked_for() -> None:
    question = ExtractClaims(query="q", response=f"Sure! {BATTERY} {CASE}")
    assert sentences_asked_for(question) is None
    assert sentences_asked_for(VerifyClaims(claims=(), contexts=())) is None
    found = sentences_asked_for(question.varied(by="sentences")) or ()
    assert [claim.text for claim in found] == [BATTERY, CASE]
    assert [claim.span for claim in found] == [(6, 37), (38, 64)]
