"""The legacy numbers: those that promptfoo 0.121.20 itself gave on the same replies."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.rate_limit import Budget
from ragstone.errors import Cause, UsageError
from ragstone.integrations.promptfoo.legacy import legacy_judge
from ragstone.judges.base import Judge, outcome_of
from ragstone.types.config import Plan
from ragstone.types.policy import get_policy
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Failure

CASES = json.loads(Path(__file__).with_name("legacy_replies.json").read_text(encoding="utf-8"))[
    "context-faithfulness"
]
CHAT = "/v1/chat/completions"
ASKED = ExtractClaims(query="q?", response="said.")


# The judge that reads plain text: what it hands to a policy is what promptfoo counted.


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
    """By the policy `promptfoo`, those that the program gave on the same replies."""
    policy = get_policy("promptfoo")
    async with judge:
        for case in CASES:
            writing(*case["replies"])
            claims = (await judge.answer(ASKED)).value
            if not claims:
                assert case["score"] == policy.no_claims.value
                continue
            texts = tuple(claim.text for claim in claims)
            outcome = await outcome_of(judge, VerifyClaims(claims=texts, contexts=("c.",)))
            due = None
            if isinstance(outcome, Failure):
                assert outcome.cause is Cause.COUNT_MISMATCH
                due = len(claims)
                labels = [item.verdict.label for item in outcome.returned if item.verdict]
            else:
                labels = [verdict.label for verdict in outcome.value]
            assert policy.number(labels, due=due) == pytest.approx(case["score"]), case


@each_case(
    ("written", "count"),
    [(json.dumps({"text": "one\ntwo"}), 2), ("one\ntwo", 2), ("[" * 100_000, 1)],
)
async def test_text_may_stand_in_json(
    judge: Judge, writing, faulty, written: str, count: int
) -> None:
    writing(written)
    async with judge:
        assert len((await judge.answer(ASKED)).value) == count
    user = faulty.called(CHAT)[0].json["messages"][1]["content"]
    assert user.startswith("<query-")
    assert "said.\n</response-" in user


EMPTY = "the judge's reply is empty"


@each_case("question", [ASKED, VerifyClaims(claims=("one",), contexts=("c.",))])
@each_case(
    ("text", "more", "cause"),
    [
        (json.dumps({"text": None}), {}, Cause.MALFORMED),
        (json.dumps({"text": ""}), {}, Cause.MALFORMED),
        ("", {}, Cause.MALFORMED),
        (None, {"refusal": "I will not."}, Cause.REFUSAL),
    ],
)
async def test_no_text_is_no_answer(
    judge: Judge, writing, question: Question[object], text: str | None, more: dict, cause: Cause
) -> None:
    """promptfoo fails a test whose judge returns nothing, even at threshold 0."""
    writing(text, **more)
    async with judge:
        outcome = await outcome_of(judge, question)
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.usage.calls) == (cause, 1)
    assert text is None or "null" in text or outcome.message == EMPTY


@each_case("question", [ASKED, VerifyClaims(claims=("one", "two"), contexts=("c.",))])
async def test_a_reply_cut_by_the_token_limit_is_no_answer(
    judge: Judge, faulty, behave, question: Question[object]
) -> None:
    """Its last statement would be half a one, and its missing verdicts would count as no."""
    text = '{"text": "one\\nverdict: yes. The tow'
    choice = {"finish_reason": "length", "message": {"role": "assistant", "content": text}}
    faulty.script(CHAT, behave.reply({"choices": [choice], "usage": {}}))
    async with judge:
        outcome = await outcome_of(judge, question)
    assert isinstance(outcome, Failure)
    assert (outcome.cause, outcome.raw) == (Cause.TRUNCATED, text)
    assert "increase max_tokens" in outcome.message


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


@each_case("named", ["offline", "openai:a,openai:b", "anthropic:m"])
def test_only_one_model_can_be_read_so(named: str) -> None:
    with pytest.raises(UsageError, match="supports one model of openai"):
        legacy_judge(Plan(judge=named), Budget())
