"""Running: samples evaluated in promptfoo's own way, where the policy is that, or in ours."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from ragstone.budget import Budget
from ragstone.datasets import Dataset
from ragstone.evaluation import Evaluation, evaluate
from ragstone.integrations.promptfoo.legacy_judge import legacy_judge
from ragstone.judges.base import Judge
from ragstone.judges.cached import CachedJudge
from ragstone.judges.making import REPLIES, make_judge
from ragstone.judges.route import RouteJudge
from ragstone.judges.tracing import UNTRACED, Tracing
from ragstone.keeping import Keeping
from ragstone.metrics import select
from ragstone.plan import Plan
from ragstone.questions import ExtractClaims, VerifyClaims
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.samples import Sample

LEGACY = "promptfoo"
"""The policy under which a judge is asked and read as promptfoo 0.121.20 does without RAGAS."""
CLAIMS = (ExtractClaims.kind, VerifyClaims.kind)


def asks_in_text(plan: Plan) -> bool:
    """Tell whether a plan has claims asked about in plain text."""
    metrics = select(plan.metrics, **plan.parameters)
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    return plan.policy == LEGACY and not kinds.isdisjoint(CLAIMS)


class Watched(TypedDict, total=False):
    """Who is told of a run while it goes on: these of `options.Options`."""

    on_row: Callable[[Row, int], None]
    on_notice: Callable[[str], None]
    tracing: Tracing


def evaluate_tests(
    samples: Dataset | Sequence[Sample],
    plan: Plan,
    watched: Watched | None = None,
    **keeping: Unpack[Keeping],
) -> Run:
    """Evaluate samples by a plan, as `ragstone.evaluate` does.

    Under the policy `promptfoo` claims are asked about in plain text, and read as promptfoo
    0.121.20 reads them; all other questions go to the judge that the plan names.

    Raises:
        UsageError: what was asked cannot be done; nothing was scored.
        RunInterruptedError: Ctrl-C; its `run` holds the rows that were finished.
    """
    told: Watched = watched or {}
    if not asks_in_text(plan):
        return evaluate(samples, plan=plan, **told, **keeping)
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = _judge(plan, budget, told.get("tracing", UNTRACED))
    unlimited = plan.model_copy(update={"max_calls": None, "max_cost": None})  # the judge counts
    made = Evaluation.of(samples, plan=unlimited, judge=judge, **told, **keeping)
    return replace(made, budget=budget).finished()


def _judge(plan: Plan, budget: Budget, tracing: Tracing) -> Judge:
    text: Judge = legacy_judge(plan, budget, tracing)
    text = CachedJudge(text, REPLIES) if plan.cache else text
    asked = [metric.question_kinds for metric in select(plan.metrics, **plan.parameters)]
    others = make_judge(plan, asked=asked, budget=budget, tracing=tracing)
    return RouteJudge(dict.fromkeys(CLAIMS, text), others)
