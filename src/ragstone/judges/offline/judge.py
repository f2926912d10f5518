"""OfflineJudge: answers the questions that comparing words can answer, about as well as it can."""

from typing import TypeVar

from ragstone.errors import QuestionNotSupportedError
from ragstone.exchanges import Reply
from ragstone.judges.base import Judge
from ragstone.judges.offline.abstention import abstains
from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.offline.grades import grade_contexts
from ragstone.judges.offline.verdicts import verify_claims
from ragstone.questions import (
    DetectAbstention,
    ExtractClaims,
    GradeContexts,
    Question,
    VerifyClaims,
)

T = TypeVar("T")


class OfflineJudge(Judge):
    """Compares words; needs no model, key or network, and the same question has one answer.

    A claim is CONTRADICTED where a number, date, negation, opposite or name differs in a context,
    SUPPORTED where what its words come to there is likely to be support, else NOT_ENOUGH_INFO. How
    likely was learned of claims that people labelled (`training/offline_judge`). The confidence is
    that probability, or one minus it: where half of the claims are supported, 0.9 is right some
    nine times in ten, on English texts. A conflict that it names may be none (said of another
    subject, or the same in other words). What has the same meaning in other words is missed, and
    another meaning in the same words passes.
    A context is relevant where it supports a claim of the answer; a response abstains where it has
    a phrase for that and claims nothing. How alike texts are it does not tell: a LikenessJudge
    beside it does.
    """

    name = "offline"
    description = (
        "word-level: it compares words, numbers, dates, negations and names with the contexts, "
        "weighed as people's labels taught it; not a reader; it misses paraphrase and inference, "
        "and its confidence is calibrated on English texts of which 70 % of the claims hold"
    )
    kinds = frozenset(
        kind.kind for kind in (ExtractClaims, VerifyClaims, GradeContexts, DetectAbstention)
    )

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question at once, without waiting.

        Raises:
            QuestionNotSupportedError: words alone do not answer that kind of question.
        """
        return question.reply(self._value(question))

    def _value(self, question: Question[T]) -> object:
        if isinstance(question, ExtractClaims):
            return extract_claims(question.response)
        if isinstance(question, VerifyClaims):
            return verify_claims(question.claims, question.contexts)
        if isinstance(question, GradeContexts):
            return grade_contexts(question.answer, question.contexts)
        if isinstance(question, DetectAbstention):
            return abstains(question.response)
        raise QuestionNotSupportedError(
            f"the judge {self.name} compares words, and they do not answer {question.kind}: name "
            "another judge with --model or --judge"
        )
