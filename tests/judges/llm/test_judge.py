import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from tests.cases import each_case

from ragstone._internal.concurrency import LARGE
from ragstone._internal.rate_limit import Budget
from ragstone.errors import CallError, Cause, QuestionNotSupportedError
from ragstone.evaluation.scoring import Transcript
from ragstone.judges.base import outcome_of
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import make_judge
from ragstone.judges.llm.judge import (
    LONGEST_REPLY,
    MORE_ROOM,
    SAME_FAILURES,
    LlmJudge,
    sentences_asked_for,
)
from ragstone.judges.llm.model import Completion, Model, ModelPrompt, Price
from ragstone.judges.llm.prompt import (
    INCOMPLETE,
    INVENTED,
    TASKS,
    Prompt,
    longest_reply,
    retry_text,
)
from ragstone.types.claim import Label
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims, Question, TextSimilarity, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

TOKENS = Usage(calls=1, prompt_tokens=100, completion_tokens=10, cost_usd=None)
VERIFY = VerifyClaims(claims=("It is blue.", "It costs 9 EUR."), contexts=("It is blue.",))
EXTRACT = ExtractClaims(
    query="What is it?", response="The battery lasts twenty hours. The case is made of metal."
)
BATTERY, CASE = "The battery lasts twenty hours.", "The case is made of metal."
GARBLED = "Zxqv, as it were: nothing to see."
INVENTION = "Penguins swim quickly."


class Listed(Model):
    """Answers from a list, and keeps what it was asked."""

    def __init__(self, *answers: str | Completion | Exception, identity: str = "model") -> None:
        self.name = "listed:model"
        self.identity = identity
        self.asked: list[ModelPrompt] = []
        self._answers = list(answers)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        self.asked.append(prompt)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completion(answer, usage=TOKENS) if isinstance(answer, str) else answer


def claims(*texts: str) -> str:
    return json.dumps({"claims": texts})


def verdicts(*labels: str) -> str:
    said = [{"claim": n, "reason": "so", "label": each} for n, each in enumerate(labels, 1)]
    return json.dumps({"verdicts": said})


GOOD = verdicts("SUPPORTED", "NOT_ENOUGH_INFO")
UNUSABLE = {
    "malformed": (Cause.MALFORMED, Completion(GARBLED, usage=TOKENS)),
    "refusal": (Cause.REFUSAL, Completion("I'm sorry, but I cannot help with that.", usage=TOKENS)),
    "refusal field": (Cause.REFUSAL, Completion("", refusal="content filter", usage=TOKENS)),
    "truncated": (Cause.TRUNCATED, Completion(GOOD[:40], truncated=True, usage=TOKENS)),
    "too few": (Cause.COUNT_MISMATCH, Completion(verdicts("SUPPORTED"), usage=TOKENS)),
    "no label": (Cause.MALFORMED, Completion(verdicts("SUPPORTED", "perhaps"), usage=TOKENS)),
    "too long": (Cause.MALFORMED, Completion(GOOD.ljust(LONGEST_REPLY + 1), usage=TOKENS)),
}


async def failure_of(judge: LlmJudge, question: Question[object]) -> Failure:
    with pytest.raises(JudgeFailureError) as raised:
        await judge.answer(question)
    return raised.value.failure


@each_case("fault", UNUSABLE)
async def test_a_reply_that_cannot_be_used_is_asked_for_once_more(fault: str) -> None:
    written = UNUSABLE[fault][1]
    model = Listed(written, GOOD)
    reply = await LlmJudge(model, max_tokens=500).answer(VERIFY)
    assert [verdict.label for verdict in reply.value] == ["SUPPORTED", "NOT_ENOUGH_INFO"]
    assert (reply.usage, reply.attempts, reply.raw) == (TOKENS + TOKENS, 2, GOOD)
    first, second = model.asked
    more = MORE_ROOM if fault == "truncated" else 1
    assert second == replace(first, user=second.user, max_tokens=500 * more)
    added = second.user.removeprefix(first.user)  # what was wrong, and nothing of the reply
    assert added.startswith("\n\nYour previous reply ")
    assert written.refusal is None or written.refusal not in added
    assert not written.text or written.text[:12] not in added


@each_case("fault", UNUSABLE)
async def test_and_never_a_second_time(fault: str) -> None:
    cause, written = UNUSABLE[fault]
    model = Listed(written, written, GOOD)
    failure = await failure_of(LlmJudge(model), VERIFY)
    assert failure.cause is cause
    assert failure.message.endswith(" (verify_claims)")
    assert (failure.usage, failure.attempts) == (TOKENS + TOKENS, 2)
    assert failure.raw == written.text
    assert len(model.asked) == 2


