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
    DetectAbstention,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
    TextSimilarity,
)
from ragstone.questions.base import Question, adapter_of

__all__ = [
    "BATCH",
    "TEXTS",
    "DetectAbstention",
    "Explain",
    "ExtractClaims",
    "ExtractTruths",
    "GenerateQueries",
    "GradeContexts",
    "GradeSentences",
    "Question",
    "RateResponse",
    "TextSimilarity",
    "VerifyClaims",
    "adapter_of",
]
