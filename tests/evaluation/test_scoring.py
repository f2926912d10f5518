import asyncio
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.evaluation.ranking import score_rankings
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.scoring import NO_ID, score_retrieval, score_rows
from ragstone.judges.base import Judge, RouterJudge, ScriptedJudge, outcome_of
from ragstone.judges.batching import SplitJudge
from ragstone.judges.cache import CachedJudge
from ragstone.metrics import get
from ragstone.metrics.base import Ask, Metric
from ragstone.metrics.retrieval import RankingMetric
from ragstone.reports.worst import worst_samples
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question, T, TextSimilarity
from ragstone.types.rankings import NOTHING_RELEVANT, Rankings
from ragstone.types.reply import Failure, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

M = TypeVar("M", bound=Metric)

HIT, RECALL, FAITHFULNESS = get("hit@2"), get("recall@2"), get("faithfulness")
RANKING = [metric for metric in (HIT, RECALL) if isinstance(metric, RankingMetric)]
CLAIM = Claim(text="It lasts 20 hours.")
JUDGE = ScriptedJudge({"extract_claims": [CLAIM], "verify_claims": [{"label": "SUPPORTED"}]})
LATE = Failure(Cause.TIMEOUT, "chat: no reply within 30 s")


def row(index: int = 0, failures: Mapping[str, Failure] | None = None, **fields: Any) -> Row:
    known: dict[str, Any] = {
        "response": "It lasts 20 hours.",
        "contexts": (Context(id="1", text="Up to 20 hours."), Context(id="2", text="Blue.")),
        "relevance": {"1": 1.0, "3": 1.0},
    }
    sample = Sample(id=f"q{index}", query="How long?", **(known | fields))
    return Row(index, sample, failures=failures or {})


async def scored(
    rows: Sequence[Row], metrics: Sequence[Metric], judge: Judge = JUDGE, concurrency: int = 4
) -> list[Row]:
    async with score_rows(rows, metrics, judge, concurrency=concurrency) as results:
        return sorted([result async for result in results], key=lambda result: result.index)


class Broken(RankingMetric):
    name, label = "broken", "Broken"

    def value(self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]) -> float:
        return (1 + 0 * len(relevance)) / len(retrieved_ids)


class Unjudged(Broken):
    """A metric for which no relevance is needed."""

    name, needs = "unjudged", ("ranking",)


def ours(cls: type[M]) -> M:
    """An instance of the class as if it came with ragstone."""
    return type(cls.__name__, (cls,), {"__module__": "ragstone.metrics.ours"})()


class Crashes(Metric):
    name, label = "crashes", "Crashes"

    async def score(self, sample: Sample, ask: Ask) -> Score:
        raise ZeroDivisionError("a bug", sample, ask)


async def test_every_row_gets_every_score_in_the_order_of_the_metrics() -> None:
    rows = await scored([row(i) for i in range(20)], [FAITHFULNESS, HIT, RECALL])
    assert [result.index for result in rows] == list(range(20))
    for result in rows:
        assert list(result.scores) == ["faithfulness", "hit@2", "recall@2"]
        assert [score.value for score in result.scores.values()] == [1, 1, 0.5]
        assert result.usage == Usage(calls=2)


async def test_a_failure_of_the_judge_is_a_failed_score_of_that_row_and_metric_only() -> None:
    def claims(question: ExtractClaims) -> object:
        return Failure(Cause.REFUSAL, "no") if "bomb" in question.response else [CLAIM]

    judge = ScriptedJudge({**JUDGE.answers, "extract_claims": claims})
    rows = [row(0), row(1, response="How to make a bomb."), row(2)]
    first, second, third = await scored(rows, [HIT, FAITHFULNESS], judge)
    failed = second.scores["faithfulness"]
    assert (failed.state, failed.cause, failed.reason) == ("failed", "refusal", "no")
    assert second.scores["hit@2"].value == 1
    assert [r.scores["faithfulness"].value for r in (first, third)] == [1, 1]


