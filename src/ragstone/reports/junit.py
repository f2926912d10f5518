"""JUnit XML: a run as tests, for whatever shows the tests of a CI job.

A suite a metric that is held to something (a gate, or a pass mark; where none is, every metric),
in it a test a sample, and one a gate. A sample fails where its score falls short of its pass mark;
without one, where it falls short of the mark of a gate on the metric's mean (a gate passes or fails
by the mean, so samples may fail under a gate that passes). What was not judged is an error with its
cause, and so are imputed scores and gates that cannot be checked; what is undefined is skipped.
Of a ranking's run with many queries only some are tests; a property says which.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Literal, Self
from xml.sax.saxutils import escape, quoteattr

from ragstone._internal.files import write_file
from ragstone._internal.text import one_line, strip_controls
from ragstone.reports.facts import CAUSES, partial_notice
from ragstone.reports.format import NOTHING, decimal, interval
from ragstone.reports.insights import excerpt, held, shortfall
from ragstone.reports.table_rows import claim_in_words
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.gate import GateResult
from ragstone.types.row import Row
from ragstone.types.score import Score, State

LONGEST = 1000
"""Characters of one text in the body of a test; a message has fewer."""
_SHORT = 300
_CLAIMS = 10
"""Failing claims that are told of one score."""

Kind = Literal["failure", "error", "skipped"]


@dataclass(frozen=True)
class _Finding:
    """Why a test did not pass: in a line, its class, and at length."""

    kind: Kind
    message: str
    type: str = ""
    body: str = ""


class _Suite:
    """The tests of one metric, in a file of their own, as their number stands before them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.counts = Counter[str]()
        self._file = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, test: str, finding: _Finding | None) -> None:
        """Write one test; without a finding it passed."""
        self.counts["tests"] += 1
        opened = _opened("testcase", name=_line(test), classname=_line(self.name))
        if finding is None:
            self._file.write(f"{opened}</testcase>\n")
            return
        self.counts[finding.kind] += 1
        said = _opened(finding.kind, message=_line(finding.message), type=_line(finding.type))
        body = escape(strip_controls(finding.body))
        self._file.write(f"{opened}{said}{body}</{finding.kind}></testcase>\n")

    def copy(self, stream: IO[str]) -> None:
        """Write all tests into a stream."""
        self._file.seek(0)
        copyfileobj(self._file, stream)


def write_junit(run: Run, path: Path) -> None:
    """Write the run as JUnit XML; the rows are read once, and few are in memory.

    Raises:
        UsageError: the file cannot be written.
    """
    write_file(path, partial(_write, run=run))


def _write(path: Path, run: Run) -> None:
    some, left_out = excerpt(run)
    with ExitStack() as stack:
        suites = [stack.enter_context(_Suite(name)) for name in held(run)]
        for row in some.rows:
            for suite in suites:
                suite.add(row.sample.id, _finding(run, suite.name, row))
        for suite in suites:
            for gate in run.gates():
                if gate.metric == suite.name:
                    suite.add(f"gate: {gate.of} {gate.op} {gate.threshold:g}", _of_gate(gate))
        if run.partial or run.too_much_failed:
            whole = stack.enter_context(_Suite("run"))
            if run.partial:
                found = _Finding("error", partial_notice(run), "partial")
                whole.add("every row was finished", found)
            if run.too_much_failed:
                found = _Finding("error", "; ".join(run.too_much_failed), "max_failure_rate")
                whole.add("no more failed than is allowed", found)
            suites.append(whole)
        stream = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
        _join(run, suites, stream, left_out=left_out)


def _join(run: Run, suites: list[_Suite], stream: IO[str], *, left_out: str | None) -> None:
    total = sum((suite.counts for suite in suites), Counter[str]())
    started = f"{run.manifest.started_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    told = [("tests are of", left_out)] if left_out else []
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(_opened("testsuites", name="ragstone", **_counted(total)) + "\n")
    for suite in suites:
        counted = _counted(suite.counts)
        stream.write(_opened("testsuite", name=_line(suite.name), timestamp=started, **counted))
        known = "".join(
            _opened("property", name=name, value=_line(value) or NOTHING) + "</property>"
            for name, value in (*_known(run, suite.name), *told)
        )
        stream.write(f"\n<properties>{known}</properties>\n")
        suite.copy(stream)
        stream.write("</testsuite>\n")
    stream.write("</testsuites>\n")


def _opened(tag: str, **attributes: str) -> str:
    """Return a start tag; attributes without a text are left out."""
    said = "".join(f" {name}={quoteattr(text)}" for name, text in attributes.items() if text)
    return f"<{tag}{said}>"


def _counted(counts: Mapping[str, int]) -> dict[str, str]:
    names = {"tests": "tests", "failures": "failure", "errors": "error", "skipped": "skipped"}
    return {name: str(counts.get(kind, 0)) for name, kind in names.items()}


def _known(run: Run, name: str) -> Iterator[tuple[str, str]]:
    """Yield what a reader of a suite wants to know of it."""
    manifest = run.manifest
    yield "run", manifest.run_id
    yield "dataset", manifest.source.name
    if manifest.target:
        yield "target", manifest.target
    if name in run.metrics:
        if run.metrics[name].calls and manifest.judge:
            yield "judge", manifest.judge
        if policy := run.metrics[name].policy:
            yield "policy", policy
        summary = run.summary()[name]
        yield "mean", decimal(summary.mean)
        yield "interval", interval(summary.interval)


def _finding(run: Run, name: str, row: Row) -> _Finding | None:
    score = row.scores[name]
    if score.cause is not None:
        why = f"not judged: {CAUSES[score.cause]}: {score.reason or ''}"
        return _Finding("error", why, score.cause.value, score.reason or "")
    if score.state is State.UNDEFINED:
        return _Finding("skipped", score.reason or "undefined")
    if score.fallback:
        why = f"not judged: the policy made {decimal(score.value)} up: {score.reason or ''}"
        return _Finding("error", why, "made up", _body(row, score))
    gates = [gate for gate in run.manifest.plan.gates if gate.metric == name]
    short = shortfall(score, run.metrics[name], gates)
    return _Finding("failure", short, "threshold", _body(row, score)) if short else None


def _of_gate(gate: GateResult) -> _Finding | None:
    if gate.passed is None:
        return _Finding("error", f"cannot be checked: {gate}", "gate")
    return None if gate.passed else _Finding("failure", str(gate), "gate")


def _body(row: Row, score: Score) -> str:
    parts = [f"query: {_cut(row.sample.query)}"]
    if row.sample.response is not None:
        parts.append(f"response: {_cut(row.sample.response)}")
    claims = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
    parts += [one_line(claim_in_words(claim), LONGEST) for claim in claims[:_CLAIMS]]
    if len(claims) > _CLAIMS:
        parts.append(f"and {len(claims) - _CLAIMS:,} more claims")
    return "\n".join(parts)


def _cut(text: str) -> str:
    rest = len(text) - LONGEST
    return text if rest <= 0 else f"{text[:LONGEST]}… (and {rest:,} more characters)"


def _line(text: str) -> str:
    return one_line(text, _SHORT)
