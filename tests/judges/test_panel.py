import asyncio
from pathlib import Path
from typing import Self

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.base import Judge, RouterJudge, ScriptedJudge
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
        ("SSS", S, 1.0, "0 says S"),
        ("CSS", S, 2 / 3, "1 says S"),
        ("SC", N, 0.0, "the judges disagree: 1 SUPPORTED, 1 CONTRADICTED"),
        ("SN", N, 0.5, "the judges disagree: 1 SUPPORTED, 1 NOT_ENOUGH_INFO"),
        ("NCS", N, 1 / 3, "the judges disagree: 1 SUPPORTED, 1 CONTRADICTED, 1 NOT_ENOUGH_INFO"),
        ("CPPSC", N, 0.0,
         "the judges disagree: 1 SUPPORTED, 2 PARTIALLY_SUPPORTED, 2 CONTRADICTED"),
        ("SCCN", C, 0.5, "1 says C"),
        ("NNC", N, 2 / 3, "0 says N"),
    ],
)  # fmt: skip
async def test_the_label_with_the_most_votes_counts(
    votes: str, label: str, confidence: float, reason: str
) -> None:
    panel = PanelJudge([voter(vote, name=str(n)) for n, vote in enumerate(votes)])
    reply = await panel.answer(verify(1))
    assert reply.value == (Verdict(label=Label(label), reason=reason, confidence=confidence),)
    assert reply.usage == Usage(calls=len(votes))
    assert reply.notes == ()


async def test_each_claim_is_voted_on_by_itself() -> None:
    reply = await PanelJudge([voter("SCN"), voter("SSC"), voter("CCC")]).answer(verify(3))
    assert [verdict.label.value for verdict in reply.value] == [S, C, C]


async def test_notes_and_raw_replies_say_whose_they_are() -> None:
    def judge(name: str, raw: str | None) -> ScriptedJudge:
        reply = Reply((Verdict(label=Label.SUPPORTED),), Usage(calls=2), ("re-asked",), raw, 2)
        return ScriptedJudge({"verify_claims": reply}, name=name)

    reply = await PanelJudge([judge("a", "{A}"), judge("b", None)]).answer(verify(1))
    assert reply.notes == ("judge 1 (a): re-asked", "judge 2 (b): re-asked")
    assert (reply.raw, reply.attempts) == ("judge 1 (a):\n{A}", 4)


async def test_more_than_half_of_the_panel_decides() -> None:
    reply = await PanelJudge([voter("S"), failing(), voter("S")]).answer(verify(1))
    assert (reply.value[0].label, reply.value[0].confidence) == (Label.SUPPORTED, 1.0)
    assert reply.notes == ("judge 2 (late) did not answer: timeout: too late",)
    assert reply.usage == Usage(calls=5, retries=2)


async def test_one_members_verdicts_are_not_the_panels_nor_counted_as_none() -> None:
    came = PartialVerdict(1, S, Verdict(label=Label.SUPPORTED))
    short = Failure(Cause.COUNT_MISMATCH, "one for two", (came,), raw="{}")
    with pytest.raises(JudgeFailureError) as raised:
        await PanelJudge([failing(short), failing(short)]).answer(verify(2))
    assert (raised.value.cause, raised.value.failure.returned) == (Cause.MALFORMED, ())


@pytest.mark.parametrize("policy", ["ragas", "deepeval", "strict"])
def test_a_panel_that_miscounts_is_failed_and_not_left_out(policy: str) -> None:
    came = PartialVerdict(1, S, Verdict(label=Label.SUPPORTED))
    short = Failure(Cause.COUNT_MISMATCH, "one for two", (came,))
    answers = {"verify_claims": short, "extract_claims": [{"text": "a"}, {"text": "b"}]}
    panel = PanelJudge([ScriptedJudge(answers), ScriptedJudge(answers)])
    rows = [{"query": "q", "response": "r", "contexts": ["c"]}]
    run = ragstone.evaluate(rows, metrics="faithfulness", judge=panel, policy=policy)
    [score] = run.rows[0].scores.values()
    assert score.state is State.FAILED


