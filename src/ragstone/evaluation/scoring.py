"""Scoring: asks the target and the judge about rows, and scores them with all metrics."""

import asyncio
import math
from collections import Counter
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from operator import add
from time import perf_counter, time
from typing import Any, Self, TypeAlias, cast

from ragstone._internal.concurrency import Results, gather, run_sync, worker_pool
from ragstone._internal.documents import ID_NAMES
from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone._internal.text import quoted, span
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError, RagstoneError
from ragstone.judges.base import CALLS, Judge, ReplayJudge, outcome_of
from ragstone.judges.factory import LEAST, MOST, Guess, make_judge
from ragstone.judges.llm.judge import SAME_FAILURES
from ragstone.judges.offline.claims import extract_claims
from ragstone.metrics import claim_checks
from ragstone.metrics.base import Metric
from ragstone.metrics.retrieval import RankingMetric
from ragstone.targets.base import FIELDS, Answer, Target
from ragstone.targets.http import parse_field
from ragstone.types.claim import ClaimIssue, DiagnosedClaim, JudgedClaim, Label
from ragstone.types.config import Manifest, Plan
from ragstone.types.questions import ExtractClaims, Question, T
from ragstone.types.rankings import NOTHING_RELEVANT, Rankings
from ragstone.types.reply import NOTHING_SPENT, Exchange, Failure, JudgeFailureError, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import NO_TAGS, SUBSTITUTE_FIELDS, Context, Sample, Tags, describe_field
from ragstone.types.score import Score, State


class Transcript:
    """Asks one judge about one sample and records the replies in the order of the questions."""

    def __init__(self, judge: Judge, tags: Tags = NO_TAGS) -> None:
        self._judge = judge
        named = ((name, tags.get(name)) for name in sorted(judge.tags))
        self._tags = tuple((name, "" if tag is None else str(tag)) for name, tag in named)
        self._asked: dict[str, asyncio.Task[Exchange]] = {}

    async def reply(self, question: Question[T]) -> Reply[T]:
        key = question.key
        if key not in self._asked:
            self._asked[key] = asyncio.create_task(self._exchange(key, question))
        # metrics share the question: one that is cancelled must not cancel it for the others
        outcome = (await asyncio.shield(self._asked[key])).outcome
        if isinstance(outcome, Failure):
            raise JudgeFailureError(outcome)
        return cast("Reply[T]", outcome)

    async def _exchange(self, key: str, question: Question[T]) -> Exchange:
        started_at, start = time(), perf_counter()
        asked = question.varied(tags=self._tags) if self._tags else question
        outcome = await outcome_of(self._judge, asked)
        return Exchange(key, question.kind, outcome, (perf_counter() - start) * 1000, started_at)

    async def close(self) -> None:
        left = [task for task in self._asked.values() if task.cancel()]  # False if it has ended
        await asyncio.gather(*left, return_exceptions=True)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        done = [task for task in self._asked.values() if task.done() and not task.cancelled()]
        return tuple(task.result() for task in done if task.exception() is None)


