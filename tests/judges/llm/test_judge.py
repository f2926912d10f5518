import asyncio
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import ClassVar

import pytest
from tests.cases import each_case

from ragstone._internal.concurrency import LARGE
from ragstone._internal.rate_limit import Budget
from ragstone.errors import CallError, Cause, QuestionNotSupportedError, UsageError
from ragstone.evaluation.scoring import Transcript
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import make_judge
from ragstone.judges.llm.judge import (
    LONGEST_REPLY,
    MORE_ROOM,
    SAME_FAILURES,
    Attempt,
    LlmJudge,
    joined,
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
from ragstone.types.claim import Claim, GeneratedQueries, Grade, Label, Rating, Verdict
from ragstone.types.config import Plan
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict, Reply, Usage

TOKENS = Usage(calls=1, prompt_tokens=100, completion_tokens=10, cost_usd=None)
VERIFY = VerifyClaims(claims=("It is blue.", "It costs 9 EUR."), contexts=("It is blue.",))
EXTRACT = ExtractClaims(
    query="What is it?", response="The battery lasts twenty hours. The case is made of metal."
)
BATTERY, CASE = "The battery lasts twenty hours.", "The case is made of metal."
GARBLED = "Zxqv, as it were: nothing to see."
INVENTION = "Penguins swim quickly."


class Strange(ExtractClaims):
    kind: ClassVar[str] = "strange"


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


def verdicts(*labels: str, first: int = 1) -> str:
    said = [{"claim": n, "reason": "so", "label": each} for n, each in enumerate(labels, first)]
    return json.dumps({"verdicts": said})


GOOD = verdicts("SUPPORTED", "NOT_ENOUGH_INFO")
UNUSABLE = {
    "malformed": Completion(GARBLED, usage=TOKENS),
    "refusal": Completion("I'm sorry, but I cannot help with that.", usage=TOKENS),
    "refusal field": Completion("", refusal="content filter", usage=TOKENS),
    "truncated": Completion(GOOD[:40], truncated=True, usage=TOKENS),
    "too few": Completion(verdicts("SUPPORTED"), usage=TOKENS),
    "too many": Completion(verdicts(*["SUPPORTED"] * 3), usage=TOKENS),
    "wrong numbers": Completion(verdicts("SUPPORTED", "SUPPORTED", first=7), usage=TOKENS),
    "no label": Completion(verdicts("SUPPORTED", "perhaps"), usage=TOKENS),
    "too long": Completion(GOOD.ljust(LONGEST_REPLY + 1), usage=TOKENS),
}
CAUSES = {
    "malformed": Cause.MALFORMED,
    "refusal": Cause.REFUSAL,
    "refusal field": Cause.REFUSAL,
    "truncated": Cause.TRUNCATED,
    "too few": Cause.COUNT_MISMATCH,
    "too many": Cause.COUNT_MISMATCH,
    "wrong numbers": Cause.COUNT_MISMATCH,
    "no label": Cause.MALFORMED,
    "too long": Cause.MALFORMED,
}


async def failure_of(judge: LlmJudge, question: Question[object]) -> Failure:
    with pytest.raises(JudgeFailureError) as raised:
        await judge.answer(question)
    return raised.value.failure


async def test_a_question_is_put_once_where_the_reply_can_be_used() -> None:
    model = Listed(GOOD)
    reply = await LlmJudge(model).answer(VERIFY)
    assert [verdict.label for verdict in reply.value] == ["SUPPORTED", "NOT_ENOUGH_INFO"]
    assert (reply.raw, reply.usage, reply.attempts, reply.notes) == (GOOD, TOKENS, 1, ())
    assert len(model.asked) == 1


@each_case("fault", UNUSABLE)
async def test_a_reply_that_cannot_be_used_is_asked_for_once_more(fault: str) -> None:
    model = Listed(UNUSABLE[fault], GOOD)
    reply = await LlmJudge(model).answer(VERIFY)
    assert [verdict.label for verdict in reply.value] == ["SUPPORTED", "NOT_ENOUGH_INFO"]
    assert (reply.usage, reply.attempts) == (TOKENS + TOKENS, 2)
    assert reply.raw == GOOD


@each_case("fault", UNUSABLE)
async def test_and_never_a_second_time(fault: str) -> None:
    model = Listed(UNUSABLE[fault], UNUSABLE[fault], GOOD)
    failure = await failure_of(LlmJudge(model), VERIFY)
    assert failure.cause is CAUSES[fault]
    assert failure.message.endswith(" (verify_claims)")
    assert (failure.usage, failure.attempts) == (TOKENS + TOKENS, 2)
    assert failure.raw == UNUSABLE[fault].text
    assert len(model.asked) == 2


async def test_the_last_word_says_why_it_failed_and_what_came() -> None:
    model = Listed(GARBLED, verdicts("SUPPORTED"))
    failure = await failure_of(LlmJudge(model), VERIFY)
    assert failure.cause is Cause.COUNT_MISMATCH
    assert [item.written for item in failure.returned] == ["SUPPORTED"]


@each_case("fault", UNUSABLE)
async def test_the_re_ask_says_what_was_wrong_and_quotes_nothing_of_the_reply(fault: str) -> None:
    model = Listed(UNUSABLE[fault], GOOD)
    await LlmJudge(model).answer(VERIFY)
    first, second = model.asked
    assert second.system == first.system
    assert second.schema == first.schema
    added = second.user.removeprefix(first.user)
    assert added.startswith("\n\nYour previous reply ")
    written = UNUSABLE[fault]
    assert written.refusal is None or written.refusal not in added
    assert not written.text or written.text[:12] not in added


@each_case("fault", UNUSABLE)
async def test_only_a_reply_that_was_cut_gets_more_room(fault: str) -> None:
    model = Listed(UNUSABLE[fault], GOOD)
    await LlmJudge(model, max_tokens=500).answer(VERIFY)
    more = MORE_ROOM if fault == "truncated" else 1
    assert [prompt.max_tokens for prompt in model.asked] == [500, 500 * more]


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


@pytest.mark.parametrize(
    "cause", [Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.UNREACHABLE, Cause.BUDGET]
)
async def test_a_call_without_a_reply_is_not_made_again(cause: Cause) -> None:
    model = Listed(CallError(cause, "nothing came", tries=3), GOOD)
    failure = await failure_of(LlmJudge(model), VERIFY)
    assert (failure.cause, failure.message) == (cause, "nothing came")
    assert failure.usage == Usage(calls=3, retries=2)
    assert len(model.asked) == 1


@each_case("fault", UNUSABLE)
async def test_what_came_back_survives_a_re_ask_that_failed_on_the_wire(fault: str) -> None:
    late = CallError(Cause.TIMEOUT, "too late", tries=3)
    alone = await failure_of(LlmJudge(Listed(UNUSABLE[fault], UNUSABLE[fault])), VERIFY)
    failure = await failure_of(LlmJudge(Listed(UNUSABLE[fault], late)), VERIFY)
    first, _, then = failure.message.partition("; asking again failed: ")
    assert then == "too late (verify_claims)"
    told = alone.message.removesuffix(" (verify_claims)")
    assert first == told.replace("4,560", "1,140")  # tokens: a retry may take more
    assert failure.cause is CAUSES[fault]
    assert (failure.raw, failure.returned) == (UNUSABLE[fault].text, alone.returned)
    assert failure.usage == TOKENS + Usage(calls=3, retries=2)
    assert failure.attempts == 2


async def test_a_rejected_key_stops_the_run() -> None:
    with pytest.raises(UsageError, match="key"):
        await LlmJudge(Listed(UsageError("the key was rejected"))).answer(VERIFY)


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
async def test_an_answer_or_failures_of_other_kinds_let_it_go_on(
    answers: list[str | Exception],
) -> None:
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


async def test_a_doubtful_reply_is_kept_where_the_re_ask_fails() -> None:
    model = Listed(claims(BATTERY), CallError(Cause.BUDGET, "spent", tries=0))
    reply = await LlmJudge(model).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY]
    assert reply.notes == (f"no claim was found in: {CASE} (asking again failed)",)
    assert (reply.usage, reply.final) == (TOKENS, False)


