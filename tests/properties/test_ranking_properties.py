from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
import pytest
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
from ragstone.types.rankings import Denominator, Rankings, ratio

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


@given(metrics, cutoffs)
def test_defaults_do_not_change_a_name_that_says_all(metric: Metric, k: int) -> None:
    if hasattr(metric, "k"):
        assert get(str(metric), k=k, policy="strict") == metric


@given(ranking_metrics, queries)
def test_values_are_one_a_query_and_within_the_range(
    metric: RankingMetric, pairs: list[tuple[list[str], dict[str, float]]]
) -> None:
    values = metric.values(of(pairs))
    assert values.shape == (len(pairs),)
    assert values.dtype == np.float64
    assert ((values >= metric.low) & (values <= metric.high)).all()


@given(ranking_metrics, queries)
def test_a_query_does_not_change_another_querys_value(
    metric: RankingMetric, pairs: list[tuple[list[str], dict[str, float]]]
) -> None:
    scores = metric.scores(of(pairs))
    assert scores == [metric.scores(of([pair]))[0] for pair in pairs]


@given(ranking_metrics, lists, grades)
def test_later_copies_change_nothing(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    assert value(metric, ids + ids, known) == value(metric, ids, known)
    assert value(metric, list(dict.fromkeys(ids)), known) == value(metric, ids, known)


@given(ranking_metrics, lists, grades)
def test_what_is_below_k_changes_nothing(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    unique = list(dict.fromkeys(ids))
    cut = unique[: getattr(metric, "k", None)]
    assert value(metric, cut, known) == value(metric, unique, known)


@given(ranking_metrics.filter(lambda metric: metric.name != "ndcg"), lists, grades)
def test_the_size_of_a_positive_grade_changes_nothing_but_ndcg(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    flat = {document: 1.0 if grade > 0 else grade for document, grade in known.items()}
    assert value(metric, ids, flat) == value(metric, ids, known)


@given(ranking_metrics, lists, grades)
def test_nothing_relevant_is_0_and_the_best_order_is_no_worse(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    assert value(metric, ids, dict.fromkeys(known, 0.0)) == 0
    best = sorted(ids, key=lambda document: -max(known.get(document, 0), 0))
    assert value(metric, best, known) >= value(metric, ids, known)


@pytest.mark.parametrize("make", [Hit, Recall, MRR, MAP])
@given(ids=lists, known=grades, k=cutoffs)
def test_looking_deeper_finds_no_less(
    make: type[Hit | Recall | MRR | MAP], ids: list[str], known: dict[str, float], k: int
) -> None:
    assert value(make(k=k + 1), ids, known) >= value(make(k=k), ids, known)


@given(lists, grades, cutoffs)
def test_the_metrics_are_tied_to_one_another(
    ids: list[str], known: dict[str, float], k: int
) -> None:
    hit, recall, mrr = (value(make(k=k), ids, known) for make in (Hit, Recall, MRR))
    precision = value(Precision(k=k), ids, known)
    returned = value(Precision(k=k, denominator="retrieved"), ids, known)
    f1 = value(F1(k=k), ids, known)
    assert (hit == 1) == (recall > 0) == (mrr > 0) == (precision > 0) == (returned > 0) == (f1 > 0)
    assert returned >= precision
    assert min(precision, recall) - 1e-12 <= f1 <= max(precision, recall) + 1e-12
    assert precision * k == pytest.approx(recall * sum(grade > 0 for grade in known.values()))


@given(ranking_metrics, grades)
def test_all_that_is_relevant_best_first_is_1_to_the_last_bit(
    metric: RankingMetric, known: dict[str, float]
) -> None:
    best = sorted((d for d, grade in known.items() if grade > 0), key=lambda d: -known[d])
    if best and metric.name in ("ndcg", "r_precision", "bpref"):
        assert value(metric, best, known) == 1
    if best:
        assert value(MAP(k=len(best)), best, known) == 1


@given(lists, grades, cutoffs)
def test_the_later_metrics_are_tied_to_the_first(
    ids: list[str], known: dict[str, float], k: int
) -> None:
    relevant = {document: grade for document, grade in known.items() if grade > 0}
    assert value(MAP(k=k), ids, known) <= value(Recall(k=k), ids, known) + 1e-12
    assert value(RPrecision(), ids, known) == (
        value(Recall(k=len(relevant)), ids, known) if relevant else 0
    )
    whole = value(Recall(k=12), ids, known)
    assert value(BPref(), ids, relevant) == pytest.approx(whole)
    assert value(BPref(), ids, known) <= whole + 1e-12


@given(lists, st.dictionaries(documents, st.floats(allow_nan=False, allow_infinity=False)))
def test_no_grade_is_too_high_or_too_low_for_ndcg(ids: list[str], known: dict[str, float]) -> None:
    for metric in (NDCG(k=5), NDCG(k=5, gain="exponential")):
        assert 0 <= value(metric, ids, known) <= 1


@given(ranking_metrics, lists, grades)
def test_details_agree_with_one_another(
    metric: RankingMetric, ids: list[str], known: dict[str, float]
) -> None:
    detail = metric.scores(Rankings.of([ids], [known]))[0].detail
    hits, retrieved, first = detail["hits"], detail["retrieved"], detail["first_hit_rank"]
    assert isinstance(hits, int)
    assert isinstance(retrieved, int)
    assert hits <= min(retrieved, detail["relevant"])  # type: ignore[type-var]
    assert (first is None) == (hits == 0)
    if isinstance(first, int):
        assert known[list(dict.fromkeys(ids))[first - 1]] > 0


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), max_size=10))
def test_a_ratio_is_always_a_number(pairs: list[tuple[float, float]]) -> None:
    part = np.array([min(pair) for pair in pairs])
    whole = np.array([max(pair) for pair in pairs])
    shares = ratio(part, whole)
    assert ((shares >= 0) & (shares <= 1)).all()