@each_case(
    ("fields", "name", "reason"),
    [
        ({"relevance": None}, "hit@2", "the row has no relevance (column point_ids)"),
        ({"contexts": None}, "hit@2", "the row has no ranking (or contexts)"),
        ({"response": None}, "faithfulness", "the row has no response"),
        ({"response": ""}, "faithfulness", "the response is empty"),
        ({"contexts": (Context(text="a"), Context(text="b"))}, "hit@2", NO_ID),
    ],
)
async def test_what_does_not_arise_is_undefined_with_the_reason(
    fields: dict[str, Any], name: str, reason: str
) -> None:
    score = (await scored([row(**fields)], [get(name)]))[0].scores[name]
    assert (score.state, score.reason) == ("undefined", reason)


async def test_what_is_empty_is_scored() -> None:
    (result,) = await scored([row(ranking=(), contexts=())], [HIT, FAITHFULNESS])
    assert [score.value for score in result.scores.values()] == [0, 0]
    (result,) = await scored([row(relevance={})], [HIT])
    assert result.scores["hit@2"].value == 0


@each_case(
    ("field", "failed"),
    [
        ("response", {"faithfulness"}),
        ("contexts", {"faithfulness"}),
        ("ranking", {"hit@2", "recall@2"}),
        ("reference", set()),
    ],
)
async def test_what_the_target_failed_to_give_fails_the_metrics_that_need_it(
    field: str, failed: set[str]
) -> None:
    """Also where contexts could stand in for the ranking: the search failed, so it is not known."""
    ranking = None if field == "ranking" else (Context(id="1"), Context(id="2"))
    given = {"ranking": ranking} | ({field: None} if field != "reference" else {})
    rows = [row(failures={field: LATE}, **given)]
    (result,) = await scored(rows, [HIT, RECALL, FAITHFULNESS])
    assert {name for name, score in result.scores.items() if score.state == "failed"} == failed
    for name in failed:
        score = result.scores[name]
        assert (score.cause, score.reason) == ("timeout", "chat: no reply within 30 s")
    assert all(result.scores[name].value is not None for name in result.scores.keys() - failed)
    (result,) = await scored([row(failures={"contexts": LATE}, contexts=None)], [HIT])
    assert (result.scores["hit@2"].state, result.scores["hit@2"].cause) == ("failed", "timeout")


async def test_duplicates_are_noted() -> None:
    note = "3 documents are repeated in the ranking; only the first rank counts"
    for ids, notes in (("1 2 3", ()), ("1 1 1 2 2", (note,))):
        ranking = tuple(Context(id=id_) for id_ in ids.split())
        (result,) = await scored([row(ranking=ranking)], [HIT, RECALL])
        assert result.notes == notes
        (result,) = await scored([row(ranking=ranking, relevance=None)], [HIT])
        assert result.notes == ()  # the row is not scored


class PanicError(BaseException):
    """As Rust's panics are in Python, and what `pytest.skip` raises."""


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@each_case(
    ("given", "reason"),
    [
        (0.5, "it returned a float, not a Score"),
        (Score.scored(0.5).model_copy(update={"value": float("nan")}), "a finite number"),
        (ZeroDivisionError("oh"), "the metric raised ZeroDivisionError at test_scoring.py"),
        (PanicError("oh"), "PanicError at test_scoring.py"),
        (asyncio.CancelledError(), "CancelledError at test_scoring.py"),
        (UnreadableError(), "(its text raised RuntimeError)"),
    ],
)
async def test_a_strangers_metric_without_a_score_fails(given: object, reason: str) -> None:
    class Odd(Metric):
        name, label = "odd", "Odd"

        async def score(self, sample: Sample, ask: Ask) -> Score:  # noqa: ARG002
            await asyncio.sleep(0)
            if isinstance(given, BaseException):
                raise given
            return given  # type: ignore[return-value]

    for metrics in ([Odd()], [Odd(), HIT, FAITHFULNESS]):
        (result,) = await asyncio.wait_for(scored([row(7)], metrics), 30)
        score = result.scores["odd"]
        assert (score.state, score.cause) == ("failed", "metric_error")
        assert reason in str(score.reason)
        assert [result.scores[str(each)].value for each in metrics[1:]] == [1.0] * len(metrics[1:])


async def test_a_strangers_ranking_metric_that_leaves_fails() -> None:
    class Leaves(RankingMetric):
        name, label = "leaves", "Leaves"

        def values(self, rankings: Rankings) -> NDArray[np.float64]:
            raise PanicError(rankings)

    (result,) = await asyncio.wait_for(scored([row(7)], [Leaves()]), 30)
    assert result.scores["leaves"].cause is Cause.METRIC_ERROR
    assert list(score_rankings(Leaves(), Rankings.of([["a"]], [{"a": 1.0}]))[1]) == [0]


