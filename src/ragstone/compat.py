"""The Python names of rag_evaluation and RagaliQ, on ragstone's own classes.

What these classes cannot express raises an error: a metric that scored no row has no 0.0.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator
from rich.console import Console

from ragstone._internal.concurrency import gather
from ragstone._internal.fields import FrozenModel
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.evaluation.config_file import model_names
from ragstone.evaluation.runner import evaluate, evaluate_async
from ragstone.judges.base import Judge
from ragstone.metrics.claims import Faithfulness
from ragstone.metrics.registry import get, register
from ragstone.metrics.retrieval import CutoffMetric
from ragstone.reports.excel import write_workbooks
from ragstone.reports.terminal import print_rows
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.gate import reaches
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Reply, Usage
from ragstone.types.row import Row
from ragstone.types.score import Detail

T = TypeVar("T")


@dataclass(frozen=True)
class QueryResult:
    """The score of one query; ids are numbers if they look like numbers, else texts."""

    query_index: int
    query: str
    ground_truth_ids: list[int | str]
    retrieved_ids: list[int | str]
    score: float
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class MetricSummary:
    """The score of a metric over all queries; `additional_stats` are further figures by name."""

    metric_name: str
    k: int
    score: float
    total_queries: int
    score_threshold: float = 0.0
    additional_stats: dict[str, Any] = field(default_factory=dict[str, Any])


class RetrievalMetric(ABC):
    """A metric of retrieved documents; `register_metric` makes it known."""

    name: str
    short_name: str

    @abstractmethod
    def calculate_query_score(
        self, ground_truth_ids: list[Any], retrieved_ids: list[Any]
    ) -> tuple[float, dict[str, Any]]:
        """Return the score of one query, from 0 to 1, and details for reports."""

    @abstractmethod
    def aggregate_scores(
        self, query_results: list[QueryResult], k: int, score_threshold: float
    ) -> MetricSummary:
        """Return the summary of all queries. The command line reports their mean instead."""


R = TypeVar("R", bound=type[RetrievalMetric])


class _Registered(CutoffMetric):
    made: ClassVar[RetrievalMetric]

    def value(
        self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
    ) -> tuple[float, Detail]:
        return self.made.calculate_query_score(_relevant(relevance), _numbers(retrieved_ids))

    def result(self, row: Row) -> QueryResult:
        score, ranked = row.scores[str(self)], _numbers(row.sample.ranked_ids)[: self.k]
        relevant, value = _relevant(row.sample.relevance or {}), score.value or 0.0
        return QueryResult(row.index, row.sample.query, relevant, ranked, value, dict(score.detail))


def register_metric(name: str) -> Callable[[R], R]:
    """Register a RetrievalMetric under a name, in place of a metric that has it; a decorator.

    Raises:
        UsageError: the name has other characters than lower case letters, digits and `_`.
    """

    def decorate(cls: R) -> R:
        about = {"made": cls(), "label": cls.name}
        about |= {"__doc__": cls.__doc__, "__module__": cls.__module__}
        register(name, replace=True)(type(cls.__name__, (_Registered,), about))
        return cls

    return decorate


def _numbers(ids: Sequence[str]) -> list[int | str]:
    return [int(name) if name.isdecimal() and str(int(name)) == name else name for name in ids]


def _relevant(relevance: Mapping[str, float]) -> list[int | str]:
    return _numbers([name for name, grade in relevance.items() if grade > 0])


@dataclass(frozen=True)
class _Evaluator:
    test_data_path: str | Path
    api_base_url: str = "http://localhost:8000"
    limit: int | None = None

    def _run(self, verbose: bool, export: bool, **options: Any) -> Run:
        options |= {"target": self.api_base_url, "limit": self.limit}
        run = evaluate(self.test_data_path, **options)
        if verbose:
            print_rows(run, Console(highlight=False))
        if export:
            write_workbooks(run)
        return run


class Evaluator(_Evaluator):
    """Scores retrieval, for the queries of any file that ragstone reads and a RAG API."""

    def run(
        self,
        metrics: str | Sequence[str] = "all",
        k: int = 5,
        score_threshold: float = 0.0,
        verbose: bool = False,
        export: bool = True,
    ) -> dict[str, MetricSummary]:
        """Return a summary per metric, by its short name, such as `hit`; `all` are of retrieval.

        The API gets `k` and the minimum similarity `score_threshold`. `verbose` prints the scores
        of each query, `export` writes a workbook into the folder `results`.

        Raises:
            UsageError: the data, the API or a metric cannot be used, or a metric has no score.
        """
        names = "all_retrieval" if metrics == "all" else metrics
        run = self._run(verbose, export, metrics=names, k=k, min_similarity=score_threshold)
        results: dict[str, MetricSummary] = {}
        for name, summary in run.summary().items():
            about, metric, mean = run.metrics[name], get(name), _mean(run, name)
            made = MetricSummary(about.label, k, mean, summary.n, score_threshold)
            if isinstance(metric, _Registered):
                scored = [row for row in run.rows if row.scores[name].value is not None]
                queries = list(map(metric.result, scored))
                made = metric.made.aggregate_scores(queries, k, score_threshold)
            results[about.name] = made
        return results


class GenerationEvaluator(_Evaluator):
    """Scores answers, for the queries of any file that ragstone reads and a RAG API."""

    def run(
        self,
        metric: str = "faithfulness",
        top_k: int = 5,
        score_threshold: float = 0.0,
        verbose: bool = False,
        model_name: str = "gpt-4o-mini",
        export: bool = True,
    ) -> dict[str, Any]:
        """Return `summary`, with `score` (0 to 1) and `total_queries`, and the whole `run`.

        `model_name` is the judge: a model of OpenAI, provider:model, or `offline`.

        Raises:
            UsageError: the data, the API or the judge cannot be used, or there is no score.
        """
        judge = model_name if model_name == "offline" else model_names(model_name)
        options = {"k": top_k, "min_similarity": score_threshold, "judge": judge}
        run = self._run(verbose, export, metrics=metric, **options)
        [name] = run.metrics
        summary = {"score": _mean(run, name), "total_queries": run.summary()[name].n}
        return {"summary": summary, "run": run}


def _mean(run: Run, name: str) -> float:
    mean = run.summary()[name].mean
    if mean is None:
        why = next((row.scores[name].reason for row in run.rows), "there are none")
        raise UsageError(f"{name} has no score for any of {len(run.rows):,} rows: {why}")
    return mean


class ClaimsResult(FrozenModel):
    """The claims of a response, and the tokens that finding them took."""

    claims: list[str]
    tokens_used: int = 0


class ClaimVerdict(FrozenModel):
    """The verdict of the contexts on a claim, also in lower case, and the words that show it."""

    verdict: Annotated[
        Literal["SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"], BeforeValidator(Label)
    ]
    evidence: str = ""


class LLMJudge(ABC):
    """A judge with two methods, where ragstone's Judge has one."""

    @abstractmethod
    async def extract_claims(self, response: str) -> ClaimsResult:
        """Return the claims that a response makes."""

    @abstractmethod
    async def verify_claim(self, claim: str, context: list[str]) -> ClaimVerdict:
        """Return the verdict of the contexts on a claim."""


