"""GitHub Actions: the job summary, and annotations of failures."""

import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal

from ragstone._internal.text import count, one_line
from ragstone.errors import InputError, Problem, RagstoneError
from ragstone.reports.facts import coverage, partial_notice, why_failed
from ragstone.reports.markdown import run_as_markdown
from ragstone.results.run import Run

MAX_ANNOTATIONS = 10
"""Annotations of a level that GitHub shows per step."""
SUMMARY_BYTES = 1024 * 1024
"""Bytes of a step's summary; GitHub discards longer ones."""
MAX_TEXT = 1000
"""Characters of one annotation."""

Level = Literal["error", "warning"]


def report_to_github(run: Run, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Add the report to the job summary and return annotations to print, one line each."""
    if not environ.get("GITHUB_ACTIONS"):
        return ()
    summaries = run.summary()
    errors = [("run stopped early", partial_notice(run))] if run.partial else []
    errors += [("too many failures", words) for words in run.too_much_failed]
    for gate in run.gates():
        if not gate.passed:
            title = "gate undetermined" if gate.passed is None else "gate failed"
            errors.append((title, f"{gate} ({coverage(summaries[gate.metric])})"))
    warnings: list[tuple[str, str]] = []
    for name, summary in summaries.items():
        if summary.failed:
            of = f"{summary.failed:,} of {count(summary.n, 'score')} failed"
            warnings.append(("missing scores", f"{name}: {of}: {why_failed(run, name)}"))
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        warnings += _add_summary(Path(path), run)

    lines: list[str] = []
    levels: tuple[tuple[Level, list[tuple[str, str]]], ...] = (
        ("error", errors),
        ("warning", warnings),
    )
    for level, found in levels:
        shown = found if len(found) <= MAX_ANNOTATIONS else found[: MAX_ANNOTATIONS - 1]
        lines += [annotation(level, title, words) for title, words in shown]
        if rest := len(found) - len(shown):
            words = f"{rest:,} more; see the job summary"
            lines.append(annotation(level, "and more", words))
    return tuple(lines)


def _add_summary(path: Path, run: Run) -> list[tuple[str, str]]:
    """Append the report to the job summary; return what went wrong."""
    try:
        taken = path.stat().st_size if path.exists() else 0
        text = run_as_markdown(run, limit=SUMMARY_BYTES - taken - 1)
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(("\n" if taken else "") + text if text else "")
    except (OSError, ValueError) as error:
        return [("no summary", f"the job summary cannot be written: {error}")]
    return [] if text else [("no summary", "the job summary is full; no report was added")]


@contextmanager
def no_commands(stream: IO[str], environ: Mapping[str, str]) -> Generator[None, None, None]:
    """Stop GitHub Actions from obeying workflow commands in the output, which has foreign text."""
    token = secrets.token_hex(16) if environ.get("GITHUB_ACTIONS") else None
    if token:
        print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        if token:
            print(f"\n::{token}::", file=stream, flush=True)


def error_annotation(error: RagstoneError, environ: Mapping[str, str]) -> str | None:
    """Return an annotation of why nothing was scored; None outside GitHub Actions.

    It points to the bad file, and to the line if rows are lines.
    """
    if not environ.get("GITHUB_ACTIONS"):
        return None
    if not isinstance(error, InputError) or not error.problems:
        return annotation("error", "nothing was scored", str(error))
    first, *more = error.problems
    rest = f" (and {count(len(more), 'more problem')})" if more else ""
    words = f"{error.file}: {one_line(str(first), MAX_TEXT // 2)}{rest}"
    return annotation("error", "invalid data", words, place=_place(error.file, first, environ))


def _place(name: str, problem: Problem, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return file and line of a problem, relative to the workspace."""
    try:
        workspace = Path(environ.get("GITHUB_WORKSPACE", ".")).resolve()
        path = Path(name).resolve(strict=True).relative_to(workspace)
    except (OSError, ValueError):  # not a file, such as samples in memory, or elsewhere
        return {}
    has_line = problem.row and problem.unit == "line"
    return {"file": path.as_posix(), **({"line": str(problem.row)} if has_line else {})}


def annotation(
    level: Level, title: str, words: str, *, place: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return an annotation as a workflow command: one line without other commands."""
    safe = {name: _plain(value) for name, value in {**place, "title": title}.items()}
    properties = [
        f"{name}={value.replace(':', '%3A').replace(',', '%2C')}" for name, value in safe.items()
    ]
    return f"::{level} {','.join(properties)}::{_plain(words)}"


def _plain(words: str) -> str:
    return one_line(words, MAX_TEXT).replace("%", "%25")
