"""A judged claim in one line: in words, and flat, as tables and workbooks list it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragstone.claims import JudgedClaim
from ragstone.run import Run


@dataclass(frozen=True)
class ClaimLine:
    """A claim and the verdict on it; `against` names the texts it was held against.

    `number` and `context` count from 1; the context is that of the first quote, of whose
    `quotes` there may be more. `judge` gave the verdict, where several share the work.
    """

    id: str
    metric: str
    against: str
    number: int
    claim: str
    label: str
    reason: str | None
    confidence: float | None
    quotes: int
    quote: str | None
    context: int | None
    verified: bool | None
    judge: str | None


def claim_lines(run: Run, names: Sequence[str]) -> Iterator[ClaimLine]:
    """Yield the claims of those metrics, sample by sample."""
    judged = [name for name in names if run.tally.scores[name].judged]
    for row in run.rows if judged else ():
        for name in judged:
            for number, claim in enumerate(row.scores[name].claims, start=1):
                first = claim.evidence[0] if claim.evidence else None
                yield ClaimLine(
                    id=row.sample.id,
                    metric=name,
                    against=claim.against,
                    number=number,
                    claim=claim.text,
                    label=claim.label.value,
                    reason=claim.reason,
                    confidence=claim.confidence,
                    quotes=len(claim.evidence),
                    quote=first and first.quote,
                    context=None if first is None else first.context + 1,
                    verified=None if first is None else first.verified,
                    judge=claim.judge,
                )


def claim_in_words(claim: JudgedClaim) -> str:
    """Write a claim in one line: the label, the claim, and why."""
    held = "" if claim.against == "contexts" else f", held against the {claim.against}"
    words = f"{claim.label}{held}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
    return " ".join(words.split())
