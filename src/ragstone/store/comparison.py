"""Comparing runs, in memory or by their names in a store."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from ragstone.errors import UsageError
from ragstone.results.calibration import load_calibration
from ragstone.results.compare.comparison import TOP, Comparison
from ragstone.results.compare.comparison import compare as compare_runs
from ragstone.results.compare.corrected_change import LabelledRun, correct_changes
from ragstone.results.run import Run
from ragstone.store.runs import find_run
from ragstone.store.store import Store
from ragstone.types.config import python_names


def compare(
    a: Run | str,
    b: Run | str,
    *,
    metrics: str | Sequence[str] = (),
    cluster: str | None = None,
    top: int = TOP,
    calibration: str | None = None,
    store: Store | str | Path | None = None,
) -> Comparison:
    """Compare two runs, sample by sample; gains and drops are those of `b` relative to `a`.

    Each is a run, or the name of a stored one: its id, a unique beginning of it, its tag, or
    `last`. `store` is where those are (default: `.ragstone/ragstone.db`). `metrics` restricts the
    comparison; parameters may be left out. `cluster` is a tag that groups rows; `id` groups none.
    `top` (at least 0) is the number of samples and claims to list of each kind. Labels of runs
    given by name, and those of the calibration of this name, correct judged metrics.

    Raises:
        UsageError: a run is not found, both are the same, or an option is invalid.
    """
    other = load_calibration(calibration) if calibration else None
    labelled: list[LabelledRun] = []
    with ExitStack() as stack, python_names():
        if not isinstance(store, Store) and (isinstance(a, str) or isinstance(b, str)):
            store = stack.enter_context(Store.open(store, reading=True))
        for each in (a, b):
            if isinstance(each, Run):
                labelled.append(LabelledRun.of(each, (), other))
                continue
            assert isinstance(store, Store)
            name = find_run(store, each)
            labelled.append(LabelledRun.of(store.load(name), store.labels(name), other))
        one, two = (found.run for found in labelled)
        if one.manifest.run_id == two.manifest.run_id:
            name = one.manifest.run_id
            raise UsageError(f"a and b are the same run, {name}; pass two different runs")
        names = [metrics] if isinstance(metrics, str) else metrics
        comparison = compare_runs(one, two, metrics=names, cluster=cluster, top=top)
        return correct_changes(comparison, *labelled)
