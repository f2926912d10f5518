"""The assertions of a configuration, as metrics and settings, and how they are evaluated."""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypedDict, Unpack, cast

from ragstone._internal.rate_limit import Budget
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.runner import Evaluation, evaluate
from ragstone.integrations.promptfoo.legacy import legacy_judge
from ragstone.judges.base import Judge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.judges.router import RouterJudge
from ragstone.metrics import select
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.gate import reaches
from ragstone.types.policy import preset
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

RECALL = "context-recall"
"""The assertion type whose value is the expected answer."""
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "context-faithfulness": "faithfulness",
        RECALL: "context_recall",
        "context-relevance": "context_relevance",
        "answer-relevance": "response_relevancy",
    }
)
"""Assertion type -> our equivalent metric."""
WITH_THRESHOLD = ("context-faithfulness", RECALL)
"""Types whose metric has a threshold parameter; other thresholds are compared separately."""
ASSERTION = ("type", "value", "threshold", "grading", "provider", "metric")
"""Keys of an assertion. `metric` is a display name and affects no score."""
_OURS = frozenset(METRICS.values())

VARIABLE = "PROMPTFOO_RAGAS_FAITHFULNESS"
RETRIES = 1
"""Retries in RAGAS mode, unless `maxRetries` is set."""

Thing = Mapping[str, object]
NOTHING: Thing = MappingProxyType({})
NO_CONFIG = Config()


@dataclass(frozen=True)
class AssertRequirements:
    """What the assertions of a configuration measure, and how.

    Attributes:
        metrics: names as `--metric` takes them, with their thresholds.
        thresholds: metric without a threshold parameter -> the score it must reach.
        settings: fields of the plan, and `preset`.
        ragas: whether RAGAS mode is on; otherwise faithfulness is promptfoo's own.
        notes: differences from promptfoo, and settings without effect.
    """

    metrics: tuple[str, ...]
    thresholds: Mapping[str, float]
    settings: Mapping[str, object]
    ragas: bool
    notes: tuple[str, ...]

    def over(self, config: Config = NO_CONFIG) -> Config:
        """Return the settings merged over those of a `ragstone.yaml` and its preset."""
        said = dict(self.settings)
        named = said.pop("preset", None)
        filled = {**preset(str(named)), **said} if named else said
        settings = {**config.settings, **filled, "metrics": self.metrics}
        return replace(config, settings=MappingProxyType(settings), preset=None)

    def failing(self, scores: Mapping[str, Score]) -> list[str]:
        """Return the metrics that fail a test; in promptfoo, one is enough.

        Undefined, failed and imputed scores never pass.
        """
        asserted = {full: score for full, score in scores.items() if _bare(full) in _OURS}
        return [
            full
            for full, score in asserted.items()
            if score.value is None
            or score.fallback
            or score.passed is False
            or not reaches(score.value, self.thresholds.get(_bare(full), score.value))
        ]


def _bare(metric: str) -> str:
    return re.split("[:,@]", metric, maxsplit=1)[0]


def part(of: Thing, name: str) -> Thing:
    """Return a mapping inside a mapping; empty if it is missing."""
    found = of.get(name)
    return cast("Thing", found) if isinstance(found, Mapping) else NOTHING


def demands_of(assertions: Sequence[Thing], *, whole: Thing, grader: object) -> AssertRequirements:
    """Read one test's assertions; `whole` is the configuration, `grader` the test's own provider.

    Raises:
        UsageError: an assertion is unsupported or invalid.
    """
    ours = [one for one in assertions if _kind(one) in METRICS]
    if not ours:
        names = ", ".join(METRICS)
        raise UsageError(f"none of the assertions can be scored; supported types: {names}")
    others = sorted({_kind(one) for one in assertions} - METRICS.keys())
    notes = [f"assertions of type {name} are not supported and were skipped" for name in others]
    notes += [
        f"{_kind(one)} is scored by ragstone's {METRICS[_kind(one)]}, not by promptfoo's own rule"
        for one in ours
        if _kind(one) != "context-faithfulness"
    ]
    for one in ours:
        if unknown := sorted(one.keys() - set(ASSERTION)):
            raise UsageError(f"{_kind(one)}: unsupported: {', '.join(unknown)}")
    asking = _asking(ours, whole)
    ragas = asking.get("useRagas") is True or os.environ.get(VARIABLE, "").lower() in ("true", "1")
    said = next((one["provider"] for one in (asking, *ours) if one.get("provider")), grader)
    settings = {**(_ragas_mode(asking) if ragas else {"policy": "promptfoo"}), **_judge(said)}
    return AssertRequirements(
        metrics=tuple(dict.fromkeys(map(_metric, ours))),
        thresholds=_thresholds(ours),
        settings=settings,
        ragas=ragas,
        notes=tuple(dict.fromkeys(notes)),
    )


def expected_by(assertions: Sequence[Thing], at: str) -> str | None:
    """Return the expected answer (a template) of a test's context-recall, if it has one.

    Raises:
        UsageError: it is not a string, or two assertions expect different answers.
    """
    found = [one.get("value") for one in assertions if one.get("type") == RECALL]
    if any(value != found[0] for value in found):
        values = " and ".join(f"{value!r:.40}" for value in found)
        raise UsageError(
            f"{at}: two {RECALL} assertions expect different answers ({values}), but a sample has "
            "one reference; write one test for each"
        )
    value = found[0] if found else None
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{at}: the value of {RECALL} must be a string, got {value!r:.40}")
    return value