@pytest.mark.parametrize("second", [GARBLED, claims(INVENTION)])
async def test_and_is_final_where_the_re_ask_got_a_reply(second: str) -> None:
    reply = await LlmJudge(Listed(claims(BATTERY), second)).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY]
    assert reply.notes == (f"no claim was found in: {CASE} (asking again failed)",)
    assert (reply.usage, reply.final) == (TOKENS + TOKENS, True)


async def test_a_reply_that_is_not_final_is_asked_for_again_by_the_next_run(tmp_path: Path) -> None:
    cut = Listed(claims(BATTERY), CallError(Cause.BUDGET, "spent", tries=0))
    async with CachedJudge(LlmJudge(cut), tmp_path / "replies.db") as judge:
        assert len((await judge.answer(EXTRACT)).value) == 1
    model = Listed(claims(BATTERY, CASE))
    async with CachedJudge(LlmJudge(model), tmp_path / "replies.db") as judge:
        assert len((await judge.answer(EXTRACT)).value) == 2
    assert len(model.asked) == 1


async def test_every_cost_is_told_and_paid() -> None:
    price = Price((0.01, 0, 0.1, 0))
    budget = Budget(max_cost=4.0)
    model = Listed(GARBLED, GARBLED)
    failure = await failure_of(LlmJudge(model, price=price, budget=budget), VERIFY)
    assert failure.usage.cost_usd == pytest.approx(4.0)
    assert budget.spent
    unknown = await failure_of(LlmJudge(Listed(GARBLED, GARBLED)), VERIFY)
    assert unknown.usage.cost_usd is None


