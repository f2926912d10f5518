import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, QuestionNotSupportedError, UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.scoring import rescore_row, score_rows
from ragstone.judges.base import ScriptedJudge
from ragstone.judges.batching import SplitJudge
from ragstone.metrics import get
from ragstone.metrics.claims import Faithfulness
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.policy import POLICIES, PRESETS
from ragstone.types.questions import (
    Explain,
    ExtractClaims,
    ExtractTruths,
    Question,
    T,
    VerifyClaims,
)
from ragstone.types.reply import Failure, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score, State

TEXTS = ("It lasts 20 hours.", "It is blue.", "It costs 9 EUR.")
SOURCES = ("It lasts 20 hours and is old.", "It is blue.", "Nothing more.")
SAMPLE = Sample(
    id="q1",
    query="Tell me about it.",
    response="It lasts 20 hours. It is blue. It costs 9 EUR.",
    contexts=tuple(Context(text=text) for text in SOURCES),
)
NO = Failure(Cause.MALFORMED, "nothing readable")


def verified(question: VerifyClaims) -> list[Verdict]:
    """Support a claim that stands in a context, with its place there."""
    return [_verdict(claim, question.contexts) for claim in question.claims]


def _verdict(claim: str, contexts: tuple[str, ...]) -> Verdict:
    for number, context in enumerate(contexts):
        at = context.find(claim.rstrip("."))
        if at >= 0:
            place = Evidence(
                context=number, start=at, end=at + 5, quote=context[at : at + 5], verified=True
            )
            return Verdict(label=Label.SUPPORTED, reason="said", evidence=(place,))
    return Verdict(label=Label.NOT_ENOUGH_INFO)


ANSWERS: Mapping[str, object] = {
    "extract_claims": [Claim(text=text) for text in TEXTS],
    "verify_claims": verified,
    "extract_truths": lambda question: [f"Fact: {question.context}"],
    "explain": "Two of three are backed.",
}


def scripted(**changed: object) -> ScriptedJudge:
    return ScriptedJudge({**ANSWERS, **changed})


async def row_of(spec: str, judge: ScriptedJudge, sample: Sample = SAMPLE) -> Row:
    around = SplitJudge(judge, context_window=100_000)
    async with score_rows([Row(0, sample)], [get(spec)], around, concurrency=1) as rows:
        (row,) = [row async for row in rows]
        return row


def score_of(row: Row) -> Score:
    """Return the row's only score, without its latency."""
    return next(iter(row.scores.values())).model_copy(update={"latency_ms": None})


async def score(spec: str, judge: ScriptedJudge, sample: Sample = SAMPLE) -> Score:
    return score_of(await row_of(spec, judge, sample))


def kinds(judge: ScriptedJudge) -> list[str]:
    return [getattr(question, "kind") for question in judge.asked]  # noqa: B009 - any question


async def test_a_batch_is_one_call_after_the_claims() -> None:
    judge = scripted()
    assert (await score("faithfulness", judge)).value == pytest.approx(2 / 3)
    assert kinds(judge) == ["extract_claims", "verify_claims"]
    await score("faithfulness,batch_size=2", judge := scripted())
    assert kinds(judge) == ["extract_claims", "verify_claims", "verify_claims"]


async def test_each_claim_may_have_a_call_of_its_own() -> None:
    judge = scripted()
    assert (await score("faithfulness,verify=each", judge)).value == pytest.approx(2 / 3)
    assert kinds(judge) == ["extract_claims", *["verify_claims"] * 3]
    assert [q.claims for q in judge.asked[1:] if isinstance(q, VerifyClaims)] == [
        (text,) for text in TEXTS
    ]


async def test_claims_may_be_held_against_the_facts_of_each_context() -> None:
    judge = scripted()
    said = await score("faithfulness,verify=truths,truths_limit=4", judge)
    assert said.value == pytest.approx(2 / 3)
    truths = [q for q in judge.asked if isinstance(q, ExtractTruths)]
    assert truths == [ExtractTruths(context=source, limit=4) for source in SOURCES]
    (verify,) = (q for q in judge.asked if isinstance(q, VerifyClaims))
    assert verify.contexts == tuple(f"Fact: {source}" for source in SOURCES)


