from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.metrics.claims import Faithfulness
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.policy import UNDEFINED, get_policy
from ragstone.types.reply import Failure, PartialVerdict
from ragstone.types.score import Score, State

CLAIMS = tuple(Claim(text=f"Claim {number}.") for number in (1, 2, 3))
YES, PART, NO = (
    Verdict(label=label)
    for label in (Label.SUPPORTED, Label.PARTIALLY_SUPPORTED, Label.CONTRADICTED)
)


def scorer(policy: str = "strict", mark: float | None = None) -> Faithfulness:
    return Faithfulness(policy=policy, threshold=mark)


def partial(policy: str, failure: Failure, mark: float | None = None) -> Score:
    return scorer(policy, mark).score_partial(failure, CLAIMS)


def judged(*verdicts: Verdict) -> list[JudgedClaim]:
    return [JudgedClaim.of(claim, each) for claim, each in zip(CLAIMS, verdicts, strict=False)]


def mismatch(*items: PartialVerdict) -> Failure:
    return Failure(Cause.COUNT_MISMATCH, "not one verdict a claim", items)


def came(verdict: Verdict, number: int | None = None) -> PartialVerdict:
    return PartialVerdict(number, str(verdict.label), verdict)


def test_the_detail_counts_claims_labels_and_quotes_that_stand_in_no_context() -> None:
    score = scorer().score_verdicts(judged(YES, NO, NO))
    assert score.detail == {"claims": 3, "supported": 1, "contradicted": 2, "not_enough_info": 0}
    assert "partially_supported" in scorer().score_verdicts(judged(YES, PART)).detail
    made_up = Evidence(context=0, quote="never said", verified=False)
    found = Evidence(context=0, start=0, end=4, quote="said", verified=True)
    shaky = YES.model_copy(update={"evidence": (made_up, found, made_up)})
    assert scorer().score_verdicts(judged(shaky, YES)).detail["quotes_not_found"] == 2


@each_case(
    ("policy", "mark", "told"),
    [
        ("strict", None, (None, None, None)),
        ("strict", 0.5, (0.5, True, "Faithfulness 0.67 is >= 0.5")),
        ("strict", 2 / 3, (2 / 3, True, "Faithfulness 0.67 is >= 0.666667")),
        ("ragaliq", None, (0.7, False, "Faithfulness 0.67 is < 0.7")),
        ("ragaliq", 0.0, (0.0, True, "Faithfulness 0.67 is >= 0")),
    ],
)
def test_a_mark_of_ones_own_goes_before_the_policys(
    policy: str, mark: float | None, told: tuple[object, ...]
) -> None:
    score = scorer(policy, mark).score_verdicts(judged(YES, YES, NO))
    assert (score.threshold, score.passed, score.reason) == told


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
    score = partial("ragas", mismatch(came(YES, 3), came(NO), came(YES, 9), came(NO, 0)))
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