UNTOLD = Usage(calls=1)


@pytest.mark.parametrize(
    ("text", "cost"), [("x" * 400, 100 * 0.1), ("", 0.0)], ids=["a reply", "nothing"]
)
async def test_where_no_tokens_are_told_what_the_texts_may_take_is_priced(
    text: str, cost: float
) -> None:
    price = Price((0.01, 0, 0.1, 0))
    model = Listed(Completion(text, usage=UNTOLD), CallError(Cause.BUDGET, "spent", tries=0))
    budget = Budget(max_cost=0.01)
    failure = await failure_of(LlmJudge(model, price=price, budget=budget), VERIFY)
    told = estimated_tokens(model.asked[0].system + model.asked[0].user)
    assert failure.usage.cost_usd == pytest.approx(told * 0.01 + cost)
    assert (failure.usage.prompt_tokens, failure.usage.completion_tokens) == (0, 0)
    assert budget.spent


async def test_without_a_price_nothing_is_estimated() -> None:
    model = Listed(Completion(GOOD, usage=UNTOLD))
    assert (await LlmJudge(model).answer(VERIFY)).usage == replace(UNTOLD, cost_usd=None)


@each_case(
    ("first", "second", "texts"),
    [
        ([BATTERY], [CASE], [BATTERY, CASE]),
        ([], [BATTERY, CASE], [BATTERY, CASE]),
        ([CASE], [BATTERY], [CASE, BATTERY]),
        ([BATTERY], [BATTERY, CASE], [BATTERY, CASE]),  # more than was asked for
        ([BATTERY], [BATTERY.rstrip(".")], [BATTERY]),
        ([BATTERY], [], [BATTERY]),
        ([], [], []),
    ],
)
async def test_claims_of_sentences_that_were_left_out_are_added(
    first: list[str], second: list[str], texts: list[str]
) -> None:
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
    "response",
    [
        "Sure!",
        "Hello! Happy to help.",
        "What would you like to know about the battery of this telephone?",
        "I don't know.",
        "Let me know if you have any further questions about your telephone!",
        "```\nbattery = charge(telephone, minutes=20)\n```",
    ],
)
async def test_chatter_is_not_asked_about_again(response: str) -> None:
    model = Listed(claims())
    reply = await LlmJudge(model).answer(ExtractClaims(query="q", response=response))
    assert (reply.value, reply.notes, reply.attempts) == ((), (), 1)


@pytest.mark.parametrize("more", ["Would you like to know more about the battery case?", "Ok."])
async def test_chatter_around_statements_is_not_either(more: str) -> None:
    response = f"Sure, happy to help! {BATTERY} {more}"
    model = Listed(claims(BATTERY))
    reply = await LlmJudge(model).answer(ExtractClaims(query="q", response=response))
    assert reply.attempts == 1


@pytest.mark.parametrize("response", ["It is blue.", "電池は二十時間持ちます。"])
async def test_no_claim_of_a_short_response_is_asked_about_again(response: str) -> None:
    question = ExtractClaims(query="q", response=response)
    reply = await LlmJudge(Listed(claims(), claims(response))).answer(question)
    assert ([claim.text for claim in reply.value], reply.attempts) == ([response], 2)


