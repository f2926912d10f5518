"""The check of a test set: printed, as plain data, and as a page."""

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.reports.format import dollars, percent
from ragstone.reports.html.page import write_page
from ragstone.reports.terminal import Grid, GridRow, print_grid
from ragstone.testsets.check import CHECKS, Finding, SetCheck, Status
from ragstone.testsets.documents import Chunk, Corpus

SHOWN, WIDEST = 3, 200  # findings of each kind that are printed, and characters of their texts
STATUSES: Mapping[Status, str] = {
    "valid": "valid",
    "corrected": "valid with other relevant ids",
    "rejected": "rejected",
    "unchecked": "not checked",
}
MAX_ROWS = 1000  # rows with findings on a page


def check_document(found: SetCheck) -> dict[str, object]:
    corpus = found.corpus
    return {
        "data": found.name,
        "judge": found.judge,
        "documents": {name: each.sha256 for name, each in corpus.documents.items()},
        "chunks": len(corpus.chunks),
        "notes": list(found.notes),
        "counts": dict(found.counts),
        **{status: len(found.with_status(status)) for status in STATUSES},
        "rows": [
            {
                "id": row.sample.id,
                "type": row.type,
                "status": row.status,
                "leak": row.leak,
                "relevance": None if row.relevance is None else dict(row.relevance),
                "support": [span.to_dict(corpus) for span in row.support],
                "findings": [
                    {
                        "check": each.check,
                        "severity": each.severity,
                        "message": each.message,
                        "evidence": [span.to_dict(corpus) for span in each.evidence],
                    }
                    for each in row.findings
                ],
            }
            for row in found.rows
        ],
        "calls": found.usage.calls,
        "cost_usd": found.usage.cost_usd,
    }


def print_check(found: SetCheck, console: Console) -> None:
    rows, corpus = len(found.rows), found.corpus
    console.print(
        Text(
            f"{found.name}: {count(rows, 'row')}, checked with {found.judge} against "
            f"{count(len(corpus.documents), 'document')} ({count(len(corpus.chunks), 'chunk')})"
        )
    )
    for note in found.notes:
        if note not in corpus.notes:
            console.print(Text(f"Note: {note}"))
    if found.description:
        console.print(Text(f"{found.judge}: {found.description}"))
    shown = [
        f"{number:,} {words} ({percent(number / rows)})"
        for status, words in STATUSES.items()
        if (number := len(found.with_status(status))) or status != "unchecked"
    ]
    console.print(Text("\n" + ", ".join(shown)))
    if not found.counts:
        console.print(Text("No findings."))
        return
    by_check: dict[str, list[Finding]] = defaultdict(list)
    for finding in found.findings:
        by_check[finding.check].append(finding)
    grid_rows: list[GridRow] = []
    for check in found.counts:
        figures: list[str] = []
        for severity in ("error", "warning"):
            number = len({f.row for f in by_check[check] if f.severity == severity})
            figures.append(f"{number:,}" if number else "")
        grid_rows.append(GridRow((check, CHECKS[check], *figures)))
    heads = ("check", "what was found", "errors", "warnings")
    console.print()
    print_grid(console, Grid(heads, tuple(grid_rows), frozenset(heads[2:])), spare=heads[1])
    queries = {row.sample.id: row.sample.query for row in found.rows}
    for check in found.counts:
        findings = sorted(by_check[check], key=lambda f: f.severity)
        more = f"; --json and --html show all {len(findings):,}"
        rest = more if len(findings) > SHOWN else ""
        console.print(Text(f"\n{check}{rest}", "bold"))
        for finding in findings[:SHOWN]:
            head = f"  {finding.severity} in row {one_line(finding.row, 40)}: "
            console.print(Text(head + one_line(queries[finding.row], WIDEST)), soft_wrap=True)
            console.print(Text(f"    {one_line(finding.message, 2 * WIDEST)}"), soft_wrap=True)
            for span in finding.evidence[:2]:
                words = one_line(span.text(corpus), WIDEST)
                console.print(Text(f"    {one_line(span.document, 60)}: {words}"), soft_wrap=True)
    if found.usage.calls:
        cost = found.usage.cost_usd
        price = "price unknown" if cost is None else f"about {dollars(cost)}"
        console.print(Text(f"\n{count(found.usage.calls, 'call')}, {price}"))


def marked_chunks(finding: Finding, corpus: Corpus) -> list[tuple[Chunk, list[tuple[str, bool]]]]:
    """Return the chunks that have spans, each as pieces of text and whether they are evidence."""
    lit: dict[str, list[bool]] = {}
    for span in finding.evidence:
        for chunk in corpus.by_document[span.document]:
            if chunk.start < span.end and span.start < chunk.end:
                marks = lit.setdefault(chunk.id, [False] * len(chunk.text))
                start, end = max(span.start, chunk.start), min(span.end, chunk.end)
                marks[start - chunk.start : end - chunk.start] = [True] * (end - start)
    marked: list[tuple[Chunk, list[tuple[str, bool]]]] = []
    for name, marks in lit.items():
        letters = zip(corpus.by_id[name].text, marks, strict=True)
        pieces = [("".join(a for a, _ in run), on) for on, run in groupby(letters, itemgetter(1))]
        marked.append((corpus.by_id[name], pieces))
    return marked


def write_check(found: SetCheck, path: Path) -> None:
    rows = [row for row in found.rows if row.findings]
    rows.sort(key=lambda row: ("rejected", "unchecked", "corrected", "valid").index(row.status))
    write_page(
        path,
        "questions.html",
        found=found,
        checks=CHECKS,
        statuses=STATUSES,
        rows=rows[:MAX_ROWS],
        left_out=max(0, len(rows) - MAX_ROWS),
        evidence=partial(marked_chunks, corpus=found.corpus),
    )
