"""The judge that reads plain text: what it hands to a policy is what promptfoo counted."""

import json
from pathlib import Path

import pytest

from ragstone._internal.rate_limit import Budget
from ragstone.errors import Cause, UsageError
from ragstone.integrations.promptfoo import legacy
from ragstone.integrations.promptfoo.legacy import legacy_judge
from ragstone.judges.base import Judge, outcome_of
from ragstone.types.claim import Label
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Failure

CHAT = "/v1/chat/completions"
OBSERVED = json.loads(Path(__file__).with_name("legacy_replies.json").read_text(encoding="utf-8"))
ASKED = ExtractClaims(query="q?", response="said.")


@pytest.fixture
def judge(faulty) -> Judge:
    plan = Plan(judge="openai:m", base_url=f"{faulty.url}/v1", retries=0)
    return legacy_judge(plan, Budget())


@pytest.fixture
def writing(faulty, behave):
    def script(*texts: str | None, **more: object) -> None:
        messages = [{"role": "assistant", "content": text, **more} for text in texts]
        choices = [[{"finish_reason": "stop", "message": message}] for message in messages]
        faulty.script(CHAT, *(behave.reply({"choices": each, "usage": {}}) for each in choices))

    return script


async def test_its_verdicts_come_to_the_observed_numbers(judge: Judge, writing) -> None:
    """By the rule of the policy: what is not backed, and what is missing, is taken off 1."""
    async with judge:
        for case in OBSERVED["context-faithfulness"]:
            writing(*case["replies"])
            claims = (await judge.answer(ASKED)).value
            if not claims:
                assert case["score"] == 0
                continue
            texts = tuple(claim.text for claim in claims)
            outcome = await outcome_of(judge, VerifyClaims(claims=texts, contexts=("c.",)))
            if isinstance(outcome, Failure):
                assert outcome.cause is Cause.COUNT_MISMATCH
                labels = [item.verdict.label for item in outcome.returned if item.verdict]
            else:
                labels = [verdict.label for verdict in outcome.value]
            backed = [label is Label.SUPPORTED for label in labels]
            assert legacy.faithfulness(len(claims), backed) == pytest.approx(case["score"]), case


async def test_text_may_stand_in_json(judge: Judge, writing) -> None:
    writing(json.dumps({"text": "one\ntwo"}))
    async with judge:
        assert [claim.text for claim in (await judge.answer(ASKED)).value] == ["one", "two"]


async def test_json_that_is_no_text_is_no_statement(judge: Judge, writing) -> None:
    writing(json.dumps({"text": None}))
    async with judge:
        outcome = await outcome_of(judge, ASKED)
    assert isinstance(outcome, Failure)
    assert outcome.cause is Cause.MALFORMED


async def test_brackets_without_end_are_text(judge: Judge, writing) -> None:
    writing("[" * 100_000)
    async with judge:
        assert len((await judge.answer(ASKED)).value) == 1


async def test_the_sample_is_fenced_in_the_prompt(judge: Judge, writing, faulty) -> None:
    writing("one")
    async with judge:
        await judge.answer(ASKED)
    user = faulty.called(CHAT)[0].json["messages"][1]["content"]
    assert user.startswith("<query-")
    assert "said.\n</response-" in user


@pytest.mark.parametrize(
    ("text", "more", "cause"),
    [(None, {"refusal": "I will not."}, Cause.REFUSAL), ("", {}, Cause.MALFORMED)],
)
async def test_no_text_is_no_answer(judge, writing, text, more, cause: Cause) -> None:
    writing(text, **more)
    async with judge:
        outcome = await outcome_of(judge, ASKED)
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.usage.calls) == (cause, 1)


@pytest.mark.parametrize("question", [ASKED, VerifyClaims(claims=("one", "two"), contexts=("c.",))])
async def test_a_reply_cut_by_the_token_limit_is_no_answer(
    judge: Judge, faulty, behave, question: Question[object]
) -> None:
    """Its last statement would be half a one, and its missing verdicts would count as no."""
    text = '{"text": "one\\nverdict: yes. The tow'
    message = {"role": "assistant", "content": text}
    choices = [{"finish_reason": "length", "message": message}]
    faulty.script(CHAT, behave.reply({"choices": choices, "usage": {}}))
    async with judge:
        outcome = await outcome_of(judge, question)
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.raw) == (Cause.TRUNCATED, text)
    assert "raise it with --max-tokens" in outcome.message


def test_the_room_of_a_reply_is_part_of_who_answers() -> None:
    """Else what was kept under a small limit would come back under a greater one."""
    usual = Plan(judge="openai:m", base_url="http://localhost:1/v1")
    plans = [usual.model_copy(update={"max_tokens": room}) for room in (40, 4096, 4096)]
    made = [legacy_judge(plan, Budget()).identity(ASKED.kind) for plan in plans]
    assert (made[0] == made[1], made[1] == made[2]) == (False, True)


async def test_a_server_that_fails_is_no_answer(judge: Judge, faulty, behave, quick) -> None:
    faulty.script(CHAT, behave.reply(b"broken", status=500))
    async with judge:
        outcome = await outcome_of(judge, ASKED)
    assert isinstance(outcome, Failure)
    assert outcome.cause is Cause.UNREACHABLE


@pytest.mark.parametrize("named", ["offline", "openai:a,openai:b", "anthropic:m"])
def test_only_one_model_can_be_read_so(named: str) -> None:
    with pytest.raises(UsageError, match="takes one model of openai"):
        legacy_judge(Plan(judge=named), Budget())