async def test_a_reply_gets_the_room_that_its_form_may_take_and_thoughts_get_all() -> None:
    cut = Completion("", truncated=True, thinks=True, usage=TOKENS)
    model = Listed(GOOD, cut, GOOD, GOOD)
    judge = LlmJudge(model, max_tokens=9_000)
    for _ in range(3):
        await judge.answer(VERIFY)
    least = longest_reply(TASKS["verify_claims"].schema(VERIFY))
    assert least < 9_000
    limits = [prompt.max_tokens for prompt in model.asked]
    assert limits == [least, least, 9_000 * MORE_ROOM, 9_000]


@each_case("cause", [Cause.TIMEOUT, Cause.UNREACHABLE, Cause.BUDGET, Cause.TRUNCATED])
async def test_a_call_without_a_reply_is_not_made_again(cause: Cause) -> None:
    model = Listed(CallError(cause, "nothing came", tries=3), GOOD)
    failure = await failure_of(LlmJudge(model), VERIFY)
    assert failure.cause is cause
    assert failure.message.removesuffix(" (verify_claims)") == "nothing came"
    assert failure.usage == Usage(calls=3, retries=2)
    assert len(model.asked) == 1


@each_case("fault", UNUSABLE)
async def test_what_came_back_survives_a_re_ask_that_failed_on_the_wire(fault: str) -> None:
    cause, written = UNUSABLE[fault]
    alone = await failure_of(LlmJudge(Listed(written, written)), VERIFY)
    late = CallError(Cause.TIMEOUT, "too late", tries=3)
    failure = await failure_of(LlmJudge(Listed(written, late)), VERIFY)
    first, _, then = failure.message.partition("; asking again failed: ")
    assert then == "too late (verify_claims)"
    told = alone.message.removesuffix(" (verify_claims)")
    assert first == told.replace("4,560", "1,140")  # tokens: a retry may take more
    assert (failure.cause, failure.raw, failure.returned) == (cause, written.text, alone.returned)
    assert (failure.usage, failure.attempts) == (TOKENS + Usage(calls=3, retries=2), 2)


FEW = SAME_FAILURES - 1
LATE = [CallError(Cause.TIMEOUT, f"no reply within {seconds} s") for seconds in range(FEW)]


async def test_failures_of_one_kind_before_any_answer_stop_the_run() -> None:
    budget = Budget()
    model = Listed(*LATE, *[CallError(Cause.TIMEOUT, f"no reply within {n} s") for n in (98, 99)])
    judge = LlmJudge(model, budget=budget)
    for _ in LATE:
        await failure_of(judge, VERIFY)
        assert budget.spent is None
    for _ in range(2):
        await failure_of(judge, VERIFY)
        assert budget.spent == (
            "the judge listed:model failed 5 times in the same way and answered nothing: no reply "
            "within 98 s"
        )


@each_case(
    "answers",
    [
        [GOOD, *LATE, *LATE],
        [*LATE, GOOD, *LATE, *LATE],
        [*LATE, *[CallError(Cause.TIMEOUT, "the proxy is slow")] * FEW],
        [*LATE, *[CallError(Cause.UNREACHABLE, "no reply within 1 s")] * FEW],
        [CallError(Cause.BUDGET, "the budget is spent")] * 2 * FEW,
    ],
)
async def test_an_answer_or_failures_of_other_kinds_let_it_go_on(answers: list[str | Exception]):
    budget = Budget()
    judge = LlmJudge(Listed(*answers), budget=budget)
    for answer in answers:
        with suppress(JudgeFailureError):
            assert await judge.answer(VERIFY)
            assert answer == GOOD
    assert budget.spent is None


@pytest.mark.parametrize("status", [429, None])
async def test_what_a_provider_says_is_spent_ends_the_budget(status: int | None) -> None:
    budget = Budget()
    spent = CallError(Cause.BUDGET, "the account's budget is spent", status=status)
    await failure_of(LlmJudge(Listed(spent), budget=budget), VERIFY)
    assert budget.spent == (str(spent) if status else None)


@each_case("second", [CallError(Cause.BUDGET, "spent", tries=0), GARBLED, claims(INVENTION)])
async def test_a_doubtful_reply_is_kept_where_the_re_ask_fails(second: str | Exception) -> None:
    reply = await LlmJudge(Listed(claims(BATTERY), second)).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY]
    assert reply.notes == (f"no claim was found in: {CASE} (asking again failed)",)
    final = isinstance(second, str)
    assert (reply.usage, reply.final) == (TOKENS + TOKENS if final else TOKENS, final)


