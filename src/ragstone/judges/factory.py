"""make_judge: the judge of a plan, with its cache, batches, panel and cascade."""

import os
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone._internal.secrets import remember
from ragstone._internal.text import public_url
from ragstone.errors import UnknownNameError, UsageError, nearest
from ragstone.judges.base import Judge, RouterJudge
from ragstone.judges.batching import SplitJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.dry_run import DryRunJudge, DryRunLocalJudge, DryRunModel, Guess, check_local
from ragstone.judges.embeddings import DryRunEmbedder, EmbeddingJudge, SimilarityJudge
from ragstone.judges.llm.batches import DISCOUNT, BatchRun
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import UNTRACED, Model, Price, Tracing, price_of
from ragstone.judges.llm.openai import PROVIDERS, OpenAICompatibleModel
from ragstone.judges.llm.prompt import Prompt
from ragstone.judges.llm.pydantic_ai import EXTRAS, PydanticAiModel, provider_class
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.model import LocalSettings
from ragstone.judges.offline import OfflineJudge, OfflineSettings
from ragstone.judges.panel import CascadeJudge, PanelJudge
from ragstone.judges.spec import (
    CASCADE,
    LOCAL,
    OFFLINE,
    JudgeSpec,
    cascaded,
    check_model,
    is_free,
    is_model,
    single_names,
    split_names,
)
from ragstone.types.config import Plan
from ragstone.types.questions import TextSimilarity

REPLIES = Path(".ragstone") / "replies.db"
"""The reply cache, in the working folder."""

OPENAI, EMBEDDINGS = "openai", "text-embedding-3-small"
"""The default for text similarity if the judge is OpenAI's own."""


def make_judge(
    plan: Plan,
    *,
    asked: Iterable[Collection[str]] | None = None,
    budget: Budget | None = None,
    guess: Guess | None = None,
    tracing: Tracing = UNTRACED,
    replies: Path = REPLIES,
    batches: BatchRun | None = None,
) -> Judge:
    """Return the judge of a plan.

    `asked` are the kinds of question of each metric; None for any. Texts are compared by a judge
    of their own: the plan's, if a metric that can run needs it, else one without a key. With a
    `guess` no calls are made, and the usage is estimated. `replies` is the cache if the plan names
    none. With `batches`, LLMs are asked through batch APIs.
    """
    remember(os.environ)
    maker = _Maker(plan, budget or Budget(), guess, tracing, replies, batches)
    seen: Counter[str] = Counter()
    members: list[Judge] = []
    for repeat in range(plan.votes):
        for name in split_names(plan.judge):
            if not repeat or not is_free(name):  # without an LLM, votes would be equal
                seen[name] += 1
                members.append(maker.judge(name, vote=seen[name]))
    judge = members[0] if len(members) == 1 else PanelJudge(members)
    kind = TextSimilarity.kind
    if asked is None:
        return RouterJudge({kind: maker.similarity()}, judge)
    others = [set(kinds) - {kind} for kinds in asked if kind in kinds]
    if not others:
        return judge
    can_run = any(all(map(judge.takes, kinds)) for kinds in others)
    return RouterJudge({kind: maker.similarity() if can_run else SimilarityJudge()}, judge)


