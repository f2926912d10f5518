"""DESIGN's table of policies: one ledger a situation, one test a cell."""

from dataclasses import replace

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, UnknownNameError
from ragstone.evaluation.scoring import rescore_row, score_rows
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.policy import POLICIES, get_policy, preset
from ragstone.types.reply import Failure, PartialVerdict
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score, State

YES, PART, NO, IDK = (
    Label.SUPPORTED,
    Label.PARTIALLY_SUPPORTED,
    Label.CONTRADICTED,
    Label.NOT_ENOUGH_INFO,
)


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="no policy named 'strickt'; did you mean 'strict'"):
        get_policy("strickt")
    with pytest.raises(UnknownNameError, match="no preset named 'deepevil'; did you mean 'deepev"):
        preset("deepevil")


CLAIMS = tuple(Claim(text=f"Claim {number}.") for number in range(1, 5))
FOUR = "Claim 1. Claim 2. Claim 3. Claim 4."
CONTEXTS = (Context(text="What is known."),)
LETTERS = {"y": YES, "p": PART, "n": NO, "i": IDK}


def verdicts(letters: str) -> tuple[Verdict, ...]:
    return tuple(Verdict(label=LETTERS[letter]) for letter in letters)


def broken(cause: Cause, letters: str = "") -> dict[str, object]:
    """Return the replies of a judge whose verdicts failed; the labels it gave, "?" unreadable."""
    returned = tuple(
        PartialVerdict(n, "perhaps", None)
        if letter == "?"
        else PartialVerdict(n, LETTERS[letter], Verdict(label=LETTERS[letter]))
        for n, letter in enumerate(letters, 1)
    )
    return {"extract_claims": CLAIMS, "verify_claims": Failure(cause, "it failed", returned)}


def judged(letters: str) -> dict[str, object]:
    return {"extract_claims": CLAIMS, "verify_claims": verdicts(letters)}


def failed(cause: Cause) -> tuple[State, Cause, bool]:
    return (State.FAILED, cause, False)


def scored(value: float, *, flagged: bool = False) -> tuple[State, float, bool]:
    return (State.SCORED, value, flagged)


def made(value: float) -> tuple[State, float, bool]:
    return scored(value, flagged=True)


def sample(**fields: object) -> Sample:
    return Sample.model_validate({"id": "1", "query": "q", **fields})


ANSWERED = sample(response=FOUR, contexts=CONTEXTS)
ORDER = ("strict", "weighted", "ragas", "deepeval", "ragaliq", "promptfoo-plan", "promptfoo")
HALF, ZERO = made(0.5), made(0.0)
U = (State.UNDEFINED, None, False)
S0, S1 = scored(0.0), scored(1.0)
COUNT, LOST, REFUSED = map(failed, (Cause.COUNT_MISMATCH, Cause.MALFORMED, Cause.REFUSAL))
DOWN = (Cause.UNREACHABLE, Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.TRUNCATED, Cause.BUDGET)

TABLE: dict[str, tuple[Sample, dict[str, object], tuple[object, ...]]] = {
    "response missing": (sample(contexts=CONTEXTS), {}, (U,) * 7),
    "contexts missing": (sample(response=FOUR), {}, (U,) * 7),
    "response empty": (sample(response="", contexts=CONTEXTS), {}, (U, U, U, U, S1, S0, U)),
    "response is white space": (
        sample(response="  \n", contexts=CONTEXTS),
        {},
        (U, U, U, S1, S1, S0, S0),
    ),
    "no claims": (
        sample(response="Sure!", contexts=CONTEXTS),
        {"extract_claims": ()},
        (U, U, U, S1, S1, S0, S0),
    ),
    "no claims in statements": (ANSWERED, {"extract_claims": ()}, (failed(Cause.NO_CLAIMS),) * 7),
    "contexts empty": (
        sample(response=FOUR, contexts=()),
        {"extract_claims": CLAIMS},
        (S0, S0, S0, U, S0, S0, U),
    ),
    "refused": (ANSWERED, broken(Cause.REFUSAL), (*(REFUSED,) * 5, ZERO, ZERO)),
    "refused when claims were asked for": (
        ANSWERED,
        {"extract_claims": Failure(Cause.REFUSAL, "I cannot")},
        (*(REFUSED,) * 5, ZERO, ZERO),
    ),
    **{
        str(cause): (ANSWERED, broken(cause), (*(failed(cause),) * 5, HALF, ZERO)) for cause in DOWN
    },
    "nothing readable": (ANSWERED, broken(Cause.MALFORMED), (*(LOST,) * 5, HALF, ZERO)),
    "one verdict fewer": (
        ANSWERED,
        broken(Cause.COUNT_MISMATCH, "yyn"),
        (COUNT, COUNT, made(2 / 3), made(2 / 3), COUNT, made(2 / 3), made(1 - 2 / 4)),
    ),
    "one verdict more": (
        ANSWERED,
        broken(Cause.COUNT_MISMATCH, "yyniy"),
        (COUNT, COUNT, made(3 / 5), made(4 / 5), COUNT, made(2 / 4), made(1 - 2 / 4)),
    ),
    "no verdict at all": (
        ANSWERED,
        broken(Cause.COUNT_MISMATCH),
        (COUNT, COUNT, U, COUNT, COUNT, HALF, ZERO),
    ),
    "one label unreadable": (
        ANSWERED,
        broken(Cause.MALFORMED, "yyn?"),
        (LOST, LOST, LOST, made(3 / 4), LOST, made(2 / 4), made(2 / 4)),
    ),
    "every label": (
        ANSWERED,
        judged("ypni"),
        (scored(0.25), scored(0.125), scored(0.25), scored(0.75), *(scored(0.25),) * 3),
    ),
    "all supported": (ANSWERED, judged("yyyy"), (S1,) * 7),
    "all contradicted": (ANSWERED, judged("nnnn"), (S0, scored(-1.0), *(S0,) * 5)),
}
CELLS = [
    (situation, policy, cell)
    for situation, (_, _, cells) in TABLE.items()
    for policy, cell in zip(ORDER, cells, strict=True)
]
QUESTIONS = judged("yyyy")


