"""Gates of a plan: checked, and with the full names of their metrics."""

from collections.abc import Sequence

from ragstone.errors import UsageError
from ragstone.metrics import GROUPS, select
from ragstone.metrics.base import Metric
from ragstone.results.calibration import load_calibration
from ragstone.types.config import Plan
from ragstone.types.gate import Gate


def resolve_gates(plan: Plan, metrics: Sequence[Metric]) -> tuple[Gate, ...]:
    """Return the plan's gates with the full names of their metrics."""
    if plan.calibration is not None:
        load_calibration(plan.calibration)
    known = {str(metric): metric for metric in metrics}
    gates: list[Gate] = []
    for gate in plan.gates:
        requested = gate.metric
        selected = () if requested in GROUPS else select([requested], **plan.parameters)
        names = list(map(str, selected))
        same_name = [full for full, metric in known.items() if metric.name == requested]
        matches = [name for name in names if name in known] or same_name
        if len(matches) > 1:
            raise UsageError(
                f"the gate {requested} matches several metrics: {', '.join(matches)}; "
                f"use a full name, such as {matches[0]}"
            )
        name = (matches or names or [requested])[0]
        text = f"the gate {requested} {gate.op} {gate.threshold:g}"
        if name not in known:
            raise UsageError(
                f"{text} applies to a metric that is not in this run ({', '.join(known)})"
            )
        metric = known[name]
        low, high = (0.0, 1.0) if gate.of == "scored" else metric.range
        if not low <= gate.threshold <= high:
            hint = "; write 80 percent as 0.8 or 80%" if (low, high) == (0, 1) else ""
            raise UsageError(f"{text}: {name} ranges from {low:g} to {high:g}{hint}")
        if gate.of != "scored" and metric.higher_is_better != (gate.op == ">="):
            better, flag = ("higher", "under") if metric.higher_is_better else ("lower", "over")
            raise UsageError(f"{text}: {better} is better for {name}; use --fail-{flag}")
        of = plan.gates_on if gate.of == "mean" else gate.of
        if of == "corrected" and plan.calibration is None:
            raise UsageError(f"{text} is on the corrected mean, which needs --calibration NAME")
        gates.append(gate.model_copy(update={"metric": name, "of": of}))
    return tuple(gates)