async def test_one_of_ours_that_crashes_stops_the_run_and_names_the_sample() -> None:
    with pytest.raises(ZeroDivisionError, match="a bug") as raised:
        await scored([row(7)], [ours(Crashes)])
    assert raised.value.__notes__ == ["while scoring sample q7 with crashes"]


async def test_a_crashing_ranking_metric_fails_the_rows_that_it_crashes_on() -> None:
    rows = [row(0), row(1), row(2, ranking=()), row(3)]
    for ranked in (
        score_retrieval(rows, [Broken()]),
        await scored(rows, [Broken()], concurrency=1),
    ):
        states = [each.scores["broken"].state for each in sorted(ranked, key=lambda r: r.index)]
        assert states == ["scored", "scored", "failed", "scored"]
    with pytest.raises(ZeroDivisionError) as raised:
        score_retrieval(rows, [ours(Broken)])
    assert raised.value.__notes__ == ["while scoring sample q2 with broken"]
    with pytest.raises(ZeroDivisionError):
        score_rankings(ours(Broken), Rankings.of([[]], [{"a": 1.0}]))


async def test_a_block_of_rows_is_scored_as_row_by_row() -> None:
    copies = tuple(Context(id=id_) for id_ in "3 9 3 1 1".split())
    rows = [
        row(0),
        row(1, ranking=copies),
        row(2, relevance=None),
        row(3, ranking=()),
        row(4, relevance={}),
        row(5, failures={"ranking": LATE}, ranking=None),
        row(6, contexts=None),
        row(7, ranking=tuple(Context(id=str(i)) for i in range(50))),
        row(8, contexts=(Context(text="no id"),)),
    ]
    at_once = score_retrieval(rows, RANKING)
    assert at_once == [score_retrieval([one], RANKING)[0] for one in rows]
    assert at_once == await scored(rows, RANKING)
    assert [one.scores["recall@2"].value for one in at_once] == [
        0.5, 0.5, None, 0, 0, None, None, 0.5, None
    ]  # fmt: skip


def test_ranking_metrics_that_need_less_do_not_lend_it_to_the_others() -> None:
    """A row whose relevance is not known is undefined, not 0, whichever metric comes first."""
    for metrics in ([Unjudged(), *RANKING], [*RANKING, Unjudged()]):
        (result,) = score_retrieval([row(relevance=None, ranking=(Context(id="1"),) * 2)], metrics)
        assert result.scores["unjudged"].value == 1
        assert result.scores["hit@2"].state == "undefined"
        assert len(result.notes) == 1


async def test_what_is_to_be_known_of_an_answer_is_in_the_detail_of_who_asked() -> None:
    class Notes(Metric):
        name, label = "notes", "Notes"

        async def score(self, sample: Sample, ask: Ask) -> Score:
            await ask(ExtractClaims(query=sample.query, response="x"))
            return Score.scored(1, detail={"note": "mine", "other": 2})

    noted = Reply((CLAIM,), notes=("asked twice", "one was left out"))
    judge = ScriptedJudge({**JUDGE.answers, "extract_claims": noted})
    (result,) = await scored([row()], [FAITHFULNESS, HIT, Notes()], judge)
    assert result.scores["faithfulness"].detail["note"] == "asked twice; one was left out"
    assert "note" not in result.scores["hit@2"].detail
    own = {"note": "mine; asked twice; one was left out", "other": 2}
    assert result.scores["notes"].detail == own


async def test_a_rows_tags_go_to_the_judge_that_names_them() -> None:
    class Tagged(ScriptedJudge):
        tags = frozenset({"language", "area", "page"})

    judge = Tagged(JUDGE.answers)
    tags = {"language": "German", "page": 5, "area": None, "other": 1}
    (result,) = await scored([row(tags=tags)], [FAITHFULNESS, HIT], judge)
    seen = [getattr(question, "tags", None) for question in judge.asked]
    assert seen == [(("area", ""), ("language", "German"), ("page", "5"))] * 2
    key = ExtractClaims(query="How long?", response="It lasts 20 hours.").key
    assert result.exchanges[0].key == key, "the ledger has no tags"


