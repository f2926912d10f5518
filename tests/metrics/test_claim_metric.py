import asyncio
from collections.abc import Mapping

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, QuestionNotSupportedError, UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.evaluation.scoring import rescore_row, score_rows
from ragstone.judges.base import ScriptedJudge
from ragstone.judges.batching import SplitJudge
from ragstone.metrics import get
from ragstone.metrics.claims import Faithfulness
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.policy import POLICIES, PRESETS, UNDEFINED, get_policy
from ragstone.types.questions import (
    Explain,
    ExtractClaims,
    ExtractTruths,
    Question,
    T,
    VerifyClaims,
)
from ragstone.types.reply import Failure, PartialVerdict, Reply
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
            quote = context[at : at + 5]
            place = Evidence(context=number, start=at, end=at + 5, quote=quote, verified=True)
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


@each_case(
    ("spec", "calls"),
    [
        ("faithfulness", [TEXTS]),
        ("faithfulness,batch_size=2", [TEXTS[:1], TEXTS[1:]]),
        ("faithfulness,verify=each", [(text,) for text in TEXTS]),
    ],
)
async def test_claims_are_verified_after_extraction_together_or_each(
    spec: str, calls: list[tuple[str, ...]]
) -> None:
    judge = scripted()
    assert (await score(spec, judge)).value == pytest.approx(2 / 3)
    assert kinds(judge) == ["extract_claims", *["verify_claims"] * len(calls)]
    assert [q.claims for q in judge.asked if isinstance(q, VerifyClaims)] == calls


async def test_options_are_passed_on_and_a_note_of_the_judge_is_kept() -> None:
    noted = Reply((Claim(text="It is blue."),), notes=("one sentence was left out",))
    judge = scripted(extract_claims=noted)
    said = await score("faithfulness,claim_source=sentences,allow_partial=true", judge)
    assert said.detail["note"] == "one sentence was left out"
    extract, verify = judge.asked
    assert isinstance(extract, ExtractClaims)
    assert isinstance(verify, VerifyClaims)
    assert (extract.by, verify.partial) == ("sentences", True)


async def test_claims_may_be_held_against_the_facts_of_each_context() -> None:
    judge = scripted()
    said = await score("faithfulness,verify=truths,truths_limit=4", judge)
    assert said.value == pytest.approx(2 / 3)
    truths = [q for q in judge.asked if isinstance(q, ExtractTruths)]
    assert truths == [ExtractTruths(context=source, limit=4) for source in SOURCES]
    (verify,) = (q for q in judge.asked if isinstance(q, VerifyClaims))
    assert verify.contexts == tuple(f"Fact: {source}" for source in SOURCES)
    for claim, number in ((said.claims[0], 0), (said.claims[1], 1)):
        (place,) = claim.evidence  # in the context, not in the fact
        assert (place.context, place.verified) == (number, True)
        assert SOURCES[number][place.start : place.end] == place.quote
    own = scripted(extract_truths=lambda _: ["It is blue, I believe."])
    (place,) = (await score("faithfulness,verify=truths", own)).claims[1].evidence
    assert (place.context, place.verified, place.start, place.end) == (0, False, None, None)


async def test_all_that_was_asked_is_in_the_ledger_when_a_part_of_it_fails() -> None:
    """Else it was paid for, and the row could not be scored again."""

    class FailsFirst(ScriptedJudge):
        async def answer(self, question: Question[T]) -> Reply[T]:
            if isinstance(question, ExtractTruths) and question.context != SOURCES[2]:
                await asyncio.sleep(0.02)
            return await super().answer(question)

    def last(question: ExtractTruths) -> object:
        return NO if question.context == SOURCES[2] else [question.context]

    for changed in ({"extract_truths": last}, {"extract_claims": NO}):
        judge = FailsFirst({**ANSWERS, **changed})
        row = await row_of("faithfulness:promptfoo-plan,verify=truths", judge)
        assert len(row.exchanges) == len(judge.asked) == 4
        for policy, state in (("strict", State.FAILED), ("promptfoo-plan", State.SCORED)):
            metric = get(f"faithfulness:{policy},verify=truths")
            assert (await rescore_row(row, [metric])).scores[str(metric)].state is state


HYBRID = "faithfulness,claim_source=hybrid"


