"""A run as Markdown, for a pull request: the verdict first, what can be left out last."""

import re
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from ragstone._internal.files import write_text
from ragstone._internal.text import count, one_line
from ragstone.reports.facts import CAUSES, facts, partial_notice
from ragstone.reports.format import NOTHING, decimal, interval
from ragstone.reports.insights import failing_claim, focus, held, marked, row_at
from ragstone.reports.table_rows import STDOUT, Destination
from ragstone.results.run import Run
from ragstone.results.run_summary import Slices

# Markdown in which nothing from outside is markup or a link, or calls anybody.

LONGEST = 1000
"""Characters of one cell or sentence."""

_MARKUP = re.compile(
    r"[\\`*\[\]|~$]"  # code, emphasis, links, cells, strikes, formulas
    r"|(?<!\w)_|_(?!\w)"  # emphasis too, but not within a word
)
_OPENING = re.compile(r"^(\d*)(?=[-#+=.)])")
"""Where a line begins with what makes a heading or a list of it."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LINKED = re.compile(
    r"(?<![A-Za-z0-9])@|@(?=[\w-]+\.\w)"  # people, teams and mail, but not hit@5
    r"|[#!](?=\d)|\bGH-(?=\d)"  # issues and requests, which would tell that they were named here
    r"|:(?=//)|\bwww(?=\.)",  # bare addresses
    re.IGNORECASE,
)
_APART = "&#8203;"
"""A space without width: forges look for names in what is shown, where an escape is gone."""


def escaped(words: str, limit: int = LONGEST) -> str:
    """Return words as one line that Markdown shows as they are, cut to `limit` characters."""
    plain = _MARKUP.sub(r"\\\g<0>", one_line(words, limit)).translate(_HTML)
    return _LINKED.sub(rf"\g<0>{_APART}", plain)


def sentence(words: str) -> str:
    """Return words as a line of its own that is neither a heading nor a list."""
    return _OPENING.sub(r"\1\\", escaped(words))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, figures: Container[str] = ()
) -> str:
    """Return a table of cells that are escaped already; `figures` names columns of numbers."""
    ruler = ["---:" if head in figures else "---" for head in heads]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows))


def details(title: str, body: str) -> str:
    """Return a part that is folded until somebody opens it; it is one block."""
    # Markdown reads no escapes within HTML
    shown = _LINKED.sub(rf"\g<0>{_APART}", one_line(title, LONGEST).translate(_HTML))
    return f"<details>\n<summary>{shown}</summary>\n\n{body}\n\n</details>"


def document(blocks: Sequence[str], *, limit: int) -> str:
    """Join blocks, the first the most important, in at most `limit` bytes of UTF-8.

    Whole blocks are left out, from the end; the last line then says how many.
    """
    whole = "\n\n".join(blocks) + "\n"
    if len(whole.encode()) <= limit:
        return whole
    kept = list(blocks)
    while kept:
        kept.pop()
        notice = f"**{count(len(blocks) - len(kept), 'part')} of this report did not fit here**"
        text = "\n\n".join([*kept, notice]) + "\n"
        if len(text.encode()) <= limit:
            return text
    return ""


COMMENT = 65_000
"""Bytes of a report; a comment on GitHub takes 65,536 characters."""
_SHORT = 300
"""Characters of a query, or of why a sample is bad."""

_SCORES = ("mean", "95 % interval", "n", "scored", "undefined", "failed")
_TOLD = ("mean", "95 % interval", "scored", "undefined", "failed")


def write_markdown(run: Run, destination: Destination) -> None:
    """Write the report of a run, short enough for a comment.

    Raises:
        UsageError: the file cannot be written.
    """
    text = as_markdown(run)
    if not isinstance(destination, Path):
        destination.write(text)
    elif destination == STDOUT:
        sys.stdout.write(text)
    else:
        write_text(destination, text)


def as_markdown(run: Run, *, limit: int = COMMENT) -> str:
    """Return the report of a run in at most `limit` bytes; nothing from outside is markup in it.

    A score that failed was not judged: it has a cause and no number.
    """
    blocks = [
        f"## {_verdict(run)}",
        *([f"**{escaped(partial_notice(run))}**"] if run.partial else []),
        *(f"**{escaped(said)}**" for said in run.too_much_failed),
        *_gates(run),
        _metrics(run) if run.metrics else "No metric was run.",
        *_not_judged(run),
        *_worst(run),
        details("What was asked of whom", _asked(run)),
        *(_slices(run, each) for each in run.slices),
    ]
    return document(blocks, limit=limit)


def _verdict(run: Run) -> str:
    if run.partial:
        return "✗ Evaluation: the run was stopped early"
    if run.too_much_failed:
        return "✗ Evaluation: too much failed"
    passed = [gate.passed for gate in run.gates()]
    if not passed:
        return "Evaluation: no gate was set"
    failed, untold = passed.count(False), passed.count(None)
    of = f"of {count(len(passed), 'gate')}"
    if not failed and not untold:
        return f"✓ Evaluation: {len(passed):,} {of} passed"
    if not failed:
        return f"? Evaluation: {untold:,} {of} cannot be checked"
    return f"✗ Evaluation: {failed:,} {of} failed" + (f", {untold:,} not told" if untold else "")


def _gates(run: Run) -> list[str]:
    told = [
        f"- **{words}**" if fact.alarming else f"- {words}"
        for fact in facts(run, list(run.metrics))
        if fact.about == "Gate"
        for words in [escaped(fact.words)]
    ]
    return ["\n".join(told)] if told else []


def _metrics(run: Run) -> str:
    summaries = run.summary()
    flagged = any(summary.flagged for summary in summaries.values())
    heads = ("metric", *_SCORES, *(["made up"] if flagged else []))
    rows = [
        [
            escaped(name),
            decimal(each.mean),
            interval(each.interval),
            *(f"{number:,}" for number in (each.n, each.scored, each.undefined, each.failed)),
            *([f"{each.flagged:,}"] if flagged else []),
        ]
        for name, each in summaries.items()
    ]
    return table(heads, rows, figures=heads[1:])


def _not_judged(run: Run) -> list[str]:
    rows = [
        [escaped(name), CAUSES[cause], f"{number:,}", escaped(str(tally.failed[cause]), _SHORT)]
        for name, tally in run.tally.scores.items()
        for cause, number in tally.causes.most_common()
    ]
    heads = ("metric", "cause", "samples", "the first")
    return ["### Not judged", table(heads, rows, figures={"samples"})] if rows else []


def _worst(run: Run) -> list[str]:
    first = focus(run)
    names = marked(run) or ([] if first is None else [first])
    rows = [row for name in names for row in _worst_of(run, name)]
    heads = ("metric", "sample", "score", "query", "why")
    return ["### Worst samples", table(heads, rows, figures={"score"})] if rows else []


def _worst_of(run: Run, name: str) -> Iterator[list[str]]:
    info, tally = run.metrics[name], run.tally.scores[name]
    best = info.high if info.higher_is_better else info.low
    for placed in tally.worst(higher_is_better=info.higher_is_better):
        row = row_at(run.rows, placed.place)
        if placed.value != best and row is not None:
            score = row.scores[name]
            yield [
                escaped(name),
                escaped(row.sample.id, _SHORT),
                decimal(placed.value) + (" (made up)" if score.fallback else ""),
                escaped(row.sample.query, _SHORT),
                escaped(failing_claim(score) or score.reason or NOTHING, _SHORT),
            ]


def _asked(run: Run) -> str:
    rows = [
        [escaped(fact.about), f"**{words}**" if fact.alarming else words]
        for fact in facts(run, list(run.metrics))
        if fact.about != "Gate"
        for words in [escaped(fact.words)]
    ]
    return table(("about", "what is known"), rows)


def _slices(run: Run, found: Slices) -> str:
    names = held(run)
    heads = (escaped(found["tag"]), "metric", *_TOLD)
    rows = [
        [
            f"{escaped(each['value'])} ({each['n']:,})",
            escaped(name),
            decimal(score["mean"]),
            interval(score["interval"]),
            *(f"{score[state]:,}" for state in ("scored", "undefined", "failed")),
        ]
        for each in found["values"]
        for name in names
        for score in [each["metrics"][name]]
    ]
    return details(f"By {found['tag']}", table(heads, rows, figures=_TOLD))
