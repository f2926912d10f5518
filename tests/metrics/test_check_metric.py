from typing import Any, ClassVar

import pytest
from tests.asking import asker

from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.metrics.claim_checks import (
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    Check,
    CheckMetric,
    JudgedClaims,
    quoted,
    supported,
)
from ragstone.metrics.registry import register
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@pytest.fixture
def both() -> CheckMetric:
    @register("both")
    class Both(CheckMetric):
        checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)

        def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
            del sample
            if not judged[0]:
                return Score.undefined("no claims")
            first, second = map(supported, judged)
            return Score.scored(first.count(True) - second.count(True))

    return Both()


async def test_the_checks_and_their_claims_come_in_their_order(
    checks: Any, both: CheckMetric
) -> None:
    made = checks(in_contexts="S1 S2 P3", in_reference="S C N")
    score = await made.score(both)
    assert score.value == 2 - 1
    assert [claim.label[0] for claim in score.claims] == list("SSPSCN")
    assert [sorted(quoted(claim, made.sample())) for claim in score.claims][:3] == [[0], [1], [2]]
    made = checks(in_contexts="S02 S0 S", in_reference="S S S")  # 0 stands nowhere
    score = await made.score(both)
    assert [sorted(quoted(claim, made.sample())) for claim in score.claims][:3] == [[1], [], []]


async def test_a_quote_stands_in_every_copy_of_a_context(checks: Any, both: CheckMetric) -> None:
    made = checks(in_contexts="S1", in_reference="S")
    contexts = [{"text": text} for text in ("one", "two", "one")]
    sample = made.sample(contexts=contexts)
    _, claims = await both.judge_claims(RESPONSE_IN_CONTEXTS, made.sample(), asker(made.judge))
    assert sorted(quoted(claims[0], sample)) == [0, 2]


async def test_one_check_that_fails_fails_all_and_all_is_asked(
    checks: Any, both: CheckMetric
) -> None:
    def verdicts(question: VerifyClaims) -> object:
        refused = Failure(Cause.REFUSAL, "I cannot")
        return refused if len(question.contexts) == 3 else [{"label": "SUPPORTED"}]

    made = checks(in_contexts="S", others={"verify_claims": verdicts})
    with pytest.raises(JudgeError) as raised:
        await made.score(both)
    assert raised.value.cause is Cause.REFUSAL
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_contexts_without_texts_are_undefined(checks: Any, both: CheckMetric) -> None:
    made = checks(in_contexts="S", in_reference="S")
    score = await made.score(both, contexts=({"id": "1"},))
    assert (score.state, score.reason) == ("undefined", "the contexts have no text")


def test_a_subclass_says_its_checks() -> None:
    with pytest.raises(UsageError, match="does not define checks"):

        @register("silent")
        class Silent(CheckMetric):
            def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
                del sample
                return Score.scored(len(judged))
