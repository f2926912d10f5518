from collections.abc import Mapping, Sequence
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics import Metric
from ragstone.metrics.claims import Faithfulness
from ragstone.metrics.registry import get
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
from ragstone.types.policy import POLICIES
from ragstone.types.rankings import Denominator, Rankings

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
metrics: st.SearchStrategy[Metric] = st.one_of(
    ranking_metrics, st.builds(Faithfulness, policy=st.sampled_from(list(POLICIES)))
)


def of(pairs: Sequence[tuple[Sequence[str], Mapping[str, float]]]) -> Rankings:
    return Rankings.of([ids for ids, _ in pairs], [known for _, known in pairs])


def value(metric: RankingMetric, ids: Sequence[str], known: Mapping[str, float]) -> float:
    return float(metric.values(Rankings.of([ids], [known]))[0])


@given(metrics)
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
