"""The message of a failed assertion, and the summary at the end of a session.

Quoted texts come from outside: each is printed as one line without control characters.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add

import pytest

from ragstone._internal.fields import FrozenModel
from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import count, one_line
from ragstone.errors import RagstoneError
from ragstone.integrations.pytest import SKIPPED
from ragstone.judges.embeddings import compare_texts
from ragstone.metrics.claim_checks import Check
from ragstone.reports.format import CAUSES, LABELS, decimal, dollars, interval
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label, Texts
from ragstone.types.config import in_python
from ragstone.types.gate import GateResult
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, MetricInfo, Score, State


def evidence_of(sample: Sample, claim: JudgedClaim) -> list[str]:
    if not claim.evidence:
        return [nearest(sample, claim)]
    doubt = " (quoted by the judge, but not found there)"
    return [
        f"evidence in {_place(claim.against, evidence.context)}{'' if evidence.verified else doubt}"
        f": {evidence.quote}"
        for evidence in claim.evidence
    ]


def nearest(sample: Sample, claim: JudgedClaim) -> str:
    check = Check("response", claim.against)
    sentences = [
        (number, sentence.text)
        for number, text in enumerate(check.sources(sample))
        for sentence in split_sentences(text)
    ]
    if not sentences:
        return check.no_sources_reason
    similarity = compare_texts(claim.text, [text for _, text in sentences])
    best = max(range(len(similarity)), key=similarity.__getitem__)
    if not similarity[best]:
        return f"nothing in the {claim.against} is similar"
    number, text = sentences[best]
    return f"closest in {_place(claim.against, number)}: {text}"


def _place(against: Texts, number: int) -> str:
    return f"context {number + 1}" if against == "contexts" else f"the {against}"


MAX_TEXT = 300
"""Characters of one quoted text."""
MAX_CLAIMS = 10
NOTES = ("explanation", "note")
"""Details of a score that are text."""


def failure_message(run: Run, missed: Sequence[GateResult]) -> str:
    sample = run.rows[0].sample
    lines: list[str] = []
    notes: dict[object, None] = {}
    unsupported: dict[tuple[str, str, str], JudgedClaim] = {}
    for gate in missed:
        score = run.rows[0].scores[gate.metric]
        reason = one_line(score.reason or "", MAX_TEXT)
        claims = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
        line = str(gate)
        if score.fallback:
            policy = run.metrics[gate.metric].policy
            line = f"{gate.metric} {score.value:.4f} was imputed by the policy {policy}"
            line += f" and never passes: {reason}"
        elif score.value is None:
            limit = f"{gate.op} {gate.threshold:g}"
            line = f"{gate.metric} is undefined, so {limit} cannot be checked: {reason}"
        elif score.claims:
            supported = len(score.claims) - len(claims)
            line += f" ({supported} of {count(len(score.claims), 'claim')} supported)"
        lines.append(line)
        notes |= dict.fromkeys(score.detail.get(name) for name in NOTES)
        unsupported |= {(claim.text, claim.against, claim.label): claim for claim in claims}
    lines.append(f"  query: {one_line(sample.query, MAX_TEXT)}")
    if run.manifest.judge:
        lines.append(f"  judge: {run.manifest.judge}")
    lines += [f"  note: {one_line(str(note), MAX_TEXT)}" for note in notes if note]
    for claim in [*unsupported.values()][:MAX_CLAIMS]:
        lines.append(f"  - {LABELS[claim.label]}: {one_line(claim.text, MAX_TEXT)}")
        if claim.reason:
            lines.append(f"    reason: {one_line(claim.reason, MAX_TEXT)}")
        lines += [f"    {one_line(each, MAX_TEXT)}" for each in evidence_of(sample, claim)]
    if len(unsupported) > MAX_CLAIMS:
        lines.append(f"  and {len(unsupported) - MAX_CLAIMS} more")
    return "\n".join(lines)


MAX_FAILURE_TEXT = 1000
"""Characters of a failure; servers can reply with whole pages."""


class ScoreMissingError(RagstoneError):
    """A score failed because the judge or the target did not answer."""


def check(run: Run, spent: str | None) -> None:
    """Return if a sample passes; `spent` is the reason to skip its test if the budget ran out.

    Raises:
        AssertionError: a score misses its threshold, is undefined, or was imputed by a policy.
        ScoreMissingError: a score failed.
    """
    __tracebackhide__ = True
    scores = run.rows[0].scores
    missed: list[GateResult] = []
    for gate in run.gates():
        score = scores[gate.metric]
        if score.state is State.FAILED:
            continue
        # an imputed score misses its gate, unless the budget is the reason: then the test skips
        if (spent is None) if score.fallback else (gate.passed is not True):
            missed.append(gate)
    if missed:
        raise AssertionError(failure_message(run, missed))
    if spent is not None:
        pytest.skip(spent)
    failures = [
        f"{name} has no score, {CAUSES[score.cause]}: "
        f"{one_line(score.reason or '', MAX_FAILURE_TEXT)}"
        for name, score in scores.items()
        if score.cause is not None
    ]
    if failures:
        raise ScoreMissingError("\n".join(failures))


_FLAGS = (
    (r"--model or --judge", "--rag-judge"),
    (r"--(judge|base-url|max-calls|max-cost)\b", r"--rag-\1"),
)


def in_tests(message: str) -> str:
    for flag, ours in _FLAGS:
        message = re.sub(flag, ours, message)
    return in_python(message)


class WorkerReport(FrozenModel):
    """The scores of one sample without their claims, the judge, the cost, and the file's notes."""

    judge: str | None
    metrics: dict[str, MetricInfo]
    scores: dict[str, Score]
    usage: Usage
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> "WorkerReport":
        bare = {"claims": (), "detail": NOTHING}
        source, scores = run.manifest.source, run.rows[0].scores
        return cls(
            judge=run.manifest.judge,
            metrics=dict(run.metrics),
            scores={name: score.model_copy(update=bare) for name, score in scores.items()},
            usage=run.usage(),
            notes=tuple(f"{source.name}: {note}" for note in source.notes),
        )