def extracted(question: ExtractClaims) -> object:
    return [Claim(text=text) for text in TEXTS[:2]] if question.by == "sentences" else NO


async def test_hybrid_takes_the_sentences_where_extraction_failed_and_notes_it() -> None:
    because = "the claims are sentences, because none were extracted"
    judge = scripted(extract_claims=extracted)
    said = await score(HYBRID, judge)
    assert (said.value, len(said.claims), said.detail["note"]) == (1, 2, f"{because}: malformed")
    assert kinds(judge) == ["extract_claims", "extract_claims", "verify_claims"]
    fine = await score(HYBRID, judge := scripted())
    assert "note" not in fine.detail
    assert kinds(judge) == ["extract_claims", "verify_claims"]
    silent = scripted(extract_claims=lambda q: extracted(q) if q.by == "sentences" else [])
    assert (await score(HYBRID, silent)).detail["note"] == f"{because}: no_claims"
    failing = await score(HYBRID, scripted(extract_claims=extracted, verify_claims=NO))
    assert (failing.state, "note" in failing.detail) == (State.FAILED, True)
    spent = scripted(extract_claims=Failure(Cause.BUDGET, "spent"))
    assert (await score(HYBRID, spent)).cause is Cause.BUDGET
    assert kinds(spent) == ["extract_claims"]


async def test_an_explanation_is_a_detail_and_without_one_no_score_is_lost() -> None:
    spec = "faithfulness,include_reason=true"
    judge = scripted()
    assert (await score(spec, judge)).detail["explanation"] == "Two of three are backed."
    assert judge.asked[-1] == Explain(
        claims=TEXTS,
        labels=(Label.SUPPORTED, Label.SUPPORTED, Label.NOT_ENOUGH_INFO),
        reasons=("said", "said", ""),
    )
    said = await score(spec, scripted(explain=NO))
    assert said.value == pytest.approx(2 / 3)
    assert said.detail["explanation"] == "none: nothing readable"
    for changed in ({"verify_claims": NO}, {"extract_claims": ()}):
        judge = scripted(**changed)
        assert "explanation" not in (await score(spec, judge)).detail
        assert "explain" not in kinds(judge)


@each_case(
    ("said", "spelled"),
    [
        ("", ""),
        (",verify=truths,truths_limit=2", ",verify=truths,truths_limit=2"),
        (",batch_size=3,claim_source=hybrid", ",claim_source=hybrid,batch_size=3"),
        (",include_reason=True,allow_partial=true", ",allow_partial=true,include_reason=true"),
        (",threshold=1.0", ",threshold=1"),
        (",threshold=0.1234567890123456", ",threshold=0.1234567890123456"),
    ],
)
def test_a_metric_is_its_name_as_people_write_it(said: str, spelled: str) -> None:
    for policy in POLICIES:
        metric = get(f"faithfulness:{policy}{said}")
        assert isinstance(metric, Faithfulness)
        assert metric.policy == policy
        assert str(metric) == f"faithfulness{'' if policy == 'strict' else f':{policy}'}{spelled}"
        assert get(str(metric)) == metric


async def test_where_no_facts_were_found_that_is_the_reason() -> None:
    judge = scripted(extract_truths=())
    said = await score("faithfulness,verify=truths", judge)
    assert (said.value, "verify_claims" in kinds(judge)) == (0, False)
    assert {claim.reason for claim in said.claims} == {"no facts were found in the contexts"}
    broken = scripted(extract_truths=lambda q: NO if "blue" in q.context else ["A fact."])
    assert (await score("faithfulness,verify=truths", broken)).cause is Cause.MALFORMED


WRONG = (
    "verify=all claim_source=words batch_size=0 truths_limit=0 allow_partial=perhaps threshold=nan"
)


@each_case("said", WRONG.split())
def test_a_parameter_out_of_its_range_is_refused(said: str) -> None:
    with pytest.raises(UsageError):
        get(f"faithfulness,{said}")


def test_a_mark_lies_within_the_range_of_its_policy() -> None:
    assert str(get("faithfulness:weighted,threshold=-1")) == "faithfulness:weighted,threshold=-1"
    for mark in ("-0.01", "1.01", "80"):
        told = f"threshold={mark} is not between 0 and 1; write 80 percent as 0.8"
        with pytest.raises(UsageError, match=told):
            get(f"faithfulness,threshold={mark}")


