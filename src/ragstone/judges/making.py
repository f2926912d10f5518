"""Making a judge of a plan: the model that is named, and the judges around it."""

from dataclasses import dataclass, field
from pathlib import Path

from ragstone.budget import Budget
from ragstone.caller import Caller, Limits
from ragstone.errors import UnknownName, UsageError
from ragstone.judges.base import Judge
from ragstone.judges.cached import CachedJudge
from ragstone.judges.counting import CountingJudge, Guess, UnaskedModel
from ragstone.judges.llm import LlmJudge
from ragstone.judges.models.base import Model
from ragstone.judges.models.openai_compatible import OpenAICompatibleModel
from ragstone.judges.models.prices import price_of
from ragstone.judges.models.providers import PROVIDERS
from ragstone.judges.models.pydantic_ai import PydanticAiModel
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.panel import PanelJudge
from ragstone.judges.prompts.prompt import Prompt
from ragstone.judges.split import SplitJudge
from ragstone.plan import Plan

REPLIES = Path(".ragstone") / "replies.db"
"""Where replies are kept, in the working folder."""


def make_judge(plan: Plan, *, budget: Budget | None = None, guess: Guess | None = None) -> Judge:
    """Return the judge that a plan names, with all that the plan wants around it.

    With a `guess` it asks nobody: it counts what asking would take.

    Raises:
        UsageError: a name stands for nothing, or a key, an extra or a price is missing.
        InputError: a prompt of the user's own is none.
    """
    if plan.embedding_model is not None:
        raise UsageError(
            f"--embedding-model {plan.embedding_model}: no metric of this version asks for "
            "embeddings; leave it out"
        )
    names = [name.strip() for name in plan.judge.split(",")]
    if names == [OfflineJudge.name]:
        return OfflineJudge()
    providers = {name.partition(":")[0] for name in names} - {OfflineJudge.name}
    if plan.base_url is not None and len(providers) > 1:
        raise UsageError(
            f"--base-url {plan.base_url} can be the place of one provider; {plan.judge} names "
            f"{len(providers)}. Say the places by their environment variables"
        )
    maker = _Maker(plan, budget or Budget(), guess)
    members = [maker.judge(name, vote) for name in names for vote in range(1, plan.votes + 1)]
    return members[0] if len(members) == 1 else PanelJudge(members)


@dataclass(frozen=True)
class _Maker:
    """Makes the judges of one run: they share its budget, and those of one provider its limits."""

    plan: Plan
    budget: Budget
    guess: Guess | None
    callers: dict[str, Caller] = field(default_factory=dict[str, Caller])

    def judge(self, name: str, vote: int) -> Judge:
        """Make one judge, and those around it."""
        if name == OfflineJudge.name:
            return OfflineJudge()
        judge = self._llm(name, vote)
        around: Judge = judge
        if self.guess:
            around = CountingJudge(judge, self.guess)
        elif self.plan.cache:
            around = CachedJudge(judge, REPLIES)
        return SplitJudge(around, context_window=self.plan.context_window)

    def _llm(self, name: str, vote: int) -> LlmJudge:
        plan = self.plan
        provider, colon, model = name.partition(":")
        if not colon or not provider or not model:
            names = [OfflineJudge.name, *(f"{each}:..." for each in PROVIDERS)]
            raise UnknownName("judge", name, names)
        known = PROVIDERS.get(provider)
        price = price_of(name, known.said(plan.base_url) if known else plan.base_url)
        if plan.max_cost is not None and price is None:
            raise UsageError(
                f"no price is known of {name}, so --max-cost cannot be kept; use --max-calls"
            )
        return LlmJudge(
            UnaskedModel(name) if self.guess else self._model(provider, model),
            prompts={kind: Prompt.read(kind, Path(file)) for kind, file in plan.prompts.items()},
            strict_json=plan.strict_json,
            max_tokens=plan.max_tokens,
            price=price,
            budget=self.budget,
            vote=vote,
        )

    def _model(self, provider: str, model: str) -> Model:
        plan = self.plan
        if provider in PROVIDERS:
            return OpenAICompatibleModel(
                PROVIDERS[provider],
                model,
                caller=self._caller(provider),
                timeout=plan.timeout,
                temperature=plan.temperature,
                base_url=plan.base_url,
            )
        return PydanticAiModel(
            provider,
            model,
            caller=self._caller(provider),
            timeout=plan.timeout,
            temperature=plan.temperature,
            base_url=plan.base_url,
        )

    def _caller(self, provider: str) -> Caller:
        """Return what makes all calls to a provider, whichever judge and vote wants them."""
        if provider not in self.callers:
            limits = Limits(
                concurrency=self.plan.concurrency,
                retries=self.plan.retries,
                rpm=self.plan.rpm,
                tpm=self.plan.tpm,
                budget=self.budget,
            )
            self.callers[provider] = Caller(limits)
        return self.callers[provider]
