from math import log2

import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.metrics import get
from ragstone.metrics.retrieval import F1, MAP, MRR, NDCG, BPref, Hit, Precision, Recall, RPrecision
from ragstone.types.rankings import Denominator, Rankings
from ragstone.types.score import Score

# Five queries, best first; relevant are a and b wherever they are known.
#   q1  x a y   a at rank 2
#   q2  a b x   a at rank 1
#   q3  x y z   none
#   q4  (none)  nothing came back
#   q5  a b     nothing is relevant
# hit@1 = 0 1 0 0 0, hit@2 = 1 1 0 0 0, hit@5 = 1 1 0 0 0
RANKINGS = Rankings.of(
    ["x a y".split(), "a b x".split(), "x y z".split(), [], "a b".split()],
    [{"a": 1, "b": 1}] * 4 + [{"a": 0.0, "b": -1}],
)


@pytest.mark.parametrize(
    ("k", "values"), [(1, [0, 1, 0, 0, 0]), (2, [1, 1, 0, 0, 0]), (5, [1, 1, 0, 0, 0])]
)
def test_the_worked_example(k: int, values: list[float]) -> None:
    assert Hit(k=k).values(RANKINGS).tolist() == values


def test_a_grade_counts_whatever_its_size() -> None:
    assert Hit(k=1).values(Rankings.of([["a"]] * 2, [{"a": 0.01}, {"a": 3}])).tolist() == [1, 1]


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


def test_the_summary_counts_hits_and_misses() -> None:
    scores = [*Hit(k=5).scores(RANKINGS), Score.undefined("the row has no relevance")]
    assert Hit(k=5).summarize(scores) == {
        "Hits": 2,
        "Misses": 3,
        "Perfect Queries": 2,
        "Zero Queries": 3,
        "Nothing Relevant": 1,
    }


# Relevant are a, b, c and d, unless said otherwise.
#   q1  a x b   k=1: 1/4   k=2: 1/4   k=3: 2/4
#   q2  a b c d k=1: 1/4   k=2: 2/4   k=3: 3/4   k=4: 4/4
#   q3  a       (a is all that is relevant) 1/1 at any k
#   q4  (none)  0
#   q5  a       (nothing is relevant) 0
RANKINGS_OF_RECALL = Rankings.of(
    ["a x b".split(), "a b c d".split(), ["a"], [], ["a"]],
    [dict.fromkeys("abcd", 1.0)] * 2 + [{"a": 2.0, "x": 0.0}, {"a": 1.0}, {}],
)


@each_case(
    ("k", "values"),
    [
        (1, [1 / 4, 1 / 4, 1, 0, 0]),
        (2, [1 / 4, 2 / 4, 1, 0, 0]),
        (3, [2 / 4, 3 / 4, 1, 0, 0]),
        (4, [2 / 4, 4 / 4, 1, 0, 0]),
        (99, [2 / 4, 4 / 4, 1, 0, 0]),
    ],
)
def test_the_worked_example_of_recall(k: int, values: list[float]) -> None:
    assert Recall(k=k).values(RANKINGS_OF_RECALL).tolist() == values


def test_a_document_that_comes_twice_is_found_once() -> None:
    rankings = Rankings.of([["a", "a", "a"]], [{"a": 1, "b": 1}])
    assert Recall(k=3).values(rankings).tolist() == [0.5]


def test_the_summary_counts_both_ends() -> None:
    scores = [*Recall(k=4).scores(RANKINGS_OF_RECALL), Score.undefined("the row has no relevance")]
    assert Recall(k=4).summarize(scores) == {
        "Perfect Queries": 2,
        "Zero Queries": 2,
        "Nothing Relevant": 1,
    }
    counts = {"first_hit_rank": 1, "hits": 2, "retrieved": 3, "relevant": 4}
    assert scores[0].detail == {**counts, "precision": 0.5, "recall": 0.5}


# Relevant are a, b and c.
#   q1  a x b y   k=1: 1/1   k=2: 1/2   k=3: 2/3   k=5: 2/5, or 2/4 of what came back
#   q2  a b       k=1: 1/1   k=2: 2/2   k=3: 2/3   k=5: 2/5, or 2/2
#   q3  x         0
#   q4  (none)    0; nothing came back, so nothing that came back is relevant
RANKINGS_OF_PRECISION = Rankings.of(
    ["a x b y".split(), "a b".split(), ["x"], []], [{"a": 1, "b": 2, "c": 1, "x": 0}] * 4
)