async def test_a_quote_from_a_fact_gets_its_place_in_the_context() -> None:
    said = await score("faithfulness,verify=truths", scripted())
    for claim, number in ((said.claims[0], 0), (said.claims[1], 1)):
        (place,) = claim.evidence
        assert (place.context, place.verified) == (number, True)
        assert SOURCES[number][place.start : place.end] == place.quote
    own = scripted(extract_truths=lambda _: ["It is blue, I believe."])
    (place,) = (await score("faithfulness,verify=truths", own)).claims[1].evidence
    assert (place.context, place.verified) == (0, False)
    assert (place.start, place.end) == (None, None)


async def test_where_no_context_states_a_fact_nothing_is_supported_or_asked() -> None:
    judge = scripted(extract_truths=[])
    said = await score("faithfulness,verify=truths", judge)
    assert (said.value, said.detail["not_enough_info"]) == (0, 3)
    assert "verify_claims" not in kinds(judge)


async def test_facts_that_were_not_extracted_are_no_number() -> None:
    judge = scripted(extract_truths=lambda q: NO if "blue" in q.context else ["A fact."])
    said = await score("faithfulness,verify=truths", judge)
    assert (said.state, said.cause) == (State.FAILED, Cause.MALFORMED)


async def test_all_that_was_asked_is_in_the_ledger_when_a_part_of_it_fails() -> None:
    """Else it was paid for, and the row could not be scored again."""

    class FailsFirst(ScriptedJudge):
        async def answer(self, question: Question[T]) -> Reply[T]:
            if isinstance(question, ExtractTruths):
                made = self.answers["extract_truths"]
                if (made(question) if callable(made) else made) is not NO:
                    await asyncio.sleep(0.02)
            return await super().answer(question)

    def last(question: ExtractTruths) -> object:
        return NO if question.context == SOURCES[2] else [question.context]

    for changed in ({"extract_truths": last}, {"extract_claims": NO}):
        judge = FailsFirst({**ANSWERS, **changed})
        row = await row_of("faithfulness:promptfoo-plan,verify=truths", judge)
        assert len(row.exchanges) == len(judge.asked) == 4
        for policy in POLICIES:
            spec = f"faithfulness:{policy},verify=truths"
            again = (await rescore_row(row, [get(spec)])).scores[str(get(spec))]
            made_up = policy in ("promptfoo-plan", "promptfoo")
            assert again.state is (State.SCORED if made_up else State.FAILED), policy


async def test_sentences_may_be_the_claims() -> None:
    judge = scripted(extract_claims=lambda q: [Claim(text=q.response)])
    said = await score("faithfulness,claim_source=sentences", judge)
    assert said.detail.get("note") is None
    assert isinstance(asked := judge.asked[0], ExtractClaims)
    assert asked.by == "sentences"


def extracted(question: ExtractClaims) -> object:
    return [Claim(text=text) for text in TEXTS[:2]] if question.by == "sentences" else NO


async def test_hybrid_takes_the_sentences_where_extraction_failed_and_notes_it() -> None:
    judge = scripted(extract_claims=extracted)
    said = await score("faithfulness,claim_source=hybrid", judge)
    assert (said.value, len(said.claims)) == (1, 2)
    assert said.detail["note"] == "the claims are sentences, because none were extracted: malformed"
    assert kinds(judge) == ["extract_claims", "extract_claims", "verify_claims"]
    fine = await score("faithfulness,claim_source=hybrid", judge := scripted())
    assert "note" not in fine.detail
    assert kinds(judge) == ["extract_claims", "verify_claims"]