class MetricAsker:
    """Asks a transcript for one metric, and collects the notes on the replies."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.keys = set[str]()
        self.notes: dict[str, None] = {}

    async def __call__(self, question: Question[T]) -> T:
        self.keys.add(question.key)
        reply = await self._transcript.reply(question)
        self.notes |= dict.fromkeys(reply.notes)
        text = "" if reply.value or not isinstance(question, ExtractClaims) else question.response
        if text and extract_claims(text):
            words = (
                f"the judge found no claims in what seems to make statements: {quoted(text, 80)}"
            )
            raise JudgeError(Cause.NO_CLAIMS, words)
        return reply.value


_ISSUES = {Label.CONTRADICTED: ClaimIssue.CONTRADICTED, Label.NOT_ENOUGH_INFO: ClaimIssue.NOT_FOUND}
"""The issue of a response claim with this verdict; partially supported claims have none."""


async def diagnose(row: Row, metrics: Sequence[Metric]) -> tuple[DiagnosedClaim, ...]:
    """Return unsupported claims of the response and missing claims of the reference.

    The two verdicts on a reference claim come from metrics with the same question settings, and
    all verdicts from the scores, otherwise from the transcript. No calls are made.
    """
    by_settings: dict[tuple[object, ...], list[claim_checks.ClaimVerifier]] = {}
    for metric in metrics:
        if isinstance(metric, claim_checks.ClaimVerifier):
            by_settings.setdefault(metric.question_settings, []).append(metric)
    if not by_settings:
        return row.blamed
    response: tuple[JudgedClaim, ...] = ()
    reference: list[tuple[JudgedClaim, JudgedClaim]] = []
    for group in by_settings.values():
        response = response or await _verdicts(claim_checks.RESPONSE_IN_CONTEXTS, row, group)
        if not reference:
            in_response = await _verdicts(claim_checks.REFERENCE_IN_RESPONSE, row, group)
            in_contexts = await _verdicts(claim_checks.REFERENCE_IN_CONTEXTS, row, group)
            if in_response and in_contexts:
                reference = list(zip(in_response, in_contexts, strict=True))
    found = [
        DiagnosedClaim(claim=claim.text, of="response", blame=_ISSUES[claim.label])
        for claim in response
        if claim.label in _ISSUES
    ]
    for claim, retrieved in reference:
        if claim.label in _ISSUES:  # the response does not make it
            was_retrieved = retrieved.label is Label.SUPPORTED
            issue = ClaimIssue.IGNORED if was_retrieved else ClaimIssue.NOT_RETRIEVED
            found.append(DiagnosedClaim(claim=claim.text, of="reference", blame=issue))
    return tuple(found)


async def _verdicts(
    check: claim_checks.Check, row: Row, metrics: Sequence[claim_checks.ClaimVerifier]
) -> tuple[JudgedClaim, ...]:
    for metric in metrics:
        if isinstance(metric, claim_checks.ClaimMetric) and metric.check == check:
            score = row.scores[str(metric)]
            if score.claims and not score.fallback:
                return score.claims
    sample = row.sample
    if (
        not any(check in metric.active_checks for metric in metrics)
        or check.obstacle(sample)
        or any(sample.value_or_substitute(need) is None for need in check.needs)
    ):
        return ()
    judge = ReplayJudge(row.exchanges)

    async def ask(question: Question[T]) -> T:
        return (await judge.answer(question)).value

    try:
        _, claims = await metrics[0].judge_claims(check, sample, ask)
    except (JudgeError, QuestionNotSupportedError):
        return ()
    return claims


BATCH = 200  # rows scored together by ranking metrics
Rows = Iterable[Row] | AsyncIterable[Row]
RowScorer: TypeAlias = Callable[[Row], Awaitable[Row]]
Tracing: TypeAlias = Callable[[RowScorer, Manifest], RowScorer]
"""Makes a scorer that observes what another does."""


def score_rows(
    rows: Rows,
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    concurrency: int,
    around: Callable[[RowScorer], RowScorer] | None = None,
) -> AbstractAsyncContextManager[Results[Row]]:
    """Score rows with all metrics in the order they finish; ranking scores that exist are kept."""
    ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
    asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
    order = [str(metric) for metric in metrics]
    ranking_names = set(map(str, ranking))
    calls = asyncio.Semaphore(concurrency)

    async def score(row: Row) -> Row:
        CALLS.set(calls)
        ranked = row.scores.keys() >= ranking_names
        scored = await _judge_row(
            row if ranked else score_retrieval([row], ranking)[0], asking, judge
        )
        scores = {name: scored.scores[name] for name in order}
        return replace(scored, scores=scores, blamed=await diagnose(scored, asking))

    return worker_pool(rows, around(score) if around else score, concurrency=concurrency)


async def rescore_row(row: Row, metrics: Sequence[Metric]) -> Row:
    return await _judge_row(row, metrics, ReplayJudge(row.exchanges), recorded=row.exchanges)


def score_retrieval_in_batches(
    rows: Iterable[Row], metrics: Sequence[RankingMetric]
) -> Iterator[Row]:
    left = iter(rows)
    while some := list(islice(left, BATCH)):
        yield from score_retrieval(some, metrics)


def score_retrieval(rows: Sequence[Row], metrics: Sequence[RankingMetric]) -> list[Row]:
    by_needs: dict[tuple[str, ...], list[RankingMetric]] = {}
    for metric in metrics:
        by_needs.setdefault(metric.needs, []).append(metric)
    for group in by_needs.values():
        unscorable = [_check_needs(group[0], row) for row in rows]
        ready = [row for row, score in zip(rows, unscorable, strict=True) if score is None]
        rankings = _rankings(ready)
        relevant = iter(rankings.n_relevant.tolist())
        columns = {str(metric): iter(_score_column(metric, ready, rankings)) for metric in group}
        scored: list[Row] = []
        for row, score in zip(rows, unscorable, strict=True):
            scores = {name: score or next(column) for name, column in columns.items()}
            notes = row.notes
            ids = row.sample.ranked_ids
            if score is None and (copies := len(ids) - len(set(ids))):
                what = "1 document is" if copies == 1 else f"{copies} documents are"
                notes += (f"{what} repeated in the ranking; only the first rank counts",)
            if score is None and next(relevant) == 0 and row.sample.relevance is not None:
                notes += (NOTHING_RELEVANT,)
                scores = {
                    name: each.model_copy(update={"reason": each.reason or NOTHING_RELEVANT})
                    for name, each in scores.items()
                }
            notes = tuple(dict.fromkeys(notes))
            scored.append(replace(row, scores={**row.scores, **scores}, notes=notes))
        rows = scored
    return list(rows)


def _rankings(rows: Sequence[Row]) -> Rankings:
    ids = [row.sample.ranked_ids for row in rows]
    return Rankings.of(ids, [row.sample.relevance or {} for row in rows])


def _score_column(metric: RankingMetric, rows: Sequence[Row], rankings: Rankings) -> list[Score]:
    try:
        return metric.scores(rankings)
    except BaseException as error:
        if not is_from_code(error):
            raise
        if len(rows) == 1:
            return [_score_exception(metric, rows[0], error)]
        # again row by row, so that only those fail for which it raises
        scores = [_score_column(metric, [row], _rankings([row]))[0] for row in rows]
        if is_builtin(metric):
            raise  # no single row raises
        return scores


async def _judge_row(
    row: Row, metrics: Sequence[Metric], judge: Judge, *, recorded: tuple[Exchange, ...] = ()
) -> Row:
    transcript = Transcript(judge, row.sample.tags)
    askers = [MetricAsker(transcript) for _ in metrics]
    try:
        pairs = zip(metrics, askers, strict=True)
        scores = await gather(_score(metric, row, ask) for metric, ask in pairs)
    finally:
        await transcript.close()
    askers_of = Counter(key for ask in askers for key in ask.keys)
    exchanges = recorded or tuple(
        replace(each, askers=askers_of[each.key]) for each in transcript.exchanges
    )
    scored = dict(row.scores)
    for metric, ask, score in zip(metrics, askers, scores, strict=True):
        asked = [each for each in exchanges if each.key in ask.keys]
        if asked:
            end = max(each.started_at + each.latency_ms / 1000 for each in asked)
            latency = 1000 * (end - min(each.started_at for each in asked))
            score = score.model_copy(update={"latency_ms": round(latency, 3)})
        scored[str(metric)] = score
    return replace(row, scores=scored, exchanges=exchanges)


async def _score(metric: Metric, row: Row, ask: MetricAsker) -> Score:
    if score := _check_needs(metric, row):
        return score
    sample = row.sample
    if type(metric).score.__module__.partition(".")[0] != "ragstone":  # it may know only texts
        read = any(need.startswith("reference") for need in metric.needs)
        ask.notes |= dict.fromkeys(sample.reference_note(read=read))
        sample = sample.model_copy(update={"reference": sample.closest_reference})
    try:
        score = await metric.score(sample, ask)
        if not is_builtin(metric):
            if not isinstance(cast("object", score), Score):
                raise TypeError(f"it returned a {type(score).__name__}, not a Score")
            score = Score.model_validate(dict(score))
    except CallError as error:
        return Score.failed(error.cause, str(error))
    except QuestionNotSupportedError:
        raise
    except BaseException as error:  # noqa: BLE001 - third-party metrics may raise anything
        return _score_exception(metric, row, error)
    return score.noted(ask.notes)


NO_ID = f"some retrieved documents have no id (metadata may have {', '.join(ID_NAMES)} or source)"


def _check_needs(metric: Metric, row: Row) -> Score | None:
    failed: Failure | None = None
    for need in metric.needs:
        failure = row.failures.get(need)
        if failure is None and getattr(row.sample, need) is None:
            failure = row.failures.get(SUBSTITUTE_FIELDS.get(need, need))
        if failure is None and row.sample.value_or_substitute(need) is None:
            return Score.undefined(f"the row has no {describe_field(need)}")
        failed = failed or failure
    if failed:
        return Score.failed(failed.cause, failed.message)
    by_id = {"ranking", "relevance"} <= set(metric.needs)
    if by_id and any(place.id is None for place in row.sample.ranked or ()):
        return Score.undefined(NO_ID)
    return None


def _score_exception(metric: Metric, row: Row, error: BaseException) -> Score:
    if is_builtin(metric) or not is_from_code(error):
        error.add_note(f"while scoring sample {row.sample.id} with {metric}")
        raise error
    return Score.failed(Cause.METRIC_ERROR, describe_exception("the metric", error))


DROPPED = "the stored response was discarded, because it does not belong to the target's contexts"
REPLACED = (
    "the stored value of {} was replaced, so that all fields come from one reply of the target"
)


def ask_target(
    rows: Iterable[Row],
    target: Target,
    *,
    wanted: frozenset[str],
    every: bool,
    concurrency: int,
    answered: Collection[int] = (),
    texts: bool = False,
) -> AbstractAsyncContextManager[Results[Row]]:
    """Ask for missing fields, with `every` for those of all rows; rows come as they finish.

    Rows that are `answered` stay as they are. With `texts`, a row whose ranking has only ids is
    asked again for its contexts too.
    """

    async def ask(row: Row) -> Row:
        present = {field for field in FIELDS if getattr(row.sample, field) is not None}
        missing = wanted if every else wanted - present
        asked = await request(row, missing) if missing and row.index not in answered else row
        lacks_texts = asked.sample.has_only_ids and asked.sample.contexts is None
        if texts and lacks_texts and "contexts" in target.gives - missing:
            asked = await request(row, missing | {"contexts"})
        return asked

    async def request(row: Row, missing: frozenset[str]) -> Row:
        try:
            answer = await target.ask(row.sample, missing)
            if not isinstance(cast("object", answer), Answer):
                raise TypeError(f"it returned a {type(answer).__name__}, not an Answer")
        except RagstoneError:
            raise
        except BaseException as error:
            if is_builtin(target) or not is_from_code(error):
                raise
            failure = Failure(Cause.TARGET_ERROR, describe_exception("the target", error))
            answer = Answer({}, dict.fromkeys(missing, failure))
        answer = validate_answer(answer, missing)
        if every and (texts or "response" in missing) and "contexts" in target.gives:
            answer = replace(answer, fields={"contexts": None, **answer.fields})  # others are old
        return add_answer(row, answer, every=every)

    return worker_pool(rows, ask, concurrency=concurrency)


def validate_answer(answer: Answer, wanted: frozenset[str]) -> Answer:
    fields: dict[str, object] = {}
    failures = dict(answer.failures)
    for name, value in answer.fields.items():
        try:
            fields[name] = parse_field(name, value)
        except CallError as error:
            failures[name] = Failure(error.cause, str(error))
    optional = {"ranking"} if "contexts" in fields else set[str]()
    for name in wanted - fields.keys() - failures.keys() - optional:
        failures[name] = Failure(Cause.MALFORMED, f"the target returned no {name}")
    return replace(answer, fields=fields, failures=failures)


def add_answer(row: Row, answer: Answer, *, every: bool) -> Row:
    """Return the row with a target's answer; failed fields are cleared.

    The fields of a row must come from one reply, so new contexts discard an old response and, with
    `every`, an old ranking.
    """
    fields: dict[str, object] = {**dict.fromkeys(answer.failures), **answer.fields}
    failures = dict(answer.failures)
    notes = row.notes
    if "contexts" in fields and every:
        fields.setdefault("ranking", None)
    if "contexts" in answer.fields and "response" not in fields:
        fields["response"] = None
        notes += (DROPPED,) if row.sample.response is not None else ()
    if not every:
        replaced = [name for name in answer.fields if getattr(row.sample, name) is not None]
        notes += tuple(REPLACED.format(name) for name in replaced)
        if "contexts" in replaced and row.sample.ranking is None:
            fields.setdefault("ranking", row.sample.contexts)  # the old contexts were ranked
    if "contexts" in failures and fields.get("ranking", row.sample.ranking) is None:
        failures.setdefault("ranking", failures["contexts"])  # they would have been the ranking
    sample = row.sample.model_copy(update=fields)
    return replace(row, sample=sample, failures=failures, calls=answer.calls, notes=notes)


MAX_FAILED_ROWS = 20  # in a row, which stop a run, unless more are in progress at once
SERVICE_CAUSES = frozenset(  # they suggest that a service is down; others depend on a row's content
    (Cause.UNREACHABLE, Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.JUDGE_ERROR, Cause.TARGET_ERROR)
)
_FAULTS = (Cause.MALFORMED, Cause.TARGET_ERROR)  # which rows may share from the first one on


class CircuitBreaker:
    """Counts rows that fail in a row for the same cause, because a service is probably down."""

    reason: str | None = None

    def __init__(
        self, plan: Plan, metrics: Sequence[Metric] = (), *, calls_target: bool = False
    ) -> None:
        self._asking = {str(metric) for metric in metrics if metric.question_kinds}
        self._fail_fast, self._calls_target = plan.fail_fast, calls_target
        accepted = plan.max_failure_rate >= 1
        # a short outage fails all rows in progress
        self._limit = math.inf if accepted else max(MAX_FAILED_ROWS, 2 * plan.concurrency)
        self._cause: Cause | None = None
        self._failed = 0
        self._answered, self._unusable = accepted, 0

    def add(self, causes: set[Cause | None], message: str | None) -> None:
        """Count a row with one cause, of SERVICE_CAUSES; others, and successes (None), end it."""
        cause = next(iter(causes)) if len(causes) == 1 else None
        cause = cause if cause in SERVICE_CAUSES else None
        self._failed = 0 if cause is None else self._failed + 1 if cause is self._cause else 1
        self._cause = cause
        if self._failed >= self._limit:
            why = f"{self._failed} consecutive rows failed ({cause})"
            self.reason = f"{why}: {quoted(message or '')}"

    def is_open(self, row: Row) -> bool:
        """Count a scored row, and return whether to stop after it.

        Metrics that ask the judge count, or all if none does; failures in the data do not.
        """
        recorded = () if self._calls_target else row.failures.values()
        ignored = {(failure.cause, failure.message) for failure in recorded}
        made = {
            name: score
            for name, score in row.scores.items()
            if score.state is not State.UNDEFINED and (score.cause, score.reason) not in ignored
        }
        failed = {name: score for name, score in made.items() if score.state is State.FAILED}
        if self._fail_fast and failed:
            name, score = next(iter(failed.items()))
            why = f"{name} failed for sample {row.sample.id} ({score.cause})"
            self.reason = f"{why}: {quoted(score.reason or '')} (fail_fast)"
            return True
        if row.calls and not self._answered:
            failure = next((call.failure for call in row.calls if call.failure), None)
            self._answered = failure is None or len(failed) < len(made)
            self._unusable += failure is not None and failure.cause in _FAULTS
            if failure is not None and not self._answered and self._unusable == SAME_FAILURES:
                why = f"none of the first {SAME_FAILURES} answers of the target can be used"
                self.reason = f"{why}: {quoted(failure.message)}"
        asking = self._asking or made.keys()
        if asked := [score for name, score in made.items() if name in asking]:
            reasons = (score.reason for score in asked if score.state is State.FAILED)
            # the cause of a score that did not fail is None
            self.add({score.cause for score in asked}, next(reasons, None))
        return self.reason is not None


SMALL = 0.0001  # dollars; the smallest cost that is shown exactly
ASSUMED_SENTENCES, ASSUMED_WORDS = 5, 100  # of a missing response, and of a missing context


@dataclass(frozen=True)
class Estimate:
    """The expected usage of a command, each as the likely minimum and maximum."""

    calls: tuple[int, int]
    prompt_tokens: tuple[int, int]
    completion_tokens: tuple[int, int]
    cost_usd: tuple[float, float] | None  # None if the price is unknown
    local_calls: tuple[int, int] = (0, 0)
    local_tokens: tuple[int, int] = (0, 0)
    rows: int = 0
    notes: tuple[str, ...] = ()

    @classmethod
    def between(cls, one: Usage, other: Usage) -> Self:
        names = "calls prompt_tokens completion_tokens cost_usd local_calls local_tokens".split()
        pairs = {name: (getattr(one, name), getattr(other, name)) for name in names}
        ends: dict[str, Any] = {
            name: None if None in pair else tuple(sorted(pair)) for name, pair in pairs.items()
        }
        return cls(**ends)

    def __str__(self) -> str:
        kinds = (self.local_calls, " to a local model (free)"), (self.calls, f", {self.cost}")
        parts = [
            f"{span(*calls)} {'call' if calls == (1, 1) else 'calls'}{cost}"
            for calls, cost in kinds
            if calls[1]
        ]
        return "; ".join(parts) or "no calls, at no cost"

    @property
    def cost(self) -> str:
        if self.cost_usd is None:
            return "price unknown"
        return f"{span(*map(_price, self.cost_usd))} (an estimate)"


def _price(dollars: float) -> str:
    if 0 < dollars < SMALL:
        return f"less than ${SMALL}"
    return f"${dollars:.4f}" if 0 < dollars < 1 else f"${dollars:,.2f}"


def estimate_calls(
    plan: Plan,
    kinds: Sequence[str],
    work: Callable[[Judge, Guess], Coroutine[object, object, Usage]],
) -> Estimate:
    """Estimate what work that asks these kinds costs, by doing it with the least and the most."""

    def usage(guess: Guess) -> Usage:
        judge = make_judge(plan, asked=[kinds], guess=guess)
        return run_sync(partial(work, judge, guess))

    return Estimate.between(usage(LEAST), usage(MOST))


async def usage_of(judge: Judge, questions: Iterable[Question[T]]) -> Usage:
    async with judge:
        outcomes = [await outcome_of(judge, question) for question in questions]
    return reduce(add, (outcome.usage for outcome in outcomes), NOTHING_SPENT)


def estimate_rows(
    plan: Plan,
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    *,
    asks_target: bool,
    places: Sequence[int] | None = None,
    around: Callable[[Judge], Judge] = lambda judge: judge,
) -> Estimate:
    """Makes no calls. With `asks_target`, missing responses and contexts come from the target."""
    places = range(len(samples)) if places is None else places
    numbers = range(1, ASSUMED_SENTENCES + 1)
    facts = [f"The system states fact {n} of what was asked here." for n in numbers]
    assumed = {
        "response": " ".join(facts),
        "contexts": (Context(text="context " * ASSUMED_WORDS),) * max(plan.cutoffs),
    }
    unknown = set[int]()

    def row_of(place: int) -> Row:
        sample = samples[place]
        missing = {name: each for name, each in assumed.items() if getattr(sample, name) is None}
        if missing and asks_target:
            unknown.add(place)
            sample = Sample.model_validate({**dict(sample), **missing})
        return Row(place, sample)

    asking = [metric for metric in metrics if metric.question_kinds]

    async def usage(guess: Guess) -> Usage:
        judge = around(make_judge(plan, guess=guess))
        total = Usage()
        async with score_rows(map(row_of, places), asking, judge, concurrency=1) as scored:
            async for row in scored:
                total += row.usage
        return total

    least, most = (run_sync(partial(usage, guess)) for guess in (LEAST, MOST))
    notes: list[str] = []
    if plan.cache and most.prompt_tokens + most.local_tokens > 0:
        notes.append("cached replies are not requested again")
    if unknown:
        which = "1 row has" if len(unknown) == 1 else f"{len(unknown):,} rows have"
        notes.append(
            f"{which} no response or no contexts yet; {ASSUMED_SENTENCES} sentences and contexts "
            f"of {ASSUMED_WORDS} words are assumed"
        )
    return replace(Estimate.between(least, most), rows=len(places), notes=tuple(notes))
