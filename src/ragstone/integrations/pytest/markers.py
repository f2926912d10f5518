"""Marks as options: `rag`, `rag_dataset`, and metrics with their thresholds."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import cast

import pytest

from ragstone.datasets import Dataset, load
from ragstone.errors import UnknownNameError, UsageError
from ragstone.evaluation.config_file import Config, read_config
from ragstone.evaluation.runner import Options
from ragstone.integrations.pytest.messages import in_tests
from ragstone.metrics import load_plugin, select
from ragstone.types.config import Plan, Source
from ragstone.types.gate import FLAGS
from ragstone.types.sample import Sample

Parameters = Mapping[str, str | int | float | tuple[int, ...] | None]
Metrics = Mapping[str, object]
DEMANDS = ("fail_under", "fail_over")
KEYWORDS = ("metric", *sorted(Options.__annotations__.keys() - {"metrics"}))
"""Keywords of the marker `rag`."""
_EXAMPLE = '@pytest.mark.rag(metric="faithfulness", fail_under=0.8)'


def keywords_of(mark: pytest.Mark) -> Mapping[str, object]:
    if mark.args:
        given = ", ".join(map(repr, mark.args))
        raise UsageError(f"the marker rag takes keyword arguments only: {_EXAMPLE}; got {given}")
    return mark.kwargs


def merge_marks(marks: Iterable[Mapping[str, object]]) -> Options:
    metrics: dict[str, None] = {}
    demands: dict[str, dict[str, object]] = {}
    others: dict[str, object] = {}
    for mark in marks:
        rest = dict(mark)
        given = rest.pop("metric", None)
        if unknown := sorted(rest.keys() - set(KEYWORDS)):
            raise UnknownNameError("keyword of the marker rag", unknown[0], KEYWORDS)
        names = cast("Sequence[str]", [given] if isinstance(given, str) else given)
        if not isinstance(names, list | tuple) or not names or not _are_names(names):
            raise UsageError(f"the marker rag needs a metric: {_EXAMPLE}")
        metrics |= dict.fromkeys(names)
        for demand in DEMANDS:
            if (value := rest.pop(demand, None)) is not None:
                demands.setdefault(demand, {}).update(dict.fromkeys(names, value))
        others |= rest
    if not metrics:
        return {}
    merged = {"metrics": list(metrics), **demands, **others}
    gates = [cast("object", merged.get(flag)) for flag in FLAGS]
    gated = {name for gate in gates if isinstance(gate, Mapping) for name in cast("Metrics", gate)}
    if idle := [name for name in metrics if name not in gated]:
        raise UsageError(
            f"no marker sets a threshold for {', '.join(idle)}: add fail_under= or fail_over="
        )
    return cast("Options", merged)


def _are_names(values: Iterable[object]) -> bool:
    return all(isinstance(name, str) for name in values)


def split_thresholds(thresholds: Mapping[str, float | str], parameters: Parameters) -> Options:
    given = cast("object", thresholds)
    if not isinstance(given, Mapping) or not thresholds or not _are_names(thresholds):
        raise UsageError('expected metrics with thresholds: {"faithfulness": 0.8}')
    under: dict[str, float | str] = {}
    over: dict[str, float | str] = {}
    for name, value in thresholds.items():
        higher = all(metric.higher_is_better for metric in select([name], **parameters))
        (under if higher else over)[name] = value
    return {"metrics": list(thresholds), "fail_under": under, "fail_over": over}


ROWS = pytest.StashKey[dict[int, Dataset]]()
"""Samples of `rag_dataset` files, each as its own data set, by the sample's `id()`."""


def samples_of_mark(mark: pytest.Mark, folder: Path, stash: pytest.Stash) -> tuple[Sample, ...]:
    try:
        given = signature(_load).bind(folder, *mark.args, **mark.kwargs)
    except TypeError as error:
        options = "sheet=None, columns=None, limit=None, sample=None, seed=0"
        shape = f'rag_dataset("answers.jsonl", {options})'
        raise pytest.Collector.CollectError(f"invalid marker: {error}; expected {shape}") from None
    try:
        dataset = _load(*given.args, **given.kwargs)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"rag_dataset: {in_tests(str(error))}") from None
    # each row is a data set that knows which fields other rows have, and what failed
    known = dataset.contents.fields.union(chain.from_iterable(dataset.failures.values()))
    source = Source(name=dataset.source.name, rows=1, notes=dataset.source.notes)
    rows = stash.setdefault(ROWS, {})
    for index, sample in enumerate(dataset.samples):
        failures = {0: dataset.failures[index]} if index in dataset.failures else {}
        rows[id(sample)] = replace(
            dataset, samples=(sample,), source=source, failures=failures, known=known
        )
    return tuple(dataset.samples)


def _load(
    folder: Path,
    path: str | Path,
    *,
    sheet: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
) -> Dataset:
    return load(folder / path, sheet=sheet, columns=columns, limit=limit, sample=sample, seed=seed)


FIELDS = ("judge", "base_url", "max_cost", "max_calls")


def plan_of(config: pytest.Config) -> Plan:
    """Return the plan: options first, RAGSTONE_JUDGE, the ini file, then the file `rag_config`.

    Limits are divided among xdist workers.
    """

    def setting(name: str) -> str:
        option = config.getoption(f"rag_{name}")
        environment = os.environ.get("RAGSTONE_JUDGE", "").strip() if name == "judge" else ""
        ini = str(config.getini(f"rag_{name}"))
        return str(option) if option is not None else environment or ini

    path = setting("config")
    file = read_config(config.rootpath / path) if path else Config()
    for module in file.plugins:
        load_plugin(module)
    given = {name: value for name in FIELDS if (value := setting(name))}
    worker = cast("Mapping[str, object]", getattr(config, "workerinput", {}))
    return worker_share(file.plan(given), worker)


def worker_share(plan: Plan, worker: Mapping[str, object]) -> Plan:
    """Return the plan with an xdist worker's share of its limits.

    `worker` is xdist's `workerinput`; empty without workers. The first workers share the
    remainder; workers with custom ids (`--tx popen//id=x`) get none of it.
    """
    count = cast("int", worker.get("workercount", 1))
    named = re.fullmatch(r"gw(\d+)", str(worker.get("workerid", "gw0")))
    number = int(named[1]) if named else count
    calls, cost = plan.max_calls, plan.max_cost
    return plan.model_copy(
        update={
            "max_calls": None if calls is None else calls // count + (number < calls % count),
            "max_cost": None if cost is None else cost / count,
        }
    )
