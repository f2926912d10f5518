"""UnaskedLocal: stands for a local model in a dry run; it is looked for, and never run."""

from typing import TypeVar

from ragstone.claims import Label, Verdict
from ragstone.errors import QuestionNotSupportedError
from ragstone.exchanges import Reply
from ragstone.judges.base import Judge
from ragstone.judges.entailment.hub import ModelNotDownloadedError
from ragstone.judges.entailment.judge import KINDS, EntailmentJudge
from ragstone.judges.entailment.libraries import library
from ragstone.judges.entailment.settings import LocalSettings
from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.tokens import estimated_tokens
from ragstone.questions import ExtractClaims, Question, VerifyClaims
from ragstone.usage import NOTHING_SPENT, Usage

T = TypeVar("T")


def check_local(name: str, settings: LocalSettings, *, offline: bool) -> None:
    """See that a local model could be used: its files, its labels, and the extra.

    Nothing is loaded. Of a hub's model that is to be downloaded first only the name is looked at.

    Raises:
        UsageError: it could not.
    """
    library("onnxruntime", name)
    try:
        EntailmentJudge(name, settings, offline=True)
    except ModelNotDownloadedError:
        if offline:
            raise


class UnaskedLocal(Judge):
    """Answers as a local model might, each verdict with the `confidence` that is assumed."""

    kinds = KINDS

    def __init__(self, name: str, *, confidence: float) -> None:
        self.name = name
        self._confidence = confidence

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer with a guess; it costs nothing.

        Raises:
            QuestionNotSupportedError: such a model does not answer that kind of question.
        """
        value, usage = self._guessed(question)
        return question.reply(value, usage)

    def _guessed(self, question: object) -> tuple[object, Usage]:
        if isinstance(question, VerifyClaims):
            verdict = Verdict(label=Label.NOT_ENOUGH_INFO, confidence=self._confidence)
            contexts = sum(map(estimated_tokens, question.contexts))
            tokens = sum(contexts + estimated_tokens(claim) for claim in question.claims)
            usage = Usage(local_calls=int(bool(question.claims)), local_tokens=tokens)
            return (verdict,) * len(question.claims), usage
        if isinstance(question, ExtractClaims):
            return extract_claims(question.response), NOTHING_SPENT
        raise QuestionNotSupportedError(
            f"the judge {self.name} tells only whether contexts back a claim"
        )