async def test_every_cost_is_told_and_paid() -> None:
    price = Price((0.01, 0, 0.1, 0))
    budget = Budget(max_cost=4.0)
    model = Listed(GARBLED, GARBLED)
    failure = await failure_of(LlmJudge(model, price=price, budget=budget), VERIFY)
    assert failure.usage.cost_usd == pytest.approx(4.0)
    assert budget.spent
    unknown = await failure_of(LlmJudge(Listed(GARBLED, GARBLED)), VERIFY)
    assert unknown.usage.cost_usd is None


@pytest.mark.parametrize(("text", "cost"), [("x" * 400, 100 * 0.1), ("", 0.0)])
async def test_where_no_tokens_are_told_what_the_texts_may_take_is_priced(text: str, cost: float):
    price = Price((0.01, 0, 0.1, 0))
    untold = Completion(text, usage=Usage(calls=1))
    model = Listed(untold, CallError(Cause.BUDGET, "spent", tries=0))
    budget = Budget(max_cost=0.01)
    failure = await failure_of(LlmJudge(model, price=price, budget=budget), VERIFY)
    told = estimated_tokens(model.asked[0].system + model.asked[0].user)
    assert failure.usage.cost_usd == pytest.approx(told * 0.01 + cost)
    assert (failure.usage.prompt_tokens, failure.usage.completion_tokens) == (0, 0)
    assert budget.spent


@each_case(
    ("first", "second", "texts"),
    [
        ([BATTERY], [CASE], [BATTERY, CASE]),
        ([], [BATTERY, CASE], [BATTERY, CASE]),
        ([BATTERY], [BATTERY, CASE], [BATTERY, CASE]),  # more than was asked for
        ([BATTERY], [], [BATTERY]),
    ],
)
async def test_claims_of_sentences_that_were_left_out_are_added(first, second, texts) -> None:
    model = Listed(claims(*first), claims(*second))
    reply = await LlmJudge(model).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == texts
    assert (reply.attempts, reply.final, reply.usage) == (2, True, TOKENS + TOKENS)
    left = [text for text in (BATTERY, CASE) if text not in first]
    note = f"no claim was found in: {' '.join(left)} (asked twice)"
    assert reply.notes == (() if set(texts) > set(first) else (note,))
    one, two = model.asked
    listed = first or ["(none)"]
    assert two.user == f"{one.user}\n\n{retry_text(INCOMPLETE, listed=listed, omitted=left)}"
    assert two.max_tokens == one.max_tokens


@each_case(
    ("response", "listed"),
    [
        ("What would you like to know about the battery of this telephone?", ()),
        ("```\nbattery = charge(telephone, minutes=20)\n```", ()),
        (f"Sure, happy to help! {BATTERY} Would you like to know more about it?", (BATTERY,)),
    ],
)
async def test_chatter_is_not_asked_about_again(response: str, listed: tuple[str, ...]) -> None:
    question = ExtractClaims(query="q", response=response)
    reply = await LlmJudge(Listed(claims(*listed))).answer(question)
    assert (len(reply.value), reply.notes, reply.attempts) == (len(listed), (), 1)


@pytest.mark.parametrize("response", ["It is blue.", "電池は二十時間持ちます。"])
async def test_no_claim_of_a_short_response_is_asked_about_again(response: str) -> None:
    question = ExtractClaims(query="q", response=response)
    reply = await LlmJudge(Listed(claims(), claims(response))).answer(question)
    assert ([claim.text for claim in reply.value], reply.attempts) == ([response], 2)


async def test_a_claim_that_the_response_does_not_make_is_asked_for_again() -> None:
    said = claims(BATTERY, CASE, INVENTION)
    model = Listed(said, claims(BATTERY, CASE))
    reply = await LlmJudge(model).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY, CASE]
    assert (reply.notes, reply.attempts) == ((), 2)
    one, two = model.asked
    assert two.user == f"{one.user}\n\n{retry_text(INVENTED, invented=[INVENTION])}"
    failure = await failure_of(LlmJudge(Listed(said, said)), EXTRACT)
    told = f"the claim '{INVENTION}' is not in the response (extract_claims)"
    assert (failure.cause, failure.message) == (Cause.MALFORMED, told)
    assert (failure.raw, failure.attempts) == (said, 2)


