from collections.abc import Sequence

import pytest

import ragstone
from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import Judge, ScriptedJudge, outcome_of
from ragstone.judges.panel import CascadeJudge, PanelJudge
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import ExtractClaims, GradeContexts, VerifyClaims
from ragstone.types.reply import CascadeStats, Failure, JudgeFailureError, PartialVerdict

CONTEXTS = ("The phone weighs 172 grams.",)
CLAIMS = tuple(f"Claim {n}." for n in range(40))


def sure(*confidences: float | None, label: Label = Label.SUPPORTED) -> ScriptedJudge:
    """Return a judge that gives these confidences in turn, for claims by their number."""

    def verdicts(question: VerifyClaims) -> tuple[Verdict, ...]:
        numbers = [int(claim.split()[1].rstrip(".")) for claim in question.claims]
        found = [confidences[number % len(confidences)] for number in numbers]
        return tuple(Verdict(label=label, confidence=each) for each in found)

    return ScriptedJudge({"verify_claims": verdicts}, name="cheap")


def dear(
    label: Label = Label.CONTRADICTED, *, name: str = "dear", **answers: object
) -> ScriptedJudge:
    def verdicts(question: VerifyClaims) -> tuple[Verdict, ...]:
        return tuple(Verdict(label=label) for _ in question.claims)

    return ScriptedJudge({"verify_claims": verdicts, **answers}, name=name)


def question(claims: Sequence[str] = CLAIMS, **fields: object) -> VerifyClaims:
    return VerifyClaims(claims=tuple(claims), contexts=CONTEXTS, **fields)  # type: ignore[arg-type]


async def test_only_what_is_not_sure_goes_up_and_each_verdict_names_its_judge() -> None:
    cheap, above = sure(0.9, 0.7, None), dear()
    judge = CascadeJudge(cheap, above, threshold=0.8, audit_rate=0.0)
    reply = await judge.answer(question(CLAIMS[:3]))
    assert [each.judge for each in reply.value] == ["cheap", "dear", "dear"]
    assert [each.label for each in reply.value] == [
        Label.SUPPORTED, Label.CONTRADICTED, Label.CONTRADICTED
    ]  # fmt: skip
    assert [each.claims for each in above.asked] == [CLAIMS[1:3]]
    assert reply.cascade == CascadeStats(verdicts=3, escalated=2)
    assert reply.usage.calls == 2


async def test_a_confidence_at_the_mark_stays() -> None:
    reply = await CascadeJudge(sure(0.8), dear(), threshold=0.8, audit_rate=0.0).answer(question())
    assert {each.judge for each in reply.value} == {"cheap"}
    assert reply.cascade == CascadeStats(verdicts=40, saved=2)  # two batches of 20 claims


async def test_a_control_share_is_asked_of_both_and_the_same_one_each_time() -> None:
    above = dear()
    judge = CascadeJudge(sure(1.0), above, audit_rate=0.3)
    first, second = [await judge.answer(question()) for _ in range(2)]
    assert first.value == second.value
    told = first.cascade
    assert told is not None
    assert 0 < told.audited < 40
    assert (told.escalated, told.agreed_supported, told.agreed_label) == (0, 0, 0)
    assert [each.judge for each in first.value].count("dear") == told.audited
    backwards = await judge.answer(question(CLAIMS[::-1]))
    assert backwards.value == first.value[::-1]


async def test_agreement_is_counted_by_support_and_by_label() -> None:
    cheap = sure(1.0, label=Label.NOT_ENOUGH_INFO)
    alike = (await CascadeJudge(cheap, dear(), audit_rate=1.0).answer(question())).cascade
    assert alike == CascadeStats(verdicts=40, audited=40, agreed_supported=40, agreed_label=0)
    same = dear(Label.NOT_ENOUGH_INFO)
    told = (await CascadeJudge(cheap, same, audit_rate=1.0).answer(question())).cascade
    assert told == CascadeStats(verdicts=40, audited=40, agreed_supported=40, agreed_label=40)


async def test_what_has_to_go_up_and_is_not_answered_is_failed() -> None:
    broken = ScriptedJudge({"verify_claims": Failure(Cause.TIMEOUT, "slow")}, name="dear")
    judge = CascadeJudge(sure(0.9, 0.1), broken, audit_rate=0.0)
    with pytest.raises(JudgeFailureError) as caught:
        await judge.answer(question(CLAIMS[:2]))
    assert caught.value.failure.cause is Cause.TIMEOUT
    assert caught.value.failure.usage.calls == 1
    assert caught.value.failure.cascade == CascadeStats(unanswered=1)