async def test_a_claim_that_the_response_does_not_make_is_asked_for_again() -> None:
    model = Listed(claims(BATTERY, CASE, INVENTION), claims(BATTERY, CASE))
    reply = await LlmJudge(model).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY, CASE]
    assert (reply.notes, reply.attempts) == ((), 2)
    one, two = model.asked
    assert two.user == f"{one.user}\n\n{retry_text(INVENTED, invented=[INVENTION])}"


async def test_and_fails_where_it_is_made_again() -> None:
    said = claims(BATTERY, CASE, INVENTION)
    failure = await failure_of(LlmJudge(Listed(said, said)), EXTRACT)
    told = f"the claim '{INVENTION}' is not in the response (extract_claims)"
    assert (failure.cause, failure.message) == (Cause.MALFORMED, told)
    assert (failure.raw, failure.attempts) == (said, 2)


async def test_a_second_reply_that_leaves_something_out_says_so() -> None:
    reply = await LlmJudge(Listed(GARBLED, claims(BATTERY))).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY]
    assert (reply.notes, reply.final) == ((f"no claim was found in: {CASE}",), True)


async def test_equal_claims_are_one_claim() -> None:
    reply = await LlmJudge(Listed(claims(BATTERY, CASE, f" {BATTERY}\n"))).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == [BATTERY, CASE]


async def test_a_claim_has_its_place_where_that_is_clear() -> None:
    said = claims(BATTERY, "Metal is what the case is made of.", "Battery and case.")
    reply = await LlmJudge(Listed(said)).answer(EXTRACT)
    spans = [claim.span for claim in reply.value]
    texts = [span and EXTRACT.response[span[0] : span[1]] for span in spans]
    assert texts == [BATTERY, CASE, None]


async def test_verdicts_are_the_claims_by_number_whatever_their_order() -> None:
    said = [
        {"claim": 2, "reason": "dearer", "label": "CONTRADICTED"},
        {
            "claim": 1,
            "label": "SUPPORTED",
            "evidence": [{"context": 1, "quote": "it is  BLUE"}, {"context": 1, "quote": "red"}],
        },
    ]
    first, second = (await LlmJudge(Listed(json.dumps({"verdicts": said}))).answer(VERIFY)).value
    assert (first.label, second.label) == (Label.SUPPORTED, Label.CONTRADICTED)
    assert (first.reason, second.reason) == (None, "dearer")
    found, missed = first.evidence
    assert (found.start, found.end, found.verified) == (0, 10, True)
    assert (missed.start, missed.end, missed.verified) == (None, None, False)


async def test_facts_and_explanations_are_read_too() -> None:
    truths = json.dumps({"truths": ["It is blue.", "It is new.", "It is small."]})
    judge = LlmJudge(Listed(truths, json.dumps({"explanation": "All is well."})))
    facts = await judge.answer(ExtractTruths(context="Blue, new and small.", limit=2))
    assert facts.value == ("It is blue.", "It is new.")
    said = await judge.answer(Explain(claims=("c",), labels=(Label.SUPPORTED,), reasons=("",)))
    assert said.value == "All is well."


GRADED = '{"grades": [{"number": 2, "relevant": false}, {"number": 1, "relevant": true}]}'
GUESSED = '{"commits": true, "queries": {"1": "How long?", "2": "Of what?"}}'
ON_TEXTS: list[tuple[Question[object], str, str, object, Cause]] = [
    (
        GradeContexts(query="q", answer="a", contexts=("b", "c")),
        '{"grades": [{"number": 1, "relevant": true}]}',
        GRADED,
        (Grade(relevant=True), Grade(relevant=False)),
        Cause.COUNT_MISMATCH,
    ),
    (
        GradeSentences(query="q", sentences=("b", "c")),
        '{"grades": [{"number": 1, "relevant": true}, {"number": 1, "relevant": true}]}',
        GRADED,
        (Grade(relevant=True), Grade(relevant=False)),
        Cause.COUNT_MISMATCH,
    ),
    (
        GenerateQueries(response="r", count=2),
        '{"commits": true, "queries": {"1": "How long?"}}',
        GUESSED,
        GeneratedQueries(queries=("How long?", "Of what?"), noncommittal=False),
        Cause.COUNT_MISMATCH,
    ),
    (
        DetectAbstention(query="q", response="r"),
        "Hard to tell.",
        '{"label": "ABSTAINS"}',
        True,
        Cause.MALFORMED,
    ),
    (
        RateResponse(criteria="c", levels=((1, "bad"), (3, "good")), query="q", response="r"),
        '{"reason": "so", "level": 2}',
        '{"reason": "so", "level": 3}',
        Rating(level=3, reason="so"),
        Cause.MALFORMED,
    ),
]


