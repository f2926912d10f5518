"""Making a judge of a plan: the model that is named, and the judges around it."""

from pathlib import Path

from ragstone.budget import Budget
from ragstone.caller import Limits
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
    names = [name.strip() for name in plan.judge.split(",")]
    budget = budget or Budget()
    if names == [OfflineJudge.name]:
        return OfflineJudge()
    members = [
        _one(name, plan, budget, vote, guess) for name in names for vote in range(1, plan.votes + 1)
    ]
    return members[0] if len(members) == 1 else PanelJudge(members)


def _one(name: str, plan: Plan, budget: Budget, vote: int, guess: Guess | None) -> Judge:
    if name == OfflineJudge.name:
        return OfflineJudge()
    judge = _llm_judge(name, plan, budget=budget, vote=vote, asked=guess is None)
    around: Judge = judge
    if guess:
        around = CountingJudge(judge, guess)
    elif plan.cache:
        around = CachedJudge(judge, REPLIES)
    return SplitJudge(around, context_window=plan.context_window)


def _llm_judge(name: str, plan: Plan, *, budget: Budget, vote: int, asked: bool) -> LlmJudge:
    provider, colon, model = name.partition(":")
    if not colon or not provider or not model:
        raise UnknownName(
            "judge", name, [OfflineJudge.name, *(f"{each}:..." for each in PROVIDERS)]
        )
    price = price_of(name, plan.base_url)
    if plan.max_cost is not None and price is None:
        raise UsageError(
            f"no price is known of {name}, so --max-cost cannot be kept; use --max-calls"
        )
    return LlmJudge(
        _model(provider, model, plan, budget) if asked else UnaskedModel(name),
        prompts={kind: Prompt.read(kind, Path(file)) for kind, file in plan.prompts.items()},
        strict_json=plan.strict_json,
        max_tokens=plan.max_tokens,
        price=price,
        budget=budget,
        vote=vote,
    )


def _model(provider: str, model: str, plan: Plan, budget: Budget) -> Model:
    limits = Limits(
        concurrency=plan.concurrency,
        retries=plan.retries,
        rpm=plan.rpm,
        tpm=plan.tpm,
        budget=budget,
    )
    if provider in PROVIDERS:
        return OpenAICompatibleModel(
            PROVIDERS[provider],
            model,
            limits=limits,
            timeout=plan.timeout,
            temperature=plan.temperature,
            base_url=plan.base_url,
        )
    return PydanticAiModel(
        provider,
        model,
        limits=limits,
        timeout=plan.timeout,
        temperature=plan.temperature,
        base_url=plan.base_url,
    )
