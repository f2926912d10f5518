"""The families of metrics. A metric is a definition: frozen, its fields are its parameters."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from ragstone.claims import Claim, JudgedClaim, Label, Verdict
from ragstone.policies import STRICT, get_policy
from ragstone.questions import ExtractClaims, Question, VerifyClaims
from ragstone.rankings import Rankings
from ragstone.samples import Sample
from ragstone.scores import NOTHING, Detail, MetricInfo, Score, State

T = TypeVar("T")
FAMILIES = ("retrieval", "generation")
"""What metrics are grouped by, in the order of reports."""
Cutoff = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A rank to cut at: the first k documents count."""
PolicyName = Annotated[str, AfterValidator(lambda name: get_policy(name).name)]
"""The name of a policy that there is."""

NO_EVIDENCE = Verdict(label=Label.NOT_ENOUGH_INFO, reason="there are no contexts")


class Ask(Protocol):
    """How a metric asks: awaits the judge's answer to one question.

    Raises:
        JudgeError: the judge did not answer.
    """

    async def __call__(self, question: Question[T]) -> T:
        """Return the answer, asking each question of a sample once however often it comes."""
        ...


@dataclass(frozen=True)
class Metric(ABC):
    """Scores one sample, from answers or from rankings.

    A subclass is registered under a name; `str()` of an instance is that name with the
    parameters, and `metrics.get(str(metric)) == metric`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[str] = "generation"
    needs: ClassVar[tuple[str, ...]] = ()
    """The Sample fields without which no row can be scored."""
    asks: ClassVar[tuple[str, ...]] = ()
    """The kinds of question that a judge must take."""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample that has everything the metric needs."""

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Return figures of the metric's own, by name, about the scored ones."""
        del scores
        return NOTHING

    def __str__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut = f"@{values.pop('k')}" if "k" in values else ""
        policy = values.pop("policy", STRICT.name)
        shown = [
            f",{field.name}={values[field.name]}"
            for field in fields(self)
            if field.name in values and values[field.name] != field.default
        ]
        return "".join([self.name, cut, "" if policy == STRICT.name else f":{policy}", *shown])

    @classmethod
    def info(cls) -> MetricInfo:
        """Describe the metric for people; the description is its docstring's first line."""
        return MetricInfo(
            name=cls.name,
            label=cls.label,
            family=cls.family,
            description=(cls.__doc__ or "").strip().partition("\n")[0],
            low=cls.low,
            high=cls.high,
            higher_is_better=cls.higher_is_better,
            needs=cls.needs,
        )


@dataclass(frozen=True)
class RankingMetric(Metric):
    """Scores rankings against relevance; asks nobody.

    A subclass writes one of two: `values`, NumPy over many queries at once; or `value`, plain
    Python over one query. Only queries whose relevance is known arrive.
    """

    family: ClassVar[str] = "retrieval"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "relevance")

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return float64[Q], one value a query."""
        return np.array([value for value, _ in self._one_by_one(rankings)], dtype=np.float64)

    def value(
        self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
    ) -> float | tuple[float, Detail]:
        """Return one query's value, with details of it or without.

        `retrieved_ids` are distinct, best first, cut at `k` if the metric has one; `relevance`
        is document id -> grade (> 0 is relevant).
        """
        raise NotImplementedError(f"{type(self).__name__} writes neither values nor value")

    def scores(self, rankings: Rankings) -> list[Score]:
        """Score many queries at once."""
        if type(self).value is not RankingMetric.value:
            own = self._one_by_one(rankings)
        else:
            own = ((value, NOTHING) for value in self.values(rankings).tolist())
        return [
            Score.scored(value, detail={**detail, **more})
            for (value, more), detail in zip(own, self.details(rankings), strict=True)
        ]

    def details(self, rankings: Rankings) -> Iterator[Detail]:
        """Yield what a report shows beside each query's value."""
        k = self._cut(rankings)
        columns = {
            "hits": rankings.hits(k).astype(int),
            "retrieved": rankings.retrieved(k).astype(int),
            "relevant": rankings.n_relevant,
            "precision": rankings.precision(k, getattr(self, "denominator", "k")),
            "recall": rankings.recall(k),
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        for first, row in zip(rankings.first_hit_rank(k).tolist(), rows, strict=True):
            rank = int(first) if np.isfinite(first) else None
            yield {"first_hit_rank": rank, **dict(zip(columns, row, strict=True))}

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample; the same as `scores` of a ranking of one query."""
        del ask
        return self.scores(Rankings.of([sample.ranked_ids], [sample.relevance or {}]))[0]

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count the queries at both ends, and those judged with nothing relevant."""
        scored = [score for score in scores if score.state is State.SCORED]
        best = self.high if self.higher_is_better else self.low
        return {
            "Perfect Queries": sum(score.value == best for score in scored),
            "Zero Queries": sum(score.value == 0 for score in scored),
            "Nothing Relevant": sum(score.detail.get("relevant") == 0 for score in scored),
        }

    def _cut(self, rankings: Rankings) -> int:
        return int(getattr(self, "k", rankings.gains.shape[1]))

    def _one_by_one(self, rankings: Rankings) -> Iterator[tuple[float, Detail]]:
        k = self._cut(rankings)
        for ids, relevance in zip(rankings.ids, rankings.relevance, strict=True):
            answer = self.value(ids[:k], relevance)
            yield answer if isinstance(answer, tuple) else (answer, NOTHING)


@dataclass(frozen=True)
class ClaimMetric(Metric):
    """Scores a text's claims by the verdicts on them; the policy makes the number.

    A subclass says whose claims, and against which texts they are held.
    """

    asks: ClassVar[tuple[str, ...]] = (ExtractClaims.kind, VerifyClaims.kind)

    policy: PolicyName = STRICT.name

    @abstractmethod
    def text(self, sample: Sample) -> str:
        """Return the text whose claims are judged."""

    @abstractmethod
    def sources(self, sample: Sample) -> tuple[str, ...]:
        """Return the texts that the claims are held against."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Extract the claims, have them verified, and let the policy make the number."""
        text, sources = self.text(sample), self.sources(sample)
        if not text:
            return Score.undefined("the response is empty")
        if sources and not any(source.strip() for source in sources):
            return Score.undefined("the contexts have no texts")
        claims = await ask(ExtractClaims(query=sample.query, response=text))
        if not claims:
            return Score.undefined("the response makes no claims")
        verdicts = await self._verdicts(claims, sources, ask)
        judged = [JudgedClaim.of(*pair) for pair in zip(claims, verdicts, strict=True)]
        labels = [claim.label for claim in judged]
        number = get_policy(self.policy).number(labels)
        detail: Detail = {"claims": len(labels)} | {
            label.value.lower(): labels.count(label)
            for label in Label
            if label is not Label.PARTIALLY_SUPPORTED or label in labels  # few judges use it
        }
        return Score.scored(number, detail=detail, claims=judged)

    async def _verdicts(
        self, claims: tuple[Claim, ...], sources: tuple[str, ...], ask: Ask
    ) -> tuple[Verdict, ...]:
        if not sources:
            return (NO_EVIDENCE,) * len(claims)
        texts = tuple(claim.text for claim in claims)
        return await ask(VerifyClaims(claims=texts, contexts=sources))
