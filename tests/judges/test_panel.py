from pathlib import Path
from typing import Self

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.base import RouterJudge, ScriptedJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.panel import PanelJudge, tally
from ragstone.types.claim import FoundAnswer, GeneratedQueries, Grade, Label, Rating, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    ExtractClaims,
    FindAnswer,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict, Reply, Usage
from ragstone.types.score import State

EXTRACT = ExtractClaims(query="q", response="It is blue.")
CLAIMS = [{"text": "It is blue."}]
S, P, C, N = (label.value for label in Label)
SHORT = {"S": S, "P": P, "C": C, "N": N}
LATE = Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=3, retries=2))


def verify(claims: int) -> VerifyClaims:
    texts = tuple(f"claim {n}" for n in range(claims))
    return VerifyClaims(claims=texts, contexts=("Blue.",), partial=True)


def voter(votes: str, name: str = "a") -> ScriptedJudge:
    verdicts = [{"label": SHORT[vote], "reason": f"{name} says {vote}"} for vote in votes]
    return ScriptedJudge({"verify_claims": verdicts}, name=name)


def failing(failure: Failure = LATE, name: str = "late") -> ScriptedJudge:
    return ScriptedJudge({"verify_claims": failure, "extract_claims": failure}, name=name)


@each_case(
    ("votes", "label", "confidence", "reason"),
    [
        ("S", S, 1.0, "0 says S"),
        ("CSS", S, 2 / 3, "1 says S"),
        ("SC", N, 0.0, "the judges disagree: 1 SUPPORTED, 1 CONTRADICTED"),
        ("NCS", N, 1 / 3, "the judges disagree: 1 SUPPORTED, 1 CONTRADICTED, 1 NOT_ENOUGH_INFO"),
        ("CPPSC", N, 0.0,
         "the judges disagree: 1 SUPPORTED, 2 PARTIALLY_SUPPORTED, 2 CONTRADICTED"),
        ("SCCN", C, 0.5, "1 says C"),
    ],
)  # fmt: skip
async def test_the_label_with_the_most_votes_counts(votes, label, confidence, reason) -> None:
    panel = PanelJudge([voter(vote, name=str(n)) for n, vote in enumerate(votes)])
    reply = await panel.answer(verify(1))
    assert reply.value == (Verdict(label=Label(label), reason=reason, confidence=confidence),)
    assert reply.usage == Usage(calls=len(votes))
    assert reply.notes == ()


async def test_notes_and_raw_replies_say_whose_they_are() -> None:
    def judge(name: str, raw: str | None) -> ScriptedJudge:
        reply = Reply((Verdict(label=Label.SUPPORTED),), Usage(calls=2), ("re-asked",), raw, 2)
        return ScriptedJudge({"verify_claims": reply}, name=name)

    reply = await PanelJudge([judge("a", "{A}"), judge("b", None)]).answer(verify(1))
    assert reply.notes == ("judge 1 (a): re-asked", "judge 2 (b): re-asked")
    assert (reply.raw, reply.attempts) == ("judge 1 (a):\n{A}", 4)


async def test_more_than_half_of_the_panel_decides() -> None:
    def refuse(_: object) -> object:
        raise JudgeError(Cause.REFUSAL, "no")

    short = ScriptedJudge({"verify_claims": refuse}, name="short")
    members = [voter("SC"), failing(), voter("SC"), short, voter("CC")]
    reply = await PanelJudge(members).answer(verify(2))
    assert [(each.label, each.confidence) for each in reply.value] == [(S, 2 / 3), (C, 1.0)]
    assert reply.notes == (
        "judge 2 (late) did not answer: timeout: too late",
        "judge 4 (short) did not answer: refusal: no",
    )
    assert reply.usage == Usage(calls=7, retries=2)