async def test_a_note_of_the_judge_stands_beside_it() -> None:
    reply = Reply(tuple(verified(VerifyClaims(claims=TEXTS[:2], contexts=SOURCES))), notes=("hm",))
    judge = scripted(extract_claims=extracted, verify_claims=reply)
    note = (await score("faithfulness,claim_source=hybrid", judge)).detail["note"]
    assert note == "the claims are sentences, because none were extracted: malformed; hm"


async def test_hybrid_notes_it_also_where_there_is_no_number() -> None:
    judge = scripted(extract_claims=extracted, verify_claims=NO)
    said = await score("faithfulness,claim_source=hybrid", judge)
    assert (said.state, "note" in said.detail) == (State.FAILED, True)
    none = scripted(extract_claims=lambda q: () if q.by == "sentences" else NO)
    greeting = SAMPLE.model_copy(update={"response": "Hello!"})
    said = await score("faithfulness,claim_source=hybrid", none, greeting)
    assert (said.state, "note" in said.detail) == (State.UNDEFINED, True)


async def test_a_spent_budget_is_no_matter_for_sentences() -> None:
    spent = Failure(Cause.BUDGET, "spent")
    judge = scripted(extract_claims=lambda q: () if q.by == "sentences" else spent)
    said = await score("faithfulness,claim_source=hybrid", judge)
    assert (said.cause, kinds(judge)) == (Cause.BUDGET, ["extract_claims"])


async def test_a_note_of_the_judge_is_in_the_detail() -> None:
    reply = Reply((Claim(text="It is blue."),), notes=("one sentence was left out",))
    said = await score("faithfulness", scripted(extract_claims=reply))
    assert said.detail["note"] == "one sentence was left out"


async def test_an_explanation_is_a_detail() -> None:
    judge = scripted()
    said = await score("faithfulness,include_reason=true", judge)
    assert said.detail["explanation"] == "Two of three are backed."
    assert judge.asked[-1] == Explain(
        claims=TEXTS,
        labels=(Label.SUPPORTED, Label.SUPPORTED, Label.NOT_ENOUGH_INFO),
        reasons=("said", "said", ""),
    )


async def test_no_explanation_loses_no_score() -> None:
    said = await score("faithfulness,include_reason=true", scripted(explain=NO))
    assert said.value == pytest.approx(2 / 3)
    assert said.detail["explanation"] == "none: nothing readable"


async def test_what_was_not_judged_is_not_explained() -> None:
    for changed in ({"verify_claims": NO}, {"extract_claims": ()}):
        judge = scripted(**changed)
        said = await score("faithfulness,include_reason=true", judge)
        assert "explain" not in kinds(judge)
        assert "explanation" not in said.detail


async def test_partial_is_passed_on() -> None:
    await score("faithfulness,allow_partial=true", judge := scripted())
    assert isinstance(asked := judge.asked[1], VerifyClaims)
    assert asked.partial is True


MODES = (
    "",
    ",verify=each",
    ",verify=truths",
    ",verify=truths,truths_limit=2",
    ",claim_source=sentences",
    ",claim_source=hybrid",
    ",include_reason=true",
    ",allow_partial=true",
    ",batch_size=2",
    ",threshold=0.25",
    ",threshold=1.0,verify=truths,claim_source=hybrid,batch_size=3,truths_limit=9,include_reason=true",
)


@each_case("policy", POLICIES)
@each_case("mode", MODES)
def test_a_metric_is_its_name(policy: str, mode: str) -> None:
    metric = get(f"faithfulness:{policy}{mode}")
    assert isinstance(metric, Faithfulness)
    assert metric.policy == policy
    assert get(str(metric)) == metric
    again = str(get(str(metric)))
    assert again == str(metric)
    assert again.count(",") == mode.count(",")


@each_case("policy", POLICIES)
def test_a_mark_lies_within_the_range_of_its_policy(policy: str) -> None:
    low, high = (-1, 1) if policy == "weighted" else (0, 1)
    for mark in (low, high, 0.5):
        metric = get(f"faithfulness:{policy},threshold={mark:g}")
        assert get(str(metric)) == metric
    for mark in (low - 0.01, high + 0.01, 80):
        with pytest.raises(UsageError) as raised:
            get(f"faithfulness:{policy},threshold={mark:g}")
        assert str(raised.value) == (
            f"threshold={mark:g} is not between {low} and {high}; write 80 percent as 0.8"
        )


