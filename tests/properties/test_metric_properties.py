import random
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics.citations import (
    CitationPrecision,
    CitationRecall,
)
from ragstone.metrics.claim_checks import (
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    CheckMetric,
    JudgedClaims,
)
from ragstone.metrics.claims import (
    Faithfulness,
    HallucinatedClaims,
    Hallucination,
    NoiseSensitivity,
)
from ragstone.metrics.responses import AnswerCorrectness
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.policy import POLICIES
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score, State

CONTEXTS = tuple(Context(text=text, id=text) for text in ("one", "two", "three"))
CITING = "Claim 0 [1]. Claim 1 [2, 3]. Claim 2 [4][1]. Claim 3. Claim 4 [two]."
SAMPLE = Sample(id="1", query="q", response=CITING, contexts=CONTEXTS)

quotes = st.builds(
    Evidence, context=st.integers(0, 2), quote=st.just("..."), verified=st.booleans()
)
verdicts = st.builds(
    Verdict, label=st.sampled_from(Label), evidence=st.lists(quotes, max_size=2).map(tuple)
)


Pair = tuple[JudgedClaims, JudgedClaims]


def rows(least: int = 0) -> st.SearchStrategy[Pair]:
    """Two rows of verdicts on the same claims."""

    def both(n: int) -> st.SearchStrategy[Pair]:
        row = st.lists(verdicts, min_size=n, max_size=n).map(judged)
        return st.tuples(row, row)

    return st.integers(least, 5).flatmap(both)


def judged(said: list[Verdict]) -> JudgedClaims:
    return tuple(
        JudgedClaim.of(Claim(text=f"Claim {number}"), verdict)
        for number, verdict in enumerate(said)
    )


def turned(row: JudgedClaims, at: int) -> JudgedClaims:
    """The same verdicts, the one at that place SUPPORTED."""
    better = row[at].model_copy(update={"label": Label.SUPPORTED})
    return (*row[:at], better, *row[at + 1 :])


CHECKS = (
    *(RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE),
    *(REFERENCE_IN_RESPONSE, REFERENCE_IN_CONTEXTS),
)
METRICS: tuple[CheckMetric, ...] = (
    *(AnswerCorrectness(), Hallucination(), HallucinatedClaims()),
    *(NoiseSensitivity(contexts=kind) for kind in ("any", "relevant", "irrelevant")),
    *(CitationRecall(), CitationPrecision()),
)


def scores(four: Iterable[JudgedClaims]) -> dict[str, Score]:
    """The scores of all metrics by what the four checks found."""
    made = dict(zip(CHECKS, four, strict=True))
    return {
        str(metric): metric.compute(SAMPLE, *(made[check] for check in metric.active_checks))
        for metric in METRICS
    }


@given(rows(), rows(), st.randoms())
def test_a_number_is_within_its_range_whatever_the_order_of_claims_and_else_has_a_reason(
    of_response: Pair, of_reference: Pair, chance: random.Random
) -> None:
    found = scores((*of_response, *of_reference))
    for score in found.values():
        if score.value is None:
            assert (score.state, bool(score.reason)) == (State.UNDEFINED, True)
        else:
            assert 0 <= score.value <= 1
    assert scores((*shuffled(of_response, chance), *shuffled(of_reference, chance))) == found


def shuffled(checks: Pair, chance: random.Random) -> list[JudgedClaims]:
    places = list(range(len(checks[0])))
    chance.shuffle(places)
    return [tuple(row[place] for place in places) for row in checks]


@given(
    st.lists(verdicts, min_size=1, max_size=6).map(judged),
    st.data(),
    st.sampled_from([name for name, policy in POLICIES.items() if not policy.probable]),
)
def test_one_claim_more_that_is_supported_makes_no_claim_metric_worse(
    row: JudgedClaims, data: st.DataObject, policy: str
) -> None:
    at = data.draw(st.integers(0, len(row) - 1))
    scorer = Faithfulness(policy=policy)
    before, after = scorer.score_verdicts(row).value, scorer.score_verdicts(turned(row, at)).value
    assert before is not None
    assert after is not None
    assert after >= before - 1e-12
    assert scorer.range[0] - 1e-12 <= after <= scorer.range[1] + 1e-12


@given(rows(1), rows(1), st.data())
def test_nor_does_it_make_any_of_several_checks_worse(
    of_response: Pair, of_reference: Pair, data: st.DataObject
) -> None:
    """What counts both for and against, such as noise, is not among these."""
    (a, b), (c, _) = of_response, of_reference
    i = data.draw(st.integers(0, len(a) - 1))
    j = data.draw(st.integers(0, len(c) - 1))
    correct, made_up, citing = AnswerCorrectness(), HallucinatedClaims(), CitationRecall()
    assert up(correct.compute(SAMPLE, b, c), correct.compute(SAMPLE, turned(b, i), c))
    assert up(correct.compute(SAMPLE, b, c), correct.compute(SAMPLE, b, turned(c, j)))
    assert up(made_up.compute(SAMPLE, turned(a, i), b), made_up.compute(SAMPLE, a, b))
    assert up(made_up.compute(SAMPLE, a, turned(b, i)), made_up.compute(SAMPLE, a, b))
    assert up(citing.compute(SAMPLE, a), citing.compute(SAMPLE, turned(a, i)))
    noise = NoiseSensitivity()
    assert up(noise.compute(SAMPLE, a, turned(b, i)), noise.compute(SAMPLE, a, b))


def up(less: Score, more: Score) -> bool:
    return less.value is None or more.value is None or more.value >= less.value - 1e-12


@given(rows(1), rows(1))
def test_noise_and_hallucination_are_disjoint(of_response: Pair, of_reference: Pair) -> None:
    """A wrong claim is in the contexts or not; and noise has a place or has none."""
    (a, b), (_, d) = of_response, of_reference
    noise = NoiseSensitivity().compute(SAMPLE, a, b)
    made_up = HallucinatedClaims().compute(SAMPLE, a, b)
    correct = sum(claim.label is Label.SUPPORTED for claim in b)
    assert int_of(noise, len(a)) + int_of(made_up, len(a)) + correct == len(a)
    kinds = [NoiseSensitivity(contexts="relevant"), NoiseSensitivity(contexts="irrelevant")]
    placed = sum(int_of(kind.compute(SAMPLE, a, b, d), len(a)) for kind in kinds)
    assert placed + int(noise.detail["unplaced"] or 0) == int_of(noise, len(a))


def int_of(score: Score, claims: int) -> int:
    assert score.value is not None
    return round(score.value * claims)