@each_case("value", [(math.nan,), ("high",)])
async def test_a_reply_that_a_judge_did_not_check_is_checked(value: object) -> None:
    class Similar(Judge):
        name = "similar"
        kinds = frozenset({"text_similarity"})

        async def answer(self, question: Question[T]) -> Reply[T]:  # noqa: ARG002
            return Reply(cast("T", value))

    found = await outcome_of(Similar(), TextSimilarity(text="a", others=("b",)))
    assert isinstance(found, Failure)
    assert found.cause is Cause.MALFORMED


class OddJudge(Judge):
    """Raises what it is given, or returns it, for answers that are not right."""

    name = "odd"
    kinds = frozenset({"extract_claims", "verify_claims"})

    def __init__(self, given: BaseException | None) -> None:
        self.given = given

    async def answer(self, question: Question[T]) -> Reply[T]:
        if any(text in question.model_dump_json() for text in ("Right.", CLAIM.text)):
            return await JUDGE.answer(question)
        if self.given:
            raise self.given
        return None  # type: ignore[return-value]

    def identity(self, kind: str) -> str:
        return kind


class SyncJudge(Judge):
    name = "sync"
    kinds = frozenset({"extract_claims", "verify_claims"})

    def answer(self, question: Question[T]) -> Reply[T]:  # type: ignore[override]
        return question.reply([{"text": "a"}])


@each_case(
    ("judge", "reason"),
    [
        (OddJudge(None), "the judge returned a NoneType"),
        (OddJudge(KeyError("a")), "the judge raised KeyError at test_scoring.py"),
        (OddJudge(PanicError("oh")), "PanicError at test_scoring.py"),
        (OddJudge(asyncio.CancelledError()), "CancelledError at test_scoring.py"),
        (SyncJudge(), "can't be used in 'await' expression"),
    ],
)
def test_a_judge_that_leaves_fails_its_question(judge, reason: str, tmp_path: Path, caplog) -> None:
    answers = ["Strange.", "Odd."] + ["Right."] * isinstance(judge, OddJudge)
    rows = [{"query": "q", "response": each, "contexts": ["c"]} for each in answers]
    split = SplitJudge(judge, context_window=100_000)
    routed = RouterJudge({"extract_claims": judge}, judge)
    for around in (judge, split, routed, CachedJudge(judge, tmp_path / f"{hash(reason)}.db")):
        caplog.clear()
        found = evaluate(rows, metrics="faithfulness", judge=around).rows
        scores = [row.scores["faithfulness"] for row in found]
        assert [score.cause for score in scores[:2]] == [Cause.JUDGE_ERROR] * 2
        assert [score.value for score in scores[2:]] == [1.0] * len(scores[2:])
        if around is judge:
            assert reason in str(scores[0].reason)
            tracebacks = [each for each in caplog.records if "Traceback" in each.message]
            warned = [each.levelname for each in tracebacks].count("WARNING")
            assert warned == ("NoneType" not in reason)


def test_rows_without_relevant_documents_explain_their_score_and_are_not_among_the_worst() -> None:
    found = {"query": "found", "ranking": [{"id": "1"}, {"id": "2"}], "relevance": {"2": 1}}
    rows = [{**found, "query": "nothing", "relevance": {}}, found]
    run = evaluate(rows, metrics="mrr", judge="offline")
    nothing = run.rows[0].scores["mrr@5"]
    assert (nothing.value, nothing.reason) == (0.0, NOTHING_RELEVANT)
    assert run.counts.notes == {NOTHING_RELEVANT: 1}
    assert [sample.query for sample in worst_samples(run, "mrr@5")] == ["found"]


async def test_a_strangers_metric_gets_the_accepted_answer_that_fits() -> None:
    class Own(Metric):
        name, label, needs = "own", "Own", ("response", "reference")

        async def score(self, sample: Sample, ask: Ask) -> Score:  # noqa: ARG002
            return Score.scored(sample.response == sample.reference)

    (result,) = await scored([row(response="a", reference=("b", "a"))], [Own()])
    score = result.scores["own"]
    assert (score.value, score.detail) == (1.0, {"note": "accepted answer 2 of 2: 'a'"})
    assert result.sample.reference == ("b", "a")