@each_case("policy", ["ragas", "deepeval", "strict"])
def test_a_panel_that_miscounts_is_failed_and_not_left_out(policy: str) -> None:
    came = PartialVerdict(1, S, Verdict(label=Label.SUPPORTED))
    short = Failure(Cause.COUNT_MISMATCH, "one for two", (came,))
    answers = {"verify_claims": short, "extract_claims": [{"text": "a"}, {"text": "b"}]}
    panel = PanelJudge([ScriptedJudge(answers), ScriptedJudge(answers)])
    rows = [{"query": "q", "response": "r", "contexts": ["c"]}]
    run = ragstone.evaluate(rows, metrics="faithfulness", judge=panel, policy=policy)
    [score] = run.rows[0].scores.values()
    assert (score.state, score.cause) == (State.FAILED, Cause.MALFORMED)


async def test_other_questions_are_voted_on_too() -> None:
    def judge(*relevant: bool) -> ScriptedJudge:
        queries = GeneratedQueries(queries=("q",), noncommittal=False)
        grades = [{"relevant": each} for each in relevant]
        return ScriptedJudge({"grade_contexts": grades, "generate_queries": queries})

    late = ScriptedJudge({"grade_contexts": LATE}, name="late")
    grade = GradeContexts(query="q", answer="a", contexts=("c", "d"))
    reply = await PanelJudge([judge(True, False), late, judge(True, True)]).answer(grade)
    assert [each.relevant for each in reply.value] == [True, False]
    assert reply.notes == (
        "judge 2 (late) did not answer: timeout: too late",
        "the judges disagree on text 2; treated as not relevant",
    )
    with pytest.raises(JudgeFailureError, match="1 of the panel's 2 judges"):
        await PanelJudge([judge(True, True), late]).answer(grade)
    members = [judge(), judge()]
    await PanelJudge(members).answer(GenerateQueries(response="r", count=1))
    assert [len(each.asked) for each in members] == [1, 0], "queries are guessed by one"


@each_case("answering", [0, 1])
async def test_half_of_it_does_not(answering: int) -> None:
    members = [*[voter("S")] * answering, *[failing()] * (2 - answering)]
    with pytest.raises(JudgeFailureError) as raised:
        await PanelJudge(members).answer(verify(1))
    failure = raised.value.failure
    assert failure.cause is Cause.TIMEOUT
    assert failure.message == (
        f"{2 - answering} of the panel's 2 judges did not answer; "
        f"judge {answering + 1} (late): too late"
    )
    assert failure.usage.calls == answering + 3 * (2 - answering)


async def test_claims_are_extracted_by_the_first_that_answers() -> None:
    first, second = (ScriptedJudge({"extract_claims": CLAIMS}, name=name) for name in "ab")
    reply = await PanelJudge([failing(), first, second]).answer(EXTRACT)
    assert [claim.text for claim in reply.value] == ["It is blue."]
    assert (first.asked, second.asked) == ([EXTRACT], [])
    assert reply.notes == ("judge 1 (late) did not answer: timeout: too late",)
    assert reply.usage == Usage(calls=4, retries=2)
    with pytest.raises(JudgeFailureError, match=r"2 of the panel's 2 judges.*too late"):
        await PanelJudge([failing(), failing()]).answer(EXTRACT)


async def test_all_are_asked_at_once_and_what_stops_the_run_ends_the_other_calls() -> None:
    slow = [ScriptedJudge({"verify_claims": [{"label": S}]}, seconds=60) for _ in range(2)]
    under_way: list[int] = []

    def reject(_: object) -> object:
        under_way.extend(judge.under_way for judge in slow)
        raise UsageError("the key was rejected")

    panel = PanelJudge([*slow, ScriptedJudge({"verify_claims": reject}, seconds=0.01)])
    with pytest.raises(UsageError, match="the key was rejected"):
        await panel.answer(verify(1))
    assert (under_way, [judge.under_way for judge in slow]) == ([1, 1], [0, 0])


