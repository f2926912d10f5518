"""SemanticMetric: the family whose score may in part be how alike response and reference are."""

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask
from ragstone.metrics.families.check_metric import CheckMetric
from ragstone.metrics.families.checks import RESPONSE_IN_REFERENCE
from ragstone.questions import TextSimilarity
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class SemanticMetric(CheckMetric):
    """Reckons with checks of response and reference, and if asked to, with the texts as a whole.

    Attributes:
        semantic: the share of the score that is the cosine of response and reference, not less
            than 0; the checks' is the rest. The reference is the expected answer, or where there
            is none, its claims. A blank response is like nothing.
    """

    semantic: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """Those of the checks, and what the semantic part adds."""
        return (*super().question_kinds, *((TextSimilarity.kind,) if self.semantic else ()))

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Make the checks, and mix in the cosine where it has a share."""
        score = await super().score(sample, ask)
        if score.value is None or not self.semantic:
            return score
        response = sample.response or ""
        texts = RESPONSE_IN_REFERENCE.sources(sample)[:1] if response.strip() else ()
        cosines = await ask(TextSimilarity(text=response, others=texts)) if texts else (0.0,)
        alike = max(0.0, cosines[0])
        mixed = (1 - self.semantic) * score.value + self.semantic * alike
        detail = {**score.detail, "claims_f1": score.value, "cosine": alike}
        return score.model_copy(update={"value": mixed, "detail": detail})
