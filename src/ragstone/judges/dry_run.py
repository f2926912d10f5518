"""DryRunJudge: asks nobody, answers as one might, and counts what asking would have taken."""

from dataclasses import dataclass
from typing import TypeVar

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge, JudgeWrapper
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.judge import LlmJudge, sentences_asked_for
from ragstone.judges.llm.providers.base import Completion, Model, ModelPrompt
from ragstone.judges.local.files import ModelNotDownloadedError
from ragstone.judges.local.judge import KINDS, EntailmentJudge
from ragstone.judges.local.settings import LocalSettings, library
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import Claim, GeneratedQueries, Grade, Label, Rating, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import NOTHING_SPENT, Reply, Usage

T = TypeVar("T")


@dataclass(frozen=True)
class Guess:
    """What is assumed of replies that nobody has given yet.

    Attributes:
        claims: claims that a sentence makes.
        verdict_tokens: what a verdict takes, with its reason and quote.
        grade_tokens: what a grade takes, with its reason.
        query_tokens: what a guessed query takes.
        confidence: what a judge that tells one is assumed to have.
    """

    claims: int
    verdict_tokens: int
    grade_tokens: int
    query_tokens: int
    confidence: float


LEAST = Guess(claims=1, verdict_tokens=30, grade_tokens=20, query_tokens=10, confidence=1.0)
MOST = Guess(claims=2, verdict_tokens=120, grade_tokens=60, query_tokens=30, confidence=0.0)
"""The two ends between which a run should lie."""


BARE_GRADE_TOKENS = 12
"""What a grade takes without a reason: a number and a word."""


class DryRunModel(Model):
    """Stands for a model that is never asked: it needs no key, no extra and no network."""

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete nothing."""
        raise AssertionError(f"{self.name} was asked {prompt.user!r:.80}, and nobody was to be")


class DryRunJudge(JudgeWrapper):
    """Stands in for an LLM judge: the usage of its replies is what theirs might be."""

    def __init__(self, judge: LlmJudge, guess: Guess) -> None:
        super().__init__(judge)
        self._llm, self._guess = judge, guess

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer with a guess.

        Raises:
            QuestionNotSupportedError: the judge within has no prompt for that kind of question.
        """
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self._llm.prompt(question)
        value, completion = self._answer(question)
        usage = Usage(
            calls=1,
            prompt_tokens=estimated_tokens(prompt.system + prompt.user),
            completion_tokens=completion,
        )
        return question.reply(value, self._llm.priced(usage, prompt, ""))

    def _answer(self, question: object) -> tuple[object, int]:
        guess = self._guess
        if isinstance(question, ExtractClaims):
            claims = tuple(
                Claim(text=f"{claim.text} ({n})" if n else claim.text)
                for claim in extract_claims(question.response)
                for n in range(guess.claims)
            )
            if guess is MOST and not claims:  # a judge may take chatter for a claim
                claims = (Claim(text=question.response),)
            return claims, guess.claims * estimated_tokens(question.response) + 10
        if isinstance(question, VerifyClaims):
            verdict = Verdict(label=Label.NOT_ENOUGH_INFO)
            return (verdict,) * len(question.claims), guess.verdict_tokens * len(question.claims)
        if isinstance(question, ExtractTruths):
            facts = [claim.text for claim in extract_claims(question.context)]
            return facts[: question.limit], guess.claims * estimated_tokens(question.context) + 10
        if isinstance(question, Explain):
            return "", guess.verdict_tokens
        return self._on_texts(question)

    def _on_texts(self, question: object) -> tuple[object, int]:
        guess = self._guess
        if isinstance(question, GradeContexts):
            due = len(question.contexts)
            return (Grade(relevant=True),) * due, guess.grade_tokens * due + 10
        if isinstance(question, GradeSentences):
            due = len(question.sentences)
            return (Grade(relevant=True),) * due, BARE_GRADE_TOKENS * due + 10
        if isinstance(question, GenerateQueries):
            queries = tuple(f"query {n}" for n in range(1, question.count + 1))
            said = GeneratedQueries(queries=queries, noncommittal=False)
            return said, guess.query_tokens * question.count + 15
        if isinstance(question, DetectAbstention):
            return False, 10
        assert isinstance(question, RateResponse), f"{question} has a prompt, and no guess"
        return Rating(level=question.levels[0][0]), guess.verdict_tokens


# DryRunLocalJudge: stands for a local model in a dry run; it is looked for, and never run.


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


class DryRunLocalJudge(Judge):
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