async def test_a_panel_takes_what_all_its_judges_take() -> None:
    both, one = failing(name="x:1"), voter("S", "x:1")
    everything = ScriptedJudge({}, name="y:2")
    everything.kinds = None
    panel = PanelJudge([both, everything, one])
    assert (panel.kinds, panel.name) == ({"verify_claims"}, "2*x:1,y:2")
    assert panel.description.startswith("a panel of 3;")
    assert not panel.takes("extract_claims")
    assert PanelJudge([everything]).kinds is None
    with pytest.raises(QuestionNotSupportedError):
        await PanelJudge([one]).answer(EXTRACT)
    with pytest.raises(UsageError, match="no judges"):
        PanelJudge([])


def test_a_member_without_identity_hides_no_other_set_up_and_lets_nothing_be_kept() -> None:
    def panel(*within: str | None) -> PanelJudge:
        return PanelJudge([ScriptedJudge({"verify_claims": []}, identity=each) for each in within])

    def setup(*within: str | None) -> str | None:
        return RouterJudge({}, CachedJudge(panel(*within), Path("x"))).setup("verify_claims")

    assert setup(None, "a") == setup(None, "a")
    assert len({setup(None, "a"), setup(None, "b"), setup(None, None)}) == 3
    assert panel(None, "a").identity("verify_claims") is None
    assert panel("b", "a").identity("verify_claims") is not None


TIE = "the judges disagree on text 1; treated as not relevant"


@each_case(
    ("votes", "most", "reason"),
    [
        *(("Y", True, "0"), ("YYN", True, "0"), ("NYY", True, "1"), ("YNN", False, "1")),
        ("YN", False, "the judges disagree: 1 relevant, 1 not"),
        ("YNNY", False, "the judges disagree: 2 relevant, 2 not"),
    ],
)
def test_of_yes_and_no_the_most_count_and_a_tie_is_no_and_told(votes: str, most: bool, reason: str):
    tied = "disagree" in reason
    said = [vote == "Y" for vote in votes]
    grades = [(Grade(relevant=each, reason=str(n)),) for n, each in enumerate(said)]
    value, notes = tally(GradeSentences(query="q", sentences=("s",)), grades)
    assert value == (Grade(relevant=most, reason=reason),)
    assert notes == ((TIE,) if tied else ())
    value, notes = tally(DetectAbstention(query="q", response="r"), said)
    assert (value, len(notes)) == (most, tied)
    answers = [FoundAnswer(found=each, answer="a") for each in said]
    value, notes = tally(FindAnswer(query="q", contexts=("c",)), answers)
    assert (value.found, value.split, len(notes)) == (most, tied, tied)


@each_case(
    ("levels", "median", "note"),
    [
        ([1, 3], 1, "the judges differ by 1 level: 1, 3; treated as 1"),
        ([3, 5, 5, 9], 5, "the judges differ by 2 levels: 3, 5, 5, 9"),
        ([9, 1, 3], 3, "the judges differ by 3 levels: 1, 3, 9"),
    ],
)
def test_of_levels_the_lower_median_counts_and_two_medians_or_steps_apart_are_told(
    levels: list[int], median: int, note: str | None
) -> None:
    scale = tuple((level, "so") for level in (9, 5, 3, 1))
    question = RateResponse(criteria="c", levels=scale, query="q", response="r")
    value, notes = tally(question, [Rating(level=each, reason=str(each)) for each in levels])
    assert value == Rating(level=median, reason=str(median))
    assert notes == ((note,) if note else ())


class Door(ScriptedJudge):
    opened = 0

    async def __aenter__(self) -> Self:
        self.opened += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.opened -= 1


async def test_each_judge_is_opened_and_closed_once() -> None:
    a, b = Door({}), Door({})
    a.tags, b.tags = frozenset("a"), frozenset("b")
    for around in (PanelJudge([a, b, a]), RouterJudge({"kind": b, "other": a}, a)):
        assert around.tags == {"a", "b"}
        async with around:
            assert (a.opened, b.opened) == (1, 1)
        assert (a.opened, b.opened) == (0, 0)
