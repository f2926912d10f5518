import random
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics import Metric
from ragstone.metrics.citations import CitationPrecision, CitationRecall
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
from ragstone.metrics.registry import get
from ragstone.metrics.responses import AnswerCorrectness
from ragstone.metrics.retrieval import (
    F1,
    MAP,
    MRR,
    NDCG,
    BPref,
    Hit,
    Precision,
    RankingMetric,
    Recall,
    RPrecision,
)
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.policy import POLICIES
from ragstone.types.rankings import Denominator, Rankings
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


documents = st.sampled_from([*"abcdefgh", "ü", "文書", "0", "-"])
lists = st.lists(documents, max_size=12)
grades = st.dictionaries(documents, st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0]), max_size=8)
queries = st.lists(st.tuples(lists, grades), max_size=6)
cutoffs = st.integers(1, 15)
denominators = st.sampled_from(get_args(Denominator))
ranking_metrics: st.SearchStrategy[RankingMetric] = st.one_of(
    st.builds(Hit, k=cutoffs),
    st.builds(Recall, k=cutoffs),
    st.builds(MRR, k=cutoffs),
    st.builds(Precision, k=cutoffs, denominator=denominators),
    st.builds(F1, k=cutoffs, denominator=denominators),
    st.builds(MAP, k=cutoffs),
    st.builds(NDCG, k=cutoffs, gain=st.sampled_from(["linear", "exponential"])),
    st.builds(RPrecision),
    st.builds(BPref),
)
any_metrics: st.SearchStrategy[Metric] = st.one_of(
    ranking_metrics, st.builds(Faithfulness, policy=st.sampled_from(list(POLICIES)))
)


def of(pairs: Sequence[tuple[Sequence[str], Mapping[str, float]]]) -> Rankings:
    return Rankings.of([ids for ids, _ in pairs], [known for _, known in pairs])


def value(metric: RankingMetric, ids: Sequence[str], known: Mapping[str, float]) -> float:
    return float(metric.values(Rankings.of([ids], [known]))[0])


@given(any_metrics)
def test_a_name_reads_back_as_the_metric(metric: Metric) -> None:
    assert get(str(metric)) == metric
    assert str(get(str(metric))) == str(metric)


@given(ranking_metrics, queries)
def test_a_query_does_not_change_another_querys_score(
    metric: RankingMetric, pairs: list[tuple[list[str], dict[str, float]]]
) -> None:
    scores = metric.scores(of(pairs))
    assert scores == [metric.scores(of([pair]))[0] for pair in pairs]
    for score, (ids, known) in zip(scores, pairs, strict=True):
        assert score.value is not None
        assert metric.low <= score.value <= metric.high
        first = score.detail["first_hit_rank"]
        assert (first is None) == (score.detail["hits"] == 0)
        if isinstance(first, int):
            assert known[list(dict.fromkeys(ids))[first - 1]] > 0


@given(ranking_metrics, lists, grades)
def test_nothing_relevant_is_0_and_the_best_order_is_no_worse(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    assert value(metric, ids, dict.fromkeys(known, 0.0)) == 0
    best = sorted(ids, key=lambda document: -max(known.get(document, 0), 0))
    assert value(metric, best, known) >= value(metric, ids, known)
    relevant = sorted((d for d, grade in known.items() if grade > 0), key=lambda d: -known[d])
    if relevant and metric.name in ("ndcg", "r_precision", "bpref"):
        assert value(metric, relevant, known) == 1  # to the last bit


@given(st.sampled_from([Hit, Recall, MRR, MAP]), lists, grades, cutoffs)
def test_looking_deeper_finds_no_less(
    make: type[Hit | Recall | MRR | MAP], ids: list[str], known: dict[str, float], k: int
) -> None:
    assert value(make(k=k + 1), ids, known) >= value(make(k=k), ids, known)


@given(lists, st.dictionaries(documents, st.floats(allow_nan=False, allow_infinity=False)))
def test_no_grade_is_too_high_or_too_low_for_ndcg(ids: list[str], known: dict[str, float]) -> None:
    for metric in (NDCG(k=5), NDCG(k=5, gain="exponential")):
        assert 0 <= value(metric, ids, known) <= 1