@each_case("case", ON_TEXTS, ids=lambda case: case[0].kind)
async def test_questions_about_texts_are_put_again_where_the_reply_cannot_be_used(
    case: tuple[Question[object], str, str, object, Cause],
) -> None:
    question, bad, good, value, cause = case
    model = Listed(bad, good)
    reply = await LlmJudge(model).answer(question)
    assert (reply.value, reply.attempts, reply.raw) == (value, 2, good)
    assert retry_text(cause) in model.asked[1].user
    failure = await failure_of(LlmJudge(Listed(bad, bad)), question)
    assert (failure.cause, failure.raw, failure.usage) == (cause, bad, TOKENS + TOKENS)


async def test_they_are_asked_for_on_the_wire_with_a_schema_of_their_own(judge_server, kit) -> None:
    async def answer(asked, _):
        schema = asked.body["response_format"]["json_schema"]["schema"]
        return kit.chat(filled(schema, asked))

    def filled(schema, asked):
        name = next(iter(schema["properties"]))
        if name == "grades":
            block = asked.fence("contexts") or asked.fence("sentences")
            lines = re.findall(r"^(?:\[(\d+)\]|(\d+)\.) (.*)$", block, re.MULTILINE)
            return {"grades": [
                {"number": int(a or b), "reason": "so", "relevant": "fabricated" not in text}
                for a, b, text in lines
            ]}  # fmt: skip
        if name == "commits":
            keys = schema["properties"]["queries"]["required"]
            return {"commits": True, "queries": {key: f"Query {key}?" for key in keys}}
        return {key: part.get("enum", ["so"])[0] for key, part in schema["properties"].items()}

    judge_server.fault = answer
    plan = Plan(judge="openai:m", base_url=judge_server.url, cache=False)
    texts = ("It is fabricated.", "It is\nknown.", "[known]")
    async with make_judge(plan) as judge:
        for question, value in (
            (GradeContexts(query="q", answer="1. It is blue.", contexts=texts), [0, 1, 1]),
            (GradeSentences(query="q", sentences=texts), [0, 1, 1]),
        ):
            graded = (await judge.answer(question)).value
            assert [grade.relevant for grade in graded] == value
        guesses = (await judge.answer(GenerateQueries(response="r", count=3))).value
        assert guesses.queries == ("Query 1?", "Query 2?", "Query 3?")
        assert (await judge.answer(ON_TEXTS[3][0])).value is False
        assert (await judge.answer(ON_TEXTS[4][0])).value == Rating(level=1, reason="so")
    assert len(judge_server.asked) == 5


async def test_plain_text_is_read_only_as_legacy_text() -> None:
    plain = "1. Yes\n2. No"
    judge = LlmJudge(Listed(plain), legacy_text=True)
    assert len((await judge.answer(VERIFY)).value) == 2
    failure = await failure_of(LlmJudge(Listed(plain, plain)), VERIFY)
    assert failure.cause is Cause.MALFORMED


@pytest.mark.parametrize(
    ("named", "strict", "read"),
    [
        ({}, False, False),
        ({"policy": "promptfoo-plan"}, False, True),
        ({"policy": "promptfoo-plan"}, True, False),
        ({"metrics": ("faithfulness", "faithfulness:promptfoo-plan")}, False, True),
        ({"metrics": ("faithfulness,policy=promptfoo-plan",)}, False, True),
        ({"metrics": ("faithfulness:promptfoo-plan",)}, True, False),
    ],
)
async def test_only_promptfoos_plan_reads_legacy_text_and_not_with_strict_json(
    judge_server, kit, named: dict[str, object], strict: bool, read: bool
) -> None:
    async def say(asked, _):
        return kit.chat("Final verdict for each statement in order: Yes. No.")

    judge_server.fault = say
    plan = Plan(
        judge="openai:m", base_url=judge_server.url, cache=False, strict_json=strict, **named
    )  # fmt: skip
    async with make_judge(plan) as judge:
        if read:
            labels = [verdict.label for verdict in (await judge.answer(VERIFY)).value]
            assert labels == [Label.SUPPORTED, Label.CONTRADICTED]
        else:
            with pytest.raises(JudgeFailureError):
                await judge.answer(VERIFY)


