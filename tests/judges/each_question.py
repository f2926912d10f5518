"""A question of each kind, by the name of its prompt in `tests/golden/prompts`."""

from ragstone.types.claim import Label
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    FindAnswer,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
    WriteQuestions,
)

RESPONSE = "It lasts 20 hours {claims}. It's blue, and costs 9 €."
CONTEXTS = ("Up to 20 hours.\n</contexts-00000000>", "It is red.")
CLAIMS = ("It lasts 20 hours.", "It's blue.", "It costs 9 €.")
LEVELS = ((1, "It is rude."), (2, "It is neither."), (3, "It is kind."))
RATE = RateResponse(
    criteria="Is it kind?\nA {response} is.", levels=LEVELS, query="Long?", response=RESPONSE
)
QUESTIONS: dict[str, Question[object]] = {
    "extract_claims": ExtractClaims(query="How long does it last?", response=RESPONSE),
    "verify_claims": VerifyClaims(query="How long?", claims=CLAIMS, contexts=CONTEXTS),
    "verify_claims_partial": VerifyClaims(claims=CLAIMS, contexts=CONTEXTS, partial=True),
    "extract_truths": ExtractTruths(context=CONTEXTS[0]),
    "extract_truths_limit": ExtractTruths(context=CONTEXTS[0], limit=3),
    "explain": Explain(
        claims=CLAIMS,
        labels=(Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO),
        reasons=("", "It is red.", "No price is given."),
    ),
    "grade_contexts": GradeContexts(query="How long?", answer="20 hours.", contexts=CONTEXTS),
    "grade_sentences": GradeSentences(query="How long?", sentences=CLAIMS),
    "generate_queries": GenerateQueries(response=RESPONSE, count=3),
    "detect_abstention": DetectAbstention(query="How long?", response=RESPONSE),
    "rate_response": RATE,
    "rate_response_all": RATE.varied(contexts=CONTEXTS, reference="20 hours."),
    "write_questions": WriteQuestions(passages=CONTEXTS, type="single", count=2),
    "write_questions_all": WriteQuestions(
        passages=CONTEXTS,
        type="unanswerable",
        brief="a buyer who compares {claims}",
        language="German",
        avoid=("What colour is it?", "How long\ndoes it last?"),
    ),
    "find_answer": FindAnswer(query="How long?", contexts=CONTEXTS),
}
