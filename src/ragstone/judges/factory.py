"""Making a judge of a plan: the model that is named, and the judges around it."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone._internal.text import public_url
from ragstone.errors import UnknownNameError, UsageError, nearest
from ragstone.judges.base import Judge
from ragstone.judges.batching import SplitJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.cascade import CascadeJudge
from ragstone.judges.dry_run import DryRunJudge, DryRunLocalJudge, DryRunModel, Guess, check_local
from ragstone.judges.embeddings import DryRunEmbedder, EmbeddingJudge
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.prompt import Prompt
from ragstone.judges.llm.providers.base import Model
from ragstone.judges.llm.providers.catalog import PROVIDERS
from ragstone.judges.llm.providers.openai import OpenAICompatibleModel
from ragstone.judges.llm.providers.pricing import Price, price_of
from ragstone.judges.llm.providers.pydantic_ai import EXTRAS, PydanticAiModel, check
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.settings import LocalSettings
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.offline.similarity import SimilarityJudge
from ragstone.judges.panel import PanelJudge
from ragstone.judges.router import RouterJudge
from ragstone.judges.spec import (
    CASCADE,
    LOCAL,
    JudgeSpec,
    cascaded,
    check_model,
    is_model,
    single_names,
    split_names,
    votes_of,
)
from ragstone.types.config import Plan
from ragstone.types.questions import TextSimilarity

REPLIES = Path(".ragstone") / "replies.db"
"""Where replies are kept, in the working folder."""

OPENAI, EMBEDDINGS = "openai", "text-embedding-3-small"
"""Who compares texts where the judge is OpenAI's own and nobody else is named."""


def make_judge(
    plan: Plan,
    *,
    asked: Iterable[Collection[str]] | None = None,
    budget: Budget | None = None,
    guess: Guess | None = None,
    tracing: Tracing = UNTRACED,
    replies: Path = REPLIES,
) -> Judge:
    """Return the judge that a plan names, with all that the plan wants around it.

    `asked` are the kinds of question that each metric asks; None is any. Texts are compared by a
    judge of its own, beside that judge: the one that the plan means where a metric that can run
    asks for it, else one that demands nothing, such as a key. With a `guess` it asks nobody, and
    counts what asking would take. `tracing` watches the models; `replies` is where theirs are kept.

    Raises:
        UsageError: a name stands for nothing, or a key, an extra or a price is missing.
        InputError: a prompt of the user's own is none.
    """
    names = split_names(plan.judge)
    maker = _Maker(plan, budget or Budget(), guess, tracing, replies)
    judge = maker.judges(names)
    if asked is None:
        return RouterJudge({TextSimilarity.kind: maker.comparing()}, judge)
    comparing = [
        set(kinds) - {TextSimilarity.kind} for kinds in asked if TextSimilarity.kind in kinds
    ]
    if not comparing:
        return judge
    can_run = any(all(map(judge.takes, others)) for others in comparing)
    return RouterJudge(
        {TextSimilarity.kind: maker.comparing() if can_run else SimilarityJudge()}, judge
    )