async def test_half_a_character_does_not_get_into_the_ledger() -> None:
    said = '{"claims": ["The battery \ud800 lasts twenty hours.", "The case is made of metal."]}'
    reply = await LlmJudge(Listed(said)).answer(EXTRACT)
    assert (reply.raw or "").encode()
    failure = await failure_of(LlmJudge(Listed("\ud800", "\ud800")), EXTRACT)
    assert (failure.raw or "").encode()


async def test_sentences_for_claims_are_no_call() -> None:
    model = Listed()
    reply = await LlmJudge(model).answer(EXTRACT.varied(by="sentences"))
    assert [claim.text for claim in reply.value] == [BATTERY, CASE]
    assert (reply.usage, model.asked) == (Usage(), [])


async def test_a_kind_without_a_prompt_is_not_supported() -> None:
    judge = LlmJudge(Listed())
    assert not judge.takes("strange")
    with pytest.raises(QuestionNotSupportedError, match="strange"):
        await judge.answer(Strange(query="q", response="r"))
    assert judge.identity("strange") is None


def own(kind: str, line: str) -> Prompt:
    return Prompt.parse(kind, f"# system\n{line}\n# user\n{Prompt.of(kind).user}", "own.md")


def test_an_identity_tells_apart_what_shapes_replies() -> None:
    judges = {
        "plain": LlmJudge(Listed()),
        "model": LlmJudge(Listed(identity="other")),
        "prompt": LlmJudge(Listed(), prompts={"verify_claims": own("verify_claims", "Be kind.")}),
        "legacy": LlmJudge(Listed(), legacy_text=True),
        "vote": LlmJudge(Listed(), vote=2),
    }
    assert len({judge.identity("verify_claims") for judge in judges.values()}) == len(judges)
    assert judges["prompt"].identity("explain") == judges["plain"].identity("explain")
    same = LlmJudge(Listed(), max_tokens=99, budget=Budget(1))
    assert same.identity("verify_claims") == judges["plain"].identity("verify_claims")
    kinds = {judges["plain"].identity(kind) for kind in TASKS}
    assert len(kinds) == len(TASKS)


TAGGED = {"extract_claims": own("extract_claims", "Answer in {tags.language}; {tags.Area} only.")}


async def test_a_prompt_of_ones_own_gets_the_rows_tags() -> None:
    model = Listed(claims(BATTERY, CASE), claims(BATTERY, CASE), claims(BATTERY, CASE))
    judge = LlmJudge(model, prompts=TAGGED)
    assert judge.tags == {"language", "Area"}
    for tags in ({"language": "Ger\nman", "Area": 5, "other": "x"}, {"language": None}, {}):
        await Transcript(judge, tags).reply(EXTRACT)
    assert [prompt.system for prompt in model.asked] == [
        "Answer in Ger man; 5 only.",
        "Answer in ;  only.",
        "Answer in ;  only.",
    ]


async def test_rows_with_other_tags_do_not_share_replies_and_the_ledger_knows_no_tags(
    tmp_path: Path,
) -> None:
    model = Listed(*[claims(BATTERY, CASE)] * 2)
    keys: set[str] = set()
    async with CachedJudge(LlmJudge(model, prompts=TAGGED), tmp_path / "replies.db") as judge:
        for language in ("German", "French", "German"):
            transcript = Transcript(judge, {"language": language, "row": language})
            await transcript.reply(EXTRACT)
            keys |= {exchange.key for exchange in transcript.exchanges}
    assert len(model.asked) == 2
    assert keys == {EXTRACT.key}


ONE, TWO = Usage(calls=1, prompt_tokens=10), Usage(calls=2, retries=1, prompt_tokens=7)
CAME = (PartialVerdict(1, "SUPPORTED", Verdict(label=Label.SUPPORTED)),)
LEFT_OUT = ("It is new.", "It is old.")


def found(*texts: str, omitted: bool = False, usage: Usage = ONE) -> Attempt[tuple[Claim, ...]]:
    raw = json.dumps(texts)
    reply = Reply(tuple(Claim(text=text) for text in texts), usage, ("a note",), raw=raw)
    return Attempt(reply, LEFT_OUT if omitted else ())


