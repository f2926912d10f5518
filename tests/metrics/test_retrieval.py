from math import log2

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.metrics import get
from ragstone.metrics.retrieval import (
    F1,
    MRR,
    Hit,
    Precision,
    RankingMetric,
    Recall,
    RPrecision,
)
from ragstone.types.rankings import Rankings
from ragstone.types.score import Score

# Five queries, best first; relevant are a and b wherever they are known.
#   q1  x a y   a at rank 2
#   q2  a b x   a at rank 1
#   q3  x y z   none
#   q4  (none)  nothing came back
#   q5  a b     nothing is relevant
RANKINGS = Rankings.of(
    ["x a y".split(), "a b x".split(), "x y z".split(), [], "a b".split()],
    [{"a": 1, "b": 1}] * 4 + [{"a": 0.0, "b": -1}],
)


@each_case(
    ("name", "values"),
    [
        ("hit@1", [0, 1, 0, 0, 0]),
        ("hit@2", [1, 1, 0, 0, 0]),
        ("recall@1", [0, 1 / 2, 0, 0, 0]),
        ("recall@99", [1 / 2, 1, 0, 0, 0]),
        ("precision@2", [1 / 2, 1, 0, 0, 0]),
        ("precision@5", [1 / 5, 2 / 5, 0, 0, 0]),
        ("precision@5,denominator=retrieved", [1 / 3, 2 / 3, 0, 0, 0]),
        ("f1@2", [1 / 2, 1, 0, 0, 0]),
        ("f1@5,denominator=retrieved", [2 / 5, 4 / 5, 0, 0, 0]),
        ("mrr@1", [0, 1, 0, 0, 0]),
        ("mrr@3", [1 / 2, 1, 0, 0, 0]),
        ("map@1", [0, 1 / 2, 0, 0, 0]),
        ("map@3", [1 / 4, 1, 0, 0, 0]),
        ("ndcg@2", [(1 / log2(3)) / (1 + 1 / log2(3)), 1, 0, 0, 0]),
        ("r_precision", [1 / 2, 1, 0, 0, 0]),
        ("bpref", [1 / 2, 1, 0, 0, 0]),
    ],
)
def test_the_worked_examples(name: str, values: list[float]) -> None:
    """Of more rankings, tests/golden/test_trec_eval.py has the values."""
    metric = get(name)
    assert isinstance(metric, RankingMetric)
    assert metric.values(RANKINGS).tolist() == pytest.approx(values, abs=1e-12)


@each_case(
    ("name", "ids", "known", "value"),
    [
        ("hit@1", "a", {"a": 0.01}, 1),
        ("recall@3", "aaa", {"a": 1, "b": 1}, 1 / 2),
        ("precision@4", "aaxb", {"a": 1, "b": 1}, 2 / 4),
        ("precision@4,denominator=retrieved", "aaxb", {"a": 1, "b": 1}, 2 / 3),
        ("f1@3", "aaa", {"a": 1}, 1 / 2),
        ("mrr@2", "xxa", {"a": 1}, 1 / 2),
        ("map@2", "xxa", {"a": 1}, 1 / 2),
        ("r_precision", "aab", {"a": 1, "b": 1}, 1),
        (
            "bpref",
            "avb",
            {"a": 1, "b": 1, "c": 1, "v": 0},
            1 / 3,
        ),  # divided by the one not relevant
        ("bpref", "vwxa", {"a": 1, "v": 0, "w": 0, "x": 0}, 0),
        ("bpref", "va", {"a": 1}, 1),  # v is not judged
        ("bpref", "va", {"a": 1, "v": -1}, 1),
        ("ndcg", "x", {"x": -2}, 0),
        ("ndcg@2", "bya", {"a": 3, "b": 2, "x": 0}, 2 / (3 + 2 / log2(3))),
        ("ndcg@5", "byaw", {"a": 3, "b": 2, "w": -1}, (2 + 3 / 2) / (3 + 2 / log2(3))),
        ("ndcg,gain=exponential", "bya", {"a": 3, "b": 2}, (3 + 7 / 2) / (7 + 3 / log2(3))),
    ],
)
def test_a_copy_is_ignored_and_a_grade_counts_as_it_should(
    name: str, ids: str, known: dict[str, float], value: float
) -> None:
    metric = get(name)
    assert isinstance(metric, RankingMetric)
    assert metric.values(Rankings.of([[*ids]], [known])) == pytest.approx([value])


def test_details_say_where_the_first_hit_was() -> None:
    scores = Hit(k=2).scores(RANKINGS)
    kept = ("first_hit_rank", "hits", "retrieved", "relevant")
    assert [{name: score.detail[name] for name in kept} for score in scores] == [
        {"first_hit_rank": 2, "hits": 1, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": 1, "hits": 2, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 0, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 2, "relevant": 0},
    ]


QUERIES = {"Perfect Queries": 1, "Zero Queries": 3, "Nothing Relevant": 1}


@each_case(
    ("metric", "extra"),
    [
        (Hit(k=5), {"Hits": 2, "Misses": 3, **QUERIES, "Perfect Queries": 2}),
        (Recall(k=5), QUERIES),
        (Precision(k=2), QUERIES),
        (MRR(k=3), {"Found in Top-K": 2, "Not Found": 3, "Rank 1 (Perfect)": 1, **QUERIES}),
    ],
)
def test_the_summary_counts_hits_misses_and_both_ends(
    metric: RankingMetric, extra: dict[str, int]
) -> None:
    scores = [*metric.scores(RANKINGS), Score.undefined("the row has no relevance")]
    assert metric.summarize(scores) == extra


def test_the_summary_has_the_means_it_is_made_of() -> None:
    scores = [*F1(k=2).scores(RANKINGS), Score.undefined("the row has no relevance")]
    extra = F1(k=2).summarize(scores)
    assert scores[0].detail.items() >= {"precision": 1 / 2, "recall": 1 / 2}.items()
    assert (extra["Avg Precision"], extra["Avg Recall"]) == pytest.approx((1.5 / 5, 1.5 / 5))
    assert F1().summarize([])["Avg Recall"] is None
    shares = [score.detail["precision"] for score in RPrecision().scores(RANKINGS)]
    assert shares == [1 / 3, 2 / 3, 0, 0, 0]  # of what came back


def test_some_metrics_have_no_cut_off() -> None:
    assert str(get("r_precision", k=3)) == "r_precision"
    for name in ("r_precision@5", "bpref@5"):
        with pytest.raises(UsageError, match="no parameter k"):
            get(name)