GRADE = GradeContexts(query="q", answer="a", contexts=("c", "d"))


def grader(*relevant: bool, name: str = "a") -> ScriptedJudge:
    grades = [{"relevant": each, "reason": f"{name} says so"} for each in relevant]
    return ScriptedJudge({"grade_contexts": grades}, name=name)


async def test_contexts_are_voted_on_by_number_and_a_tie_is_told() -> None:
    reply = await PanelJudge([grader(True, True), grader(True, False, name="b")]).answer(GRADE)
    assert [grade.relevant for grade in reply.value] == [True, False]
    assert [grade.reason for grade in reply.value] == [
        "a says so",
        "the judges disagree: 1 relevant, 1 not",
    ]
    assert reply.notes == ("the judges disagree on text 2; treated as not relevant",)
    assert reply.usage == Usage(calls=2)


async def test_a_grader_that_fails_has_no_vote() -> None:
    late = ScriptedJudge({"grade_contexts": LATE}, name="late")
    panel = PanelJudge([grader(True, False), late, grader(True, False)])
    reply = await panel.answer(GRADE)
    assert [grade.relevant for grade in reply.value] == [True, False]
    assert reply.notes == ("judge 2 (late) did not answer: timeout: too late",)
    with pytest.raises(JudgeFailureError, match="1 of the panel's 2 judges"):
        await PanelJudge([grader(True, True), late]).answer(GRADE)


async def test_abstentions_and_ratings_are_voted_on_too() -> None:
    def judge(abstains: bool, level: int) -> ScriptedJudge:
        said = {"detect_abstention": abstains, "rate_response": Rating(level=level)}
        return ScriptedJudge(said)

    panel = PanelJudge([judge(True, 5), judge(True, 1), judge(False, 4)])
    assert (await panel.answer(DetectAbstention(query="q", response="r"))).value is True
    levels = tuple((level, "so") for level in (1, 2, 4, 5))
    asked = RateResponse(criteria="c", levels=levels, query="q", response="r")
    reply = await panel.answer(asked)
    assert (reply.value.level, reply.usage) == (4, Usage(calls=3))
    assert reply.notes == ("the judges differ by 3 levels: 1, 4, 5",)


async def test_the_majority_finds_an_answer() -> None:
    for votes, found in (("YYN", True), ("YNN", False), ("YN", False)):
        said = [FoundAnswer(found=vote == "Y", answer=vote) for vote in votes]
        panel = PanelJudge([ScriptedJudge({"find_answer": each}) for each in said])
        reply = await panel.answer(FindAnswer(query="q", contexts=("c",)))
        assert (reply.value.found, len(reply.notes)) == (found, votes == "YN")
        assert reply.value.split == (votes == "YN")


async def test_queries_are_guessed_by_one() -> None:
    said = GeneratedQueries(queries=("q",), noncommittal=False)
    first, second = (ScriptedJudge({"generate_queries": said}) for _ in "ab")
    await PanelJudge([first, second]).answer(GenerateQueries(response="r", count=1))
    assert (len(first.asked), len(second.asked)) == (1, 0)


@pytest.mark.parametrize("answering", [0, 1])
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
    panel = PanelJudge([failing(), first, second])
    reply = await panel.answer(EXTRACT)
    assert [claim.text for claim in reply.value] == ["It is blue."]
    assert (first.asked, second.asked) == ([EXTRACT], [])
    assert reply.notes == ("judge 1 (late) did not answer: timeout: too late",)
    assert reply.usage == Usage(calls=4, retries=2)