class _Maker:
    """Makes the judges of one run: they share its budget, and the limits of each provider."""

    def __init__(
        self,
        plan: Plan,
        budget: Budget,
        guess: Guess | None,
        tracing: Tracing,
        replies: Path,
        batches: BatchRun | None,
    ) -> None:
        self.plan, self.budget, self.guess, self.tracing = plan, budget, guess, tracing
        self.replies, self.batches = replies, batches
        self.callers: dict[str, RetryingCaller] = {}
        self.locals: dict[str, EntailmentJudge] = {}
        models = list(filter(is_model, single_names(plan.judge)))
        for name in models:
            check_model(name)
        self.providers = {name.partition(":")[0] for name in models}
        if plan.base_url is not None and len(self.providers) > 1:
            raise UsageError(
                f"--base-url {public_url(plan.base_url)} applies to one provider, and {plan.judge} "
                f"names {len(self.providers)}; set their URLs with environment variables"
            )

    def judge(self, name: str, vote: int) -> Judge:
        plan, guess = self.plan, self.guess
        spec = JudgeSpec.of(name)
        if not spec.provider and spec.model == OFFLINE:
            return OfflineJudge(OfflineSettings.of(spec.options))
        if pair := cascaded(name):
            return CascadeJudge(
                *(self.judge(each, vote) for each in pair),
                threshold=plan.cascade_threshold,
                audit_rate=plan.cascade_audit_rate,
            )
        if name.startswith(f"{LOCAL}:"):
            settings = LocalSettings.of(spec.options)
            if guess:
                check_local(spec.model, settings, offline=plan.offline)
                return DryRunLocalJudge(
                    settings.judge_name(name.partition(",")[0]), confidence=guess.confidence
                )
            if name not in self.locals:  # one model, even if it is named twice
                self.locals[name] = EntailmentJudge(spec.model, settings, offline=plan.offline)
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
                f"--embedding-model {name}: specify one model as provider:model, such as "
                f"{OPENAI}:{EMBEDDINGS}; providers: {', '.join(PROVIDERS)}"
            )
        base_url = plan.base_url if self.providers <= {provider} else None
        price = self._price(name, PROVIDERS[provider].custom_url(base_url))
        if self.guess:
            return EmbeddingJudge(DryRunEmbedder(name), price=price)
        embedder = OpenAICompatibleModel(
            PROVIDERS[provider],
            model,
            caller=self._caller(provider),
            timeout=plan.timeout,
            temperature=None,
            base_url=base_url,
            embeds=True,
        )
        traced = self.tracing.embedder(embedder)
        return self._cached(EmbeddingJudge(traced, price=price, budget=self.budget))

    def _llm(self, name: str, vote: int) -> LlmJudge:
        plan = self.plan
        provider, colon, model = name.partition(":")
        services = [*PROVIDERS, *EXTRAS]
        if not colon and nearest(name, [OfflineJudge.name]):
            raise UnknownNameError("judge", name, [OfflineJudge.name])
        if not provider or not model:
            like = "openai:gpt-4o-mini" if provider in ("", *services) else f"openai:{provider}"
            raise UsageError(
                f"there is no judge named {name!r}; name an LLM as provider:model, such as {like}, "
                f"or use {OfflineJudge.name}"
            )
        if provider not in services and nearest(provider, names := [*services, CASCADE, LOCAL]):
            raise UnknownNameError("provider of models", provider, names)
        known = PROVIDERS.get(provider)
        price = self._price(name, known.custom_url(plan.base_url) if known else plan.base_url)
        if self.batches:
            price = price and replace(price, share=DISCOUNT)
        if self.guess:  # needs no key, only the extra
            if not known:
                provider_class(name)
            llm: Model = DryRunModel(name)
        else:
            own = partial(PydanticAiModel, provider)
            connect = partial(OpenAICompatibleModel, known) if known else own
            llm = connect(
                model,
                caller=self._caller(provider),
                timeout=plan.timeout,
                temperature=plan.temperature,
                base_url=plan.base_url,
                batches=self.batches,
                vote=vote,
            )
            llm = self.tracing.model(llm)
        return LlmJudge(
            llm,
            prompts={kind: Prompt.read(kind, Path(file)) for kind, file in plan.prompts.items()},
            legacy_text=plan.policy == "promptfoo-plan" and not plan.strict_json,
            max_tokens=plan.max_tokens,
            price=price,
            budget=self.budget,
            vote=vote,
        )

    def _cached(self, judge: Judge) -> Judge:
        if not self.plan.cache:
            return judge
        path = Path(self.plan.reply_cache or self.replies)
        began = self.batches.began if self.batches else inf
        return CachedJudge(judge, path, paid_since=began, budget=self.budget)

    def _price(self, name: str, url: str | None) -> Price | None:
        price = price_of(name, url)
        if self.plan.max_cost is not None and price is None:
            at = f" at {public_url(url)}" if url else ""
            raise UsageError(
                f"the price of {name}{at} is unknown, so --max-cost cannot be enforced; use "
                "--max-calls"
            )
        return price

    def _caller(self, provider: str) -> RetryingCaller:
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