@each_case(
    ("k", "denominator", "values"),
    [
        (1, "k", [1, 1, 0, 0]),
        (2, "k", [1 / 2, 1, 0, 0]),
        (3, "k", [2 / 3, 2 / 3, 0, 0]),
        (5, "k", [2 / 5, 2 / 5, 0, 0]),
        (1, "retrieved", [1, 1, 0, 0]),
        (3, "retrieved", [2 / 3, 2 / 2, 0, 0]),
        (5, "retrieved", [2 / 4, 2 / 2, 0, 0]),
    ],
)
def test_the_worked_example_of_precision(
    k: int, denominator: Denominator, values: list[float]
) -> None:
    assert Precision(k=k, denominator=denominator).values(RANKINGS_OF_PRECISION).tolist() == values


@pytest.mark.parametrize(("denominator", "value"), [("k", 2 / 4), ("retrieved", 2 / 3)])
def test_a_copy_is_no_document_that_came_back(denominator: Denominator, value: float) -> None:
    rankings = Rankings.of([["a", "a", "x", "b"]], [{"a": 1, "b": 1}])
    assert Precision(k=4, denominator=denominator).values(rankings).tolist() == [value]


def test_k_is_the_denominator_unless_said() -> None:
    assert Precision() == Precision(k=5, denominator="k")


def test_another_denominator_is_refused() -> None:
    with pytest.raises(ValidationError):
        Precision(denominator="relevant")  # type: ignore[arg-type]


def test_the_summary_counts_both_ends_of_precision() -> None:
    metric = Precision(k=2)
    assert metric.summarize(metric.scores(RANKINGS_OF_PRECISION)) == {
        "Perfect Queries": 1,
        "Zero Queries": 2,
        "Nothing Relevant": 0,
    }


# Relevant are a, b and c.           F1 = 2PR / (P + R)
#   q1  a x b y   k=2: P 1/2, R 1/3: 2/6 / 5/6   = 2/5
#                 k=5: P 2/5, R 2/3: 8/15 / 16/15 = 1/2;  of 4 returned: P 2/4: 2/3 / 7/6 = 4/7
#   q2  a b c     k=2: P 1,   R 2/3: 4/3 / 5/3   = 4/5
#                 k=5: P 3/5, R 1:   6/5 / 8/5   = 3/4;   of 3 returned: P 1: 1
#   q3  x         P 0, R 0: 0
#   q4  (none)    P 0, R 0: 0
RANKINGS_OF_F1 = Rankings.of(
    ["a x b y".split(), "a b c".split(), ["x"], []], [{"a": 1, "b": 2, "c": 1, "x": 0}] * 4
)


@pytest.mark.parametrize(
    ("k", "denominator", "values"),
    [
        (2, "k", [2 / 5, 4 / 5, 0, 0]),
        (2, "retrieved", [2 / 5, 4 / 5, 0, 0]),
        (5, "k", [1 / 2, 3 / 4, 0, 0]),
        (5, "retrieved", [4 / 7, 1, 0, 0]),
    ],
)
def test_the_worked_example_of_f1(k: int, denominator: Denominator, values: list[float]) -> None:
    assert F1(k=k, denominator=denominator).values(RANKINGS_OF_F1) == pytest.approx(
        values, abs=1e-12
    )


def test_the_mean_is_of_the_queries_not_of_mean_precision_and_recall() -> None:
    """P 1, R 1/2 and P 0, R 0 are F1 2/3 and 0: the mean is 1/3, not F1 of P 1/2 and R 1/4."""
    rankings = Rankings.of([["a"], ["x"]], [{"a": 1, "b": 1}] * 2)
    assert F1(k=1).values(rankings).mean() == pytest.approx(1 / 3, abs=1e-12)


def test_copies_do_not_make_it_exceed_1() -> None:
    assert F1(k=3).values(Rankings.of([["a", "a", "a"]], [{"a": 1}])) == pytest.approx([0.5])


def test_details_are_those_of_every_ranking_metric() -> None:
    assert F1(k=3).scores(RANKINGS_OF_F1)[0].detail == {
        "first_hit_rank": 1,
        "hits": 2,
        "retrieved": 3,
        "relevant": 3,
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
    }


def test_the_summary_has_the_means_it_is_made_of() -> None:
    scores = [*F1(k=3).scores(RANKINGS_OF_F1), Score.undefined("the row has no relevance")]
    details = [score.detail for score in scores if score.value is not None]
    extra = F1(k=3).summarize(scores)
    for name in ("precision", "recall"):
        assert extra[f"Avg {name.title()}"] == pytest.approx(
            sum(float(detail[name] or 0) for detail in details) / len(details)
        )
    assert F1().summarize([])["Avg Recall"] is None


# Relevant are a and b.
#   q1  a b x     first at 1: 1
#   q2  x b a     first at 2: 1/2
#   q3  x y z a   first at 4: 1/4, and 0 where k < 4
#   q4  x y       0
#   q5  (none)    0
RANKINGS_OF_MRR = Rankings.of(
    ["a b x".split(), "x b a".split(), "x y z a".split(), "x y".split(), []],
    [{"a": 1, "b": 1, "x": 0}] * 5,
)


