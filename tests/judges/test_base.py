"""The judges of judges/base.py, which prepared answers, records and other judges answer for."""

from dataclasses import replace

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import ReplayJudge, RouterJudge, ScriptedJudge
from ragstone.judges.spec import split_names
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Exchange, Failure, JudgeFailureError, Outcome, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
TWO = ExtractClaims(query="q", response="It lasts 20 hours.")
VERIFY = VerifyClaims(claims=("It is blue.",), contexts=("Blue.",))
CLAIMS, VERDICTS = [{"text": "It is blue.", "span": [0, 11]}], [{"label": "SUPPORTED"}]
CLAIM = Claim(text="It is blue.", span=(0, 11))
REPLY = Reply((CLAIM,), Usage(calls=2, prompt_tokens=90, cost_usd=0.1), ("re-asked",), "{}", 2)
FAILURE = Failure(Cause.TIMEOUT, "too late", raw="{", attempts=2, usage=Usage(calls=2))


async def test_one_answer_goes_for_every_question_of_its_kind() -> None:
    judge = ScriptedJudge({"extract_claims": CLAIMS})
    for question in (ONE, TWO):
        assert await judge.answer(question) == Reply((CLAIM,), Usage(calls=1))
    assert not judge.takes("verify_claims")
    with pytest.raises(QuestionNotSupportedError, match="verify_claims"):
        await judge.answer(VERIFY)
    assert judge.asked == [ONE, TWO]


@each_case(
    ("answer", "cause", "said"),
    [
        ({ONE.key: CLAIMS}, Cause.REFUSAL, "not in the script"),
        (FAILURE, Cause.TIMEOUT, "too late"),
        ("It lasts 20 hours.", Cause.MALFORMED, "."),
    ],
)
async def test_what_is_no_answer_to_a_question_is_a_failure(answer, cause: Cause, said: str):
    judge = ScriptedJudge({"extract_claims": answer})
    with pytest.raises(JudgeError, match=said) as raised:
        await judge.answer(TWO)
    assert raised.value.cause is cause
    if isinstance(answer, dict):
        assert (await judge.answer(ONE)).value == (CLAIM,)


def exchange(outcome: Outcome[object]) -> Exchange:
    return Exchange(ONE.key, ONE.kind, outcome, latency_ms=5.0)


async def test_a_recorded_answer_is_given_again_and_costs_nothing() -> None:
    for value in ((CLAIM,), CLAIMS):
        recorded = exchange(replace(REPLY, value=value))
        for exchanges in ([recorded], [exchange(FAILURE), recorded], [recorded, exchange(FAILURE)]):
            assert await ReplayJudge(exchanges).answer(ONE) == replace(REPLY, usage=Usage())
    tagged = ONE.varied(tags=(("tone", "dry"),))
    assert tagged.key != ONE.key
    assert (await ReplayJudge([exchange(REPLY)]).answer(tagged)).value == (CLAIM,)


async def test_a_recorded_failure_is_raised_again_with_all_that_came_back() -> None:
    with pytest.raises(JudgeFailureError) as raised:
        await ReplayJudge([exchange(FAILURE)]).answer(ONE)
    assert raised.value.failure == replace(FAILURE, usage=Usage())
    with pytest.raises(QuestionNotSupportedError, match=r"no answer to this extract_.* new run"):
        await ReplayJudge([]).answer(ONE)


async def test_a_kind_goes_to_the_judge_named_for_it_and_all_else_to_the_default() -> None:
    small = ScriptedJudge({"extract_claims": CLAIMS}, name="small", identity="s")
    small.description = ""
    large = ScriptedJudge({"extract_claims": CLAIMS, "verify_claims": VERDICTS}, name="large")
    judge = RouterJudge({"extract_claims": small}, large)
    await judge.answer(ONE)
    await judge.answer(VERIFY)
    assert (small.asked, large.asked) == ([ONE], [VERIFY])
    assert judge.name == "large"
    assert judge.description == "prepared answers; extract_claims by small"
    assert (judge.identity("extract_claims"), judge.identity("verify_claims")) == ("s", None)
    judge = RouterJudge({"extract_claims": small, "verify_claims": small}, large)
    assert (judge.kinds, judge.takes("verify_claims")) == ({"extract_claims"}, False)
    with pytest.raises(QuestionNotSupportedError):
        await judge.answer(VERIFY)
    large.kinds = None  # it takes everything
    judge = RouterJudge({"verify_claims": small}, large)
    taken = [judge.takes(kind) for kind in ("explain", "verify_claims")]
    assert (judge.kinds, taken) == (None, [True, False])


@each_case(
    ("said", "names"),
    [
        ("offline", ["offline"]),
        ("openai:a, offline ,vllm:b", ["openai:a", "offline", "vllm:b"]),
        ("local:m,labels=a/b,length=9,openai:a", ["local:m,labels=a/b,length=9", "openai:a"]),
    ],
)
def test_a_comma_ends_a_name_unless_an_option_follows(said: str, names: list[str]) -> None:
    assert split_names(said) == names
