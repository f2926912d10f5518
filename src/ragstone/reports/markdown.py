"""A run as Markdown for pull requests and GitHub Actions: the verdict first, details folded.

No text from outside is markup or a link, or notifies anyone.
"""

import re
import secrets
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from ragstone._internal.text import count, one_line
from ragstone.errors import InputError, RagstoneError
from ragstone.reports import view
from ragstone.reports.tables import write_output
from ragstone.reports.view import Grid, Line, Tone
from ragstone.results.run import Run

COMMENT = 65_000  # bytes of a report; a comment on GitHub has at most 65,536 characters
MAX_CELL, _SHORT = 1000, 300  # characters of a cell, and of one in the lists of samples

_MARKUP = re.compile(
    r"[\\`*\[\]|~$]"  # code, emphasis, links, cells, strikes, formulas
    r"|(?<!\w)_|_(?!\w)"  # emphasis too, except within a word
)
_OPENING = re.compile(r"^(\d*)(?=[-#+=.)])")  # would make a heading or a list
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_REFERENCE = re.compile(
    r"(?<![A-Za-z0-9])@|@(?=[\w-]+\.\w)"  # people, teams and mail, but not hit@5
    r"|[#!](?=\d)|\bGH-(?=\d)"  # issues and pull requests
    r"|:(?=//)|\bwww(?=\.)",  # bare addresses
    re.IGNORECASE,
)
_BREAK = r"\g<0>&#8203;"  # a zero-width space: forges find references in the shown text


def write_markdown(content: Run | str, path: Path) -> None:
    write_output(content if isinstance(content, str) else run_as_markdown(content), path)


def run_as_markdown(run: Run, *, limit: int = COMMENT) -> str:
    reasons = filter(None, (*run.too_much_failed, run.failed_tests))
    blocks = [f"## {escape(view.title(run))}", *(f"**{escape(each)}**" for each in reasons)]
    if advice := run.verdict.advice:
        blocks.append(f"**{escape(advice)}**")
    if lines := [f"- {_emphasized(line)}" for line in view.decisions(run)]:
        blocks.append("\n".join(lines))
    if outcomes := view.outcome_grid(run):
        blocks.append(part_as_markdown(outcomes))
    if metrics := tuple(view.metric_lines(run)):
        blocks.append(part_as_markdown(Grid(view.METRIC_HEADS, metrics, frozenset({"mean"}))))
    if judge := view.trust(run):
        blocks.append(paragraph(f"{judge.label}: {judge.words}"))
    for title, grids in (("Failed scores", view.failures(run)), ("Worst samples", view.worst(run))):
        for grid in grids:
            blocks += [f"### {title}", part_as_markdown(grid, _SHORT)]
    rows = [(escape(line.label), _emphasized(line)) for line in view.details(run)]
    blocks += [folded("All counts", part_as_markdown(part)) for part in view.scores(run)]
    blocks.append(folded("Run details", markdown_table(("item", "value"), rows)))
    blocks += [folded(f"By {grid.heads[0]}", part_as_markdown(grid)) for grid in view.slices(run)]
    return join_blocks(blocks, limit=limit)


def part_as_markdown(part: Line | Grid, limit: int = MAX_CELL) -> str:
    if isinstance(part, Line):
        return paragraph(part.words) if part.tone is not Tone.BAD else _emphasized(part)
    rows: list[list[str]] = []
    for row in part.rows:
        *cells, last = (escape(str(cell), limit) for cell in row.cells)
        rows.append([*cells, last if row.tone is Tone.PLAIN else f"**{last}**"])
    heads = [escape(head) for head in part.heads]
    return markdown_table(heads, rows, figures={escape(head) for head in part.figures})


def _emphasized(line: Line) -> str:
    return f"**{escape(line.words)}**" if line.tone is Tone.BAD else escape(line.words)


def escape(words: str, limit: int = MAX_CELL) -> str:
    plain = _MARKUP.sub(r"\\\g<0>", one_line(words, limit)).translate(_HTML)
    return _REFERENCE.sub(_BREAK, plain)


