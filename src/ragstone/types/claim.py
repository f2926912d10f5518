"""Claim, and the Verdict a judge gives on it: label, reason, evidence, confidence."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from ragstone._internal.fields import FrozenModel, NamesHint, Span

BATCH = 30  # claims that are verified in one call by default


class Label(StrEnum):
    """What the contexts say about a claim."""

    SUPPORTED = "SUPPORTED"
    PARTIALLY_SUPPORTED = "PARTIALLY_SUPPORTED"
    CONTRADICTED = "CONTRADICTED"
    NOT_ENOUGH_INFO = "NOT_ENOUGH_INFO"

    @classmethod
    def _missing_(cls, value: object) -> "Label | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class Claim(FrozenModel):
    """One statement that can be true or false by itself, with its place in the response."""

    text: str
    span: Span | None = None


class Evidence(FrozenModel):
    """The quote that supports a verdict: context number (from 0), offsets, verified or not."""

    context: int = Field(ge=0)
    start: int | None = None
    end: int | None = None
    quote: str
    verified: bool


class Verdict(NamesHint, FrozenModel):
    """A judge's verdict on one claim; `confidence` (0 to 1) and `judge` (its name) may be null."""

    label: Label
    reason: str | None = None
    evidence: tuple[Evidence, ...] = ()
    confidence: float | None = Field(default=None, ge=0, le=1)
    judge: str | None = None


Verdicts = tuple[Verdict, ...]
Texts = Literal["response", "reference", "contexts"]  # evidence refers to them by index


class JudgedClaim(NamesHint, FrozenModel):
    """A claim and its verdict, as in reports; `against` is what the claim was compared with."""

    text: str
    span: Span | None
    label: Label
    reason: str | None
    confidence: float | None
    evidence: tuple[Evidence, ...]
    against: Texts = "contexts"
    judge: str | None = None

    @classmethod
    def of(cls, claim: Claim, verdict: Verdict, against: Texts = "contexts") -> "JudgedClaim":
        """Join a claim with its verdict."""
        return cls(**dict(claim), **dict(verdict), against=against)

    @property
    def support(self) -> float | None:
        """The probability that the texts support the claim; None if its verdict has none."""
        if self.confidence is None:
            return None
        return self.confidence if self.label is Label.SUPPORTED else 1 - self.confidence


class ClaimIssue(StrEnum):
    """The issue of an unsupported claim, or of a claim missing from the response."""

    NOT_RETRIEVED = "not retrieved"
    IGNORED = "retrieved and ignored"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not found in any context"


class DiagnosedClaim(FrozenModel):
    """A claim of the response or the reference, and its issue."""

    claim: str
    of: Literal["response", "reference"]
    blame: ClaimIssue


class Grade(FrozenModel):
    """Whether a context or sentence is relevant, and why."""

    relevant: bool
    reason: str | None = None


class Rating(FrozenModel):
    """The level that a rubric gives a response, and why."""

    level: int
    reason: str | None = None


class GeneratedQueries(FrozenModel):
    """Queries that a response could answer.

    `noncommittal` is True if the response is evasive: "I don't know", "it depends".
    """

    queries: tuple[str, ...]
    noncommittal: bool


class FoundAnswer(FrozenModel):
    """Whether contexts answer a query; if so, the answer and the words that it rests on.

    `confidence` (0 to 1) is null unless the judge has one. `split` means that as many judges of a
    panel found an answer as found none.
    """

    found: bool
    answer: str = ""
    evidence: tuple[Evidence, ...] = ()
    confidence: float | None = Field(default=None, ge=0, le=1)
    split: bool = False


class DraftQuestion(FrozenModel):
    """A question that a judge wrote, before anything about it is checked.

    Attributes:
        reference: the answer; for an unanswerable question, that the passages do not have it.
        claims: the facts of the reference, each a sentence that can be checked by itself.
        quotes: (passage, words) for each fact: the passage's number from 1, and its words.
    """

    query: str
    reference: str = ""
    claims: tuple[str, ...] = ()
    quotes: tuple[tuple[int | None, str], ...] = ()
