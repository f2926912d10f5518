"""Metrics of the retrieved contexts, graded by a judge."""

import math
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
    """The mean precision of the ranking or contexts, as graded; one call per sample."""

    asks: ClassVar[tuple[str, ...]] = (GradeContexts.kind,)
    calls: ClassVar[int] = 1
    must_define: ClassVar[tuple[str, ...]] = ("against",)
    against: ClassVar[Literal["reference", "response"]]  # relevant contexts help to arrive at it

    async def score(self, sample: Sample, ask: Ask) -> Score:
        answer = (
            sample.closest_reference if self.against == "reference" else sample.response
        ) or ""
        graded, places = sample.graded_texts
        texts = tuple(place.text for place in places or ())
        if not answer.strip():
            return Score.undefined(f"the {self.against} is empty")
        if texts and not any(map(str.strip, texts)):
            return Score.undefined("the retrieved documents have no text")
        relevant = [False] * len(texts)
        if shown := {place: text for place, text in enumerate(texts) if text.strip()}:
            question = GradeContexts(
                query=sample.query_with_history, answer=answer, contexts=tuple(shown.values())
            )
            for place, grade in zip(shown, await ask(question), strict=True):
                relevant[place] = grade.relevant
        ranks = ", ".join(str(rank) for rank, good in enumerate(relevant, 1) if good)
        detail = {"contexts": len(texts), "relevant": sum(relevant), "relevant_ranks": ranks}
        every_rank = getattr(self, "weighting", "rank") == "mean"
        value = precision_by_rank(relevant, every_rank=every_rank)
        notes = sample.reference_note(read=self.against == "reference")
        return Score.scored(value, detail={**detail, "graded": graded}).noted(notes)


def precision_by_rank(relevant: Sequence[bool], *, every_rank: bool = False) -> float:
    hits = enumerate(accumulate(relevant), 1)
    precisions = [
        hit / rank for good, (rank, hit) in zip(relevant, hits, strict=True) if good or every_rank
    ]
    return math.fsum(precisions) / len(precisions) if precisions else 0.0


@register("context_precision")
class ContextPrecision(GradeMetric):
    """How highly the contexts that help to arrive at the reference are ranked.

    Formula: the sum of P@i over the ranks i of relevant contexts / their number, where P@i is the
    share of the first i that is relevant. With `weighting="mean"`, the mean of P@i over all ranks.
    Range 0 to 1. 1.0: all relevant contexts come first. 0.0: none is relevant, or nothing was
    retrieved. Undefined: no texts, or the reference is empty. One call per sample.
    Source: RAGAS, LLMContextPrecisionWithReference.
    """

    label: ClassVar[str] = "Context Precision"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "reference")
    against: ClassVar[Literal["reference", "response"]] = "reference"
    weighting: Literal["rank", "mean"] = "rank"


@register("context_utilization")
class ContextUtilization(GradeMetric):
    """How highly the contexts that help to arrive at the response are ranked.

    Formula: context precision with the response instead of the reference: the sum of P@i over the
    ranks i of relevant contexts / their number. Range 0 to 1. 1.0: all relevant contexts come
    first. 0.0: none is relevant, or nothing was retrieved. Undefined: no texts, or the response is
    empty. One call per sample.
    Source: RAGAS, LLMContextPrecisionWithoutReference (context utilization).
    """

    label: ClassVar[str] = "Context Utilization"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "response")
    against: ClassVar[Literal["reference", "response"]] = "response"


@register("context_relevance")
class ContextRelevance(Metric):
    """The share of the contexts' sentences that are relevant to the query.

    Formula: relevant sentences / sentences of all contexts; text without letters and digits, such
    as a line of dashes, does not count. Range 0 to 1. 1.0: every sentence is relevant. 0.0: none
    is. Undefined: there are no contexts, or no sentences in them. One call per sample.
    Source: Es et al., RAGAS (EACL 2024), context relevance.
    """

    label: ClassVar[str] = "Context Relevance"
    needs: ClassVar[tuple[str, ...]] = ("contexts",)
    asks: ClassVar[tuple[str, ...]] = (GradeSentences.kind,)
    calls: ClassVar[int] = 1

    async def score(self, sample: Sample, ask: Ask) -> Score:
        found = [s for context in sample.contexts or () for s in split_sentences(context.text)]
        sentences = tuple(s.text for s in found if any(map(str.isalnum, s.text)))
        if not sentences:
            return Score.undefined("there are no sentences in the contexts")
        grades = await ask(GradeSentences(query=sample.query_with_history, sentences=sentences))
        relevant = sum(grade.relevant for grade in grades)
        detail = {"sentences": len(grades), "relevant": relevant}
        return Score.scored(relevant / len(grades), detail=detail)
