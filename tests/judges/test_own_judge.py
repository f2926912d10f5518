"""Judges that users write: a name by default, mocks, how many calls run at once, limits."""

import asyncio
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

import ragstone
from ragstone.evaluation.runner import evaluate, evaluate_async
from ragstone.judges.base import Judge, JudgeWrapper, reply_of
from ragstone.judges.batching import SplitJudge
from ragstone.types.questions import ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.types.reply import Reply

SAMPLE = {"query": "q", "response": "It is red. It is big.", "contexts": ["It is red."]}


class Counting(Judge):
    """Answers, and counts how many answers are under way at once."""

    def __init__(self, claims: int = 2) -> None:
        self.claims, self.now, self.most = claims, 0, 0

    async def answer(self, question: Any) -> Reply[Any]:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.002)
        self.now -= 1
        if isinstance(question, ExtractClaims):
            return question.reply(
                [{"text": f"{question.response} {n}"} for n in range(self.claims)]
            )
        if isinstance(question, ExtractTruths):
            return question.reply(["one", "two", "three"])
        return question.reply([{"label": "SUPPORTED"}] * len(question.claims))


def test_f8_a_judge_without_a_name_has_that_of_its_class() -> None:
    class Declared(Counting):
        name: str

    class Named(Counting):
        name = "mine"

    class Heir(Named):
        def identity(self, kind: str) -> Any:  # no text, so none
            return {kind}

    names = [each.name for each in (Counting, Declared, Named, Heir)]
    assert names == ["Counting", "Counting", "mine", "mine"]
    assert JudgeWrapper.identity(SplitJudge(Heir(), context_window=1000), "x") is None
    run = evaluate([SAMPLE], metrics="faithfulness", judge=Heir())
    assert (run.manifest.judge, run.rows[0].scores["faithfulness"].value) == ("mine", 1.0)


def test_f8_a_mock_of_a_judge_works() -> None:
    judge = MagicMock(spec=ragstone.Judge)

    def answer(question: Any) -> Reply[Any]:
        if isinstance(question, VerifyClaims):
            return question.reply([{"label": "SUPPORTED"}, {"label": "CONTRADICTED"}])
        return question.reply([{"text": "red"}, {"text": "big"}])

    judge.answer = AsyncMock(side_effect=answer)
    run = evaluate([SAMPLE], metrics="faithfulness", judge=judge)
    assert run.rows[0].scores["faithfulness"].value == 0.5
    assert run.manifest.judge == "MagicMock"
    judge.name = "mocked"
    assert evaluate([SAMPLE], metrics="faithfulness", judge=judge).manifest.judge == "mocked"


@pytest.mark.parametrize("wrapped", [True, False])
async def test_f10_concurrency_bounds_the_calls_of_an_own_judge(wrapped: bool) -> None:
    own = Counting(claims=30)
    judge = SplitJudge(own, context_window=100_000) if wrapped else own
    rows = [{**SAMPLE, "response": f"It is {n}."} for n in range(10)]
    run = await evaluate_async(
        rows, metrics="faithfulness", judge=judge, verify="each", concurrency=4
    )
    assert run.summary()["faithfulness"].mean == 1.0
    assert own.most == 4


async def test_f10_an_own_judge_inside_an_own_judge_does_not_wait_for_itself() -> None:
    class Around(JudgeWrapper):
        async def answer(self, question: Any) -> Reply[Any]:
            return await reply_of(self.judge, question)

    judge = Around(Counting())
    run = await evaluate_async([SAMPLE] * 3, metrics="faithfulness", judge=judge, concurrency=1)
    assert run.summary()["faithfulness"].scored == 3


def test_f11_truths_limit_holds_for_an_own_judge() -> None:
    run = evaluate(
        [SAMPLE],
        metrics="faithfulness",
        judge=Counting(),
        preset="deepeval",
        config={"truths_limit": 1, "include_reason": False},
    )
    [score] = run.rows[0].scores.values()
    assert score.truths == ("one",)
