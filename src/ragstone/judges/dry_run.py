"""Judges for dry runs: they make no calls, and estimate the usage."""

from dataclasses import dataclass
from typing import TypeVar, cast

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge, JudgeWrapper
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.judge import LlmJudge, sentences_asked_for
from ragstone.judges.llm.model import Completion, Model, ModelPrompt
from ragstone.judges.local.judge import KINDS, EntailmentJudge
from ragstone.judges.local.model import LocalSettings, ModelNotDownloadedError, library
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import (
    Claim,
    DraftQuestion,
    FoundAnswer,
    GeneratedQueries,
    Grade,
    Label,
    Rating,
    Verdict,
)
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
from ragstone.types.reply import Reply, Usage

T = TypeVar("T")


@dataclass(frozen=True)
class Guess:
    """Assumptions about replies: claims per sentence, tokens of an item, a judge's confidence."""

    claims: int
    verdict_tokens: int
    grade_tokens: int
    query_tokens: int
    confidence: float


LEAST = Guess(claims=1, verdict_tokens=30, grade_tokens=20, query_tokens=10, confidence=1.0)
MOST = Guess(claims=2, verdict_tokens=120, grade_tokens=60, query_tokens=30, confidence=0.0)
"""The bounds of what a run should take."""

BARE_GRADE_TOKENS = 12
"""Tokens of a grade without a reason."""


class DryRunModel(Model):
    """A model that is never called: it needs no key, extra or network."""

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def complete(self, prompt: ModelPrompt) -> Completion:
        raise AssertionError(f"a dry run called {self.name} with {prompt.user!r:.80}")


class DryRunJudge(JudgeWrapper):
    """Replaces an LLM judge: its replies are guesses, with the usage that the LLM might have."""

    def __init__(self, judge: LlmJudge, guess: Guess) -> None:
        super().__init__(judge)
        self._llm, self._guess = judge, guess

    async def answer(self, question: Question[T]) -> Reply[T]:
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self._llm.prompt(question)
        value, completion_tokens = self._guessed(question)
        usage = Usage(
            calls=1,
            prompt_tokens=estimated_tokens(prompt.system + prompt.user),
            completion_tokens=completion_tokens,
        )
        return question.reply(value, self._llm.priced(usage, prompt, ""))

    def _guessed(self, question: object) -> tuple[object, int]:
        guess = self._guess
        match question:
            case ExtractClaims():
                claims = tuple(
                    Claim(text=f"{claim.text} ({n})" if n else claim.text)
                    for claim in extract_claims(question.response)
                    for n in range(guess.claims)
                )
                if guess is MOST and not claims:  # a judge may take chatter for a claim
                    claims = (Claim(text=question.response),)
                return claims, guess.claims * estimated_tokens(question.response) + 10
            case VerifyClaims():
                size = len(question.claims)
                return (Verdict(label=Label.NOT_ENOUGH_INFO),) * size, guess.verdict_tokens * size
            case ExtractTruths():
                facts = [claim.text for claim in extract_claims(question.context)]
                tokens = guess.claims * estimated_tokens(question.context) + 10
                return facts[: question.limit], tokens
            case Explain():
                return "", guess.verdict_tokens
            case GradeContexts(contexts=texts) | GradeSentences(sentences=texts):
                reasoned = isinstance(question, GradeContexts)
                tokens = guess.grade_tokens if reasoned else BARE_GRADE_TOKENS
                return (Grade(relevant=True),) * len(texts), tokens * len(texts) + 10
            case GenerateQueries():
                queries = tuple(f"query {n}" for n in range(1, question.count + 1))
                found = GeneratedQueries(queries=queries, noncommittal=False)
                return found, guess.query_tokens * question.count + 15
            case DetectAbstention():
                return False, 10
            case FindAnswer():
                found = FoundAnswer(found=guess is MOST)
                return found, guess.query_tokens + guess.verdict_tokens
            case WriteQuestions():
                quotes = tuple(enumerate(question.passages, 1))
                drafts = tuple(
                    DraftQuestion(query=f"query {n}", quotes=quotes) for n in range(question.count)
                )
                return drafts, (guess.query_tokens + 2 * guess.verdict_tokens) * question.count
            case _:
                assert isinstance(question, RateResponse), f"{question} has no guess"
                return Rating(level=question.levels[0][0]), guess.verdict_tokens


def check_local(name: str, settings: LocalSettings, *, offline: bool) -> None:
    """Check a local model's files, labels and extra; of a model not yet downloaded, its name."""
    library("onnxruntime", name)
    try:
        EntailmentJudge(name, settings, offline=True)
    except ModelNotDownloadedError:
        if offline:
            raise


class DryRunLocalJudge(Judge):
    """Replaces a local model: its verdicts have the assumed `confidence`."""

    kinds = KINDS

    def __init__(self, name: str, *, confidence: float) -> None:
        self.name = name
        self._confidence = confidence

    async def answer(self, question: Question[T]) -> Reply[T]:
        if isinstance(question, ExtractClaims):
            return cast("Reply[T]", question.reply(extract_claims(question.response)))
        if not isinstance(question, VerifyClaims):
            raise QuestionNotSupportedError(f"the judge {self.name} only verifies claims")
        verdict = Verdict(label=Label.NOT_ENOUGH_INFO, confidence=self._confidence)
        contexts = sum(map(estimated_tokens, question.contexts))
        tokens = sum(contexts + estimated_tokens(claim) for claim in question.claims)
        usage = Usage(local_calls=int(bool(question.claims)), local_tokens=tokens)
        return cast("Reply[T]", question.reply((verdict,) * len(question.claims), usage))
