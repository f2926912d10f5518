import pytest

from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge, ScriptedJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, Question, T, VerifyClaims
from ragstone.types.reply import Failure, Reply, Usage

ONE = ExtractClaims(query="q", response="It lasts 20 hours.")
TWO = ExtractClaims(query="q", response="It is blue.")
CLAIMS = [{"text": "It lasts 20 hours."}]


async def test_one_answer_goes_for_every_question_of_its_kind() -> None:
    judge = ScriptedJudge({"extract_claims": CLAIMS})
    for question in (ONE, TWO):
        reply = await judge.answer(question)
        assert reply == Reply((Claim(text="It lasts 20 hours."),), Usage(calls=1))
    assert judge.asked == [ONE, TWO]


async def test_answers_by_key_go_to_their_question_only() -> None:
    judge = ScriptedJudge({"extract_claims": {ONE.key: CLAIMS}})
    assert (await judge.answer(ONE)).value == (Claim(text="It lasts 20 hours."),)
    with pytest.raises(JudgeError, match="not in the script") as raised:
        await judge.answer(TWO)
    assert raised.value.cause is Cause.REFUSAL
    assert judge.asked == [ONE, TWO]


async def test_a_failure_is_raised() -> None:
    judge = ScriptedJudge({"extract_claims": Failure(Cause.TIMEOUT, "too late")})
    with pytest.raises(JudgeError, match="too late") as raised:
        await judge.answer(ONE)
    assert raised.value.cause is Cause.TIMEOUT


async def test_an_answer_of_the_wrong_shape_is_malformed_as_from_any_judge() -> None:
    with pytest.raises(JudgeError) as raised:
        await ScriptedJudge({"extract_claims": "It lasts 20 hours."}).answer(ONE)
    assert raised.value.cause is Cause.MALFORMED


async def test_a_kind_that_is_not_in_the_script_is_not_taken() -> None:
    judge = ScriptedJudge({"extract_claims": CLAIMS})
    assert judge.takes("extract_claims")
    assert not judge.takes("verify_claims")
    with pytest.raises(QuestionNotSupportedError, match="verify_claims"):
        await judge.answer(VerifyClaims(claims=("a",), contexts=("b",)))
    assert judge.asked == []


def test_a_judge_takes_every_kind_unless_it_says_which() -> None:
    class Open(Judge):
        name = "open"

        async def answer(self, question: Question[T]) -> Reply[T]:
            raise NotImplementedError

    assert Open().takes("anything")
