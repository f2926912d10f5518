"""Runs on the terminal: their scores with bars, summary lines, worst samples, rows, and lists."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import TYPE_CHECKING, Any, cast

from rich.box import SIMPLE
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.errors import Cause
from ragstone.judges.spec import is_model, split_names
from ragstone.reports import view
from ragstone.reports.format import (
    CAUSES,
    MAX_PRINTED,
    NO_VALUE,
    brief,
    decimal,
    printable,
    printable_cells,
)
from ragstone.reports.view import Grid, GridRow, Line, Tone
from ragstone.reports.worst import WORST, failing_claim, focus_metric, main_metrics, worst_samples
from ragstone.results.metric_summary import N_WORST
from ragstone.results.run import Run
from ragstone.types.config import ORIGIN, Plan
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.score import State

if TYPE_CHECKING:  # a run without a store does not import one
    from ragstone.store import RunInfo

MAX_LINES, LEAST_METRICS = 25, 4  # of a run at 80 columns
PROSE_WIDTH = 24  # least width of a column with long texts
MAX_CELL = 200
NAME_LIMITS = (30, 20, 12)  # of a data set, target or judge in the list, tried until the line fits
STYLES = {Tone.PLAIN: "", Tone.GOOD: "bold green", Tone.WARNING: "yellow", Tone.BAD: "bold red"}


def print_table(
    console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1
) -> None:
    figures = frozenset(heads[words:])
    print_grid(console, Grid(tuple(heads), tuple(GridRow(tuple(row)) for row in rows), figures))


def print_grid(console: Console, grid: Grid, *, spare: str | None = None) -> None:
    """Print a grid; if too wide without its `spare` column, with narrow prose, or as a list."""
    rows = _clean(grid, console)
    versions = [(grid, rows)]
    if spare is not None:
        place = grid.heads.index(spare)
        rows = [[*row[:place], *row[place + 1 :]] for row in rows]
        grid = replace(grid, heads=(*grid.heads[:place], *grid.heads[place + 1 :]))
        versions.append((grid, rows))
    wide = console.options.update(max_width=1000)
    for fold, padding, (grid, rows) in product((None, PROSE_WIDTH), (1, 0), versions):
        table = _table(grid, rows, padding, fold)
        if Measurement.get(console, wide, table).maximum <= console.width:
            console.print(_table(grid, rows, padding))
            return
    grid, rows = versions[-1]
    for first, *cells in rows:
        first.stylize("bold")
        console.print(first)
        line = Text()
        for head, cell in zip(grid.heads[1:], cells, strict=True):
            words = Text(f"{head} ", overflow="fold").append_text(cell)
            if cell and head in grid.prose:
                console.print(Padding(words, (0, 0, 0, 2)))
            elif cell:
                line.append(" | " if line else "").append_text(words)
        if line:
            console.print(Padding(line, (0, 0, 0, 2)))


def _table(
    grid: Grid, rows: Sequence[Sequence[Text]], padding: int, fold: int | None = None
) -> Table:
    table = Table(
        box=SIMPLE, show_edge=False, pad_edge=False, collapse_padding=True, padding=(0, padding)
    )
    for head in grid.heads:
        prose = head in grid.prose
        justify = "right" if head in grid.figures else "left"
        width = fold if prose else None
        table.add_column(head, justify=justify, no_wrap=not prose, max_width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _clean(grid: Grid, console: Console) -> list[list[Text]]:
    texts = [cell for row in grid.rows for cell in row.cells if isinstance(cell, str)]
    printed = iter(printable_cells(texts, console, MAX_CELL))
    rows: list[list[Text]] = []
    for row in grid.rows:
        rows.append([cell if isinstance(cell, Text) else next(printed) for cell in row.cells])
        rows[-1][-1].stylize(STYLES[row.tone])
    return rows


def print_pairs(pairs: Iterable[tuple[str, Text]], console: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in pairs:
        grid.add_row(label, text)
    console.print(grid)


def print_line(line: Line, console: Console, *, soft_wrap: bool = False) -> None:
    console.print(printable(line.words, console, STYLES[line.tone]), soft_wrap=soft_wrap)


def print_run(
    run: Run,
    console: Console,
    *,
    findings: Iterable[Line] = (),
    below: int = 0,
    first: bool = False,
    verbose: bool = False,
) -> None:
    """Print the findings, verdict, metrics, worst samples and next step: MAX_LINES with `below`.

    With `verbose`, what the numbers were made from follows.
    """
    top: list[RenderableType] = [
        printable(line.words, console, STYLES[line.tone], limit=1000) for line in findings
    ]
    for line in view.headline(run):
        label = f"{line.label}: " if line.label else ""
        style = STYLES[line.tone] or ("dim" if line.label else "bold")
        top.append(printable(label + line.words, console, style, limit=1000))
    if outcomes := view.outcome_grid(run):
        top += ["", _bare_table(outcomes, console)]
    end: list[RenderableType] = [_one_line(words, console, "bold red") for words in _alarms(run)]
    tail: list[RenderableType] = []
    if advice := next_step(run, first=first):
        tail = ["", printable(f"Next: {advice}", console, "bold")]
    worst, why = _worst_lines(run, console), _worst_lines(run, console, why=True)
    metrics = list(view.metric_lines(run))
    used = sum(len(console.render_lines(part)) for part in (*top, *end, *worst, *tail))
    room = MAX_LINES - below - used - 1
    if room - len(metrics) >= len(why) - len(worst):
        worst = why
    if len(metrics) > max(room, LEAST_METRICS):
        main = main_metrics(run, max(room, LEAST_METRICS) - 1, run.metrics)
        metrics = [row for row in metrics if row.cells[0] in main]
    left = len(run.metrics) - len(metrics)
    middle: list[RenderableType] = []
    if metrics:
        grid = Grid(view.METRIC_HEADS, tuple(metrics), frozenset({"mean"}))
        middle = ["", _bare_table(grid, console, head=False)]
    if left:
        more = f"and {count(left, 'more metric')}{'' if verbose else '; -v shows all'}"
        middle.append(printable(more, console, "dim"))
    for part in (*top, *middle, *end, *worst, *tail):
        # a wrapped command cannot be copied
        console.print(part, soft_wrap=isinstance(part, Text) and "`" in part.plain)
    if verbose:
        _print_scores(run, console)
        for line in view.missing(run):
            print_line(line, console)
        made_from = (*view.decisions(run), *view.details(run))
        print_pairs(
            ((x.label, printable(x.words, console, STYLES[x.tone])) for x in made_from), console
        )


def _alarms(run: Run) -> Iterator[str]:
    """Yield what makes the numbers doubtful."""
    for name in run.metrics:
        if why := view.why_failed(run, name):
            yield f"{name} failed: {why}"
            break
    for line in (*view.details(run), *view.decisions(run)):
        in_headline = line.label == "Gate" or (line.label == "Ids" and run.counts.ids.differ)
        if line.tone is Tone.BAD and not in_headline:
            yield f"{line.label}: {line.words}"


def _one_line(words: str, console: Console, style: str = "") -> Text:
    text = printable(words, console, style, limit=max(20, console.width - 5))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _bare_table(grid: Grid, console: Console, *, head: bool = True) -> Table:
    table = Table(box=None, show_header=head, pad_edge=False, padding=(0, 2, 0, 0))
    for name in grid.heads:
        justify = "right" if name in grid.figures else "left"
        table.add_column(name, justify=justify, header_style="dim", no_wrap=name != "notes")
    for row in _clean(grid, console):
        table.add_row(*row)
    return table


def print_ranking(run: Run, console: Console) -> None:
    for line in (*view.headline(run), Line(run.manifest.source.name, label="Ranking")):
        print_line(line, console)
    _print_scores(run, console)
    for line in (*map(Line, run.manifest.source.notes), *ranking_lines(run)):
        print_line(line, console)
    for part in _worst_lines(run, console, N_WORST, why=True):
        console.print(part)


def ranking_lines(run: Run) -> Iterator[Line]:
    for name in run.metrics:
        if why := view.why_failed(run, name):
            yield Line(f"{name}: failed: {why}", Tone.BAD)
    for line in view.decisions(run):
        yield Line(f"{line.label} {line.words}", line.tone)


def _worst_lines(
    run: Run, console: Console, most: int = WORST, *, why: bool = False
) -> list[RenderableType]:
    name = focus_metric(run)
    worst = worst_samples(run, name, most) if name is not None else ()
    lines: list[RenderableType] = []
    if worst:
        lines += ["", printable(f"Worst by {name}", console, "bold")]
    for sample in worst:
        value = NO_VALUE if sample.value is None else brief(sample.value)
        known = view.outcome_words(run, sample.row) if sample.row else ""
        short = one_line(sample.id, 60)
        query = "" if sample.query == sample.id else f"  {sample.query}"
        line = _one_line(f"{short}  {value}{known and f' ({known})'}{query}", console)
        line.stylize("bold", 0, len(short))
        lines.append(line)
        if why and sample.why:
            lines.append(Padding(_one_line(sample.why, console, "yellow"), (0, 0, 0, 4)))
    return lines


def print_rows(run: Run, console: Console) -> None:
    for row in run.rows:
        query = printable(row.sample.query, console, limit=120)
        line = printable(row.sample.id, console, "bold", limit=60).append("  ")
        console.print(line.append_text(query))
        values: list[str] = []
        notes: dict[str, list[str]] = {}
        for name, score in row.scores.items():
            imputed = " (imputed)" if score.fallback else ""
            values.append(f"{name} {decimal(score.value)}{imputed}")
            why = "" if score.claims else score.reason
            if score.cause is not None:
                why = f"failed, {CAUSES[score.cause]}: {score.reason}"
            elif score.state is State.UNDEFINED:
                why = f"undefined: {score.reason}"
            for words in filter(None, (why, failing_claim(score))):
                notes.setdefault(words, []).append(name)
        _print_indented(" | ".join(values), console, limit=10 * MAX_PRINTED)
        for words, names in notes.items():
            _print_indented(f"{', '.join(names)}: {words}", console, "yellow")


def _print_indented(
    words: str, console: Console, style: str = "", limit: int = MAX_PRINTED
) -> None:
    console.print(Padding(printable(words, console, style, limit), (0, 0, 0, 4)))


def _print_scores(run: Run, console: Console) -> None:
    for part in view.scores(run):
        if isinstance(part, Line):
            print_line(part, console)
        else:
            console.print()
            print_grid(console, part)
            console.print()


def run_entry(info: "RunInfo") -> dict[str, object]:
    manifest = info.manifest
    means, corrected, failed = _figures(info)
    return {
        "run_id": info.id,
        "tag": info.tag,
        "started_at": info.started_at.isoformat(),
        "finished_at": info.finished_at and info.finished_at.isoformat(),
        "finished": info.finished,
        "stopped": info.stopped,
        "dataset": manifest.source.name,
        "target": manifest.target,
        "judge": manifest.judge,
        "rows": info.rows,
        "rows_due": manifest.source.rows,
        "failed": failed,
        "scored_again_from": manifest.identity.get(ORIGIN),
        "transcript": info.transcript and not info.ranked,
        "gates": gate_state(info),
        "verdict": _sentence(info),
        "metrics": means,
        "corrected": corrected,
    }


def gate_state(info: "RunInfo") -> str | None:
    """Return whether a stored run passed; None without gates and troubles."""
    summary = cast("Mapping[str, Any]", info.summary or {})
    passed = [gate["passed"] for gate in summary.get("gates", ())]
    if False in passed or summary.get("failed_tests"):
        return "failed"
    if None in passed or summary.get("troubles"):
        return "undecided"
    return "passed" if passed else None


def _sentence(info: "RunInfo") -> str | None:
    verdict = cast("Mapping[str, Any]", (info.summary or {}).get("verdict", {}))
    return verdict.get("sentence") or None


def _figures(info: "RunInfo") -> tuple[dict[str, float | None], dict[str, float], int]:
    metrics = cast("Mapping[str, Mapping[str, Any]]", (info.summary or {}).get("metrics", {}))
    means = {name: metrics.get(name, {}).get("mean") for name in info.metrics}
    corrections = {name: each.get("corrected") for name, each in metrics.items()}
    corrected = {k: c["mean"] for k, c in corrections.items() if c and c["mean"] is not None}
    return means, corrected, sum(each.get("failed", 0) for each in metrics.values())


def print_runs(
    infos: "Sequence[RunInfo]", console: Console, *, in_progress: Collection[str] = ()
) -> None:
    for info in infos:
        progress = count(info.rows, "row")
        if not info.finished:
            state = "running" if info.id in in_progress else "unfinished"
            progress = f"{state} {info.rows:,}/{info.manifest.source.rows:,}"
        if info.damage:
            progress = f"damaged, {progress}"
        state, tones = gate_state(info), {"passed": Tone.GOOD, "failed": Tone.BAD}
        parts = [info.id, _minute(info.started_at), progress, *([info.tag] if info.tag else [])]
        words = [printable(part, console) for part in parts]
        if state:
            words.append(
                printable(f"gates {state}", console, STYLES[tones.get(state, Tone.WARNING)])
            )
        first = Text("  ").join(words)
        first.stylize("bold", 0, len(info.id))
        console.print(first, no_wrap=True, overflow="ellipsis")
        second = printable(_names_and_means(info, console.width - 2), console, "dim")
        console.print(Text("  ") + second, no_wrap=True, overflow="ellipsis")


def _names_and_means(info: "RunInfo", width: int) -> str:
    manifest = info.manifest
    target = (manifest.target or "").rpartition("://")[2]
    figures, corrected, failed = _figures(info)
    shown = {name: f" ({mean:.2f} corrected)" for name, mean in corrected.items()}
    means = [f"{name} {decimal(mean)}{shown.get(name, '')}" for name, mean in figures.items()]
    text = ""
    for limit in NAME_LIMITS:
        names = [each for each in (manifest.source.name, target, manifest.judge) if each]
        words = [one_line(name, limit) for name in names]
        if ORIGIN in manifest.identity:
            words.append("rescored")
        if failed:
            words.append(f"{count(failed, 'score')} failed")
        for number in range(len(means), 0, -1) or (0,):
            rest = f" and {len(means) - number} more" if number < len(means) else ""
            said = _sentence(info) or f"{', '.join(means[:number])}{rest}"
            text = ", ".join(words) + (f": {said}" if said else "")
            if len(text) <= width:
                return text
    return text


def print_info(info: "RunInfo", console: Console) -> None:
    manifest = info.manifest
    tag = f", tagged {info.tag}" if info.tag else ""
    lines = [
        ("Run", f"{info.id}{tag}"),
        ("Started", f"{_minute(info.started_at)}, by ragstone {manifest.version}"),
    ]
    if info.finished_at:
        lines.append(("Finished", _minute(info.finished_at)))
    else:
        rows = count(manifest.source.rows, "row")
        lines.append(("Unfinished", f"{info.rows:,} of {rows} stored"))
    lines.append(("Metrics", ", ".join(info.metrics) or "none"))
    if changed := view.changed_settings(manifest.plan.model_dump(mode="json")):
        lines.append(("Settings", "; ".join(f"{name} {words}" for name, words in changed)))
    setup = manifest.identity.get("judge setup")
    fingerprints = {"data": manifest.source.fingerprint, "judge settings": setup}
    if known := [f"{name} {text[:12]}" for name, text in fingerprints.items() if text]:
        lines.append(("Fingerprints", ", ".join(known)))
    if not info.transcript:
        lines.append(("Transcript", "not stored; the run cannot be rescored with another policy"))

    print_pairs(((label, printable(words, console)) for label, words in lines), console)
    if not info.finished and ORIGIN not in manifest.identity:
        # a wrapped command cannot be copied
        words = f"Resume it with `ragstone resume {info.id}`"
        console.print(printable(words, console), soft_wrap=True)


def _minute(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"


GOAL = 0.05  # desired margin of a mean, as a share of the metric's range
WIDE = 0.1  # margin above which more samples are recommended
FEW = 20  # scored rows
ENOUGH = math.ceil((1.96 * 0.5 / GOAL) ** 2)  # samples; half 0 and half 1 varies the most


def next_step(run: Run, *, first: bool = False) -> str | None:
    """Return what to do next; `first`: the run is the first in its store."""
    # how to resume a stopped run is printed elsewhere
    if run.partial or run.stopped or not run.metrics:
        return None
    name, limit = run.manifest.run_id, run.manifest.plan.max_failure_rate
    failures, summaries = _failure_advice(run), run.summary().values()
    if failures and any(each.failed > limit * (each.scored + each.failed) for each in summaries):
        return failures
    if any(gate.passed is False for gate in run.gates()):
        how = f"`ragstone runs show {name} --html report.html`" if run.stored else "--html FILE"
        return f"{how} shows the samples behind the gate"
    if advice := failures or _sample_size_advice(run):
        return advice
    if not (first and run.stored) or len(run.rows) < FEW:
        return None
    return "`ragstone runs tag last baseline`; after a change, `ragstone compare baseline`"


def _failure_advice(run: Run) -> str | None:
    manifest, plan, health = run.manifest, run.manifest.plan, run.counts.health()
    scores, before = run.counts.scores.values(), run.counts.failed_before
    causes = sum((counts.causes for counts in scores), Counter[Cause]())
    if not causes:
        return None
    failed = causes - before
    if before.total() > max(failed.values(), default=0):
        return (
            f"{count(before.total(), 'score')} failed because {manifest.source.name} records "
            "failed calls: collect these responses again or fix the file, then run again"
        )
    target_failed = health is not None and bool(health.failed)
    again, use = "run again", "use"
    if run.stored and run.columns is not None:
        again = "evaluate the file again with `ragstone rank`"
    elif run.stored and manifest.source.path is not None and ORIGIN not in manifest.identity:
        again = f"`ragstone resume {manifest.run_id} --retry-failed`"
        use = "start a new run with"  # a resumed run has its stored settings
    words = {
        cause: " ".join(each.words for each in (of.failed.get(cause) for of in scores) if each)
        for cause in (Cause.MALFORMED, Cause.COUNT_MISMATCH, Cause.TRUNCATED)
    }
    other_model = {cause: _other_model(plan, text) for cause, text in words.items()}
    if health is not None and not _ASKED.search(words[Cause.MALFORMED]):
        other_model[Cause.MALFORMED] = f"fix what the target returns, then {again}"
    longer = _longer(plan, words[Cause.TRUNCATED])
    if not target_failed and not any(map(is_model, split_names(plan.judge))):
        longer = "set a larger length= for the local judge, if the model allows it, or use shorter"
        longer += " claims"
    slower = "--delay SECONDS" if target_failed else "--set rpm=N"
    if target_failed and "connection was lost" in words[Cause.TRUNCATED]:
        longer = f"check the target's server, then {again}"
    unreachable = f"check that the service is running, then {again}"
    firsts = [counts.failed.get(Cause.UNREACHABLE) for counts in scores]
    if target_failed and any(each and " returned 404" in each.words for each in firsts):
        unreachable = "the API has no such path; describe its paths in a target file (--target)"
    rejected = "read the reply in the failed rows, and change what is sent"
    if not target_failed and not any(map(is_model, split_names(plan.judge))):
        rejected = "start a new run with --model: LLMs read JSON and tables"
    advice: dict[Cause, str] = {
        Cause.TIMEOUT: f"{again}; if it times out again, {use} --timeout {2 * plan.timeout:g}",
        Cause.RATE_LIMITED: f"{again}; if it is limited again, {use} {slower}, or a "
        f"--concurrency below {plan.concurrency}",
        Cause.UNREACHABLE: unreachable,
        Cause.REJECTED: rejected,
        Cause.REFUSAL: "try another --model, which may answer",
        Cause.TRUNCATED: longer,
        Cause.MALFORMED: other_model[Cause.MALFORMED],
        Cause.COUNT_MISMATCH: other_model[Cause.COUNT_MISMATCH],
        Cause.NO_CLAIMS: f"try another --model, or {use} --set claim_source=hybrid",
        Cause.METRIC_ERROR: f"fix the metric, then {again}",
        Cause.JUDGE_ERROR: f"fix the judge, then {again}",
        Cause.TARGET_ERROR: f"fix the target, then {again}",
    }
    cause = next((cause for cause, _ in failed.most_common() if cause in advice), None)
    if cause is None:
        return None
    others = [f"{times:,} {CAUSES[each]}" for each, times in failed.items() if each is not cause]
    more = f". Others failed for other reasons: {', '.join(others)}" if others else ""
    return f"{count(failed[cause], 'score')} failed ({CAUSES[cause]}): {advice[cause]}{more}"


_ASKED = re.compile(r"\(([a-z]+_[a-z]+)\)")  # the kind of question that an LLM judge failed
_LIMIT = re.compile(r"limit of ([\d,]+) tokens")  # the longest reply that was allowed


def _other_model(plan: Plan, words: str) -> str:
    asked = [match[1] for match in _ASKED.finditer(words)]
    if ExtractClaims.kind in asked:
        return "try another --model, or --set claim_source=sentences, which needs no list of claims"
    if VerifyClaims.kind in asked and plan.verify != "each":
        return "try another --model, or --verify each for shorter replies"
    return "try another --model" if asked else "read the replies in the failed rows"


def _longer(plan: Plan, words: str) -> str:
    if "context_window" in words:
        return "follow the advice in the failed rows on context_window"
    tried = [int(each.replace(",", "")) for each in _LIMIT.findall(words)]
    if tried and max(tried) < plan.max_tokens:  # long enough for any reply of the requested form
        return _other_model(plan, words) + "; this one does not end its replies"
    most = max([plan.max_tokens, *tried])
    return f"allow longer replies with --set max_tokens={2 * most}"


def _sample_size_advice(run: Run) -> str | None:
    name = focus_metric(run)
    if name is None:
        return None
    summary, info = run.summary()[name], run.metrics[name]
    span = info.high - info.low
    if summary.interval is None or not 0 < span < math.inf:
        return None
    margin = (summary.interval[1] - summary.interval[0]) / 2
    if margin <= WIDE * span:
        return None
    needed = summary.scored * (margin / (GOAL * span)) ** 2
    if not run.counts.grouping.by:  # rows of a cluster vary together
        # few rows do not show how much scores vary, and their margin cannot exceed half the range
        needed = ENOUGH if summary.scored < FEW else min(needed, ENOUGH)
    return (
        f"{name} is only accurate to ±{margin:.2g} ({count(summary.scored, 'row')}); "
        f"about {math.ceil(needed / 10) * 10:,} rows would give ±{GOAL * span:.2g}"
    )