def told(score: Score) -> tuple[object, ...]:
    said = score.cause if score.state is State.FAILED else score.value
    return (score.state, said if said is None else pytest.approx(said), score.fallback)


async def row_of(situation: str, policy: str, mark: str = "") -> Row:
    sample, script, _ = TABLE[situation]
    metrics = [get(f"faithfulness:{policy}{mark}")]
    judge = ScriptedJudge({**QUESTIONS, **script})
    async with score_rows([Row(0, sample)], metrics, judge, concurrency=1) as rows:
        return await anext(rows)


def score_of(row: Row) -> Score:
    """Return the row's only score, without its latency."""
    return next(iter(row.scores.values())).model_copy(update={"latency_ms": None})


def test_the_table_has_every_policy() -> None:
    assert {*ORDER, "expected"} == set(POLICIES), "expected differs from strict in one number only"


@each_case(("situation", "policy", "cell"), CELLS)
async def test_a_cell(situation: str, policy: str, cell: tuple[object, ...]) -> None:
    assert told(score_of(await row_of(situation, policy))) == cell


@each_case("situation", TABLE)
@each_case("made_under", ["strict", "promptfoo-plan"])
async def test_a_ledger_made_under_one_policy_rescores_to_any_other(
    situation: str, made_under: str
) -> None:
    row = await row_of(situation, made_under)
    for policy in ORDER:
        metric = get(f"faithfulness:{policy}")
        again = await rescore_row(replace(row, scores={}), [metric])
        own = score_of(await row_of(situation, policy))
        assert list(again.scores) == [str(metric)]
        assert score_of(again) == own
        assert again.exchanges == row.exchanges


@each_case("situation", TABLE)
async def test_what_is_asked_does_not_depend_on_the_policy(situation: str) -> None:
    asked = {
        tuple(exchange.key for exchange in (await row_of(situation, policy)).exchanges)
        for policy in ORDER
    }
    assert len(asked) == 1


@each_case("situation", TABLE)
async def test_a_flagged_score_never_passes_nor_does_nothing_under_promptfoo_plan(
    situation: str,
) -> None:
    for policy in ORDER:
        score = score_of(await row_of(situation, policy, ",threshold=0"))
        empty = policy == "promptfoo-plan" and not score.claims
        if score.state is State.SCORED and (score.fallback or empty):
            assert score.passed is False, (policy, score)


async def test_each_policy_has_its_documents_mark() -> None:
    for policy, mark in zip(ORDER, (None, None, None, 0.5, 0.7, 0.5, 0.0), strict=True):
        score = score_of(await row_of("all supported", policy))
        assert score.threshold == mark, policy
        assert score.passed is (None if mark is None else True)


async def test_a_score_is_told_against_its_mark() -> None:
    reached = score_of(await row_of("every label", "deepeval", ",threshold=0.5"))
    assert (reached.passed, reached.reason) == (True, "Faithfulness 0.75 is >= 0.5")
    missed = score_of(await row_of("every label", "ragaliq", ",threshold=0.5"))
    assert (missed.passed, missed.reason) == (False, "Faithfulness 0.25 is < 0.5")


async def test_a_pass_allows_for_inexact_sums() -> None:
    score = score_of(await row_of("one verdict more", "ragas", ",threshold=0.6"))
    assert score.value == pytest.approx(0.6)
    exact = score_of(await row_of("every label", "strict", ",threshold=0.2500000000001"))
    assert exact.passed is True


async def test_weighted_declares_its_range() -> None:
    assert get("faithfulness:weighted").range == (-1.0, 1.0)
    assert get("faithfulness").range == (0.0, 1.0)
    assert get("faithfulness:weighted").described.low == -1.0


async def test_no_policy_makes_up_a_half_but_the_one_whose_document_does() -> None:
    for situation, (_, _, cells) in TABLE.items():
        for policy, cell in zip(ORDER, cells, strict=True):
            if cell == HALF and not score_of(await row_of(situation, policy)).claims:
                assert policy == "promptfoo-plan", situation