class _OneMethodJudge(Judge):
    kinds = frozenset({ExtractClaims.kind, VerifyClaims.kind})

    def __init__(self, judge: LLMJudge) -> None:
        self.name, self._judge = type(judge).__name__, judge

    async def answer(self, question: Question[T]) -> Reply[T]:
        if isinstance(question, VerifyClaims):
            context = list(question.contexts)
            calls = [self._judge.verify_claim(claim, context) for claim in question.claims]
            verdicts = await gather(cast("Any", calls))
            found = [{"label": each.verdict, "reason": each.evidence or None} for each in verdicts]
            return cast("Reply[T]", question.reply(found, Usage(calls=len(calls))))
        extracted = await self._judge.extract_claims(cast("ExtractClaims", question).response)
        usage = Usage(calls=1, prompt_tokens=extracted.tokens_used)
        return question.reply([{"text": text} for text in extracted.claims], usage)


class RAGTestCase(BaseModel, frozen=True, extra="allow"):
    """One question with its response and contexts; further fields affect no score."""

    query: str
    context: list[str]
    response: str


@dataclass(frozen=True)
class EvaluationResult:
    """A score from 0 to 1; `raw_response["claims"]` has `claim`, `verdict` and `evidence`."""

    evaluator_name: str
    score: float
    passed: bool
    reasoning: str
    raw_response: dict[str, Any]
    tokens_used: int = 0


@dataclass(frozen=True)
class FaithfulnessEvaluator:
    """The share of a response's claims that the contexts support, by the policy `ragaliq`."""

    threshold: float = 0.7
    name: ClassVar[str] = "faithfulness"
    description: ClassVar[str] = Faithfulness.info().description

    def is_passing(self, score: float) -> bool:
        """Return whether a score reaches the threshold."""
        return reaches(score, self.threshold)

    async def evaluate(
        self, test_case: RAGTestCase, judge: LLMJudge | Judge | str
    ) -> EvaluationResult:
        """Score a response; `judge` may also be one of ragstone, or its name.

        A response without claims has 1.0, but if it seems to make some, it does not pass.

        Raises:
            JudgeError: the judge did not answer, or its answer is unusable.
        """
        run = await evaluate_async(
            [test_case],
            metrics=f"{self.name}:ragaliq,threshold={self.threshold!r}",
            judge=judge if isinstance(judge, str | Judge) else _OneMethodJudge(judge),
            preset="ragaliq",
        )
        [score] = run.rows[0].scores.values()
        if score.cause not in (None, Cause.NO_CLAIMS):
            raise JudgeError(score.cause, score.reason or "")
        claims = [
            {"claim": each.text, "verdict": each.label.value, "evidence": each.reason or ""}
            for each in score.claims
        ]
        raw = {**score.detail, "claims": claims, "total_claims": len(claims)}
        value, usage = 1.0 if score.value is None else score.value, run.usage()
        tokens = usage.prompt_tokens + usage.completion_tokens
        passed, reason = bool(score.passed), score.reason or ""
        return EvaluationResult(self.name, value, passed, reason, raw, tokens)
