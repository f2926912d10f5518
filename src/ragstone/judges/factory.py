"""make_judge: the judge of a plan, which makes no calls in a dry run."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone._internal.secrets import remember
from ragstone.errors import QuestionNotSupportedError, UnknownNameError, UsageError, nearest
from ragstone.judges import spec
from ragstone.judges.base import Judge, JudgeWrapper, RouterJudge
from ragstone.judges.batching import SplitJudge, estimated_tokens
from ragstone.judges.cache import CachedJudge
from ragstone.judges.embeddings import DryRunEmbedder, EmbeddingJudge, SimilarityJudge
from ragstone.judges.llm import model as llms
from ragstone.judges.llm.anthropic import ANTHROPIC, AnthropicModel
from ragstone.judges.llm.judge import SAME_FAILURES, LlmJudge, sentences_asked_for
from ragstone.judges.llm.openai import PROVIDERS, REASONING, OpenAICompatibleModel
from ragstone.judges.llm.prompt import Prompt
from ragstone.judges.local.judge import KINDS, EntailmentJudge
from ragstone.judges.local.model import LocalSettings, ModelNotDownloadedError, library
from ragstone.judges.offline import OfflineJudge, OfflineSettings
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.panel import PanelJudge
from ragstone.types import claim, questions
from ragstone.types.config import JudgePlan, Plan
from ragstone.types.reply import Reply, Usage

T = TypeVar("T")

_LEGACY = re.compile(r"(:|policy *= *)promptfoo-plan\b")


def reads_text(plan: Plan) -> bool:
    """Return whether the policy of a plan, or of one of its metrics, reads replies as text."""
    named = any(map(_LEGACY.search, (f":{plan.policy}", *plan.metrics)))
    return named and not plan.strict_json


@dataclass(frozen=True)
class Guess:
    """Assumptions about replies: claims per sentence, and tokens of an item."""

    claims: int
    verdict_tokens: int
    grade_tokens: int
    query_tokens: int


LEAST = Guess(claims=1, verdict_tokens=30, grade_tokens=20, query_tokens=10)
MOST = Guess(claims=2, verdict_tokens=120, grade_tokens=60, query_tokens=30)
"""The bounds of what a run should take."""


class DryRunModel(llms.Model):
    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def complete(self, prompt: llms.ModelPrompt) -> llms.Completion:
        raise AssertionError(f"a dry run called {self.name} with {prompt.user!r:.80}")


class DryRunJudge(JudgeWrapper):
    """Replaces an LLM judge: its replies are guesses, with the usage that the LLM might have."""

    def __init__(self, judge: LlmJudge, guess: Guess) -> None:
        super().__init__(judge)
        self._llm, self._guess = judge, guess

    async def answer(self, question: questions.Question[T]) -> Reply[T]:
        if (found := sentences_asked_for(question)) is not None:
            return question.reply(found)
        prompt = self._llm.prompt(question)
        value, completion_tokens = self._guessed(question)
        usage = Usage(
            calls=1,
            prompt_tokens=estimated_tokens(prompt.system + prompt.user),
            completion_tokens=completion_tokens,
        )
        return question.reply(value, self._llm.priced(usage, prompt))

    def _guessed(self, question: object) -> tuple[object, int]:
        guess = self._guess
        match question:
            case questions.ExtractClaims():
                claims = tuple(
                    claim.Claim(text=f"{statement.text} ({n})" if n else statement.text)
                    for statement in extract_claims(question.response)
                    for n in range(guess.claims)
                )
                if guess is MOST and not claims:  # a judge may take chatter for a claim
                    claims = (claim.Claim(text=question.response),)
                return claims, guess.claims * estimated_tokens(question.response) + 10
            case questions.VerifyClaims(claims=claims):
                verdict = claim.Verdict(label=claim.Label.NOT_ENOUGH_INFO)
                return [verdict] * len(claims), guess.verdict_tokens * len(claims)
            case questions.ExtractTruths():
                facts = [statement.text for statement in extract_claims(question.context)]
                tokens = guess.claims * estimated_tokens(question.context) + 10
                return facts[: question.limit], tokens
            case questions.Explain():
                return "", guess.verdict_tokens
            case questions.GradeContexts(contexts=texts):
                grades = [claim.Grade(relevant=True)] * len(texts)
                return grades, guess.grade_tokens * len(texts) + 10
            case questions.GradeSentences(sentences=texts):  # grades without reasons
                return [claim.Grade(relevant=True)] * len(texts), 12 * len(texts) + 10
            case questions.GenerateQueries():
                queries = tuple(f"query {n}" for n in range(1, question.count + 1))
                found = claim.GeneratedQueries(queries=queries, noncommittal=False)
                return found, guess.query_tokens * question.count + 15
            case questions.DetectAbstention():
                return False, 10
            case questions.FindAnswer():
                found = claim.FoundAnswer(found=guess is MOST)
                return found, guess.query_tokens + guess.verdict_tokens
            case questions.WriteQuestions():
                quotes = tuple(enumerate(question.passages, 1))
                numbers = range(question.count)
                drafts = [claim.DraftQuestion(query=f"query {n}", quotes=quotes) for n in numbers]
                return drafts, (guess.query_tokens + 2 * guess.verdict_tokens) * question.count
            case _:
                assert isinstance(question, questions.RateResponse), f"{question} has no guess"
                return claim.Rating(level=question.levels[0][0]), guess.verdict_tokens


class DryRunLocalJudge(Judge):
    kinds = KINDS

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, question: questions.Question[T]) -> Reply[T]:
        if isinstance(question, questions.ExtractClaims):
            return cast("Reply[T]", question.reply(extract_claims(question.response)))
        if not isinstance(question, questions.VerifyClaims):
            raise QuestionNotSupportedError(f"the judge {self.name} only verifies claims")
        verdict = claim.Verdict(label=claim.Label.NOT_ENOUGH_INFO)
        contexts = sum(map(estimated_tokens, question.contexts))
        tokens = sum(contexts + estimated_tokens(text) for text in question.claims)
        usage = Usage(local_calls=int(bool(question.claims)), local_tokens=tokens)
        return cast("Reply[T]", question.reply((verdict,) * len(question.claims), usage))


REPLIES = Path(".ragstone") / "replies.db"  # the reply cache, in the working folder

OPENAI, EMBEDDINGS = "openai", "text-embedding-3-small"  # for similarity, if the judge is OpenAI's


def make_judge(
    plan: Plan,
    *,
    asked: Iterable[Collection[str]] | None = None,
    budget: Budget | None = None,
    guess: Guess | None = None,
    replies: Path = REPLIES,
) -> Judge:
    """Return the judge of a plan; with a `guess` it makes no calls, and estimates the usage.

    `asked` are the kinds of question of each metric; None for any. Texts are compared by a judge
    of their own: the plan's, if a metric that can run needs it, else one without a key. `replies`
    is the cache if the plan names none.
    """
    remember(os.environ)
    maker = _Maker(plan, budget or Budget(), guess, replies)
    names = spec.split_names(plan.judge)
    models = [name for name in names if not spec.is_free(name)]
    # a judge without an LLM has one vote, because its votes would be equal
    votes = Counter[str]()
    members: list[Judge] = []
    for name in names + models * (plan.votes - 1):
        votes[name] += 1
        members.append(maker.judge(name, vote=votes[name]))
    judge = members[0] if len(members) == 1 else PanelJudge(members)
    kind = questions.TextSimilarity.kind
    if asked is None:
        return RouterJudge({kind: maker.similarity()}, judge)
    others = [set(kinds) - {kind} for kinds in asked if kind in kinds]
    if not others:
        return judge
    can_run = any(all(map(judge.takes, kinds)) for kinds in others)
    return RouterJudge({kind: maker.similarity() if can_run else SimilarityJudge()}, judge)


@dataclass
class _Maker:
    """Makes the judges of one run: they share its budget, and the limits of each provider."""

    plan: Plan
    budget: Budget
    guess: Guess | None
    replies: Path

    def __post_init__(self) -> None:
        plan = self.plan
        limits = Limits(
            concurrency=plan.concurrency,
            retries=plan.retries,
            first=SAME_FAILURES,
            rpm=plan.rpm,
            tpm=plan.tpm,
            budget=self.budget,
        )
        self.callers = defaultdict[str, RetryingCaller](lambda: RetryingCaller(limits))
        self.locals: dict[str, EntailmentJudge] = {}
        models = list(filter(spec.is_model, spec.split_names(plan.judge)))
        for name in models:
            spec.check_model(name)
        self.providers = {name.partition(":")[0] for name in models}
        if len(self.providers) > 1:
            shared = ("base_url", "judge_headers", "judge_body")
            given = [name for name in shared if getattr(plan, name)]
            if given:
                raise UsageError(
                    f"{', '.join(given)}: for one provider, but {plan.judge} names "
                    f"{len(self.providers)}; set their URLs with environment variables"
                )

    def judge(self, name: str, vote: int) -> Judge:
        plan, guess = self.plan, self.guess
        named = spec.JudgeSpec.of(name)
        if not named.provider and named.model == spec.OFFLINE:
            return OfflineJudge(OfflineSettings.of(named.options))
        if named.provider == spec.LOCAL:
            settings = LocalSettings.of(named.options)
            if guess:
                library("onnxruntime", named.model)
                with suppress(ModelNotDownloadedError):  # of such a model, its name is checked
                    EntailmentJudge(named.model, settings, download=False)
                local = settings.judge_name(f"{spec.LOCAL}:{named.model}")
                return DryRunLocalJudge(local)
            if name not in self.locals:  # one model, even if it is named twice
                self.locals[name] = EntailmentJudge(named.model, settings)
            return self._cached(self.locals[name])
        judge = self._llm(name, vote)
        inner = DryRunJudge(judge, guess) if guess else self._cached(judge)
        return SplitJudge(inner, context_window=plan.context_window)

    def similarity(self) -> Judge:
        plan, name = self.plan, self.plan.embedding_model
        if name is None:
            if OPENAI not in self.providers or PROVIDERS[OPENAI].custom_url(plan.base_url):
                return SimilarityJudge()
            name = EMBEDDINGS
        name = name if ":" in name else f"{OPENAI}:{name}"
        provider, _, model = name.partition(":")
        if provider not in PROVIDERS or not model or "," in model:
            raise UsageError(
                f"embedding_model {name}: specify one model as provider:model, such as "
                f"{OPENAI}:{EMBEDDINGS}; providers: {', '.join(PROVIDERS)}"
            )
        base_url = plan.base_url if self.providers <= {provider} else None
        price = llms.required_price(plan, name, PROVIDERS[provider].custom_url(base_url))
        if self.guess:
            return EmbeddingJudge(DryRunEmbedder(name), price=price)
        embedder = OpenAICompatibleModel(
            PROVIDERS[provider],
            model,
            caller=self.callers[provider],
            timeout=plan.timeout,
            temperature=None,
            base_url=base_url,
            embeds=True,
            headers=plan.judge_headers if self.providers <= {provider} else {},
        )
        return self._cached(EmbeddingJudge(embedder, price=price, budget=self.budget))

    def _llm(self, name: str, vote: int) -> LlmJudge:
        plan = self.plan
        provider, colon, model = name.partition(":")
        services = {**PROVIDERS, ANTHROPIC.name: ANTHROPIC}
        if not colon and nearest(name, [OfflineJudge.name]):
            raise UnknownNameError("judge", name, [OfflineJudge.name])
        if not provider or not model:
            like = "openai:gpt-4o-mini" if provider in ("", *services) else f"openai:{provider}"
            raise UsageError(
                f"there is no judge named {name!r}; name an LLM as provider:model, such as {like}, "
                f"or use {OfflineJudge.name}"
            )
        if provider not in services:
            names = [*services, spec.LOCAL]
            raise UnknownNameError("provider of models", provider, names)
        known = services[provider]
        price = llms.required_price(plan, name, known.custom_url(plan.base_url))
        if self.guess:  # needs no key
            llm: llms.Model = DryRunModel(name)
        else:
            connect = AnthropicModel if known is ANTHROPIC else OpenAICompatibleModel
            llm = connect(
                known,
                model,
                caller=self.callers[provider],
                timeout=plan.timeout,
                temperature=plan.temperature,
                base_url=plan.base_url,
                headers=plan.judge_headers,
                body=plan.judge_body,
            )
        return LlmJudge(
            llm,
            prompts={kind: Prompt.read(kind, Path(file)) for kind, file in plan.prompts.items()},
            legacy_text=reads_text(plan),
            max_tokens=plan.max_tokens,
            price=price,
            budget=self.budget,
            vote=vote,
            bounded=plan.max_tokens == JudgePlan().max_tokens and not REASONING.match(model),
            gives_up=plan.max_failure_rate < 1,
        )

    def _cached(self, judge: Judge) -> Judge:
        if not self.plan.cache:
            return judge
        return CachedJudge(judge, self.plan.reply_cache or self.replies, budget=self.budget)