def paragraph(words: str) -> str:
    return _OPENING.sub(r"\1\\", escape(words))


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, figures: Container[str] = ()
) -> str:
    ruler = ["---:" if head in figures else "---" for head in heads]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows))


def folded(title: str, body: str) -> str:
    # Markdown reads no escapes within HTML
    safe = _REFERENCE.sub(_BREAK, one_line(title, MAX_CELL).translate(_HTML))
    return f"<details>\n<summary>{safe}</summary>\n\n{body}\n\n</details>"


def join_blocks(blocks: Sequence[str], *, limit: int) -> str:
    for number in range(len(blocks), -1, -1):
        cut = len(blocks) - number
        notice = [f"**{count(cut, 'part')} of this report did not fit**"] if cut else []
        text = "\n\n".join([*blocks[:number], *notice]) + "\n"
        if len(text.encode()) <= limit:
            return text
    return ""


MAX_ANNOTATIONS = 10  # annotations of a level that GitHub shows per step
SUMMARY_BYTES = 1024 * 1024  # bytes of a step's summary; GitHub discards longer ones
MAX_TEXT = 1000  # characters of one annotation

Level = Literal["error", "warning"]


def report_to_github(run: Run, environ: Mapping[str, str]) -> tuple[str, ...]:
    if not environ.get("GITHUB_ACTIONS"):
        return ()
    summaries = run.summary()
    errors = [("run stopped early", view.partial_notice(run))] if run.partial else []
    errors += [("too many failures", words) for words in run.too_much_failed]
    for gate in run.gates():
        if not gate.passed:
            title = "gate undecided" if gate.passed is None else "gate failed"
            errors.append((title, f"{gate} ({view.coverage(summaries[gate.metric])})"))
    warnings: list[tuple[str, str]] = []
    for name, summary in summaries.items():
        if summary.failed:
            of = f"{summary.failed:,} of {count(summary.n, 'score')} failed"
            warnings.append(("missing scores", f"{name}: {of}: {view.why_failed(run, name)}"))
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        warnings += _add_summary(Path(path), run)
    levels: dict[Level, list[tuple[str, str]]] = {"error": errors, "warning": warnings}
    for listed in levels.values():
        if (rest := len(listed) - MAX_ANNOTATIONS + 1) > 1:
            listed[-rest:] = [("and more", f"{rest:,} more; see the job summary")]
    return tuple(annotation(level, *each) for level, listed in levels.items() for each in listed)


def _add_summary(path: Path, run: Run) -> list[tuple[str, str]]:
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
    token = secrets.token_hex(16) if environ.get("GITHUB_ACTIONS") else None
    if token:
        print(f"::stop-commands::{token}", file=stream, flush=True)
    try:
        yield
    finally:
        if token:
            print(f"\n::{token}::", file=stream, flush=True)


def error_annotation(error: RagstoneError, environ: Mapping[str, str]) -> str | None:
    """Return an annotation of why nothing was scored, for GitHub Actions only."""
    if not environ.get("GITHUB_ACTIONS"):
        return None
    if not isinstance(error, InputError) or not error.problems:
        return annotation("error", "nothing was scored", str(error))
    first, *more = error.problems
    rest = f" (and {count(len(more), 'more problem')})" if more else ""
    words = f"{error.file}: {one_line(str(first), MAX_TEXT // 2)}{rest}"
    where: dict[str, str] = {}
    try:
        workspace = Path(environ.get("GITHUB_WORKSPACE", ".")).resolve()
        path = Path(error.file).resolve(strict=True).relative_to(workspace)
        where["file"] = path.as_posix()
        if first.row and first.unit == "line":
            where["line"] = str(first.row)
    except (OSError, ValueError):  # not a file, such as samples in memory, or elsewhere
        pass
    return annotation("error", "invalid data", words, **where)


def annotation(level: Level, title: str, words: str, **properties: str) -> str:
    texts = {name: _plain(text) for name, text in {**properties, "title": title}.items()}
    safe = [f"{k}={text.replace(':', '%3A').replace(',', '%2C')}" for k, text in texts.items()]
    return f"::{level} {','.join(safe)}::{_plain(words)}"


def _plain(words: str) -> str:
    return one_line(words, MAX_TEXT).replace("%", "%25")