@each_case("policy", POLICIES)
def test_a_metric_tells_its_policy(policy: str) -> None:
    assert get(f"faithfulness:{policy}").described.policy == policy
    assert get("hit").described.policy is None


async def test_where_no_facts_were_found_that_is_the_reason() -> None:
    judge = scripted(extract_truths=())
    said = await score("faithfulness,verify=truths", judge)
    assert (said.value, "verify_claims" in kinds(judge)) == (0, False)
    assert {claim.reason for claim in said.claims} == {"no facts were found in the contexts"}


@each_case(
    "said", ["verify=all", "claim_source=words", "batch_size=0", "truths_limit=0",
             "allow_partial=perhaps",
             "threshold=nan", "policy=stern"],
)  # fmt: skip
def test_a_parameter_out_of_its_range_is_refused(said: str) -> None:
    with pytest.raises(UsageError):
        get(f"faithfulness,{said}")


@each_case("mode", MODES)
@each_case("contexts", [SAMPLE.contexts, (), (Context(text=" "),)], ids=["some", "none", "blank"])
async def test_no_policy_asks_what_another_does_not(
    mode: str, contexts: tuple[Context, ...]
) -> None:
    """So a ledger that was made under one can be scored under every other."""
    sample = SAMPLE.model_copy(update={"contexts": contexts})
    rows = {
        policy: await row_of(f"faithfulness:{policy}{mode}", scripted(), sample)
        for policy in POLICIES
    }
    assert len({tuple(each.key for each in row.exchanges) for row in rows.values()}) == 1
    for row in rows.values():
        for policy, own in rows.items():
            metric = get(f"faithfulness:{policy}{mode}")
            again = await rescore_row(replace(row, scores={}), [metric])
            assert list(again.scores) == [str(metric)]
            assert score_of(again) == score_of(own)


async def test_what_was_not_asked_cannot_be_scored() -> None:
    row = await row_of("faithfulness", scripted())
    with pytest.raises(QuestionNotSupportedError, match="extract_truths"):
        await rescore_row(row, [get("faithfulness,verify=truths")])


CLAIMS, VERIFY, TRUTHS, EXPLAIN = "extract_claims", "verify_claims", "extract_truths", "explain"


@pytest.mark.parametrize(
    ("preset", "asked"),
    [
        ("ragas", [CLAIMS, VERIFY]),
        ("deepeval", [CLAIMS, TRUTHS, TRUTHS, TRUTHS, VERIFY, EXPLAIN]),
        ("ragaliq", [CLAIMS, VERIFY, VERIFY, VERIFY]),
        ("promptfoo-plan", [CLAIMS, VERIFY]),
    ],
)
def test_a_preset_asks_what_its_document_names(preset: str, asked: list[str]) -> None:
    judge = scripted()
    around = SplitJudge(judge, context_window=100_000)
    run = evaluate([SAMPLE], metrics="faithfulness", judge=around, preset=preset)
    assert kinds(judge) == asked
    assert run.manifest.plan.policy == PRESETS[preset]["policy"]
    (name,) = run.metrics
    assert name.startswith(f"faithfulness:{preset}")
    assert run.rows[0].scores[name].state is State.SCORED


