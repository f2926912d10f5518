import pytest

from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import ScriptedJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, VerifyClaims
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


@pytest.mark.parametrize(
    ("answer", "cause", "said"),
    [
        ({ONE.key: CLAIMS}, Cause.REFUSAL, "not in the script"),
        (Failure(Cause.TIMEOUT, "too late"), Cause.TIMEOUT, "too late"),
        ("It lasts 20 hours.", Cause.MALFORMED, "."),
    ],
)
async def test_what_is_no_answer_to_a_question_is_a_failure(answer, cause, said) -> None:
    judge = ScriptedJudge({"extract_claims": answer})
    with pytest.raises(JudgeError, match=said) as raised:
        await judge.answer(TWO)
    assert raised.value.cause is cause
    if isinstance(answer, dict):
        assert (await judge.answer(ONE)).value == (Claim(text="It lasts 20 hours."),)


async def test_a_kind_that_is_not_in_the_script_is_not_taken() -> None:
    judge = ScriptedJudge({"extract_claims": CLAIMS})
    assert judge.takes("extract_claims")
    assert not judge.takes("verify_claims")
    with pytest.raises(QuestionNotSupportedError, match="verify_claims"):
        await judge.answer(VerifyClaims(claims=("a",), contexts=("b",)))
    assert judge.asked == []
