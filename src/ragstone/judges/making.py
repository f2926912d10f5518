"""Making a judge of a plan: the model that is named, and the judges around it."""

from collections import Counter
from pathlib import Path

from ragstone.budget import Budget
from ragstone.caller import Caller, Limits
from ragstone.errors import UnknownName, UsageError, nearest
from ragstone.judges.base import Judge
from ragstone.judges.cached import CachedJudge
from ragstone.judges.counting import CountingJudge, Guess, UnaskedModel
from ragstone.judges.llm import LlmJudge
from ragstone.judges.models.base import Model
from ragstone.judges.models.extras import EXTRAS
from ragstone.judges.models.openai_compatible import OpenAICompatibleModel
from ragstone.judges.models.prices import price_of
from ragstone.judges.models.providers import PROVIDERS
from ragstone.judges.models.pydantic_ai import PydanticAiModel
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.panel import PanelJudge
from ragstone.judges.prompts.prompt import Prompt
from ragstone.judges.split import SplitJudge
from ragstone.messages import public_url
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
            f"--base-url {public_url(plan.base_url)} can be the place of one provider; "
            f"{plan.judge} names {len(providers)}. Say the places by their environment variables"
        )
    maker = _Maker(plan, budget or Budget(), guess)
    seen: Counter[str] = Counter()
    members: list[Judge] = []
    for name in names * plan.votes:
        seen[name] += 1
        members.append(maker.judge(name, vote=seen[name]))
    return members[0] if len(members) == 1 else PanelJudge(members)


class _Maker:
    """Makes the judges of one run: they share its budget, and those of one provider its limits."""

    def __init__(self, plan: Plan, budget: Budget, guess: Guess | None) -> None:
        self.plan, self.budget, self.guess = plan, budget, guess
        self.callers: dict[str, Caller] = {}

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
        services = [*PROVIDERS, *EXTRAS]
        if not colon and nearest(name, [OfflineJudge.name]):
            raise UnknownName("judge", name, [OfflineJudge.name])
        if not provider or not model:
            like = "openai:gpt-4o-mini" if provider in ("", *services) else f"openai:{provider}"
            raise UsageError(
                f"there is no judge named {name!r}; an LLM is named provider:model, such as "
                f"{like}; without one it is {OfflineJudge.name}"
            )
        if provider not in services and nearest(provider, services):
            raise UnknownName("provider of models", provider, services)
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
