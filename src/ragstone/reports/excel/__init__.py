"""Workbooks: which of them a run calls for, and what they are called."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ragstone._internal.files import check_writable, write_file
from ragstone.errors import UsageError
from ragstone.metrics import FAMILIES, GROUPS
from ragstone.reports.excel.book import Book, sheet_names
from ragstone.reports.excel.samples import SEVERAL, SINGLE, add_claims, add_queries, add_values
from ragstone.reports.excel.summary import add_combined, add_single
from ragstone.reports.facts import cutoff, titles
from ragstone.reports.format import file_name
from ragstone.results.run import Run

# A workbook for people who open Excel: a `Summary`, all queries a metric, and the claims.


def write_workbook(path: Path, run: Run, *, names: Sequence[str], combined: bool) -> None:
    """Write the workbook of those metrics of a run; without `combined` it is of one metric.

    Raises:
        OSError: the file cannot be written.
    """
    with Book(path, run.manifest.started_at) as book:
        if run.columns is not None:
            add_combined(book, run, names=names)
            add_values(book, run, names=names)
            return
        if combined:
            add_combined(book, run, names=names)
            labels = titles(run.metrics)
            sheets = sheet_names(SEVERAL, [labels[name] for name in names])
        else:
            add_single(book, run, name=names[0])
            names, sheets = names[:1], [SINGLE]
        for name, sheet in zip(names, sheets, strict=True):
            add_queries(book, run, name=name, sheet=sheet)
        add_claims(book, run, names=names)


FOLDER = Path("results")
ENDING = ".xlsx"


def write_workbooks(
    run: Run, *, output: Path | None = None, folder: Path = FOLDER
) -> tuple[Path, ...]:
    """Write the workbooks that a run calls for; return where they are.

    One metric named alone gives a workbook of its own; a group or several names give a combined
    one a family. A file at `output` is replaced; if several workbooks are due, each adds its
    family to that name. Without `output` the names are made up in `folder`, and no file is
    replaced.

    Raises:
        UsageError: a file cannot be written; says which and why.
    """
    if output is not None:
        check_output(output)
    combined = _is_combined(run)
    families = _families(run)
    paths: list[Path] = []
    for family, names in families.items():
        if output is None:
            path = folder / (_combined_name(run, family) if combined else _name(run, names[0]))
        elif len(families) == 1:
            path = output
        else:
            path = output.with_stem(f"{output.stem}_{file_name(family)}")
        write = partial(write_workbook, run=run, names=names, combined=combined)
        paths.append(write_file(path, write, keep=output is None))
    return tuple(paths)


def check_output(path: Path) -> None:
    """Tell before a run starts whether its workbook could be written there.

    Raises:
        UsageError: the path does not end in .xlsx, is a folder, or cannot be made.
    """
    check_writable(path)
    if path.suffix.lower() != ENDING:
        raise UsageError(f"{path} does not end in {ENDING}; name a file such as report{ENDING}")


def _is_combined(run: Run) -> bool:
    asked = run.manifest.plan.metrics
    return len(run.metrics) > 1 or len(set(asked)) > 1 or any(name in GROUPS for name in asked)


def _families(run: Run) -> Mapping[str, tuple[str, ...]]:
    order = [*FAMILIES, *(info.family for info in run.metrics.values())]
    found = {
        family: tuple(name for name, info in run.metrics.items() if info.family == family)
        for family in dict.fromkeys(order)
    }
    return {family: names for family, names in found.items() if names}


def _combined_name(run: Run, family: str) -> str:
    ks = "-".join(map(str, run.manifest.plan.cutoffs))
    return f"{file_name(family)}_combined_k{ks}_{_time(run)}{ENDING}"


def _name(run: Run, name: str) -> str:
    label = file_name(run.metrics[name].label)
    return f"{label}_k{cutoff(run, name)}_{_time(run)}{ENDING}"


def _time(run: Run) -> str:
    return f"{run.manifest.started_at.astimezone():%Y%m%d-%H%M%S}"