@pytest.mark.parametrize(
    ("k", "values"),
    [(1, [1, 0, 0, 0, 0]), (3, [1, 1 / 2, 0, 0, 0]), (5, [1, 1 / 2, 1 / 4, 0, 0])],
)
def test_the_worked_example_of_mrr(k: int, values: list[float]) -> None:
    assert MRR(k=k).values(RANKINGS_OF_MRR).tolist() == values


def test_a_copy_above_takes_no_rank() -> None:
    assert MRR(k=2).values(Rankings.of([["x", "x", "a"]], [{"a": 1}])).tolist() == [1 / 2]


def test_details_say_the_rank() -> None:
    ranks = [score.detail["first_hit_rank"] for score in MRR(k=5).scores(RANKINGS_OF_MRR)]
    assert ranks == [1, 2, 4, None, None]


def test_the_summary_counts_where_the_first_was_found() -> None:
    scores = [*MRR(k=3).scores(RANKINGS_OF_MRR), *[Score.undefined("the row has no relevance")] * 2]
    assert MRR(k=3).summarize(scores) == {
        "Found in Top-K": 2,
        "Not Found": 3,
        "Rank 1 (Perfect)": 1,
        "Perfect Queries": 1,
        "Zero Queries": 3,
        "Nothing Relevant": 0,
    }


# Relevant are a, b and c; x is judged not relevant, y and z are not judged.
#   q1  a b c x   1/1 + 2/2 + 3/3                 of 3: 1
#   q2  x a y b   1/2 at 2, 2/4 at 4; c never     of 3: 1/3, and 1/6 where k < 4
#   q3  c         1/1; the list ends              of 3: 1/3
#   q4  x y z     0
#   q5  (none)    0
RANKINGS_OF_MAP = Rankings.of(
    ["a b c x".split(), "x a y b".split(), ["c"], "x y z".split(), []],
    [{"a": 3, "b": 1, "c": 1, "x": 0}] * 5,
)


@pytest.mark.parametrize(
    ("k", "values"),
    [
        (1, [1 / 3, 0, 1 / 3, 0, 0]),
        (3, [1, 1 / 6, 1 / 3, 0, 0]),
        (5, [1, 1 / 3, 1 / 3, 0, 0]),
    ],
)
def test_the_worked_example_of_map(k: int, values: list[float]) -> None:
    assert MAP(k=k).values(RANKINGS_OF_MAP).tolist() == pytest.approx(values, abs=1e-12)


def test_it_divides_by_all_relevant_though_k_is_less() -> None:
    assert MAP(k=2).values(RANKINGS_OF_MAP)[0] == pytest.approx(2 / 3)


def test_a_copy_above_takes_no_rank_of_map() -> None:
    assert MAP(k=2).values(Rankings.of([["x", "x", "a"]], [{"a": 1}])).tolist() == [1 / 2]


def test_nothing_relevant_is_0() -> None:
    assert MAP(k=2).values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]


# Grades: a 3, b 2, c 1, x 0, w -1; y is not judged. The discounts of ranks 1 to 4: 1, log2 3, 2,
# log2 5. The best order is a b c.
#   q1  a b c x   the best order: 1
#   q2  b y a w   2 + 0 + 3/2
#   q3  c         1; the list ends
#   q4  x y w     0
#   q5  (none)    0
RANKINGS_OF_NDCG = Rankings.of(
    ["a b c x".split(), "b y a w".split(), ["c"], "x y w".split(), []],
    [{"a": 3, "b": 2, "c": 1, "x": 0, "w": -1}] * 5,
)
BEST_2, BEST = 3 + 2 / log2(3), 3 + 2 / log2(3) + 1 / 2
STEEP = 7 + 3 / log2(3) + 1 / 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ndcg@2", [1, 2 / BEST_2, 1 / BEST_2, 0, 0]),
        ("ndcg@5", [1, (2 + 3 / 2) / BEST, 1 / BEST, 0, 0]),
        ("ndcg@5,gain=exponential", [1, (3 + 7 / 2) / STEEP, 1 / STEEP, 0, 0]),
    ],
)
def test_the_worked_example_of_ndcg(name: str, values: list[float]) -> None:
    metric = get(name)
    assert isinstance(metric, NDCG)
    assert metric.values(RANKINGS_OF_NDCG).tolist() == pytest.approx(values, abs=1e-12)


def test_linear_is_what_it_is_unless_said() -> None:
    assert get("ndcg") == NDCG(k=5, gain="linear")
    assert str(NDCG(k=3, gain="exponential")) == "ndcg@3,gain=exponential"
    with pytest.raises(UsageError, match="gain"):
        get("ndcg,gain=steep")