async def test_what_was_not_asked_cannot_be_scored() -> None:
    row = await row_of("faithfulness", scripted())
    with pytest.raises(QuestionNotSupportedError, match="extract_truths"):
        await rescore_row(row, [get("faithfulness,verify=truths")])


CLAIMS, VERIFY, TRUTHS, EXPLAIN = "extract_claims", "verify_claims", "extract_truths", "explain"


@each_case(
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


def test_what_the_offline_judge_cannot_do_is_told_before_the_run() -> None:
    told = "the judge offline does not support extract_truths, explain"
    with pytest.raises(UsageError, match=told):
        evaluate([SAMPLE], metrics="faithfulness", preset="deepeval")
    sample = SAMPLE.model_copy(update={"ranking": (Context(id="1"),), "relevance": {"1": 1.0}})
    run = evaluate([sample], metrics="all", preset="deepeval")
    (why,) = (why for name, why in run.manifest.not_run.items() if name.startswith("faithful"))
    assert told in why


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


@each_case("name", ["faithfulness", "faithfulness:promptfoo-plan", "claim_precision"])
def test_one_answer_with_claims_of_ten_passes_no_gate(name: str) -> None:
    judge = scripted(
        extract_claims=lambda q: [Claim(text="It is blue.")] if "blue" in q.response else [],
        verify_claims=[Verdict(label=Label.SUPPORTED)],
    )
    texts = ["It is blue.", *(f"It lasts {hours} hours." for hours in range(20, 29))]
    rows = [ANSWERED.model_copy(update={"id": f"q{n}", "response": x}) for n, x in enumerate(texts)]
    run = evaluate(rows, metrics=name, judge=judge, fail_under={name: 0.5})
    (summary,) = run.summary().values()
    assert (summary.scored, dict(summary.causes)) == (1, {"no_claims": 9})
    assert "9 of 10 scores" in str(run.troubles)


def verdicts(*given: tuple[Label, float | None]) -> ScriptedJudge:
    """A judge that finds a claim for each label, with that confidence."""
    claims = [{"text": f"Claim {number} is made."} for number in range(len(given))]
    judged = [Verdict(label=label, confidence=confidence) for label, confidence in given]
    return scripted(extract_claims=claims, verify_claims=judged)


BACKED, UNBACKED = Label.SUPPORTED, Label.NOT_ENOUGH_INFO


async def test_a_score_has_the_probability_that_all_claims_are_supported() -> None:
    judge = verdicts((BACKED, 0.9), (UNBACKED, 0.6), (Label.CONTRADICTED, 0.8))
    said = await score("faithfulness", judge)
    assert said.value == pytest.approx(1 / 3)
    assert said.detail["mean_support"] == pytest.approx((0.9 + 0.4 + 0.2) / 3)
    assert said.detail["all_supported"] == pytest.approx(0.9 * 0.4 * 0.2)
    without = await score("faithfulness", verdicts((BACKED, 0.9), (UNBACKED, None)))
    assert not without.detail.keys() & {"mean_support", "all_supported"}


async def test_the_policy_expected_is_the_mean_probability() -> None:
    judge = verdicts((BACKED, 0.9), (UNBACKED, 0.6), (BACKED, 0.5))
    assert (await score("faithfulness:expected", judge)).value == pytest.approx(0.6)
    unsure = await score("faithfulness:expected", verdicts((BACKED, 0.9), (UNBACKED, None)))
    assert unsure.state is State.UNDEFINED
    assert "needs the judge's confidence in each verdict" in (unsure.reason or "")
    bare = SAMPLE.model_copy(update={"contexts": ()})
    assert (await score("faithfulness:expected", judge, bare)).value == 0.0


# What a policy makes of verdicts that came, and of what did not come.

THREE = tuple(Claim(text=f"Claim {number}.") for number in (1, 2, 3))
YES, PART, REFUTED = (
    Verdict(label=label)
    for label in (Label.SUPPORTED, Label.PARTIALLY_SUPPORTED, Label.CONTRADICTED)
)


def scorer(policy: str = "strict", mark: float | None = None) -> Faithfulness:
    return Faithfulness(policy=policy, threshold=mark)


def partial(policy: str, failure: Failure, mark: float | None = None) -> Score:
    return scorer(policy, mark).score_partial(failure, THREE)


def judged_as(*verdicts: Verdict) -> list[JudgedClaim]:
    return [JudgedClaim.of(claim, each) for claim, each in zip(THREE, verdicts, strict=False)]


def mismatch(*items: PartialVerdict) -> Failure:
    return Failure(Cause.COUNT_MISMATCH, "not one verdict a claim", items)


def came(verdict: Verdict, number: int | None = None) -> PartialVerdict:
    return PartialVerdict(number, str(verdict.label), verdict)


def test_the_detail_counts_claims_labels_and_quotes_that_stand_in_no_context() -> None:
    score = scorer("ragaliq", 0.0).score_verdicts(judged_as(YES, REFUTED, REFUTED))
    assert score.detail == {"claims": 3, "supported": 1, "contradicted": 2, "not_enough_info": 0}
    assert (score.passed, score.reason) == (True, "Faithfulness 0.33 is >= 0")
    assert "partially_supported" in scorer().score_verdicts(judged_as(YES, PART)).detail
    made_up = Evidence(context=0, quote="never said", verified=False)
    found = Evidence(context=0, start=0, end=4, quote="said", verified=True)
    shaky = YES.model_copy(update={"evidence": (made_up, found, made_up)})
    assert scorer().score_verdicts(judged_as(shaky, YES)).detail["quotes_not_found"] == 2


def test_what_is_flagged_never_passes_and_says_why() -> None:
    score = partial("ragas", mismatch(came(YES)), 0.5)
    assert (score.value, score.passed, score.fallback) == (1.0, False, True)
    assert score.reason == (
        "Faithfulness 1.00 is >= 0.5, but does not pass; flagged: not one verdict a claim"
    )
    assert score.detail["claims"] == 3
    bare = partial("ragas", mismatch(came(YES)))
    assert (bare.passed, bare.reason) == (None, "flagged: not one verdict a claim")


def test_a_verdict_is_on_the_claim_it_names_else_on_that_of_its_place() -> None:
    score = partial("ragas", mismatch(came(YES, 3), came(REFUTED), came(YES, 9), came(REFUTED, 0)))
    lost = [f"(no claim has the number {number})" for number in (9, 4)]
    assert [claim.text for claim in score.claims] == ["Claim 3.", "Claim 2.", *lost]


def test_a_label_that_cannot_be_read_is_shown_as_written() -> None:
    items = (came(YES, 1), PartialVerdict(2, "perhaps", None), came(YES, 3))
    failure = Failure(Cause.MALFORMED, "'perhaps' is not a label", items)
    score = partial("deepeval", failure)
    assert (score.value, score.fallback) == (1.0, True)
    assert score.claims[1].label is Label.NOT_ENOUGH_INFO
    assert score.claims[1].reason == "the label 'perhaps' cannot be read"
    strict = partial("strict", failure)
    assert (strict.state, strict.reason) == (State.FAILED, "'perhaps' is not a label")
    broken_off = Failure(Cause.TIMEOUT, "too late", (came(YES, 1), came(YES, 2), came(YES, 3)))
    for policy in ("strict", "ragas", "deepeval", "ragaliq"):
        assert partial(policy, broken_off).cause is Cause.TIMEOUT


def test_a_ruling_is_told_with_its_reason() -> None:
    def ruled(policy: str, mark: float | None = None) -> Score:
        return scorer(policy, mark).score_outcome(get_policy(policy).no_claims, "no claims")

    assert scorer().score_outcome(UNDEFINED, "no claims").reason == "no claims"
    one = ruled("ragaliq")
    assert (one.value, one.passed, one.detail) == (1.0, True, {"why": "no claims"})
    never = ruled("promptfoo-plan", 0.0)
    assert (never.value, never.passed, never.fallback) == (0.0, False, False)
    assert never.reason == "Faithfulness 0.00 is >= 0, but does not pass: no statements (no claims)"
    below = ruled("promptfoo-plan")
    assert not below.passed
    assert below.reason == "Faithfulness 0.00 is < 0.5: no statements (no claims)"
    unanswered = get_policy("promptfoo-plan").unanswered
    half = scorer("promptfoo-plan").score_outcome(unanswered, "too late")
    assert (half.value, half.passed) == (0.5, False)
    assert half.reason == "Faithfulness 0.50 is >= 0.5, but does not pass; flagged: too late"
