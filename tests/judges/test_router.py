import pytest

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import RouterJudge, ScriptedJudge
from ragstone.types.questions import ExtractClaims, VerifyClaims

EXTRACT = ExtractClaims(query="q", response="It is blue.")
VERIFY = VerifyClaims(claims=("It is blue.",), contexts=("Blue.",))
CLAIMS, VERDICTS = [{"text": "It is blue."}], [{"label": "SUPPORTED"}]


async def test_a_kind_goes_to_the_judge_named_for_it_and_all_else_to_the_default() -> None:
    small = ScriptedJudge({"extract_claims": CLAIMS}, name="small", identity="s")
    small.description = ""
    large = ScriptedJudge({"extract_claims": CLAIMS, "verify_claims": VERDICTS}, name="large")
    judge = RouterJudge({"extract_claims": small}, large)
    await judge.answer(EXTRACT)
    await judge.answer(VERIFY)
    assert (small.asked, large.asked) == ([EXTRACT], [VERIFY])
    assert judge.name == "large"
    assert judge.description == "prepared answers; extract_claims by small"
    assert (judge.identity("extract_claims"), judge.identity("verify_claims")) == ("s", None)


async def test_a_kind_is_taken_if_the_judge_for_it_takes_it() -> None:
    small = ScriptedJudge({"extract_claims": CLAIMS})
    large = ScriptedJudge({"extract_claims": CLAIMS, "verify_claims": VERDICTS})
    judge = RouterJudge({"extract_claims": small, "verify_claims": small}, large)
    assert judge.kinds == {"extract_claims"}
    assert not judge.takes("verify_claims")
    with pytest.raises(QuestionNotSupportedError):
        await judge.answer(VERIFY)
    large.kinds = None  # it takes everything
    judge = RouterJudge({"verify_claims": small}, large)
    assert (judge.kinds, judge.takes("explain")) == (None, True)
    assert not judge.takes("verify_claims")
