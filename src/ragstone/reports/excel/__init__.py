"""Excel workbooks of a run: a summary, a sheet of samples per metric, and the claims."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ragstone._internal.files import check_writable, write_file
from ragstone.errors import UsageError
from ragstone.metrics import FAMILIES, GROUPS
from ragstone.reports.excel.book import Book, sheet_names
from ragstone.reports.excel.sheets import (
    SAMPLES_SHEET,
    add_claims,
    add_combined,
    add_samples,
    add_single,
    add_values,
)
from ragstone.reports.facts import cutoff, metric_titles
from ragstone.reports.format import file_name
from ragstone.results.run import Run

FOLDER = Path("results")


def write_workbooks(
    run: Run, *, output: Path | None = None, folder: Path = FOLDER
) -> tuple[Path, ...]:
    """Write a run's workbooks and return their paths.

    A single metric gets its own workbook; a group or several metrics get one per family. A file at
    `output` is replaced; for several workbooks the family is added to its name. Without `output`,
    new names in `folder` are used and nothing is replaced.
    """
    if output is not None:
        check_output(output)
    plan, metrics = run.manifest.plan, run.metrics
    asked = plan.metrics
    combined = len(metrics) > 1 or len(set(asked)) > 1 or any(name in GROUPS for name in asked)
    families = {
        family: names
        for family in dict.fromkeys([*FAMILIES, *(info.family for info in metrics.values())])
        if (names := [name for name, info in metrics.items() if info.family == family])
    }
    paths: list[Path] = []
    for family, names in families.items():
        if output is None:
            time = f"{run.manifest.started_at.astimezone():%Y%m%d-%H%M%S}"
            label = f"{file_name(metrics[names[0]].label)}_k{cutoff(run, names[0])}"
            if combined:
                label = f"{file_name(family)}_combined_k{'-'.join(map(str, plan.cutoffs))}"
            path = folder / f"{label}_{time}.xlsx"
        elif len(families) == 1:
            path = output
        else:
            path = output.with_stem(f"{output.stem}_{file_name(family)}")
        write = partial(write_workbook, run=run, names=names, combined=combined)
        paths.append(write_file(path, write, keep=output is None))
    return tuple(paths)


def check_output(path: Path) -> None:
    check_writable(path)
    if path.suffix.lower() != ".xlsx":
        raise UsageError(f"{path} does not end in .xlsx; use a name such as report.xlsx")


def write_workbook(path: Path, run: Run, *, names: Sequence[str], combined: bool) -> None:
    with Book(path, run.manifest.started_at) as book:
        if run.columns is not None:
            add_combined(book, run, names=names)
            add_values(book, run, names=names)
            return
        if combined:
            add_combined(book, run, names=names)
            titles = metric_titles(run.metrics)
            sheets = sheet_names("Per-Query", [titles[name] for name in names])
        else:
            names, sheets = names[:1], [SAMPLES_SHEET]
            add_single(book, run, name=names[0])
        for name, sheet in zip(names, sheets, strict=True):
            add_samples(book, run, name=name, sheet=sheet, sheets=len(names))
        add_claims(book, run, names=names)
