"""What a judge can be asked: the few kinds of question there are."""

from ragstone.questions.about_claims import (
    BATCH,
    TEXTS,
    Explain,
    ExtractClaims,
    ExtractTruths,
    VerifyClaims,
)
from ragstone.questions.about_texts import (
    CompareTexts,
    DetectAbstention,
    GradeContexts,
    GradeSentences,
    GuessQueries,
    RateResponse,
)
from ragstone.questions.base import Question, adapter_of

__all__ = [
    "BATCH",
    "TEXTS",
    "CompareTexts",
    "DetectAbstention",
    "Explain",
    "ExtractClaims",
    "ExtractTruths",
    "GradeContexts",
    "GradeSentences",
    "GuessQueries",
    "Question",
    "RateResponse",
    "VerifyClaims",
    "adapter_of",
]
