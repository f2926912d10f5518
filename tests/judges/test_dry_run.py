import asyncio
from typing import ClassVar

import pytest
from tests.cases import each_case

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.factory import LEAST, MOST, DryRunJudge, Guess
from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Completion, Model, ModelPrompt, Price
from ragstone.types.claim import Label
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
QUESTIONS: list[Question[object]] = [
    ExtractClaims(query="q", response=RESPONSE),
    VerifyClaims(claims=("a", "b", "c"), contexts=(CONTEXT,)),
    ExtractTruths(context=CONTEXT, limit=2),
    Explain(claims=("a",), labels=(Label.SUPPORTED,), reasons=("so",)),
    GradeContexts(query="q", answer="a", contexts=(CONTEXT, "c")),
    GradeSentences(query="q", sentences=("a", "b", "c")),
    GenerateQueries(response=RESPONSE, count=3),
    DetectAbstention(query="q", response=RESPONSE),
    RateResponse(criteria="c", levels=((4, "bad"), (5, "good")), query="q", response="r"),
    WriteQuestions(passages=("One.", "Two."), type="multi", count=2),
    FindAnswer(query="q", contexts=("One.",)),
]


class Unreachable(Model):
    """Is not to be asked, nor opened."""

    name = "closed:model"
    identity = "closed"

    async def complete(self, prompt: ModelPrompt) -> Completion:
        raise AssertionError(prompt)


LLM = LlmJudge(Unreachable(), price=PRICE)


@each_case("question", QUESTIONS, ids=lambda question: question.kind)
@each_case("guess", [LEAST, MOST])
async def test_a_question_costs_one_call_of_the_prompts_tokens(
    question: Question[object], guess: Guess
) -> None:
    usage = (await DryRunJudge(LLM, guess).answer(question)).usage
    prompt = LLM.prompt(question)
    assert (usage.calls, usage.prompt_tokens) == (1, estimated_tokens(prompt.system + prompt.user))
    assert usage.completion_tokens > 0
    assert usage.cost_usd == pytest.approx(
        0.001 * usage.prompt_tokens + 0.01 * usage.completion_tokens
    )


async def test_answers_are_such_as_a_model_may_give() -> None:
    extract, verify, truths, explain = QUESTIONS[:4]
    least, most = DryRunJudge(LLM, LEAST), DryRunJudge(LLM, MOST)
    assert len((await least.answer(ExtractClaims.model_validate(dict(extract)))).value) == 2
    twice = (await most.answer(ExtractClaims.model_validate(dict(extract)))).value
    assert len({claim.text for claim in twice}) == 4
    assert len((await least.answer(VerifyClaims.model_validate(dict(verify)))).value) == 3
    assert len((await most.answer(ExtractTruths.model_validate(dict(truths)))).value) == 2
    assert (await most.answer(explain)).value == ""


async def test_what_is_graded_rated_or_guessed_has_the_count_that_is_due() -> None:
    values = [(await DryRunJudge(LLM, MOST).answer(each)).value for each in QUESTIONS[4:]]
    contexts, sentences, guesses, abstains, rating, drafts, answer = values
    assert [len(contexts), len(sentences), len(set(guesses.queries))] == [2, 3, 3]
    assert (guesses.noncommittal, abstains, rating.level) == (False, False, 4)
    assert [len(each.quotes) for each in drafts] == [2, 2]
    assert answer.found


def test_every_kind_that_has_a_prompt_is_tried_here() -> None:
    assert {question.kind for question in QUESTIONS} == LLM.kinds


@pytest.mark.parametrize(("guess", "found"), [(LEAST, []), (MOST, ["Sure!"])])
async def test_a_judge_may_take_chatter_for_one_claim(guess: Guess, found: list[str]) -> None:
    reply = await DryRunJudge(LLM, guess).answer(ExtractClaims(query="q", response="Sure!"))
    assert [claim.text for claim in reply.value] == found


async def test_nobody_is_opened_or_asked() -> None:
    judge = DryRunJudge(LLM, LEAST)
    assert (judge.name, judge.kinds) == ("closed:model", LLM.kinds)
    async with asyncio.timeout(50), judge:
        await asyncio.gather(*map(judge.answer, QUESTIONS))


async def test_sentences_for_claims_are_no_call() -> None:
    reply = await DryRunJudge(LLM, MOST).answer(
        ExtractClaims(query="q", response=RESPONSE, by="sentences")
    )
    assert (len(reply.value), reply.usage) == (2, Usage())


async def test_a_kind_without_a_prompt_is_not_supported() -> None:
    class Strange(ExtractClaims):
        kind: ClassVar[str] = "strange"

    with pytest.raises(QuestionNotSupportedError):
        await DryRunJudge(LLM, LEAST).answer(Strange(query="q", response="r"))
