from dataclasses import replace

import pytest

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import ReplayJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims
from ragstone.types.reply import Exchange, Failure, JudgeFailureError, Outcome, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
CLAIM = Claim(text="It is blue.", span=(0, 11))
REPLY = Reply((CLAIM,), Usage(calls=2, prompt_tokens=90, cost_usd=0.1), ("re-asked",), "{}", 2)
FAILURE = Failure(Cause.TIMEOUT, "too late", raw="{", attempts=2, usage=Usage(calls=2))


def exchange(outcome: Outcome[object]) -> Exchange:
    return Exchange(ONE.key, ONE.kind, outcome, latency_ms=5.0)


async def test_an_answer_is_given_again_and_costs_nothing() -> None:
    for value in ((CLAIM,), [{"text": "It is blue.", "span": [0, 11]}]):
        recorded = replace(REPLY, value=value)
        reply = await ReplayJudge([exchange(recorded)]).answer(ONE)
        assert reply == replace(REPLY, usage=Usage())
    tagged = ONE.varied(tags=(("tone", "dry"),))
    assert tagged.key != ONE.key
    assert (await ReplayJudge([exchange(REPLY)]).answer(tagged)).value == (CLAIM,)


async def test_a_failure_is_raised_again_with_all_that_came_back() -> None:
    with pytest.raises(JudgeFailureError) as raised:
        await ReplayJudge([exchange(FAILURE)]).answer(ONE)
    assert raised.value.failure == Failure(Cause.TIMEOUT, "too late", raw="{", attempts=2)


async def test_an_answer_counts_before_a_failure_to_the_same_question() -> None:
    for order in ([exchange(FAILURE), exchange(REPLY)], [exchange(REPLY), exchange(FAILURE)]):
        assert (await ReplayJudge(order).answer(ONE)).value == (CLAIM,)


async def test_what_was_not_asked_then_is_not_answered() -> None:
    with pytest.raises(
        QuestionNotSupportedError, match=r"no answer to this extract_claims .* new run"
    ):
        await ReplayJudge([]).answer(ONE)