async def test_claims_that_came_back_unanswered_are_told_beside_the_verdicts() -> None:
    def verdicts(question: VerifyClaims) -> object:
        if "Claim 3." in question.claims:
            return Failure(Cause.TIMEOUT, "slow")
        return tuple(Verdict(label=Label.SUPPORTED) for _ in question.claims)

    above = ScriptedJudge(
        {"verify_claims": verdicts, "extract_claims": lambda each: [{"text": each.response}]},
        name="dear",
    )
    rows = [{"query": "q", "response": f"Claim {n}.", "contexts": list(CONTEXTS)} for n in range(4)]
    judge = CascadeJudge(sure(0.9, 0.1), above, audit_rate=0.0)
    run = ragstone.evaluate(rows, metrics="faithfulness", judge=judge)
    assert run.counts.cascade == CascadeStats(verdicts=3, escalated=1, saved=2, unanswered=1)
    assert run.to_dict()["cascade"]["unanswered"] == 1


async def test_a_panel_tells_what_its_cascades_left_unanswered() -> None:
    broken = ScriptedJudge({"verify_claims": Failure(Cause.TIMEOUT, "slow")}, name="dear")
    cascade = CascadeJudge(sure(0.1), broken, audit_rate=0.0)
    with pytest.raises(JudgeFailureError) as caught:
        await PanelJudge([cascade, cascade]).answer(question(CLAIMS[:2]))
    assert caught.value.failure.cascade == CascadeStats(unanswered=2)
    reply = await PanelJudge([cascade, dear(), dear()]).answer(question(CLAIMS[:2]))
    assert reply.cascade == CascadeStats()


def short(*came: tuple[int | None, Label]) -> ScriptedJudge:
    """Return a dear judge that gives these verdicts, by number, and that is not one a claim."""
    items = tuple(PartialVerdict(n, label.value, Verdict(label=label)) for n, label in came)
    failure = Failure(Cause.COUNT_MISMATCH, "too few or many", items)
    claims = [{"text": text} for text in CLAIMS[:4]]
    return ScriptedJudge({"verify_claims": failure, "extract_claims": claims}, name="dear")


YES, NO = Label.SUPPORTED, Label.CONTRADICTED


@pytest.mark.parametrize(
    ("came", "numbers", "labels"),
    [
        ([(2, NO)], [1, 3, 4], [YES, YES, NO]),
        ([(None, NO)], [1, 2, 3], [YES, NO, YES]),
        ([(1, NO), (2, NO), (3, NO)], [1, 2, 3, 4, 5], [YES, NO, YES, NO, NO]),
        ([], [1, 3], [YES, YES]),
    ],
)
async def test_what_came_is_told_by_the_numbers_of_all_claims(came, numbers, labels) -> None:
    judge = CascadeJudge(sure(0.9, 0.1), short(*came), audit_rate=0.0)
    with pytest.raises(JudgeFailureError) as caught:
        await judge.answer(question(CLAIMS[:4]))
    returned = caught.value.failure.returned
    missing = {2, 4} - set(numbers)
    assert caught.value.failure.cascade == CascadeStats(unanswered=len(missing))
    assert [each.number for each in returned] == numbers
    assert [each.verdict.label for each in returned if each.verdict] == labels
    assert {each.verdict.judge for each in returned if each.verdict} <= {"cheap", "dear"}


@pytest.mark.parametrize(
    ("policy", "value"), [("ragas", 2 / 3), ("promptfoo-plan", 2 / 3), ("promptfoo", 0.5)]
)
def test_a_policy_makes_of_it_what_it_makes_of_one_judges_verdicts(policy, value) -> None:
    rows = [{"query": "q", "response": "r", "contexts": list(CONTEXTS)}]
    judge = CascadeJudge(sure(0.9, 0.1), short((2, NO)), audit_rate=0.0)
    run = ragstone.evaluate(rows, metrics="faithfulness", judge=judge, policy=policy)
    [score] = run.rows[0].scores.values()
    assert score.value == pytest.approx(value)
    assert score.fallback


async def test_nothing_that_came_is_taken_for_what_did_not() -> None:
    broken = ScriptedJudge({"verify_claims": Failure(Cause.TIMEOUT, "slow")}, name="dear")
    with pytest.raises(JudgeFailureError) as caught:
        await CascadeJudge(sure(0.9, 0.1), broken, audit_rate=0.0).answer(question(CLAIMS[:2]))
    assert caught.value.failure.returned == ()


async def test_a_control_that_the_budget_does_not_allow_is_asked_when_the_run_goes_on() -> None:
    spent = ScriptedJudge({"verify_claims": Failure(Cause.BUDGET, "spent")}, name="dear")
    with pytest.raises(JudgeFailureError) as caught:
        await CascadeJudge(sure(1.0), spent, audit_rate=1.0).answer(question())
    assert caught.value.failure.cause is Cause.BUDGET


