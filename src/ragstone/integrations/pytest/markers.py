"""Marks: what the tests' marks `rag`, and metrics with their marks, mean as options."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import cast

import pytest

from ragstone.datasets import Dataset, load
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import Config, read_config
from ragstone.evaluation.runner import Options
from ragstone.integrations.pytest.messages import in_tests
from ragstone.metrics import load_plugin, select
from ragstone.types.config import Plan, Source
from ragstone.types.gate import FLAGS
from ragstone.types.sample import Sample

Parameters = Mapping[str, str | int | float | tuple[int, ...] | None]
DEMANDS = ("fail_under", "fail_over")
_EXAMPLE = '@pytest.mark.rag(metric="faithfulness", fail_under=0.8)'


def said_by(mark: pytest.Mark) -> Mapping[str, object]:
    """Return what a mark `rag` says, by its names.

    Raises:
        UsageError: it says something without a name.
    """
    if mark.args:
        told = ", ".join(map(repr, mark.args))
        raise UsageError(f"the mark rag says all by name: {_EXAMPLE}; {told} has none")
    return mark.kwargs


def joined(marks: Iterable[Mapping[str, object]]) -> Options:
    """Return the options that marks `rag` come to; what a later one says of the same is meant.

    Raises:
        UsageError: a mark names no metric, or none says what a metric has to reach.
    """
    metrics: dict[str, None] = {}
    demands: dict[str, dict[str, object]] = {}
    others: dict[str, object] = {}
    for mark in marks:
        said = dict(mark)
        names = _names(said.pop("metric", None))
        metrics |= dict.fromkeys(names)
        for demand in DEMANDS:
            if (value := said.pop(demand, None)) is not None:
                demands.setdefault(demand, {}).update(dict.fromkeys(names, value))
        others |= said
    if not metrics:
        return {}
    joined = {"metrics": list(metrics), **demands, **others}
    if idle := [name for name in metrics if not _is_demanded(name, joined)]:
        raise UsageError(
            f"no mark rag says what {', '.join(idle)} has to reach: fail_under=, or fail_over="
        )
    return cast("Options", joined)


def _is_demanded(metric: str, options: Mapping[str, object]) -> bool:
    demands = [options.get(flag) for flag in FLAGS]
    return any(isinstance(demand, Mapping) and metric in demand for demand in demands)


def _names(said: object) -> Sequence[str]:
    names = cast("Sequence[object]", [said] if isinstance(said, str) else said)
    if not isinstance(names, list | tuple) or not names or not _are_names(names):
        raise UsageError(f"the mark rag says which metric: {_EXAMPLE}")
    return cast("Sequence[str]", names)


def _are_names(said: Iterable[object]) -> bool:
    return all(isinstance(name, str) for name in said)


def sided(marks: Mapping[str, float | str], parameters: Parameters) -> Options:
    """Return metrics with their marks as options; where lower is better, a mark is the most.

    Raises:
        UsageError: there are none, or there is no such metric.
    """
    if not isinstance(cast("object", marks), Mapping) or not marks or not _are_names(marks):
        raise UsageError('say which metrics, and their marks: {"faithfulness": 0.8}')
    lower = [name for name in marks if not _higher_is_better(name, parameters)]
    return {
        "metrics": list(marks),
        "fail_under": {name: mark for name, mark in marks.items() if name not in lower},
        "fail_over": {name: marks[name] for name in lower},
    }


def _higher_is_better(name: str, parameters: Parameters) -> bool:
    return all(metric.higher_is_better for metric in select([name], **parameters))


# The mark `rag_dataset`: the samples of the file that it names.

ROWS = pytest.StashKey[dict[int, Dataset]]()
"""The samples that tests were given, each as a data set of its own, by its `id`."""


def samples_of_mark(mark: pytest.Mark, folder: Path, stash: pytest.Stash) -> tuple[Sample, ...]:
    """Return the samples of the file that a mark names; a path is taken from the folder.

    What the file knows of each beside its fields is laid into the stash.

    Raises:
        CollectError: the mark names no file, or the file cannot be read.
    """
    try:
        said = signature(_dataset).bind(folder, *mark.args, **mark.kwargs)
    except TypeError as error:
        shape = 'rag_dataset("answers.jsonl", sheet=None, columns=None, limit=None)'
        raise pytest.Collector.CollectError(f"the mark is written {shape}; {error}") from None
    try:
        dataset = _dataset(*said.args, **said.kwargs)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"rag_dataset: {in_tests(str(error))}") from None
    rows = stash.setdefault(ROWS, {})
    rows.update((id(row.samples[0]), row) for row in _rows(dataset))
    return dataset.samples


def _dataset(
    folder: Path,
    path: str | Path,
    *,
    sheet: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Dataset:
    return load(folder / path, sheet=sheet, columns=columns, limit=limit)


def _rows(dataset: Dataset) -> Iterator[Dataset]:
    """Yield each row as a data set, which knows what other rows have, and what failed here."""
    held = {
        name
        for name in Sample.model_fields
        if any(getattr(sample, name) is not None for sample in dataset.samples)
    }
    known = frozenset(held.union(chain.from_iterable(dataset.lacking.values())))
    source = Source(name=dataset.source.name, rows=1, notes=dataset.source.notes)
    for index, sample in enumerate(dataset.samples):
        lacking = {0: dataset.lacking[index]} if index in dataset.lacking else {}
        yield replace(dataset, samples=(sample,), source=source, lacking=lacking, known=known)


# Settings: what the options of pytest, its ini file and the environment say, as a plan.

FIELDS = ("judge", "base_url", "max_cost", "max_calls")


def plan_of(config: pytest.Config) -> Plan:
    """Return the plan: options first, RAGSTONE_JUDGE, the ini file, then the file `rag_config`.

    Limits are shared out among the workers of xdist, so that all together keep them.

    Raises:
        UsageError: a setting is out of its range.
        InputError: the file says something wrong.
    """
    path = _said(config, "config")
    file = read_config(config.rootpath / path) if path else Config()
    for module in file.plugins:
        load_plugin(module)
    said = {name: value for name in FIELDS if (value := _said(config, name))}
    worker = cast("Mapping[str, object]", getattr(config, "workerinput", {}))
    return part_of(file.plan(said), worker)


def _said(config: pytest.Config, name: str) -> str:
    option = config.getoption(f"rag_{name}")
    environment = os.environ.get("RAGSTONE_JUDGE", "").strip() if name == "judge" else ""
    return str(option) if option is not None else environment or str(config.getini(f"rag_{name}"))


def part_of(plan: Plan, worker: Mapping[str, object]) -> Plan:
    """Return the plan with a worker's part of its limits; `worker` is as xdist describes one.

    An empty description is that of a session without workers, which has the whole. What is left
    over goes to the first workers; one with a name of its own (`--tx popen//id=x`) gets none of it.
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