async def test_where_nobody_answers_the_first_failure_is_told() -> None:
    refused = Failure(Cause.REFUSAL, "no", usage=Usage(calls=1))
    with pytest.raises(JudgeFailureError, match=r"2 of the panel's 2 judges.*too late") as raised:
        await PanelJudge([failing(), failing(refused)]).answer(EXTRACT)
    assert raised.value.cause is Cause.TIMEOUT
    assert raised.value.failure.usage.calls == 4


async def test_a_failure_without_details_is_one_too() -> None:
    def refuse(_: object) -> object:
        raise JudgeError(Cause.REFUSAL, "no")

    short = ScriptedJudge({"verify_claims": refuse}, name="short")
    reply = await PanelJudge([short, voter("S"), voter("S")]).answer(verify(1))
    assert reply.notes == ("judge 1 (short) did not answer: refusal: no",)


async def test_all_are_asked_at_once() -> None:
    slow = [ScriptedJudge({"verify_claims": [{"label": S}]}, seconds=60) for _ in range(3)]
    asking = asyncio.create_task(PanelJudge(slow).answer(verify(1)))
    await asyncio.sleep(0.01)
    assert [judge.under_way for judge in slow] == [1, 1, 1]
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [judge.under_way for judge in slow] == [0, 0, 0]


async def test_what_stops_the_run_comes_through_and_ends_the_other_calls() -> None:
    def reject(_: object) -> object:
        raise UsageError("the key was rejected")

    slow = ScriptedJudge({"verify_claims": [{"label": S}]}, seconds=60)
    with pytest.raises(UsageError, match="the key was rejected"):
        await PanelJudge([slow, ScriptedJudge({"verify_claims": reject})]).answer(verify(1))
    assert slow.under_way == 0


async def test_a_panel_takes_what_all_its_judges_take() -> None:
    both, one = failing(), voter("S")
    everything = ScriptedJudge({})
    everything.kinds = None
    panel = PanelJudge([both, everything, one])
    assert panel.kinds == {"verify_claims"}
    assert not panel.takes("extract_claims")
    assert PanelJudge([everything]).kinds is None
    with pytest.raises(QuestionNotSupportedError):
        await PanelJudge([one]).answer(EXTRACT)


def test_it_is_named_for_its_judges_and_keeps_no_replies_of_its_own() -> None:
    panel = PanelJudge([voter("S", "x:1"), voter("S", "x:1"), voter("S", "y:2")])
    assert panel.name == "2*x:1,y:2"
    assert panel.description.startswith("a panel of 3;")
    assert panel.identity("verify_claims") is None


def test_a_member_without_identity_hides_no_other_set_up_and_lets_nothing_be_kept() -> None:
    def panel(*within: str | None) -> PanelJudge:
        return PanelJudge([ScriptedJudge({"verify_claims": []}, identity=each) for each in within])

    def setup(*within: str | None) -> str | None:
        return RouterJudge({}, CachedJudge(panel(*within), Path("x"))).setup("verify_claims")

    assert setup(None, "a") == setup(None, "a")
    assert len({setup(None, "a"), setup(None, "b"), setup(None, None)}) == 3
    assert panel(None, "a").identity("verify_claims") is None
    assert panel("b", "a").identity("verify_claims") is not None


def test_replies_are_kept_by_the_members_identities_not_their_set_up() -> None:
    class Recorded(ScriptedJudge):
        def setup(self, kind: str) -> str:
            return f"recorded {kind}"

    one, other = (PanelJudge([Recorded({}, identity=name)]) for name in "ab")
    assert one.identity("verify_claims") == '["a"]'
    assert other.identity("verify_claims") == '["b"]'
    assert one.setup("verify_claims") == other.setup("verify_claims")


def test_a_panel_of_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match="no judges"):
        PanelJudge([])


ABSTAIN = DetectAbstention(query="q", response="r")
GRADE_OF_VOTES = GradeSentences(query="q", sentences=("s",))