def test_ragaliq_puts_each_claim_by_itself_and_promptfoos_plan_five() -> None:
    many = [Claim(text=f"Claim {number}.") for number in range(12)]
    for preset, sizes in (("ragaliq", [1] * 12), ("promptfoo-plan", [4, 4, 4])):
        judge = scripted(extract_claims=many)
        around = SplitJudge(judge, context_window=100_000)
        evaluate([SAMPLE], metrics="faithfulness", judge=around, preset=preset)
        assert [len(q.claims) for q in judge.asked if isinstance(q, VerifyClaims)] == sizes


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"verify": "truths"}, "the judge offline does not support extract_truths"),
        ({"config": {"include_reason": True}}, "the judge offline does not support explain"),
        ({"preset": "deepeval"}, "the judge offline does not support extract_truths, explain"),
    ],
)
def test_what_the_offline_judge_cannot_do_is_told_before_the_run(
    options: dict[str, object], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        evaluate([SAMPLE], metrics="faithfulness", **options)  # type: ignore[arg-type]
    sample = SAMPLE.model_copy(update={"ranking": (Context(id="1"),), "relevance": {"1": 1.0}})
    run = evaluate([sample], metrics="all", **options)  # type: ignore[arg-type]
    (why,) = (why for name, why in run.manifest.not_run.items() if name.startswith("faithful"))
    assert told in why


def test_the_offline_judge_takes_sentences_for_claims() -> None:
    for claims in ("sentences", "hybrid", "llm"):
        run = evaluate([SAMPLE], metrics="faithfulness", config={"claim_source": claims})
        (scored,) = run.rows[0].scores.values()
        assert len(scored.claims) == 3


async def test_two_hundred_claims() -> None:
    many = [Claim(text=f"Claim {number}.") for number in range(200)]
    judge = scripted(extract_claims=many)
    said = await asyncio.wait_for(score("faithfulness", judge), 10)
    assert (said.detail["claims"], len(judge.asked)) == (200, 8)


@pytest.mark.parametrize(
    ("name", "spelled"),
    [
        ("faithfulness,include_reason=True", "faithfulness,include_reason=true"),
        ("faithfulness,threshold=1.0", "faithfulness,threshold=1"),
        ("faithfulness,threshold=0.1234567890123456", "faithfulness,threshold=0.1234567890123456"),
    ],
)
def test_a_name_is_spelled_as_people_write_it(name: str, spelled: str) -> None:
    assert str(get(name)) == spelled
    assert get(spelled) == get(name)


SILENT = {"extract_claims": []}  # a judge that finds no claims
ANSWERED = SAMPLE.model_copy(update={"reference": "It lasts 20 hours."})


@each_case(
    "name",
    [
        *("faithfulness:expected", "faithfulness:promptfoo-plan,verify=truths,threshold=0"),
        *("claim_precision", "context_recall", "claim_recall", "hallucination"),
        *("hallucinated_claims", "noise_sensitivity", "answer_correctness"),
    ],
)
async def test_no_claims_in_statements_are_a_failure_of_the_judge(name: str) -> None:
    judged = await score(name, scripted(**SILENT), ANSWERED)
    assert (judged.state, judged.cause) == (State.FAILED, Cause.NO_CLAIMS)
    text = ANSWERED.reference if name.endswith("_recall") else ANSWERED.response
    said = f"no claims in what seems to make statements: {text}"
    assert name == "answer_correctness" or str(judged.reason).endswith(said)


@each_case("policy", POLICIES)
@each_case("response", ["Hello! How can I help you?", "Sure!", "I do not know.", " "])
async def test_no_claims_in_other_responses_are_what_the_policy_says(
    policy: str, response: str
) -> None:
    sample = SAMPLE.model_copy(update={"response": response})
    judged = await score(f"faithfulness:{policy}", scripted(**SILENT), sample)
    ruling = POLICIES[policy].no_claims
    assert (judged.state, judged.value, judged.fallback) == (ruling.state, ruling.value, False)


async def test_hybrid_claims_are_sentences_if_the_judge_finds_none() -> None:
    def asked(question: ExtractClaims) -> list[Claim]:
        return [Claim(text=text) for text in TEXTS if question.by == "sentences"]

    judged = await score("faithfulness,claim_source=hybrid", scripted(extract_claims=asked))
    assert judged.value == pytest.approx(2 / 3)
    assert judged.detail["note"] == (
        "the claims are sentences, because none were extracted: no_claims"
    )


@each_case("name", [*(f"faithfulness:{policy}" for policy in POLICIES), "claim_precision"])
def test_one_answer_with_claims_of_ten_passes_no_gate(name: str) -> None:
    found = [Claim(text="It is blue.")]
    judge = scripted(
        extract_claims=lambda asked: found if "blue" in asked.response else [],
        verify_claims=[Verdict(label=Label.SUPPORTED, confidence=0.9)],
    )
    texts = ["It is blue.", *(f"It lasts {hours} hours." for hours in range(20, 29))]
    rows = [SAMPLE.model_copy(update={"id": f"q{n}", "response": x}) for n, x in enumerate(texts)]
    rows = [row.model_copy(update={"reference": "It is blue."}) for row in rows]
    run = evaluate(rows, metrics=name, judge=judge, fail_under={name: 0.5})
    (summary,) = run.summary().values()
    assert (summary.scored, summary.failed, dict(summary.causes)) == (1, 9, {"no_claims": 9})
    assert "9 of 10 scores" in str(run.troubles)


def verdicts(*given: tuple[Label, float | None]) -> ScriptedJudge:
    """A judge that finds a claim for each label, with that confidence."""
    claims = [{"text": f"Claim {number} is made."} for number in range(len(given))]
    judged = [Verdict(label=label, confidence=confidence) for label, confidence in given]
    return scripted(extract_claims=claims, verify_claims=judged)


BACKED, UNBACKED = Label.SUPPORTED, Label.NOT_ENOUGH_INFO


async def test_a_score_has_the_probability_that_all_claims_are_supported() -> None:
    judge = verdicts((BACKED, 0.9), (UNBACKED, 0.6), (Label.CONTRADICTED, 0.8))
    score = score_of(await row_of("faithfulness", judge))
    assert score.value == pytest.approx(1 / 3)
    assert score.detail["mean_support"] == pytest.approx((0.9 + 0.4 + 0.2) / 3)
    assert score.detail["all_supported"] == pytest.approx(0.9 * 0.4 * 0.2)
    without = score_of(await row_of("faithfulness", verdicts((BACKED, 0.9), (UNBACKED, None))))
    assert not without.detail.keys() & {"mean_support", "all_supported"}


async def test_the_policy_expected_is_the_mean_probability() -> None:
    judge = verdicts((BACKED, 0.9), (UNBACKED, 0.6), (BACKED, 0.5))
    assert score_of(await row_of("faithfulness:expected", judge)).value == pytest.approx(0.6)
    row = await row_of("faithfulness:expected", verdicts((BACKED, 0.9), (UNBACKED, None)))
    assert score_of(row).state is State.UNDEFINED
    assert "needs the judge's confidence in each verdict" in (score_of(row).reason or "")
    nothing = await row_of(
        "faithfulness:expected", judge, SAMPLE.model_copy(update={"contexts": ()})
    )
    assert score_of(nothing).value == 0.0


def test_the_worst_samples_have_the_lowest_score_then_the_lowest_probability() -> None:
    texts = {
        "A 6 hour battery.": "right",
        "A 6 hour battery. It has a red case. It has two doors. It has a blue lamp.": "half right",
        "It has two doors.": "wrong",
        "It has two doors. It has a blue lamp.": "both wrong",
    }
    context = "A 6 hour battery. It has a red case."
    rows = [
        {"id": name, "query": "q", "response": text, "contexts": [context]}
        for text, name in texts.items()
    ]
    run = evaluate(rows, metrics="faithfulness", judge="offline")
    details = {row.sample.id: row.scores["faithfulness"].detail for row in run.rows}
    worst = run.counts.scores["faithfulness"].worst(higher_is_better=True)
    assert [each.sample_id for each in worst] == ["both wrong", "wrong", "half right", "right"]
    assert details["both wrong"]["all_supported"] < details["wrong"]["all_supported"]
    assert details["half right"]["all_supported"] < details["wrong"]["all_supported"]