HEAD = ("metric", "mean", "95% interval", "scored", "undefined", "failed", "imputed")


def summary_lines(texts: Iterable[str], skipped: Iterable[str]) -> Iterator[str]:
    """Yield the summary of the tests' reports (JSON) and of the skip reasons.

    Samples are treated as independent, also those of one test.
    """
    reports = [WorkerReport.model_validate_json(text) for text in texts]
    if judges := sorted({report.judge for report in reports if report.judge is not None}):
        yield f"judge: {', '.join(judges)}"
    if reports:
        yield from _table(reports)
        usage = reduce(add, (report.usage for report in reports), Usage())
        if usage.local_calls:
            yield f"{count(usage.local_calls, 'call')} to a local model, free"
        if usage.calls or usage.cached:
            cached = f", {usage.cached:,} more from the cache" if usage.cached else ""
            price = usage.cost_usd
            cost = "price unknown" if price is None else f"about {dollars(price)}"
            yield f"{count(usage.calls, 'judge call')}{cached}, {cost}"
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        yield f"note: {one_line(note)}"
    for reason, number in Counter(text.removeprefix(SKIPPED) for text in skipped).most_common():
        yield f"{count(number, 'test')} skipped: {reason}"


def _table(reports: Sequence[WorkerReport]) -> Iterator[str]:
    infos: dict[str, MetricInfo] = {}
    summaries: dict[str, MetricSummaryBuilder] = {}
    for place, report in enumerate(reports):
        infos |= report.metrics
        for name, score in report.scores.items():
            summaries.setdefault(name, MetricSummaryBuilder()).add(score, place=place)
    rows: list[tuple[str, ...]] = [HEAD]
    for name, builder in summaries.items():
        low, high = infos[name].range
        summary = builder.summary(low=low, high=high)
        counts = (summary.scored, summary.undefined, summary.failed, summary.flagged)
        figures = (decimal(summary.mean), interval(summary.interval))
        rows.append((name, *figures, *(f"{number:,}" for number in counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])
    for name, builder in summaries.items():
        for cause, number in builder.causes.most_common():
            yield f"{name} failed, {CAUSES[cause]}: {number:,}"