@each_case(
    ("named", "read"),
    [
        ({}, False),
        ({"policy": "promptfoo-plan"}, True),
        ({"policy": "promptfoo-plan", "strict_json": True}, False),
        ({"metrics": ("faithfulness", "faithfulness:promptfoo-plan")}, True),
        ({"metrics": ("faithfulness,policy=promptfoo-plan",)}, True),
        ({"metrics": ("faithfulness:promptfoo-plan",), "strict_json": True}, False),
    ],
)
async def test_only_promptfoos_plan_reads_legacy_text_and_not_with_strict_json(
    judge_server, kit, named: dict[str, object], read: bool
) -> None:
    async def say(asked, _):
        return kit.chat("Final verdict for each statement in order: Yes. No.")

    judge_server.fault = say
    plan = Plan(judge="openai:m", base_url=judge_server.url, cache=False, **named)
    async with make_judge(plan) as judge:
        outcome = await outcome_of(judge, VERIFY)
    assert isinstance(outcome, Reply) is read
    if isinstance(outcome, Reply):
        labels = [verdict.label for verdict in outcome.value]
        assert labels == [Label.SUPPORTED, Label.CONTRADICTED]


async def test_a_kind_without_a_prompt_is_not_supported() -> None:
    judge = LlmJudge(Listed())
    assert not judge.takes("text_similarity")
    with pytest.raises(QuestionNotSupportedError, match="text_similarity"):
        await judge.answer(TextSimilarity(text="a", others=("b",)))
    assert judge.identity("text_similarity") is None


def own(kind: str, line: str) -> Prompt:
    return Prompt.parse(kind, f"# system\n{line}\n# user\n{Prompt.of(kind).user}", "own.md")


async def test_a_prompt_of_ones_own_gets_the_rows_tags(tmp_path: Path) -> None:
    model = Listed(*[claims(BATTERY, CASE)] * 3)
    own_prompt = own("extract_claims", "Answer in {tags.language}; {tags.Area} only.")
    judge = LlmJudge(model, prompts={"extract_claims": own_prompt})
    assert judge.tags == {"language", "Area"}
    keys: set[str] = set()
    async with CachedJudge(judge, tmp_path / "replies.db") as cached:
        german = {"language": "Ger\nman", "Area": 5, "other": "x"}
        for tags in (german, {"language": None}, {"Area": "A"}, german):
            transcript = Transcript(cached, tags)
            await transcript.reply(EXTRACT)
            keys |= {exchange.key for exchange in transcript.exchanges}
    told = ["Answer in Ger man; 5 only.", "Answer in ;  only.", "Answer in ; A only."]
    assert [prompt.system for prompt in model.asked] == told
    assert keys == {EXTRACT.key}, "the ledger knows no tags"


async def test_sentences_are_claims_only_where_they_are_asked_for() -> None:
    question = ExtractClaims(query="q", response=f"Sure! {BATTERY} {CASE}")
    assert sentences_asked_for(question) is None
    assert sentences_asked_for(VerifyClaims(claims=(), contexts=())) is None
    model = Listed()
    reply = await LlmJudge(model).answer(question.varied(by="sentences"))
    assert [claim.text for claim in reply.value] == [BATTERY, CASE]
    assert [claim.span for claim in reply.value] == [(6, 37), (38, 64)]
    assert (reply.usage, model.asked) == (Usage(), [])


async def test_other_rows_go_on_while_a_large_reply_is_parsed(monkeypatch: pytest.MonkeyPatch):
    """The parser waits for the event loop, which would wait for the parser."""
    loop, turned, parsed = asyncio.get_running_loop(), Event(), LlmJudge._parsed

    def waiting(*arguments: object) -> object:
        loop.call_soon_threadsafe(turned.set)
        assert turned.wait(20), "the event loop is blocked"
        return parsed(*arguments)

    monkeypatch.setattr(LlmJudge, "_parsed", waiting)
    reply = await LlmJudge(Listed(GOOD + " " * LARGE)).answer(VERIFY)
    assert [verdict.label for verdict in reply.value] == ["SUPPORTED", "NOT_ENOUGH_INFO"]


async def test_not_all_of_a_reply_that_is_too_long_is_stored() -> None:
    long = Completion(GOOD + " " * 20 * LONGEST_REPLY, usage=TOKENS)
    failure = await failure_of(LlmJudge(Listed(long, long)), VERIFY)
    assert "has 4,000," in failure.message
    assert len(failure.raw or "") == LONGEST_REPLY + 1
