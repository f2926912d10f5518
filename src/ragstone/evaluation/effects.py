"""Settings without an effect on a run: each setting declares what it needs to have one."""

from collections.abc import Mapping, Sequence

from ragstone.errors import UsageError
from ragstone.judges.spec import (
    BATCH_PROVIDERS,
    LOCAL,
    cascaded,
    is_model,
    single_names,
    split_names,
)
from ragstone.metrics.base import Metric
from ragstone.targets.base import Target
from ragstone.types.config import SETTINGS, ClaimPlan, Need, Plan
from ragstone.types.questions import TextSimilarity


def check_judge_settings(named: Mapping[str, str], plan: Plan) -> None:
    needs = {flag: set(SETTINGS[name].needs) for name, flag in named.items()}
    flags = [flag for flag, need in needs.items() if need and need <= {"llm", "server", "paced"}]
    judged = any(map(is_model, single_names(plan.judge)))
    if flags and not judged and plan.embedding_model is None:
        raise UsageError(
            f"{', '.join(flags)}: only for LLM judges, but the judge is {plan.judge}; choose "
            "an LLM with --model"
        )
    flags = [flag for flag, need in needs.items() if need == {"cascade"}]
    if flags and not any(map(cascaded, split_names(plan.judge))):
        raise UsageError(
            f"{', '.join(flags)}: only for cascades, but the judge is {plan.judge}; use a "
            "cascade, such as --judge cascade:offline+openai:gpt-4o-mini"
        )


def has_batch_api(plan: Plan) -> bool:
    providers = {each.partition(":")[0] for each in filter(is_model, single_names(plan.judge))}
    return bool(providers) and providers.issubset(BATCH_PROVIDERS)


def in_batches(plan: Plan, metrics: Sequence[Metric]) -> bool:
    asked = {kind for metric in metrics for kind in metric.question_kinds} - {TextSimilarity.kind}
    if not (plan.batch_api and asked and any(map(is_model, single_names(plan.judge)))):
        return False
    if not has_batch_api(plan):
        known = " or ".join(f"{provider}:MODEL" for provider in BATCH_PROVIDERS)
        raise UsageError(
            f"--batch-api: ragstone supports no batch API of {plan.judge}; name {known}, or remove "
            "--batch-api"
        )
    if plan.workers > 1:
        raise UsageError("--batch-api waits for a provider, so --workers cannot help; remove it")
    if not plan.cache:
        raise UsageError("--batch-api collects replies in the reply cache; remove --no-cache")
    return True


def settings_without_effect(
    named: Mapping[str, str],
    plan: Plan,
    *,
    metrics: Sequence[Metric],
    target: Target | None,
    own_judge: bool,
) -> list[str]:
    """Return a notice for each reason why settings have no effect on a run.

    `named` is setting -> how it was given; a default value is not reported. `metrics` are those
    that run (none if responses are only collected), `target` is the RAG system if it is called.
    With `own_judge`, the judge is an object, which the plan does not configure.
    """
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    asked = kinds - {TextSimilarity.kind}
    judges = [] if own_judge or not asked else list(single_names(plan.judge))
    similar = TextSimilarity.kind in kinds
    llm = any(map(is_model, judges))
    embeds = plan.embedding_model is not None or any(map(is_model, single_names(plan.judge)))
    server = llm or (similar and embeds and not own_judge)
    cascade = bool(judges) and any(map(cascaded, split_names(plan.judge)))
    local = any(name.startswith(f"{LOCAL}:") for name in judges)
    idle = "no metric uses a judge"
    if kinds:
        idle = "the judge object has its own settings" if own_judge else "no metric uses an LLM"
    parameters = {
        name
        for name in (*ClaimPlan.model_fields, "k")
        if any(_has_parameter(metric, name, plan) for metric in metrics)
    }
    parameters |= {"preset"} if parameters - {"k"} else set()
    uses = target.uses if target else frozenset[str]()
    uncalled = f"{target.name} does not use it" if target else "no RAG system is called"
    gates = {plan.gates_on if gate.of == "mean" else gate.of for gate in plan.gates} - {"scored"}
    batched = plan.batch_api and llm and not (similar and embeds)
    pace = "--batch-api submits all waiting requests together"
    facts: Mapping[Need, tuple[bool, str]] = {
        "target": (target is not None, "no metric needs the RAG system"),
        "judge": (bool(kinds), idle),
        "llm": (llm, idle),
        "server": (server, idle),
        "budget": (server, idle),
        "paced": (server and not batched, pace if server else idle),
        "parallel": (bool(kinds) and not batched, pace if kinds else idle),
        "local": (local, idle),
        "similarity": (similar, "no metric compares texts"),
        "cascade": (cascade, idle),
        "gate": (bool(gates), "no gate tests a mean"),
        "corrected": ("corrected" in gates, "no gate tests a corrected mean"),
        "sample": (plan.sample is not None, "no --sample is drawn"),
    }
    found: dict[str, list[str]] = {}
    for name, how in named.items():
        if _is_default(name, plan):
            continue
        reasons: dict[str, None] = {}
        for need in SETTINGS[name].needs:
            if need == "metric" and not metrics:  # collecting
                continue
            if need == "metric":
                has, why = name in parameters, "no metric uses it"
            elif need == "request":
                has, why = name in uses, uncalled
            else:
                has, why = facts[need]
            if has and name == "reply_cache":
                has, why = plan.cache, "replies are not cached"
            if has and name == "prompts":
                has, why = not asked.isdisjoint(plan.prompts), "no metric uses these prompts"
            if has:
                break
            reasons[why] = None
        else:
            if reasons:
                found.setdefault(" and ".join(reasons), []).append(how)
    return [
        f"{', '.join(hows)} {'has' if len(hows) == 1 else 'have'} no effect: {why}"
        for why, hows in found.items()
    ]


def _is_default(name: str, plan: Plan) -> bool:
    field = Plan.model_fields.get(name)
    value = field and field.get_default(call_default_factory=True)
    return field is not None and name != "target" and getattr(plan, name) == value


def _has_parameter(metric: Metric, name: str, plan: Plan) -> bool:
    value: object = getattr(metric, name, plan)
    if name in ("batch_size", "truths_limit") and value is not plan:
        verify = getattr(metric, "verify", None)
        return verify == "truths" if name == "truths_limit" else verify != "each"
    return value in plan.cutoffs if name == "k" else value == getattr(plan, name)
