"""GradeMetric: the family that reckons with grades of contexts, one call a sample."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ragstone._internal.sentences import split_sentences
from ragstone.metrics.base import Ask, Metric
from ragstone.metrics.registry import register
from ragstone.types.questions import GradeContexts, GradeSentences
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@dataclass(frozen=True)
class GradeMetric(Metric):
    """Reckons with the grades of the contexts in their order, best rank first.

    They are those of the ranking, where its places have texts, else the contexts; the detail
    `graded` says which. A place without a text is not relevant. A subclass says which answer they
    are graded against.
    """

    asks: ClassVar[tuple[str, ...]] = (GradeContexts.kind,)
    calls: ClassVar[int] = 1
    says: ClassVar[tuple[str, ...]] = ("against",)
    against: ClassVar[Literal["reference", "response"]]
    """The answer that a relevant context helps to arrive at."""

    @abstractmethod
    def value(self, relevant: Sequence[bool]) -> float:
        """Return the number that the grades come to; there is at least one."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the contexts graded, and reckon."""
        answer: str = getattr(sample, self.against) or ""
        read, texts = _read(sample)
        if not answer.strip():
            return Score.undefined(f"the {self.against} is empty")
        if texts and not any(map(str.strip, texts)):
            return Score.undefined("what was retrieved has no texts")
        relevant = [False] * len(texts)
        places = [place for place, text in enumerate(texts) if text.strip()]
        if places:
            shown = tuple(texts[place] for place in places)
            grades = await ask(GradeContexts(query=sample.query, answer=answer, contexts=shown))
            for place, grade in zip(places, grades, strict=True):
                relevant[place] = grade.relevant
        ranks = ", ".join(str(rank) for rank, good in enumerate(relevant, 1) if good)
        detail = {"contexts": len(texts), "relevant": sum(relevant), "relevant_ranks": ranks}
        return Score.scored(self.value(relevant), detail={**detail, "graded": read})


def _read(sample: Sample) -> tuple[str, tuple[str, ...]]:
    """Return which field is graded, and its texts: the ranking, if it is empty or has texts."""
    contexts = tuple(context.text for context in sample.contexts or ())
    if sample.ranking is None:
        return "contexts", contexts
    ranked = tuple(place.text for place in sample.ranking)
    textless = ranked and not any(map(str.strip, ranked))
    return ("contexts", contexts) if textless and contexts else ("ranking", ranked)


def precision_by_rank(relevant: Sequence[bool], *, every_rank: bool = False) -> float:
    """Return the mean of the precision down to each relevant rank, or to every rank; 0 if none."""
    hits = enumerate(accumulate(relevant), 1)
    precisions = [
        hit / rank for good, (rank, hit) in zip(relevant, hits, strict=True) if good or every_rank
    ]
    return math.fsum(precisions) / len(precisions) if precisions else 0.0


# Context precision.


@register("context_precision")
class ContextPrecision(GradeMetric):
    """How far ahead of the others those contexts stand that help to the reference answer.

    Formula: the sum, over the ranks i of relevant contexts, of P@i / their number, where P@i is
    the share of the first i that is relevant. With `weighting="mean"` the mean of P@i over all
    ranks. Range 0 to 1. 1.0: all relevant ones come first. 0.0: none is relevant, or nothing was
    retrieved. Undefined: no texts, or the reference is empty. One call a sample.
    Source: RAGAS, LLMContextPrecisionWithReference.
    """

    label: ClassVar[str] = "Context Precision"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "reference")
    against: ClassVar[Literal["reference", "response"]] = "reference"
    weighting: Literal["rank", "mean"] = "rank"

    def value(self, relevant: Sequence[bool]) -> float:
        """Return the mean precision down to each relevant context, or to each."""
        return precision_by_rank(relevant, every_rank=self.weighting == "mean")


# Context utilization.


@register("context_utilization")
class ContextUtilization(GradeMetric):
    """How far ahead of the others those contexts stand that help to the response.

    Formula: context precision, with the response in place of the reference: the sum, over the
    ranks i of relevant contexts, of P@i / their number. Range 0 to 1. 1.0: all relevant ones come
    first. 0.0: none is relevant, or nothing was retrieved. Undefined: no texts, or the response
    is empty. One call a sample.
    Source: RAGAS, LLMContextPrecisionWithoutReference (context utilization).
    """

    label: ClassVar[str] = "Context Utilization"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "response")
    against: ClassVar[Literal["reference", "response"]] = "response"

    def value(self, relevant: Sequence[bool]) -> float:
        """Return the mean precision down to each relevant context."""
        return precision_by_rank(relevant)


# Context relevance.


@register("context_relevance")
class ContextRelevance(Metric):
    """The share of the contexts' sentences that matter to the query.

    Formula: relevant sentences / sentences of all contexts; what has no letter and no digit, such
    as a rule of dashes, is no sentence. Range 0 to 1. 1.0: every sentence matters. 0.0: none.
    Undefined: there are no contexts, or no sentences in them. One call a sample.
    Source: Es et al., RAGAS (EACL 2024), context relevance.
    """

    label: ClassVar[str] = "Context Relevance"
    needs: ClassVar[tuple[str, ...]] = ("contexts",)
    asks: ClassVar[tuple[str, ...]] = (GradeSentences.kind,)
    calls: ClassVar[int] = 1

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have all sentences graded at once."""
        found = [s for context in sample.contexts or () for s in split_sentences(context.text)]
        sentences = tuple(s.text for s in found if any(map(str.isalnum, s.text)))
        if not sentences:
            return Score.undefined("there are no sentences in the contexts")
        grades = await ask(GradeSentences(query=sample.query, sentences=sentences))
        relevant = sum(grade.relevant for grade in grades)
        detail = {"sentences": len(grades), "relevant": relevant}
        return Score.scored(relevant / len(grades), detail=detail)