@each_case(
    ("votes", "relevant", "reason"),
    [
        ("Y", True, "0"),
        ("YYN", True, "0"),
        ("NYY", True, "1"),
        ("YNN", False, "1"),
        ("YN", False, "the judges disagree: 1 relevant, 1 not"),
        ("YNNY", False, "the judges disagree: 2 relevant, 2 not"),
    ],
)
def test_most_grades_count_and_a_tie_is_not_relevant(
    votes: str, relevant: bool, reason: str
) -> None:
    values = [(Grade(relevant=vote == "Y", reason=str(n)),) for n, vote in enumerate(votes)]
    value, notes = tally(GRADE_OF_VOTES, values)
    assert value == (Grade(relevant=relevant, reason=reason),)
    tied = "disagree" in reason
    assert notes == (("the judges disagree on text 1; treated as not relevant",) if tied else ())


@each_case(
    ("votes", "abstains", "tied"),
    [
        ([True], True, False),
        ([True, False], False, True),
        ([True, True, False], True, False),
        ([True, False, False], False, False),
        ([True, False, True, False], False, True),
    ],
)
def test_a_tie_is_no_abstention(votes: list[bool], abstains: bool, tied: bool) -> None:
    value, notes = tally(ABSTAIN, votes)
    assert (value, bool(notes)) == (abstains, tied)


@each_case(
    ("levels", "median", "note"),
    [
        ([3], 3, None),
        ([1, 3], 1, "the judges differ by 1 level: 1, 3; treated as 1"),
        ([3, 3, 5], 3, None),
        ([9, 1], 1, "the judges differ by 3 levels: 1, 9; treated as 1"),
        ([3, 5, 5, 9], 5, "the judges differ by 2 levels: 3, 5, 5, 9"),
        ([3, 3, 9], 3, "the judges differ by 2 levels: 3, 3, 9"),
        ([9, 1, 3], 3, "the judges differ by 3 levels: 1, 3, 9"),
        ([5, 5, 9, 9], 5, "the judges differ by 1 level: 5, 5, 9, 9; treated as 5"),
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


def test_the_two_ends_of_a_scale_of_two_levels_are_no_agreement() -> None:
    question = RateResponse(criteria="c", levels=((1, "bad"), (5, "good")), query="q", response="r")
    value, notes = tally(question, [Rating(level=5), Rating(level=1)])
    assert value.level == 1
    assert notes == ("the judges differ by 1 level: 1, 5; treated as 1",)


class Door(ScriptedJudge):
    """Writes down when it is opened and closed; does not open if it is stuck."""

    def __init__(self, name: str, seen: list[str], *, stuck: bool = False) -> None:
        super().__init__({}, name=name)
        self.tags = frozenset({name})
        self.seen, self.stuck = seen, stuck

    async def __aenter__(self) -> Self:
        if self.stuck:
            raise UsageError(f"{self.name} is stuck")
        self.seen.append(f"+{self.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.seen.append(f"-{self.name}")


def panel(*judges: Judge) -> Judge:
    return PanelJudge(judges)


def route(default: Judge, *others: Judge) -> Judge:
    return RouterJudge({f"kind {n}": judge for n, judge in enumerate(others)}, default)


@pytest.mark.parametrize("around", [panel, route])
async def test_each_judge_is_opened_and_closed_once(around: type[Judge]) -> None:
    seen: list[str] = []
    a, b = Door("a", seen), Door("b", seen)
    judge = around(a, b, a)
    for _ in range(2):
        seen.clear()
        async with judge:
            assert seen == ["+a", "+b"]
        assert seen == ["+a", "+b", "-b", "-a"]
    assert judge.tags == {"a", "b"}


@pytest.mark.parametrize("around", [panel, route])
async def test_where_one_cannot_be_opened_none_is_left_open(around: type[Judge]) -> None:
    seen: list[str] = []
    with pytest.raises(UsageError, match="b is stuck"):
        async with around(Door("a", seen), Door("b", seen, stuck=True), Door("c", seen)):
            pass
    assert seen == ["+a", "-a"]
