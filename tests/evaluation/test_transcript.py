import asyncio
import time

import pytest

from ragstone.errors import Cause, JudgeError
from ragstone.evaluation.scoring import Transcript
from ragstone.judges.base import Judge, ScriptedJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question, T, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

ONE = ExtractClaims(query="q", response="It lasts 20 hours.")
SAME = ExtractClaims(query="q", response="It lasts 20 hours.")
OTHER = ExtractClaims(query="q", response="It is blue.")
CLAIM = Claim(text="It lasts 20 hours.")
ANSWERS = {"extract_claims": [CLAIM]}


def slow(seconds: float = 0.01, **answers: object) -> ScriptedJudge:
    return ScriptedJudge({**ANSWERS, **answers}, seconds=seconds)


async def test_an_equal_question_is_not_asked_again_nor_while_it_is_under_way() -> None:
    transcript = Transcript(judge := slow())
    answers = await asyncio.gather(*(transcript.reply(q) for q in [ONE, SAME, OTHER] * 10))
    assert [answer.value for answer in answers] == [(CLAIM,)] * 30
    assert (await transcript.reply(SAME)).value == (CLAIM,)
    assert judge.asked == [ONE, OTHER]
    assert [each.outcome.usage for each in transcript.exchanges] == [Usage(calls=1)] * 2


async def test_a_failure_is_shared_and_not_tried_again() -> None:
    transcript = Transcript(judge := slow(extract_claims=Failure(Cause.TIMEOUT, "too late")))
    told = await asyncio.gather(*(transcript.reply(ONE) for _ in range(3)), return_exceptions=True)
    assert [(type(error), str(error)) for error in told] == [(JudgeFailureError, "too late")] * 3
    with pytest.raises(JudgeError, match="too late"):
        await transcript.reply(SAME)
    assert judge.asked == [ONE]


async def test_a_bug_in_a_users_judge_fails_the_question_and_one_in_ragstone_the_run() -> None:
    class Broken(Judge):
        name = "broken"

        async def answer(self, question: Question[T]) -> Reply[T]:
            raise ZeroDivisionError(question)

    for module, error in ((__name__, JudgeError), ("ragstone.judges.broken", ZeroDivisionError)):
        Broken.__module__ = module
        with pytest.raises(error):
            await Transcript(Broken()).reply(ONE)


async def test_what_was_asked_and_came_back_is_kept_in_the_order_of_asking() -> None:
    verify = VerifyClaims(claims=("a",), contexts=("b",))
    failure = Failure(Cause.REFUSAL, "no")
    transcript, before = Transcript(slow(0.02, verify_claims=failure)), time.time()
    await transcript.reply(ONE)
    with pytest.raises(JudgeError):
        await transcript.reply(verify)
    await transcript.close()
    first, second = transcript.exchanges
    assert (first.key, first.kind) == (ONE.key, "extract_claims")
    assert first.outcome == Reply((CLAIM,), Usage(calls=1))
    assert first.latency_ms >= 19
    assert before <= first.started_at <= time.time()
    assert (second.key, second.kind, second.outcome) == (verify.key, "verify_claims", failure)


async def test_closing_cancels_what_is_under_way_and_waits() -> None:
    before = asyncio.all_tasks()
    transcript = Transcript(slow(60))
    asking = [asyncio.create_task(transcript.reply(q)) for q in (ONE, SAME, OTHER)]
    await asyncio.sleep(0.01)
    await transcript.close()
    assert asyncio.all_tasks() <= {*before, *asking}
    told = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(error, asyncio.CancelledError) for error in told)
    assert transcript.exchanges == ()


async def test_one_that_stops_waiting_does_not_take_the_answer_from_the_others() -> None:
    transcript = Transcript(judge := slow(0.05))
    impatient = asyncio.create_task(transcript.reply(ONE))
    patient = asyncio.create_task(transcript.reply(SAME))
    await asyncio.sleep(0.01)
    impatient.cancel()
    assert (await patient).value == (CLAIM,)
    assert impatient.cancelled()
    assert judge.asked == [ONE]
