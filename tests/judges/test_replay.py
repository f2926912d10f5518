import pytest

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import ReplayJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import (
    ExtractClaims,
    GenerateQueries,
    Question,
    TextSimilarity,
    adapter_of,
)
from ragstone.types.reply import Exchange, Failure, JudgeFailureError, Outcome, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
CLAIM = Claim(text="It is blue.", span=(0, 11))
REPLY = Reply((CLAIM,), Usage(calls=2, prompt_tokens=90, cost_usd=0.1), ("re-asked",), "{}", 2)
FAILURE = Failure(Cause.TIMEOUT, "too late", raw="{", attempts=2, usage=Usage(calls=2))


def exchange(outcome: Outcome[object]) -> Exchange:
    return Exchange(ONE.key, ONE.kind, outcome, latency_ms=5.0)


@pytest.mark.parametrize("value", [(CLAIM,), [{"text": "It is blue.", "span": [0, 11]}]])
async def test_an_answer_is_given_again_and_costs_nothing(value: object) -> None:
    recorded = Reply(value, REPLY.usage, REPLY.notes, REPLY.raw, REPLY.attempts)
    reply = await ReplayJudge([exchange(recorded)]).answer(ONE)
    assert reply == Reply((CLAIM,), Usage(), ("re-asked",), "{}", 2)


async def test_a_failure_is_raised_again_with_all_that_came_back() -> None:
    with pytest.raises(JudgeFailureError) as raised:
        await ReplayJudge([exchange(FAILURE)]).answer(ONE)
    assert raised.value.failure == Failure(Cause.TIMEOUT, "too late", raw="{", attempts=2)


async def test_an_answer_counts_before_a_failure_to_the_same_question() -> None:
    for order in ([exchange(FAILURE), exchange(REPLY)], [exchange(REPLY), exchange(FAILURE)]):
        assert (await ReplayJudge(order).answer(ONE)).value == (CLAIM,)


async def test_the_tags_of_a_row_make_no_other_question() -> None:
    tagged = ExtractClaims(query="q", response="It is blue.", tags=(("tone", "dry"),))
    assert tagged.key != ONE.key
    assert (await ReplayJudge([exchange(REPLY)]).answer(tagged)).value == (CLAIM,)


async def test_what_was_not_asked_then_is_not_answered() -> None:
    with pytest.raises(
        QuestionNotSupportedError, match=r"no answer to this extract_claims .* new run"
    ):
        await ReplayJudge([]).answer(ONE)


@pytest.mark.parametrize(
    ("question", "kind", "key", "value"),
    [
        (
            GenerateQueries(response="It is blue.", count=1),
            "guess_queries",
            "02dbd7d1e9abde78b97bb3ac41918f76e11505726130a9c1eca51c5d750a00f6",
            {"queries": ("What is it?",), "noncommittal": False},
        ),
        (
            TextSimilarity(text="a", others=("b",)),
            "compare_texts",
            "2b99a4776c3ee1e0adbeabcd98b2039fd153ec7b60e7950b0d4327a8aa05fda4",
            (0.5,),
        ),
    ],
)
async def test_answers_stored_under_the_former_name_of_a_kind_are_found(
    question: Question[object], kind: str, key: str, value: object
) -> None:
    """The keys are those that the first edition stored."""
    stored = Exchange(key, kind, Reply(adapter_of(kind).validate_python(value)), latency_ms=5.0)
    reply = await ReplayJudge([stored]).answer(question)
    assert reply.value == question.reply(value).value
    assert question.key != key
