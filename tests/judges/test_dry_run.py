import asyncio

import pytest
from tests.cases import each_case

from ragstone.judges.batching import estimated_tokens
from ragstone.judges.factory import LEAST, MOST, DryRunJudge
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Completion, Model, ModelPrompt, Price
from ragstone.types.claim import FoundAnswer, Label, Rating
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    FindAnswer,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
    WriteQuestions,
)
from ragstone.types.reply import Usage

RESPONSE = "The battery lasts twenty hours. The case is made of metal. Shall I tell you more?"
CONTEXT = "The battery lasts up to twenty hours. It charges in one hour. The case is of metal."
PRICE = Price((0.001, 0, 0.01, 0))
QUESTIONS: list[tuple[Question[object], int]] = [  # and how much there is in an answer to each
    (ExtractClaims(query="q", response=RESPONSE), 4),
    (VerifyClaims(claims=("a", "b", "c"), contexts=(CONTEXT,)), 3),
    (ExtractTruths(context=CONTEXT, limit=2), 2),
    (Explain(claims=("a",), labels=(Label.SUPPORTED,), reasons=("so",)), 0),
    (GradeContexts(query="q", answer="a", contexts=(CONTEXT, "c")), 2),
    (GradeSentences(query="q", sentences=("a", "b", "c")), 3),
    (GenerateQueries(response=RESPONSE, count=3), 3),
    (DetectAbstention(query="q", response=RESPONSE), 0),
    (RateResponse(criteria="c", levels=((4, "bad"), (5, "good")), query="q", response="r"), 0),
    (WriteQuestions(passages=("One.", "Two."), type="multi", count=2), 2),
    (FindAnswer(query="q", contexts=("One.",)), 0),
]


class Unreachable(Model):
    """Is not to be asked, nor opened."""

    name = "closed:model"
    identity = "closed"

    async def complete(self, prompt: ModelPrompt) -> Completion:
        raise AssertionError(prompt)


LLM = LlmJudge(Unreachable(), price=PRICE)


@each_case(("question", "count"), QUESTIONS)
async def test_a_question_costs_one_call_of_the_prompts_tokens(
    question: Question[object], count: int
) -> None:
    for guess in (LEAST, MOST):
        reply = await DryRunJudge(LLM, guess).answer(question)
        prompt, usage = LLM.prompt(question), reply.usage
        tokens = estimated_tokens(prompt.system + prompt.user)
        assert (usage.calls, usage.prompt_tokens) == (1, tokens)
        assert usage.completion_tokens > 0
        cost = 0.001 * usage.prompt_tokens + 0.01 * usage.completion_tokens
        assert usage.cost_usd == pytest.approx(cost)
    value = getattr(reply.value, "queries", reply.value)
    if isinstance(value, tuple):
        assert len(value) == count
    else:
        assert value in ("", False, Rating(level=4), FoundAnswer(found=True))


def test_every_kind_that_has_a_prompt_is_tried_here() -> None:
    assert {question.kind for question, _ in QUESTIONS} == LLM.kinds


async def test_a_judge_may_take_chatter_for_one_claim() -> None:
    for guess, found in ((LEAST, []), (MOST, ["Sure!"])):
        reply = await DryRunJudge(LLM, guess).answer(ExtractClaims(query="q", response="Sure!"))
        assert [claim.text for claim in reply.value] == found
        few = await DryRunJudge(LLM, guess).answer(QUESTIONS[0][0])
        assert len({claim.text for claim in few.value}) == (4 if found else 2)


async def test_nobody_is_opened_or_asked() -> None:
    judge = DryRunJudge(LLM, LEAST)
    assert (judge.name, judge.kinds) == ("closed:model", LLM.kinds)
    async with asyncio.timeout(50), judge:
        await asyncio.gather(*(judge.answer(question) for question, _ in QUESTIONS))
        by_sentence = ExtractClaims(query="q", response=RESPONSE, by="sentences")
        reply = await judge.answer(by_sentence)
        assert (len(reply.value), reply.usage) == (2, Usage())