@each_case("gain", ["linear", "exponential"])
@each_case("grade", [1e-300, 0.5, 1, 5000, 1e308])
def test_a_grade_may_be_as_high_as_numbers_go(gain: str, grade: float) -> None:
    rankings = Rankings.of([["x", "a", "b"]], [{"a": grade, "b": grade}])
    best = 1 + 1 / log2(3)
    values = NDCG(k=5, gain=gain).values(rankings).tolist()  # type: ignore[arg-type]
    assert values == pytest.approx([(1 / log2(3) + 1 / 2) / best])


def test_nothing_relevant_is_0_of_ndcg() -> None:
    assert NDCG().values(Rankings.of([["x"], ["x"]], [{"x": 0}, {"x": -2}])).tolist() == [0, 0]


def test_no_queries_are_no_values() -> None:
    assert NDCG().values(Rankings.of([], [])).tolist() == []


# Relevant are a, b and c, so R is 3; x is judged not relevant, y is not judged.
#   q1  c a b x   3 of the first 3: 1
#   q2  x a y b   a of the first 3: 1/3
#   q3  a         the list ends: 1/3
#   q4  x y       0
#   q5  (none)    0
#   q6  x a       with a alone relevant R is 1: 0
RANKINGS_OF_R_PRECISION = Rankings.of(
    ["c a b x".split(), "x a y b".split(), ["a"], ["x", "y"], [], ["x", "a"]],
    [{"a": 3, "b": 1, "c": 1, "x": 0}] * 5 + [{"a": 1}],
)


def test_the_worked_example_of_r_precision() -> None:
    values = RPrecision().values(RANKINGS_OF_R_PRECISION).tolist()
    assert values == pytest.approx([1, 1 / 3, 1 / 3, 0, 0, 0])


def test_a_copy_above_takes_no_rank_of_r_precision() -> None:
    rankings = Rankings.of([["a", "a", "b"]], [{"a": 1, "b": 1}])
    assert RPrecision().values(rankings).tolist() == [1]


def test_nothing_relevant_is_0_of_r_precision() -> None:
    assert RPrecision().values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]


def test_it_has_no_cut_off_of_its_own() -> None:
    assert str(get("r_precision", k=3)) == "r_precision"
    with pytest.raises(UsageError, match="no parameter k"):
        get("r_precision@5")


def test_the_precision_beside_it_is_of_what_came_back() -> None:
    shares = [score.detail["precision"] for score in RPrecision().scores(RANKINGS_OF_R_PRECISION)]
    assert shares == [3 / 4, 1 / 2, 1, 0, 0, 1 / 2]


# Relevant are a, b and c (R = 3), judged not relevant v, w and x (N = 3), so min(R, N) is 3; y is
# not judged.
#   q1  a y b c v        none before any of them: 1
#   q2  a v b y w c      1 + (1 - 1/3) + (1 - 2/3), over 3: 2/3
#   q3  v w x a          1 - 3/3: 0
#   q4  y b              1, the others did not come back: 1/3
#   q5  v y              0
#   q6  (none)           0
RANKINGS_OF_BPREF = Rankings.of(
    [list(ids) for ids in ("aybcv", "avbywc", "vwxa", "yb", "vy", "")],
    [{"a": 3, "b": 1, "c": 1, "v": 0, "w": 0, "x": 0}] * 6,
)


def test_the_worked_example_of_bpref() -> None:
    values = BPref().values(RANKINGS_OF_BPREF).tolist()
    assert values == pytest.approx([1, 2 / 3, 0, 1 / 3, 0, 0], abs=1e-12)


def test_with_less_not_relevant_than_relevant_it_divides_by_the_less() -> None:
    rankings = Rankings.of([list("avb")], [{"a": 1, "b": 1, "c": 1, "v": 0}])
    assert BPref().values(rankings).tolist() == pytest.approx([1 / 3])


def test_no_more_count_than_are_relevant() -> None:
    rankings = Rankings.of([list("vwxa")], [{"a": 1, "v": 0, "w": 0, "x": 0}])
    assert BPref().values(rankings).tolist() == [0]


@pytest.mark.parametrize("known", [{"a": 1}, {"a": 1, "v": -1}])
def test_what_is_not_judged_or_below_0_is_ignored(known: dict[str, float]) -> None:
    assert BPref().values(Rankings.of([["v", "a"]], [known])).tolist() == [1]


def test_nothing_relevant_is_0_of_bpref() -> None:
    assert BPref().values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]


def test_it_has_no_cut_off() -> None:
    with pytest.raises(UsageError, match="no parameter k"):
        get("bpref@5")
