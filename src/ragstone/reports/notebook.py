"""What `Run` and `Comparison` delegate to: frames, reports, and how notebooks show them."""

import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from markupsafe import Markup

from ragstone._internal.files import check_writable
from ragstone._internal.notebook import in_notebook, show_html
from ragstone._internal.text import count, listing, one_line
from ragstone.datasets import samples_of
from ragstone.datasets.columns import field_of
from ragstone.datasets.frames import frame_in, library_of, rows_of
from ragstone.errors import UsageError
from ragstone.reports.comparison import difference_grid, finding_lines
from ragstone.reports.excel import check_output, write_workbooks
from ragstone.reports.format import brief, decimal
from ragstone.reports.html.charts import forest, gauge
from ragstone.reports.html.page import render, write_html
from ragstone.reports.junit import write_junit
from ragstone.reports.markdown import write_markdown
from ragstone.reports.tables import claims_table, frame_columns, samples_frame
from ragstone.reports.view import (
    Grid,
    GridRow,
    Line,
    Tone,
    decisions,
    details,
    finding,
    metric_lines,
    outcome_grid,
    scale,
    shown_mean,
    status,
    trust,
)
from ragstone.reports.worst import focus_metric, worst_samples
from ragstone.results.comparison import Comparison
from ragstone.results.run import Run
from ragstone.types.row import Row


def frame(run: Run, library: str, *, claims: bool, details: bool) -> Any:
    if claims:
        return frame_in(library, frame_columns(claims_table(run)))
    return samples_frame(run, library, details=details)


def join(run: Run, given: Any) -> Any:
    library, plan = library_of(given), run.manifest.plan
    if library not in ("pandas", "polars"):
        raise UsageError(f"join needs a frame of pandas or polars, got a {type(given).__name__}")
    if there := [name for name in run.metrics if name in given.columns]:
        raise UsageError(f"the frame already has a column {listing(there)}; rename or drop it")
    data = samples_of(rows_of(given) or (), columns=plan.columns)
    rows: dict[object, Row] = {row.sample.id: row for row in run.rows}
    keys: list[object] = [sample.id for sample in data.samples]
    labels: Any = getattr(run.given, "index", None) if library == "pandas" else None
    has_ids = any(field_of(str(name)) == "id" for name in given.columns) or "id" in plan.columns
    if labels is not None and not has_ids and labels.is_unique and {*labels} <= {*given.index}:
        rows, keys = dict(zip(labels, rows.values(), strict=True)), list(given.index[data.places])

    # Both may be mere numbers of rows, so the texts must be the same.
    asked, part = run.manifest.target is not None, plan.limit or plan.sample or run.partial
    fields = ("query", "response", "contexts", "ranking", "reference", "relevance")
    fields = fields[:1] if asked or run.columns is not None else fields
    joined: dict[int, Row] = {}
    for place, key, sample in zip(data.places, keys, data.samples, strict=True):
        if (row := rows.get(key)) is not None:
            joined[place] = row
        pairs = [(f, getattr(sample, f), getattr(row.sample, f)) for f in fields] if row else []
        other = [field for field, value, known in pairs if value not in (None, known)]
        if other or not (row or part):
            seen = f"has another {other[0]} than in the run" if other else "was not evaluated"
            raise UsageError(f"row {place + 1} of the frame {seen}; join the evaluated frame")
    if len(joined) != len(rows):
        seen = f"the frame has {count(len(joined), 'row')} of the run's {len(rows):,} samples"
        raise UsageError(f"{seen}; join the evaluated frame, with one row per sample")
    several = [joined.get(place) for place in range(len(given))]
    scores: Any = frame_in(
        library, {n: (float, [row and row.scores[n].value for row in several]) for n in run.metrics}
    )
    if library == "polars":
        return given.hstack(scores)
    return given.assign(**{name: scores[name].array for name in run.metrics})


_WRITERS: Mapping[str, Callable[[Run, Path], object]] = {
    "html": write_html,
    "excel": lambda run, path: write_workbooks(run, output=path),
    "markdown": write_markdown,
    "junit": write_junit,
}


def write_reports(run: Run, files: Mapping[str, str | Path | None]) -> tuple[Path, ...]:
    """Write reports to files, by format, and return the paths; all are checked before."""
    named = {kind: Path(file) for kind, file in files.items() if file is not None}
    if not named:
        raise UsageError(f"name at least one file: {', '.join(f'{kind}=' for kind in files)}")
    for kind, path in named.items():
        (check_output if kind == "excel" else check_writable)(path)
    if len({path.resolve() for path in named.values()}) < len(named):
        raise UsageError("two reports have the same file; name a file for each")
    paths: list[Path] = []
    for kind, path in named.items():
        written = _WRITERS[kind](run, path)
        paths += written if isinstance(written, tuple) else [path]
    return tuple(paths)