def _kind(assertion: Thing) -> str:
    kind = str(assertion.get("type"))
    if kind.removeprefix("not-") in METRICS and kind not in METRICS:
        raise UsageError(
            f"{kind}: promptfoo 0.121.20 does not negate this type; scores above the threshold "
            f"pass; write {kind.removeprefix('not-')}"
        )
    return kind


def _metric(assertion: Thing) -> str:
    kind, mark = _kind(assertion), _threshold(assertion)
    return (
        METRICS[kind]
        if mark is None or kind not in WITH_THRESHOLD
        else f"{METRICS[kind]},threshold={mark!r}"
    )


def _thresholds(ours: Iterable[Thing]) -> Mapping[str, float]:
    """Return the highest threshold of each metric without a threshold parameter."""
    found: dict[str, float] = {}
    for one in ours:
        mark, name = _threshold(one), METRICS[_kind(one)]
        if mark is not None and _kind(one) not in WITH_THRESHOLD:
            found[name] = max(mark, found.get(name, mark))
    return MappingProxyType(found)


def _threshold(assertion: Thing) -> float | None:
    mark = assertion.get("threshold")
    if mark is None:
        return None
    if isinstance(mark, bool) or not isinstance(mark, int | float):
        raise UsageError(f"{_kind(assertion)}: the threshold must be a number, got {mark!r}")
    return float(mark)


def _asking(ours: Iterable[Thing], whole: Thing) -> Thing:
    """Return the judge's settings: an assertion's `grading` over the global `ragas`."""
    gradings = [part(one, "grading") for one in ours if _kind(one) == "context-faithfulness"]
    if any(grading != gradings[0] for grading in gradings):
        raise UsageError("two context-faithfulness assertions of one test have different `grading`")
    return {**part(whole, "ragas"), **(gradings[0] if gradings else NOTHING)}


def _ragas_mode(asking: Thing) -> dict[str, object]:
    names = {"strictJson": "strict_json", "batchSize": "batch_size"}
    known = {ours: asking[theirs] for theirs, ours in names.items() if theirs in asking}
    return {"preset": "promptfoo-plan", "retries": asking.get("maxRetries", RETRIES), **known}


def _judge(said: object) -> dict[str, object]:
    """Return the settings of a grading provider; `text` is the default."""
    if said is None or said == "text":
        return {}
    if not isinstance(said, Mapping):
        return {"judge": _model(str(said))}
    given = cast("Thing", said)
    if "text" in given or "embedding" in given:
        embedding = _judge(given.get("embedding")).get("judge")
        return _judge(given.get("text")) | ({"embedding_model": embedding} if embedding else {})
    config = part(given, "config")
    names = {"apiBaseUrl": "base_url", "temperature": "temperature", "max_tokens": "max_tokens"}
    if unknown := sorted(config.keys() - names.keys() - {"apiKey"}):
        raise UsageError(
            f"the grading provider's {', '.join(unknown)} is not supported; supported: "
            f"{', '.join(names)}. Set keys in the environment, such as OPENAI_API_KEY"
        )
    settings = {ours: config[theirs] for theirs, ours in names.items() if theirs in config}
    return {"judge": _model(str(given.get("id"))), **settings}


def _model(said: str) -> str:
    """Return `openai:chat:gpt-4` as `openai:gpt-4`."""
    provider, *rest = said.split(":")
    model = rest[1:] if rest[:1] in (["chat"], ["embedding"], ["embeddings"]) else rest
    if len(model) != 1:
        raise UsageError(
            f"the grading provider {said!r} must be provider:model, such as openai:gpt-4"
        )
    return f"{provider}:{model[0]}"


LEGACY = "promptfoo"
"""The policy that prompts and parses like promptfoo 0.121.20 without RAGAS mode."""
CLAIMS = (ExtractClaims.kind, VerifyClaims.kind)


def asks_in_text(plan: Plan) -> bool:
    """Return whether a plan uses promptfoo's plain-text prompts."""
    metrics = select(plan.metrics, **plan.parameters)
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    return plan.policy == LEGACY and not kinds.isdisjoint(CLAIMS)


class ProgressOptions(TypedDict, total=False):
    """The options of `evaluate` that watch a run."""

    on_row: Callable[[Row, int], None]
    on_notice: Callable[[str], None]
    tracing: Tracing


def evaluate_tests(
    samples: Dataset | Sequence[Sample],
    plan: Plan,
    watched: ProgressOptions | None = None,
    **keeping: Unpack[StoreOptions],
) -> Run:
    """Evaluate samples by a plan, as `ragstone.evaluate` does.

    Under the policy `promptfoo`, claims use the plain-text prompts and parsing of promptfoo
    0.121.20; all other questions go to the plan's judge.

    Raises:
        UsageError: the plan cannot run; nothing was scored.
        RunInterruptedError: Ctrl-C; its `run` has the finished rows.
    """
    progress: ProgressOptions = watched or {}
    if not asks_in_text(plan):
        return evaluate(samples, plan=plan, **progress, **keeping)
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = _legacy_judges(plan, budget, progress.get("tracing", UNTRACED))
    unlimited = plan.model_copy(update={"max_calls": None, "max_cost": None})  # the judge counts
    made = Evaluation.of(samples, plan=unlimited, judge=judge, **progress, **keeping)
    return replace(made, budget=budget).run_in_thread()


def _legacy_judges(plan: Plan, budget: Budget, tracing: Tracing) -> Judge:
    text: Judge = legacy_judge(plan, budget, tracing)
    text = CachedJudge(text, REPLIES) if plan.cache else text
    asked = [metric.question_kinds for metric in select(plan.metrics, **plan.parameters)]
    others = make_judge(plan, asked=asked, budget=budget, tracing=tracing)
    return RouterJudge(dict.fromkeys(CLAIMS, text), others)
