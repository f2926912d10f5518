"""The check of a test set: printed, as plain data, as a page, and its rejected rows."""

from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from markupsafe import Markup
from rich.console import Console
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.reports.format import dollars, percent
from ragstone.reports.html.page import STYLES, read_asset, render_parts
from ragstone.reports.terminal import Grid, GridRow, print_grid
from ragstone.testsets.check import CHECKS, Finding, SetCheck, Status
from ragstone.testsets.documents import Chunk, Corpus, Span
from ragstone.types.sample import Sample

WIDEST = 200
"""Characters shown of a text in the terminal."""
STATUSES: Mapping[Status, str] = MappingProxyType(
    {
        "valid": "valid",
        "corrected": "valid with other relevant ids",
        "rejected": "rejected",
        "unchecked": "not checked",
    }
)
MOST_ROWS = 1000
"""Rows with findings on a page."""


def check_document(found: SetCheck) -> dict[str, object]:
    corpus = found.corpus

    def places(spans: Iterable[Span]) -> list[dict[str, object]]:
        return [
            {"document": s.document, "start": s.start, "end": s.end, "text": s.text(corpus)}
            for s in spans
        ]

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
                "support": places(row.support),
                "findings": [
                    {
                        "check": each.check,
                        "severity": each.severity,
                        "message": each.message,
                        "evidence": places(each.evidence),
                    }
                    for each in row.findings
                ],
            }
            for row in found.rows
        ],
        "calls": found.usage.calls,
        "cost_usd": found.usage.cost_usd,
    }


def valid_samples(found: SetCheck) -> list[Sample]:
    """Return the valid rows with corrected relevance.

    The ids before the correction are in the tag `relevance_before`, findings in `warnings`.
    """
    samples: list[Sample] = []
    for row in found.with_status("valid", "corrected"):
        sample, tags = row.corrected, dict(row.sample.tags)
        if sample is not row.sample and row.sample.relevance:
            tags["relevance_before"] = ", ".join(row.sample.relevance)
        if warnings := [finding for finding in row.findings if finding.severity == "warning"]:
            tags["warnings"] = _messages(warnings)
        samples.append(sample.model_copy(update={"tags": tags}))
    return samples


def rejected_samples(found: SetCheck) -> list[Sample]:
    """Return the rejected and unchecked rows, with the reasons in the tag `rejected_because`."""
    return [
        row.sample.model_copy(
            update={"tags": {**row.sample.tags, "rejected_because": _messages(row.errors)}}
        )
        for row in found.with_status("rejected", "unchecked")
    ]


def _messages(findings: Iterable[Finding]) -> str:
    return "; ".join(f"{each.check}: {each.message}" for each in findings)


def print_check(found: SetCheck, console: Console, *, most: int) -> None:
    rows = len(found.rows)
    corpus = found.corpus
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
    numbers_of = {words: len(found.with_status(status)) for status, words in STATUSES.items()}
    shown = (
        f"{number:,} {words} ({percent(number / rows)})"
        for words, number in numbers_of.items()
        if number or words != STATUSES["unchecked"]
    )
    console.print(Text("\n" + ", ".join(shown)))
    if not found.counts:
        console.print(Text("No findings."))
        return
    by_check: dict[str, list[Finding]] = defaultdict(list)
    for finding in found.findings:
        by_check[finding.check].append(finding)
    rows_of: list[GridRow] = []
    for check in found.counts:
        severities = [
            len({f.row for f in by_check[check] if f.severity == severity})
            for severity in ("error", "warning")
        ]
        figures = (f"{number:,}" if number else "" for number in severities)
        rows_of.append(GridRow((check, CHECKS[check], *figures)))
    short = tuple(GridRow((row.cells[0], *row.cells[2:])) for row in rows_of)
    numbers = frozenset(("errors", "warnings"))
    console.print()
    print_grid(
        console,
        Grid(("check", "what was found", "errors", "warnings"), tuple(rows_of), numbers),
        Grid(("check", "errors", "warnings"), short, numbers),
    )
    queries = {row.sample.id: row.sample.query for row in found.rows}
    for check in found.counts if most else ():
        findings = sorted(by_check[check], key=lambda f: f.severity)
        more = f"; --show N, --json or --html show all {len(findings):,}"
        rest = more if len(findings) > most else ""
        console.print(Text(f"\n{check}{rest}", "bold"))
        for finding in findings[:most]:
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


@dataclass(frozen=True)
class Part:
    """A piece of a chunk's text, and whether it is evidence."""

    text: str
    lit: bool


@dataclass(frozen=True)
class ShownChunk:
    """A chunk with its evidence marked."""

    chunk: Chunk
    parts: tuple[Part, ...]


def shown_chunks(spans: Iterable[Span], corpus: Corpus) -> list[ShownChunk]:
    """Return the chunks in which places are, in order, with these places marked."""
    inside: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        for chunk in corpus.by_document[span.document]:
            if chunk.start < span.end and span.start < chunk.end:
                inside[chunk.id].append(span)
    shown: list[ShownChunk] = []
    for name, places in inside.items():
        chunk = corpus.by_id[name]
        lit = [False] * len(chunk.text)
        for span in places:
            start, end = max(span.start, chunk.start), min(span.end, chunk.end)
            lit[start - chunk.start : end - chunk.start] = [True] * (end - start)
        cuts = [n for n in range(1, len(lit)) if lit[n] != lit[n - 1]]
        ends = [0, *cuts, len(lit)]
        parts = [Part(chunk.text[a:b], lit[a]) for a, b in pairwise(ends) if b > a]
        shown.append(ShownChunk(chunk, tuple(parts)))
    return shown


def write_check(found: SetCheck, path: Path) -> None:
    style = "\n".join(map(read_asset, STYLES))
    digest = b64encode(sha256(style.encode()).digest()).decode()
    rows = [row for row in found.rows if row.findings]
    rows.sort(key=lambda row: ("rejected", "unchecked", "corrected", "valid").index(row.status))

    def evidence(finding: Finding) -> list[ShownChunk]:
        return shown_chunks(finding.evidence, found.corpus)

    parts = render_parts(
        "questions.html",
        found=found,
        checks=CHECKS,
        statuses=STATUSES,
        rows=rows[:MOST_ROWS],
        left_out=max(0, len(rows) - MOST_ROWS),
        evidence=evidence,
        style_text=Markup(style),  # noqa: S704 - our own file
        style_hash=digest,
    )
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(parts)