def show(run: Run, path: str | Path | None) -> None:
    if in_notebook() and path is None:
        with TemporaryDirectory() as folder:
            write_html(run, file := Path(folder, "report.html"))
            page = escape(file.read_text(encoding="utf-8"))
        style = "width: 100%; height: 80vh; min-height: 30rem; border: 1px solid #8888"
        attributes = f'title="Report of run {escape(run.manifest.run_id)}" style="{style}"'
        show_html(
            f'<iframe sandbox="allow-scripts" {attributes} srcdoc="{page}"></iframe>', repr(run)
        )
        return
    file = Path(path or f"ragstone-{run.manifest.run_id}.html")
    write_html(run, file)
    sys.stdout.write(f"wrote {file}\n")
    if sys.stdout.isatty():
        webbrowser.open(file.absolute().as_uri())


MAX_ROWS = 30  # metrics in a card; more would not fit in its 60 kB
MAX_LINES = 10  # gates, notices and changes in a card
MAX_TEXT, MAX_NAME = 160, 60  # characters of a text or a name; escaped, each may have five bytes
# characters of a sample's figure, id, query, why it is listed, and evidence
SAMPLE_LIMITS = (MAX_NAME, MAX_NAME, MAX_TEXT, 2 * MAX_TEXT, MAX_TEXT)


def _cut(text: str, limit: int = MAX_TEXT) -> str:
    return one_line(text[: 10 * limit], limit)


def _more(left: int, noun: str) -> str:
    return f"and {count(left, f'more {noun}')}" if left > 0 else ""


def run_html(run: Run) -> str:
    rows: list[GridRow] = []
    for row in islice(metric_lines(run), MAX_ROWS):
        name = str(row.cells[0])
        plot = gauge(*shown_mean(run.summary()[name]), scale(run, name)) or Markup()
        rows.append(replace(row, cells=(_cut(name, MAX_NAME), row.cells[1], plot, *row.cells[2:])))
    heads = ("metric", "mean", "", "95% interval", "notes")
    focus, judge, manifest = focus_metric(run), trust(run), run.manifest
    samples = [
        ("failed" if s.value is None else brief(s.value), s.id, s.query, s.why, s.evidence)
        for s in (worst_samples(run, focus) if focus else ())
    ]
    about = f"{count(len(run.rows), 'row')} of {_cut(manifest.source.name, 80)}"
    words = " ".join(filter(None, (finding(run), run.verdict.advice)))
    return _render(
        [
            line
            for line in (status(run), *decisions(run), *details(run))
            if line and line.tone is not Tone.PLAIN and line.label != "Gate"
        ],
        [outcome_grid(run), Grid(heads, tuple(rows), frozenset({"mean"}))],
        samples,
        title=_cut(words, 4 * MAX_TEXT) or about,
        subtitle=_cut(f"Judge: {judge.words}") if judge else "",
        more=_more(len(run.metrics) - MAX_ROWS, "metric"),
        samples_title=f"Worst by {_cut(focus, MAX_NAME)}" if focus else "",
        hint=f"{about}, run {manifest.run_id}. run.show() has every sample; "
        "run.to_pandas() has the scores as a frame.",
    )


def comparison_html(comparison: Comparison) -> str:
    lines = list(finding_lines(comparison))
    for change in comparison.changes:
        a, b = (_cut(str(value), 80) for value in (change.a, change.b))
        lines.append(Line(f"changed: {change.name}, {a} in A, {b} in B"))

    changes = comparison.metric_changes[:MAX_ROWS]
    grid, plots = difference_grid(changes), forest(changes)
    rows: list[GridRow] = []
    for change, row in zip(changes, grid.rows, strict=True):
        plot = (plots and plots.rows.get(change.metric)) or Markup()
        cells = (_cut(change.metric, MAX_NAME), *row.cells[1:-1], plot, row.cells[-1])
        rows.append(replace(row, cells=cells))

    drops = [(each.metric, drop) for each in comparison.sample_changes for drop in each.worst]
    drops.sort(key=lambda found: -abs(found[1].b - found[1].a))
    samples = [
        (f"{decimal(drop.a)} to {decimal(drop.b)}", drop.id_b, drop.query, metric, "")
        for metric, drop in drops[:3]
    ]
    return _render(
        lines,
        [Grid((*grid.heads[:-1], "plot", grid.heads[-1]), tuple(rows), figures=grid.figures)],
        samples,
        title="A {} to B {}".format(*(_cut(name, 80) for name in comparison.names)),
        subtitle=f"{count(len(comparison.pairing.pairs), 'pair')} of samples",
        more=_more(len(comparison.metric_changes) - MAX_ROWS, "metric"),
        samples_title="Largest drops",
    )


def _render(
    lines: Sequence[Line],
    grids: Sequence[Grid | None],
    samples: Sequence[tuple[str, ...]],
    *,
    hint: str = "",
    **shown: object,
) -> str:
    short = [replace(line, words=_cut(line.words)) for line in lines[:MAX_LINES]]
    if rest := _more(len(lines) - MAX_LINES, "line"):
        short.append(Line(rest))
    cut = [tuple(map(_cut, sample, SAMPLE_LIMITS)) for sample in samples]
    return render(
        "notebook.html", lines=short, grids=filter(None, grids), samples=cut, hint=hint, **shown
    )
