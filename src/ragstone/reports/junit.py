"""A run as JUnit XML, for CI systems that show tests.

The first suite has one test, of the verdict. Others are of metrics with a gate or a threshold (of
all, if none has one), with a test per sample and per gate. Failed and imputed scores and undecided
gates are errors, undefined scores are skipped. Of long runs only some samples are tests; a property
states which.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import UTC
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from ragstone._internal.files import write_file
from ragstone._internal.text import one_line, strip_controls
from ragstone.reports.format import CAUSES, NO_VALUE, decimal, interval
from ragstone.reports.tables import describe_claim
from ragstone.reports.view import Tone, correction, status, texts_read, title
from ragstone.reports.worst import checked_metrics, excerpt, failing, shortfall
from ragstone.results.run import Run
from ragstone.types.row import TEST_FAILED, Row
from ragstone.types.score import State

MAX_TEXT, _MAX_LINE = 1000, 300  # characters of a text in a body, and of a name or a message
_MAX_CLAIMS = 10  # failing claims of one score


class _Problem(NamedTuple):
    kind: Literal["failure", "error", "skipped"]
    message: str
    type: str = ""
    body: str = ""


class _Suite:
    """The tests of one metric, in a temporary file because their number comes before them."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name, self.counts = name, Counter[str]()
        file = TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115
        self.file = stack.enter_context(file)

    def add(self, test: str, problem: _Problem | None) -> None:
        self.counts["tests"] += 1
        self.file.write(_tag("testcase", name=_line(test), classname=_line(self.name)))
        if problem is not None:
            self.counts[problem.kind] += 1
            message, type_ = _line(problem.message), _line(problem.type)
            self.file.write(_tag(problem.kind, message=message, type=type_))
            self.file.write(f"{escape(strip_controls(problem.body))}</{problem.kind}>")
        self.file.write("</testcase>\n")


def write_junit(run: Run, path: Path) -> None:
    write_file(path, partial(_write, run=run))


def _write(path: Path, run: Run) -> None:
    shown, notice = excerpt(run)
    with ExitStack() as stack:
        suites = {name: _Suite(name, stack) for name in checked_metrics(run)}
        for row in shown.rows:
            for name, suite in suites.items():
                suite.add(row.sample.id, _problem(run, name, row))
        for gate in run.gates():
            kind = "error" if gate.passed is None else "failure"
            problem = None if gate.passed else _Problem(kind, str(gate), "gate")
            if gate.passed and run.troubles:
                problem = _Problem("skipped", f"inconclusive: {gate}")
            if suite := suites.get(gate.metric):
                suite.add(f"gate: {gate.of} {gate.op} {gate.threshold:g}", problem)
        whole = _Suite("run", stack)
        state = status(run)
        problem = None
        if state and state.tone is Tone.BAD:
            kind = "failure" if any(gate.passed is False for gate in run.gates()) else "error"
            problem = _Problem(kind, f"{state.words}; {run.verdict}", "verdict")
        whole.add("verdict", problem)
        listed = [whole, *suites.values()]

        total = sum((suite.counts for suite in listed), Counter[str]())
        started = f"{run.manifest.started_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
        stream = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        stream.write(_tag("testsuites", name="ragstone", **_counts(total)) + "\n")
        for suite in listed:
            counts = _counts(suite.counts)
            stream.write(_tag("testsuite", name=_line(suite.name), timestamp=started, **counts))
            properties = _properties(run, suite.name) | ({"excerpt": notice} if notice else {})
            stream.write("\n<properties>")
            for name, value in properties.items():
                stream.write(_tag("property", name=name, value=_line(value) or NO_VALUE))
                stream.write("</property>")
            stream.write("</properties>\n")
            suite.file.seek(0)
            copyfileobj(suite.file, stream)
            stream.write("</testsuite>\n")
        stream.write("</testsuites>\n")


def _properties(run: Run, name: str) -> dict[str, str]:
    manifest, info = run.manifest, run.metrics.get(name)
    judge = manifest.judge if info and info.calls else None
    given = {"target": manifest.target, "judge": judge, "policy": info and info.policy}
    found = {"run": manifest.run_id, "dataset": manifest.source.name, "verdict": title(run)}
    found |= {key: value for key, value in given.items() if value}
    if info:
        summary = run.summary()[name]
        found |= {"mean": decimal(summary.mean), "interval": interval(summary.interval)}
        if summary.corrected:
            lines = correction(summary.corrected)
            found["corrected"] = "; ".join(line.words for line in lines)
    return found


def _problem(run: Run, name: str, row: Row) -> _Problem | None:
    score = row.scores[name]
    reason = score.reason or ""
    if score.cause is not None:
        return _Problem("error", f"{CAUSES[score.cause]}: {reason}", score.cause.value, reason)
    if score.state is State.UNDEFINED:
        if any(name in note.removeprefix(TEST_FAILED).split(", ") for note in row.notes):
            return _Problem("failure", f"the test needs a score, but {reason}", "missing")
        return _Problem("skipped", reason or "undefined")
    if score.fallback:
        words = f"{decimal(score.value)} imputed by the policy: {reason}"
        return _Problem("error", words, "imputed", _body(run, name, row))
    gates = [gate for gate in run.manifest.plan.gates if gate.metric == name]
    words = shortfall(score, run.metrics[name], gates)
    return _Problem("failure", words, "threshold", _body(run, name, row)) if words else None


def _body(run: Run, metric: str, row: Row) -> str:
    parts: list[str] = []
    score, needs = row.scores[metric], run.metrics[metric].needs
    texts = {"query": row.sample.query, "response": row.sample.response}
    if "graded" in score.detail:
        field, graded = texts_read(row.sample, needs)
        if "reference" in needs:
            texts = {"query": row.sample.query, "reference": row.sample.closest_reference}
        texts[field] = "\n---\n".join(each.text for each in graded or ())
    for name, text in texts.items():
        if text is not None:
            rest = len(text) - MAX_TEXT
            cut = f"{text[:MAX_TEXT]}… (and {rest:,} more characters)" if rest > 0 else text
            parts.append(f"{name}: {cut}")
    claims = failing(score)
    parts += [one_line(describe_claim(claim), MAX_TEXT) for claim in claims[:_MAX_CLAIMS]]
    if len(claims) > _MAX_CLAIMS:
        parts.append(f"and {len(claims) - _MAX_CLAIMS:,} more claims")
    return "\n".join(parts)


def _tag(tag: str, **attributes: str) -> str:
    given = "".join(f" {name}={quoteattr(text)}" for name, text in attributes.items() if text)
    return f"<{tag}{given}>"


def _counts(counts: Mapping[str, int]) -> dict[str, str]:
    names = {"tests": "tests", "failures": "failure", "errors": "error", "skipped": "skipped"}
    return {name: str(counts.get(kind, 0)) for name, kind in names.items()}


def _line(text: str) -> str:
    return one_line(text, _MAX_LINE)