class _Maker:
    """Makes the judges of one run: they share its budget, and those of one provider its limits."""

    def __init__(
        self, plan: Plan, budget: Budget, guess: Guess | None, tracing: Tracing, replies: Path
    ) -> None:
        self.replies = replies
        self.plan, self.budget, self.guess, self.tracing = plan, budget, guess, tracing
        self.callers: dict[str, RetryingCaller] = {}
        self.locals: dict[str, EntailmentJudge] = {}
        models = list(filter(is_model, single_names(plan.judge)))
        list(map(check_model, models))
        self.providers = {name.partition(":")[0] for name in models}
        if plan.base_url is not None and len(self.providers) > 1:
            raise UsageError(
                f"--base-url {public_url(plan.base_url)} can be the place of one provider; "
                f"{plan.judge} names {len(self.providers)}. Say the places by their environment "
                "variables"
            )

    def judges(self, names: Sequence[str]) -> Judge:
        """Make the judge that the names stand for; several, or several votes, are a panel."""
        seen: Counter[str] = Counter()
        members: list[Judge] = []
        for name in votes_of(names, self.plan.votes):
            seen[name] += 1
            members.append(self.judge(name, vote=seen[name]))
        return members[0] if len(members) == 1 else PanelJudge(members)

    def judge(self, name: str, vote: int) -> Judge:
        """Make one judge, and those around it."""
        if name == OfflineJudge.name:
            return OfflineJudge()
        if pair := cascaded(name):
            return self._cascade(*pair, vote)
        if name.startswith(f"{LOCAL}:"):
            return self._local(name)
        judge = self._llm(name, vote)
        around = DryRunJudge(judge, self.guess) if self.guess else self._kept(judge)
        return SplitJudge(around, context_window=self.plan.context_window)

    def _cascade(self, cheap: str, dear: str, vote: int) -> Judge:
        return CascadeJudge(
            self.judge(cheap, vote),
            self.judge(dear, vote),
            threshold=self.plan.cascade_threshold,
            audit_rate=self.plan.cascade_audit_rate,
        )

    def _local(self, said: str) -> Judge:
        """Make a judge of a model on this machine: one, however often it is named."""
        name = JudgeSpec.of(said)
        settings = LocalSettings.of(name.options)
        if self.guess:
            check_local(name.model, settings, offline=self.plan.offline)
            return DryRunLocalJudge(
                settings.judge_name(name.model), confidence=self.guess.confidence
            )
        if said not in self.locals:
            offline = self.plan.offline
            self.locals[said] = EntailmentJudge(name.model, settings, offline=offline)
        return self._kept(self.locals[said])

    def _kept(self, judge: Judge) -> Judge:
        return CachedJudge(judge, self.replies) if self.plan.cache else judge

    def comparing(self) -> Judge:
        """Make the judge that compares texts."""
        plan = self.plan
        name = plan.embedding_model
        if name is not None:
            return self._embedding(name if ":" in name else f"{OPENAI}:{name}")
        if OPENAI in self.providers and PROVIDERS[OPENAI].said(plan.base_url) is None:
            return self._embedding(f"{OPENAI}:{EMBEDDINGS}")
        return SimilarityJudge()

    def _embedding(self, name: str) -> Judge:
        provider, _, model = name.partition(":")
        if provider not in PROVIDERS or not model or "," in model:
            raise UsageError(
                f"--embedding-model {name}: name one model as provider:model, such as "
                f"{OPENAI}:{EMBEDDINGS}, of {', '.join(PROVIDERS)}"
            )
        base_url = self.plan.base_url if self.providers <= {provider} else None
        price = self._price(name, PROVIDERS[provider].said(base_url))
        if self.guess:
            return EmbeddingJudge(DryRunEmbedder(name), price=price)
        embedder = OpenAICompatibleModel(
            PROVIDERS[provider],
            model,
            caller=self._caller(provider),
            timeout=self.plan.timeout,
            temperature=None,
            base_url=base_url,
            embeds=True,
        )
        watched = self.tracing.embedder(embedder)
        return self._kept(EmbeddingJudge(watched, price=price, budget=self.budget))

    def _price(self, name: str, place: str | None) -> Price | None:
        """Return the price of a model, which has to be known where the cost is limited."""
        price = price_of(name, place)
        if self.plan.max_cost is not None and price is None:
            at = f" at {public_url(place)}" if place else ""
            raise UsageError(
                f"no price is known of {name}{at}, so --max-cost cannot be kept; use --max-calls"
            )
        return price

    def _llm(self, name: str, vote: int) -> LlmJudge:
        plan = self.plan
        provider, colon, model = name.partition(":")
        services = [*PROVIDERS, *EXTRAS]
        if not colon and nearest(name, [OfflineJudge.name]):
            raise UnknownNameError("judge", name, [OfflineJudge.name])
        if not provider or not model:
            like = "openai:gpt-4o-mini" if provider in ("", *services) else f"openai:{provider}"
            raise UsageError(
                f"there is no judge named {name!r}; an LLM is named provider:model, such as "
                f"{like}; without one it is {OfflineJudge.name}"
            )
        if provider not in services and nearest(provider, names := [*services, CASCADE, LOCAL]):
            raise UnknownNameError("provider of models", provider, names)
        known = PROVIDERS.get(provider)
        price = self._price(name, known.said(plan.base_url) if known else plan.base_url)
        return LlmJudge(
            self._unasked(provider, model) if self.guess else self._model(provider, model),
            prompts={kind: Prompt.read(kind, Path(file)) for kind, file in plan.prompts.items()},
            strict_json=plan.strict_json,
            max_tokens=plan.max_tokens,
            price=price,
            budget=self.budget,
            vote=vote,
        )

    def _unasked(self, provider: str, model: str) -> Model:
        """Return what stands for a model; it needs no key, but its name and extra are checked."""
        if provider not in PROVIDERS:
            check(provider, model)
        return DryRunModel(f"{provider}:{model}")

    def _model(self, provider: str, model: str) -> Model:
        plan, known = self.plan, PROVIDERS.get(provider)
        own = partial(PydanticAiModel, provider)
        make = partial(OpenAICompatibleModel, known) if known else own
        made = make(
            model,
            caller=self._caller(provider),
            timeout=plan.timeout,
            temperature=plan.temperature,
            base_url=plan.base_url,
        )
        return self.tracing.model(made)

    def _caller(self, provider: str) -> RetryingCaller:
        """Return what makes all calls to a provider, whichever judge and vote wants them."""
        if provider not in self.callers:
            limits = Limits(
                concurrency=self.plan.concurrency,
                retries=self.plan.retries,
                rpm=self.plan.rpm,
                tpm=self.plan.tpm,
                budget=self.budget,
            )
            self.callers[provider] = RetryingCaller(limits)
        return self.callers[provider]
