"""The message of a failed assertion: the score, its mark, the claims at fault and what is nearest.

What it quotes comes from outside: each text is one line without control characters.
"""

from collections.abc import Iterator, Sequence

from ragstone.claims import JudgedClaim, Label
from ragstone.gates import GateResult
from ragstone.integrations.pytest.evidence import evidence_of
from ragstone.messages import count, one_line
from ragstone.reports.facts import LABELS
from ragstone.run import Run
from ragstone.samples import Sample
from ragstone.scores import Score

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
        return f"{gate.metric} is undefined, so {gate.op} {gate.mark:g} cannot be told: {reason}"
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
