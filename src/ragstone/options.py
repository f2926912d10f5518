"""Options: what `evaluate` can be told, and the plan, data set, judge and target that it means."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, cast

from ragstone.budget import Budget
from ragstone.config import Config, read_config
from ragstone.datasets import Dataset, load, samples_of
from ragstone.errors import UnknownNameError, UsageError
from ragstone.gates import FLAGS, Gate, gate
from ragstone.judges.base import Judge
from ragstone.judges.making import make_judge
from ragstone.judges.route import RouteJudge
from ragstone.judges.tracing import UNTRACED, Tracing
from ragstone.keeping import Keeping
from ragstone.metrics import Metric, load_plugin
from ragstone.plan import Plan
from ragstone.rows import Row
from ragstone.samples import Sample
from ragstone.targets import Target, get_target

Gates = tuple[Gate, ...]
Data = str | Path | Dataset | Iterable[Sample | Mapping[str, object]]
"""A file, one that was read, or the samples themselves (or mappings of their fields, by any name
that is understood)."""


class Options(Keeping, total=False):
    """What `evaluate` can be told: most fields of `Plan` by their names, and what has no name.

    `metrics` may be one name, several, or Metric objects; `k` one cut-off, or several; `target`
    and `judge` names or objects (a target may be a Python function); `fail_under` and
    `fail_over` are metric -> mark, `min_scored` metric -> the least share of its rows scored; all
    other settings come from `preset` and the file `config`, or from `plan`; `on_row` is called
    with each finished row and the number of rows there will be, `on_notice` with what is to be
    known before the first; `tracing` watches it all. Rows are kept in memory unless `store` says
    where.
    """

    metrics: str | Metric | Sequence[str | Metric]
    k: int | Sequence[int]
    threshold: float
    config: str | Path
    preset: str
    policy: str
    verify: str
    claims: str
    batch_size: int
    truths_limit: int | None
    include_reason: bool
    partial: bool
    judge: str | Judge
    votes: int
    base_url: str
    embedding_model: str
    temperature: float | None
    max_tokens: int
    context_window: int
    strict_json: bool
    prompts: Mapping[str, str]
    cache: bool
    rpm: float
    tpm: float
    max_calls: int
    max_cost: float
    cascade_mark: float
    cascade_control: float
    offline: bool
    target: str | Target | Callable[..., object]
    limit: int
    columns: Mapping[str, str]
    sheet: str
    concurrency: int
    timeout: float
    retries: int
    delay: float
    fail_under: Mapping[str, float | str]
    fail_over: Mapping[str, float | str]
    min_scored: Mapping[str, float | str]
    gates_on: Literal["mean", "interval"]
    cluster: str
    max_failed: float
    plan: Plan
    on_row: Callable[[Row, int], None]
    on_notice: Callable[[str], None]
    tracing: Tracing


def plan_of(options: Options) -> Plan:
    """Join the options into a plan: what they say goes before what `plan` says.

    Raises:
        UsageError: an option does not exist, or is out of its range.
    """
    if strange := sorted(options.keys() - Options.__annotations__.keys()):
        raise UnknownNameError("option of evaluate", strange[0], Options.__annotations__)
    if "plan" in options and (both := sorted(options.keys() & {"config", "preset"})):
        raise UsageError(f"plan= holds all settings; leave {' and '.join(both)} out")
    config = read_config(options["config"]) if "config" in options else Config()
    for module in config.plugins:
        load_plugin(module)
    said = _said(options)
    if "plan" not in options:
        return config.plan(said, preset_said=options.get("preset"))
    base = options["plan"]
    return Plan.of({**dict(base), **said, "gates": (*base.gates, *cast("Gates", said["gates"]))})


def _said(options: Options) -> dict[str, object]:
    """Return the fields of the plan that the options say."""
    objects = {name for name in ("judge", "target") if not isinstance(options.get(name), str)}
    given = cast("dict[str, object]", options)
    said = {name: given[name] for name in given.keys() & Plan.model_fields.keys() - objects}
    if "metrics" in options:
        metrics = options["metrics"]
        several = [metrics] if isinstance(metrics, str | Metric) else metrics
        said["metrics"] = tuple(m.spelled if isinstance(m, Metric) else m for m in several)
    said["gates"] = tuple(
        gate(f"{metric}={mark}", *demand)
        for name, demand in FLAGS.items()
        for metric, mark in cast("Mapping[str, float | str]", given.get(name, {})).items()
    )
    return said


def dataset_of(data: Data, plan: Plan) -> Dataset:
    """Load the file, or take the samples; what was loaded stays as it is.

    Raises:
        UsageError: what was loaded, or given, is to be read in another way.
        InputError: the file's content is wrong.
    """
    if isinstance(data, Dataset):
        if late := [name for name in ("sheet", "columns", "limit") if getattr(plan, name)]:
            raise UsageError(f"these data are loaded: say {' and '.join(late)} to load() itself")
        return data
    if isinstance(data, str | Path):
        return load(data, sheet=plan.sheet, columns=plan.columns, limit=plan.limit)
    if plan.sheet is not None:
        raise UsageError(f"samples in memory have no sheets; leave sheet={plan.sheet!r} out")
    return samples_of(islice(data, plan.limit), columns=plan.columns)


def target_of(
    named: str | Target | Callable[..., object] | None, plan: Plan, *, metrics: Sequence[Metric]
) -> Target | None:
    """Return the target that is named, asked for as many documents as the deepest metric reads."""
    if named is None or isinstance(named, Target):
        return named
    depth = max([*plan.cutoffs, *(getattr(metric, "k", 0) for metric in metrics)])
    return get_target(named, plan, k=depth)


def judge_of(options: Options, plan: Plan, budget: Budget, *, metrics: Sequence[Metric]) -> Judge:
    """Return the judge that the plan names, fit for the metrics, or one given as an object.

    Whoever watches the evaluation watches it.

    Raises:
        UsageError: it is neither, or a judge of one's own is to keep what it cannot know: a budget,
            where a model is, or who compares texts.
    """
    named, tracing = options.get("judge", plan.judge), options.get("tracing", UNTRACED)
    if isinstance(named, str):
        asked = [metric.question_kinds for metric in metrics]
        return tracing.judge(make_judge(plan, asked=asked, budget=budget, tracing=tracing))
    if not isinstance(cast("object", named), Judge):
        said = f"judge={named!r:.80} is neither a name nor a Judge"
        raise UsageError(f"{said}; several names stand in one text, with commas")
    if plan.max_calls is not None or plan.max_cost is not None:
        raise UsageError(
            "max_calls and max_cost are for judges by name; others count for themselves"
        )
    unheard = [name for name in ("base_url", "embedding_model") if getattr(plan, name) is not None]
    if unheard and not isinstance(named, RouteJudge):  # which says who compares texts, and where
        raise UsageError(
            f"{' and '.join(unheard)}: for judges by name; one given as an object is asked as it "
            "is, also how alike texts are; leave that out, or name the judge"
        )
    return tracing.judge(named)
