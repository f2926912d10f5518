"""GitHub Actions: the job's summary, and annotations of what should not be missed."""

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Literal

from ragstone._internal.text import count, one_line
from ragstone.errors import InputError, Problem, RagstoneError
from ragstone.reports.facts import coverage, partial_notice, why_failed
from ragstone.reports.markdown import as_markdown
from ragstone.results.run import Run

MOST = 10
"""Annotations of a kind that GitHub shows of one step."""
SUMMARY = 1024 * 1024
"""Bytes that GitHub takes as the summary of one step; a longer one is thrown away whole."""
LONGEST = 1000
"""Characters of one annotation."""
BY_LINE = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".yaml", ".yml"})
"""Endings of files whose rows are numbered by their lines."""
NOWHERE: Mapping[str, str] = MappingProxyType({})

Level = Literal["error", "warning"]
_Told = list[tuple[str, str]]
"""Titles and words of annotations."""


def report_to_github(run: Run, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Add the report to the summary of the job that is running; return annotations to print.

    Each is one line, a workflow command; outside GitHub Actions there is nothing to do.
    """
    if not environ.get("GITHUB_ACTIONS"):
        return ()
    summary = environ.get("GITHUB_STEP_SUMMARY")
    trouble = _add_summary(Path(summary), run) if summary else []
    return (*_annotations("error", _errors(run)), *_annotations("warning", _doubts(run) + trouble))


@contextmanager
def no_commands(stream: IO[str], environ: Mapping[str, str]) -> Generator[None, None, None]:
    """Have GitHub Actions obey nothing that is printed meanwhile: it may hold text from outside."""
    token = secrets.token_hex(16) if environ.get("GITHUB_ACTIONS") else None
    if token:
        print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        if token:
            print(f"\n::{token}::", file=stream, flush=True)


def refusal_to_github(error: RagstoneError, environ: Mapping[str, str]) -> str | None:
    """Return the annotation, to print, of why nothing was scored; None outside GitHub Actions.

    Where a file is at fault, the annotation stands at it, and at the line if its rows are lines.
    """
    if not environ.get("GITHUB_ACTIONS"):
        return None
    if not isinstance(error, InputError) or not error.problems:
        return command("error", "nothing was scored", str(error))
    first, *more = error.problems
    rest = f" (and {count(len(more), 'more problem')})" if more else ""
    words = f"{error.file}: {one_line(str(first), LONGEST // 2)}{rest}"
    return command("error", "bad data", words, place=_place(error.file, first, environ))


def _place(name: str, problem: Problem, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return where a problem stands, as GitHub wants it: within the workspace."""
    try:
        workspace = Path(environ.get("GITHUB_WORKSPACE", ".")).resolve()
        path = Path(name).resolve(strict=True).relative_to(workspace)
    except (OSError, ValueError):  # no file, such as samples in memory, or one from elsewhere
        return {}
    line = str(problem.row) if problem.row and path.suffix.lower() in BY_LINE else None
    return {"file": path.as_posix(), **({"line": line} if line else {})}


def command(level: Level, title: str, words: str, *, place: Mapping[str, str] = NOWHERE) -> str:
    """Return an annotation as a workflow command: one line that holds no other."""
    named = {**place, "title": title}
    safe = (f"{name}={_property(value)}" for name, value in named.items())
    return f"::{level} {','.join(safe)}::{_plain(words)}"


def _property(value: str) -> str:
    return _plain(value).replace(":", "%3A").replace(",", "%2C")


def _plain(words: str) -> str:
    return one_line(words, LONGEST).replace("%", "%25")


def _add_summary(path: Path, run: Run) -> _Told:
    """Add the report to what stands there; return what went wrong."""
    try:
        taken = path.stat().st_size if path.exists() else 0
        text = as_markdown(run, limit=SUMMARY - taken - 1)
        with path.open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(("\n" if taken else "") + text if text else "")
    except (OSError, ValueError) as error:
        return [("no summary", f"the job's summary cannot be written: {error}")]
    return [] if text else [("no summary", "the job's summary is full; no report was added")]


def _errors(run: Run) -> _Told:
    told: _Told = [("run stopped early", partial_notice(run))] if run.partial else []
    told += [("too much failed", said) for said in run.too_much_failed]
    summaries = run.summary()
    for gate in run.gates():
        if not gate.passed:
            title = "gate cannot be checked" if gate.passed is None else "gate failed"
            told.append((title, f"{gate} ({coverage(summaries[gate.metric])})"))
    return told


def _doubts(run: Run) -> _Told:
    """Return the metrics of which scores failed: these samples were not judged."""
    told: _Told = []
    for name, summary in run.summary().items():
        if summary.failed:
            of = f"{summary.failed:,} of {count(summary.n, 'sample')}"
            told.append(("not judged", f"{name}: {of} not judged: {why_failed(run, name)}"))
    return told


def _annotations(level: Level, told: Sequence[tuple[str, str]]) -> list[str]:
    shown = list(told if len(told) <= MOST else told[: MOST - 1])
    if rest := len(told) - len(shown):
        shown.append(("and more", f"{rest:,} more of these; the job's summary has all"))
    return [command(level, title, words) for title, words in shown]
