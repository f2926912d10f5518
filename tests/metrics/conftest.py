"""The four checks of one sample, written as four rows of verdicts."""

from dataclasses import dataclass, field

import pytest
from tests.asking import asker

from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import Metric
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

RESPONSE, REFERENCE, TEXTS = "What it says.", "What is right.", ("one", "two", "three")
LABELS = {label.value[0]: label for label in Label}


@dataclass
class Checks:
    """What the judge says: response in contexts, in reference; reference in response, contexts.

    A row has one word a claim: S, P, C or N for its label, then the contexts, from 1, that its
    quotes stand in; 0 is a quote that stands nowhere.
    """

    in_contexts: str = ""
    in_reference: str = ""
    in_response: str = ""
    reference_in_contexts: str = ""
    others: dict[str, object] = field(default_factory=dict)
    judge: ScriptedJudge = field(init=False)

    def __post_init__(self) -> None:
        self.judge = ScriptedJudge(
            {"extract_claims": self._claims, "verify_claims": self._verdicts, **self.others}
        )

    async def score(self, metric: Metric, **changed: object) -> Score:
        return await metric.score(self.sample(**changed), asker(self.judge))

    def sample(self, **changed: object) -> Sample:
        fields = {"id": "1", "query": "q", "response": RESPONSE, "reference": REFERENCE}
        contexts = tuple(Context(text=text) for text in TEXTS)
        return Sample.model_validate({**fields, "contexts": contexts, **changed})

    @property
    def kinds(self) -> list[str]:
        return [str(getattr(question, "kind")) for question in self.judge.asked]  # noqa: B009

    def _claims(self, question: ExtractClaims) -> list[Claim]:
        if question.response == REFERENCE:
            return claims("right", self.in_response or self.reference_in_contexts)
        return claims("said", self.in_contexts or self.in_reference)

    def _verdicts(self, question: VerifyClaims) -> list[Verdict]:
        by_contexts = question.contexts[-1] == TEXTS[-1]
        if question.claims[0].startswith("right"):
            row = self.reference_in_contexts if by_contexts else self.in_response
        else:
            row = self.in_contexts if by_contexts else self.in_reference
        return [verdict(word) for word in row.split()]


def claims(name: str, row: str) -> list[Claim]:
    return [Claim(text=f"{name} {number}") for number, _ in enumerate(row.split(), 1)]


def verdict(word: str) -> Verdict:
    quotes = tuple(
        Evidence(context=number - 1, start=0, end=3, quote="...", verified=True)
        if (number := int(digit))
        else Evidence(context=0, quote="made up", verified=False)
        for digit in word[1:]
    )
    return Verdict(label=LABELS[word[0]], reason="so", evidence=quotes)


@pytest.fixture
def checks() -> type[Checks]:
    return Checks