async def test_a_control_that_is_not_answered_changes_no_verdict() -> None:
    broken = ScriptedJudge({"verify_claims": Failure(Cause.TIMEOUT, "slow")}, name="dear")
    reply = await CascadeJudge(sure(1.0), broken, audit_rate=1.0).answer(question())
    assert {each.judge for each in reply.value} == {"cheap"}
    assert reply.cascade is not None
    assert reply.cascade.audited == 0
    assert reply.notes == ("dear did not answer: timeout: slow",)


async def test_where_the_cheap_judge_does_not_answer_all_goes_up() -> None:
    broken = ScriptedJudge({"verify_claims": Failure(Cause.MALFORMED, "odd")}, name="cheap")
    reply = await CascadeJudge(broken, dear()).answer(question(CLAIMS[:2]))
    assert [each.judge for each in reply.value] == ["dear", "dear"]
    assert reply.cascade == CascadeStats(verdicts=2, escalated=2)


async def test_other_questions_go_to_the_dear_judge_if_it_takes_them() -> None:
    claims = [{"text": "A claim."}]
    cheap = ScriptedJudge({"verify_claims": [], "extract_claims": claims, "grade_contexts": []})
    above = dear(extract_claims=claims)
    judge = CascadeJudge(cheap, above)
    await judge.answer(ExtractClaims(query="q", response="A claim."))
    assert len(above.asked) == 1
    await judge.answer(GradeContexts(query="q", answer="a", contexts=()))
    assert len(cheap.asked) == 1
    assert judge.kinds == {"verify_claims", "extract_claims", "grade_contexts"}
    with pytest.raises(QuestionNotSupportedError):
        await CascadeJudge(sure(1.0), dear()).answer(ExtractClaims(query="q", response="r"))


def test_it_takes_claims_to_verify_only_if_both_do() -> None:
    none = ScriptedJudge({"extract_claims": []})
    assert not CascadeJudge(none, dear()).takes("verify_claims")
    assert CascadeJudge(none, dear()).takes("extract_claims")


def test_its_setup_is_both_and_how_they_share_the_work() -> None:
    def identity(mark: float, *within: str | None) -> str | None:
        both: list[Judge] = [ScriptedJudge({"verify_claims": []}, identity=each) for each in within]
        judge = CascadeJudge(*both, threshold=mark)
        known = judge.identity("verify_claims") is not None
        assert known == (None not in within)  # else nothing may be kept
        return judge.setup("verify_claims")

    assert identity(0.8, None, None) is None
    assert identity(0.8, None, "a") == identity(0.8, None, "a")
    told = [
        identity(0.8, None, "a"), identity(0.9, None, "a"), identity(0.8, None, "b"),
        identity(0.8, "a", None), identity(0.8, "b", None),
    ]  # fmt: skip
    assert None not in told
    assert len(set(told)) == len(told)


async def test_a_panel_adds_up_what_its_cascades_did() -> None:
    other = CascadeJudge(sure(1.0), dear(name="other"), audit_rate=0.0)
    panel = PanelJudge([CascadeJudge(sure(0.1), dear()), other, dear()])
    outcome = await outcome_of(panel, question(CLAIMS[:2]))
    assert not isinstance(outcome, Failure)
    assert outcome.cascade == CascadeStats(verdicts=4, escalated=2, saved=1)


async def test_several_votes_of_one_cascade_are_about_the_same_verdicts() -> None:
    votes = [CascadeJudge(sure(0.1, 0.9), dear(), audit_rate=1.0, threshold=0.5) for _ in range(3)]
    outcome = await outcome_of(PanelJudge(votes), question(CLAIMS[:4]))
    assert not isinstance(outcome, Failure)
    assert outcome.cascade == CascadeStats(verdicts=4, escalated=2, audited=2)


def test_a_run_tells_what_went_up_what_was_saved_and_the_agreement() -> None:
    claims = [{"text": text} for text in CLAIMS[:4]]
    judge = CascadeJudge(sure(0.9, 0.5), dear(extract_claims=claims), audit_rate=1.0)
    rows = [{"query": "q", "response": "r", "contexts": list(CONTEXTS)}]
    run = ragstone.evaluate(rows, metrics="faithfulness", judge=judge)
    assert run.to_dict()["cascade"] == {
        "verdicts": 4, "escalated": 2, "audited": 2, "agreed_supported": 0, "agreed_label": 0,
        "saved": 0, "unanswered": 0,
    }  # fmt: skip
    [row] = run.rows
    assert {claim.judge for claim in row.scores["faithfulness"].claims} == {"dear"}
