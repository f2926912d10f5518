import asyncio

import pytest
from tests.cases import each_case
from tests.judges.each_question import QUESTIONS

from ragstone.judges.batching import estimated_tokens
from ragstone.judges.factory import LEAST, MOST, DryRunJudge
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Completion, Model, ModelPrompt, Price
from ragstone.judges.llm.prompt import TASKS
from ragstone.types.claim import FoundAnswer, Rating
from ragstone.types.questions import ExtractClaims, Question
from ragstone.types.reply import Usage

RESPONSE = "The battery lasts twenty hours. The case is made of metal. Shall I tell you more?"
PRICE = Price((0.001, 0, 0.01, 0))
COUNTS = {"extract_claims": 4, "verify_claims": 3, "extract_truths": 2, "grade_contexts": 2}
COUNTS |= {"grade_sentences": 3}


class Unreachable(Model):
    """Is not to be asked, nor opened."""

    name = "closed:model"
    identity = "closed"

    async def complete(self, prompt: ModelPrompt) -> Completion:
        raise AssertionError(prompt)


LLM = LlmJudge(Unreachable(), price=PRICE)


@each_case("question", QUESTIONS.values())
async def test_a_question_costs_one_call_of_the_prompts_tokens(question: Question[object]) -> None:
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
        assert len(value) == getattr(question, "count", COUNTS.get(question.kind))
    else:
        assert value in ("", False, Rating(level=1), FoundAnswer(found=True))


def test_every_kind_that_has_a_prompt_is_tried_here() -> None:
    assert {question.kind for question in QUESTIONS.values()} == LLM.kinds == TASKS.keys()


async def test_a_judge_may_take_chatter_for_one_claim() -> None:
    for guess, found in ((LEAST, []), (MOST, ["Sure!"])):
        reply = await DryRunJudge(LLM, guess).answer(ExtractClaims(query="q", response="Sure!"))
        assert [claim.text for claim in reply.value] == found


async def test_nobody_is_opened_or_asked() -> None:
    judge = DryRunJudge(LLM, LEAST)
    assert (judge.name, judge.kinds) == ("closed:model", LLM.kinds)
    async with asyncio.timeout(50), judge:
        await asyncio.gather(*map(judge.answer, QUESTIONS.values()))
        by_sentence = ExtractClaims(query="q", response=RESPONSE, by="sentences")
        reply = await judge.answer(by_sentence)
        assert (len(reply.value), reply.usage) == (2, Usage())
