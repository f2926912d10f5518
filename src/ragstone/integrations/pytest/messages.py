"""The message of a failed assertion: the score, its mark, the claims at fault and what is nearest.

What it quotes comes from outside: each text is one line without control characters.
"""

import re
from collections.abc import Iterator, Sequence

import pytest

from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import count, one_line
from ragstone.errors import RagstoneError
from ragstone.judges.offline.similarity import compare_texts
from ragstone.metrics.claim_checks import Check
from ragstone.reports.facts import CAUSES, LABELS
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label, Texts
from ragstone.types.gate import GateResult
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

# Evidence of a claim: what its verdict quotes, or else the sentence that is most like it.


def evidence_of(sample: Sample, claim: JudgedClaim) -> list[str]:
    """Return each quote with its place; where there is none, the sentence that is most like it."""
    if not claim.evidence:
        return [nearest(sample, claim)]
    found: list[str] = []
    for evidence in claim.evidence:
        doubt = "" if evidence.verified else " (the judge's quote; it does not stand there)"
        found.append(
            f"evidence in {_place(claim.against, evidence.context)}{doubt}: {evidence.quote}"
        )
    return found


def nearest(sample: Sample, claim: JudgedClaim) -> str:
    """Return the sentence that is most like a claim, with its place, of all it is held against."""
    check = Check("response", claim.against)
    sentences = [
        (number, sentence.text)
        for number, text in enumerate(check.sources(sample))
        for sentence in split_sentences(text)
    ]
    if not sentences:
        return check.no_sources_reason
    alike = compare_texts(claim.text, [text for _, text in sentences])
    best = max(range(len(alike)), key=alike.__getitem__)
    if not alike[best]:
        return f"nothing in the {claim.against} is like it"
    number, text = sentences[best]
    return f"nearest in {_place(claim.against, number)}: {text}"


def _place(against: Texts, number: int) -> str:
    return f"context {number + 1}" if against == "contexts" else f"the {against}"


LONGEST = 300
"""Characters told of one text."""
MOST = 10
"""Claims that are told."""
NOTES = ("explanation", "note")
"""Details of a score that say something in words."""


def failure_message(run: Run, missed: Sequence[GateResult]) -> str:
    """Say which marks a sample did not reach, and what there is to see."""
    return "\n".join(_lines(run, missed))


def _lines(run: Run, missed: Sequence[GateResult]) -> Iterator[str]:
    sample = run.rows[0].sample
    scores = {gate.metric: run.rows[0].scores[gate.metric] for gate in missed}
    yield from (_first(run, gate, scores[gate.metric]) for gate in missed)
    yield f"  query: {one_line(sample.query, LONGEST)}"
    if run.manifest.judge:
        yield f"  judge: {run.manifest.judge}"
    notes = [score.detail.get(name) for score in scores.values() for name in NOTES]
    yield from (f"  note: {one_line(str(note), LONGEST)}" for note in dict.fromkeys(notes) if note)
    claims = [claim for score in scores.values() for claim in _at_fault(score)]
    told = {(claim.text, claim.against, claim.label): claim for claim in claims}
    for claim in [*told.values()][:MOST]:
        yield from _claim(sample, claim)
    if len(told) > MOST:
        yield f"  and {len(told) - MOST} more"


def _at_fault(score: Score) -> list[JudgedClaim]:
    return [claim for claim in score.claims if claim.label is not Label.SUPPORTED]


def _first(run: Run, gate: GateResult, score: Score) -> str:
    reason = one_line(score.reason or "", LONGEST)
    if score.fallback:
        return (
            f"{gate.metric} {score.value:.4f} is made up by the policy "
            f"{run.metrics[gate.metric].policy}, and passes no mark: {reason}"
        )
    if score.value is None:
        limit = f"{gate.op} {gate.threshold:g}"
        return f"{gate.metric} is undefined, so {limit} cannot be checked: {reason}"
    if not score.claims:
        return str(gate)
    backed = len(score.claims) - len(_at_fault(score))
    return f"{gate} ({backed} of {count(len(score.claims), 'claim')} supported)"


def _claim(sample: Sample, claim: JudgedClaim) -> Iterator[str]:
    yield f"  - {LABELS[claim.label]}: {one_line(claim.text, LONGEST)}"
    if claim.reason:
        yield f"    reason: {one_line(claim.reason, LONGEST)}"
    for line in evidence_of(sample, claim):
        yield f"    {one_line(line, LONGEST)}"


# The verdict on one evaluated sample: it holds, or its test fails or is skipped.

VERDICT_LONGEST = 1000
"""Characters told of a failure; servers answer with whole pages."""


class ScoreMissingError(RagstoneError):
    """A sample has no score, as the judge or the target did not answer; the test fails."""


def check(run: Run, spent: str | None) -> None:
    """Return if the sample of a run reaches its marks; `spent` is the reason to skip its test.

    Raises:
        AssertionError: a score does not reach its mark, is undefined, or is made up by a policy.
        ScoreMissingError: a score failed.
    """
    __tracebackhide__ = True
    scores = run.rows[0].scores
    missed = [gate for gate in run.gates() if _is_missed(run, gate, over_budget=spent is not None)]
    if missed:
        raise AssertionError(failure_message(run, missed))
    if spent is not None:
        pytest.skip(spent)
    failed = [
        f"{name} has no score, {CAUSES[score.cause]}: "
        f"{one_line(score.reason or '', VERDICT_LONGEST)}"
        for name, score in scores.items()
        if score.cause is not None
    ]
    if failed:
        raise ScoreMissingError("\n".join(failed))


def _is_missed(run: Run, gate: GateResult, *, over_budget: bool) -> bool:
    """Tell whether a score is to blame for a gate that it did not pass.

    A failed one is told apart. What a policy made up is no score, and it is skipped with the rest
    where the budget is why.
    """
    score = run.rows[0].scores[gate.metric]
    if score.state is State.FAILED:
        return False
    return not over_budget if score.fallback else gate.passed is not True


# Wording: what messages for the command line say, in the words of tests.

_FLAGS = (
    (r"--model or --judge", "--rag-judge"),
    (r"--api-url URL or --target", "target"),
    (r"--(judge|base-url|max-calls|max-cost)\b", r"--rag-\1"),
    (r"--no-cache\b", "cache=False"),
    (r"--map (\w+)=(.+?)(?=\??(?:[;:]|$| \())", r"columns={'\1': '\2'}"),
)
_OPTION = re.compile(
    r"--(fail-under|fail-over|embedding-model|context-window|max-tokens|timeout|sheet)\b"
)
"""Flags whose names are those of options of `ragstone.evaluate`."""


def in_tests(message: str) -> str:
    """Return a message with our pytest options, and options of calls, in place of flags."""
    for flag, ours in _FLAGS:
        message = re.sub(flag, ours, message, flags=re.MULTILINE)
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), message)