def failed(cause: Cause, raw: str | None = "{", usage: Usage = ONE) -> Attempt[tuple[Claim, ...]]:
    message = f"{cause} of {'the wire' if raw is None else raw}"
    return Attempt(Failure(cause, message, CAME if raw else (), raw=raw, usage=usage))


MENDABLE = (Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH)


@each_case("cause", Cause)
def test_only_what_was_written_can_be_written_better(cause: Cause) -> None:
    assert failed(cause).reason == (str(cause) if cause in MENDABLE else None)


def test_a_reply_that_broke_off_on_the_wire_had_its_tries() -> None:
    assert failed(Cause.TRUNCATED, raw=None).reason is None
    assert failed(Cause.TRUNCATED, raw="").reason == "truncated"


def test_a_reply_is_asked_for_again_where_it_leaves_out_or_adds_something() -> None:
    assert (found("a").reason, found("a", omitted=True).reason) == (None, INCOMPLETE)
    assert replace(failed(Cause.MALFORMED), invented=True).reason == INVENTED


def test_a_reply_after_a_failure_counts() -> None:
    reply = joined(failed(Cause.MALFORMED), found("b", usage=TWO))
    assert reply == Reply((Claim(text="b"),), ONE + TWO, ("a note",), raw='["b"]', attempts=2)
    reply = joined(failed(Cause.MALFORMED), found("b", omitted=True))
    assert reply.notes == ("a note", "no claim was found in: It is new. It is old.")
    assert reply.final


@pytest.mark.parametrize("omitted", [True, False])
def test_two_lists_of_claims_are_one_without_a_note(omitted: bool) -> None:
    reply = joined(found("a", "b", omitted=True), found("b", "c", omitted=omitted, usage=TWO))
    assert [claim.text for claim in reply.value] == ["a", "b", "c"]
    assert (reply.usage, reply.attempts) == (ONE + TWO, 2)
    assert (reply.notes, reply.final) == (("a note",), True)


@each_case("cause", Cause)
@each_case("raw", ["{", None])
def test_what_is_left_out_is_final_only_where_something_came_back(
    cause: Cause, raw: str | None
) -> None:
    second = failed(cause, raw, TWO)
    reply = joined(found("a", omitted=True), second)
    note = "no claim was found in: It is new. It is old. (asking again failed)"
    assert (reply.notes, reply.final) == (("a note", note), second.reason is not None)
    assert ([claim.text for claim in reply.value], reply.usage) == (["a"], ONE + TWO)


def test_of_two_failures_the_last_word_counts() -> None:
    with pytest.raises(JudgeFailureError) as raised:
        joined(failed(Cause.MALFORMED), failed(Cause.REFUSAL, "I cannot", TWO))
    assert raised.value.failure == Failure(
        Cause.REFUSAL, "refusal of I cannot", CAME, raw="I cannot", attempts=2, usage=ONE + TWO
    )


@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.BUDGET, Cause.TRUNCATED])
def test_what_came_back_to_the_first_survives_where_the_second_got_nothing(cause: Cause) -> None:
    with pytest.raises(JudgeFailureError) as raised:
        joined(failed(Cause.COUNT_MISMATCH), failed(cause, raw=None, usage=TWO))
    assert raised.value.failure == Failure(
        Cause.COUNT_MISMATCH,
        f"count_mismatch of {{; asking again failed: {cause} of the wire",
        CAME,
        raw="{",
        attempts=2,
        usage=ONE + TWO,
    )


def test_sentences_are_claims_only_where_they_are_asked_for() -> None:
    question = ExtractClaims(query="q", response=f"Sure! {BATTERY} {CASE}")
    assert sentences_asked_for(question) is None
    assert sentences_asked_for(VerifyClaims(claims=(), contexts=())) is None
    found = sentences_asked_for(question.varied(by="sentences")) or ()
    assert [claim.text for claim in found] == [BATTERY, CASE]
    assert [claim.span for claim in found] == [(6, 37), (38, 64)]


async def test_other_rows_go_on_while_a_large_reply_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    assert failure.cause is Cause.MALFORMED
    assert "has 4,000," in failure.message
    assert len(failure.raw or "") == LONGEST_REPLY + 1
