from typing import Any

import pytest
from tests.cases import each_case
from tests.results.conftest import Runs

from ragstone.errors import UnknownNameError, UsageError
from ragstone.results.comparison import Kind, compare, find_regressions
from ragstone.results.paired import Finding, Pairing
from ragstone.results.systems import side_by_side
from ragstone.types.claim import Label
from ragstone.types.config import Source

RUNS = Any


def test_a_small_example_by_hand(runs: RUNS) -> None:
    a = runs.of({"faithfulness": [0.25, 0.5, 0.75, 0.5]})
    b = runs.of({"faithfulness": [0.75, 0.75, 0.5, 1.0]}, run_id="b")
    (moved,) = compare(a, b).metric_changes
    # differences 0.5, 0.25, -0.25, 0.5: of 16 flips 6 have a sum of at least 1
    assert (moved.n, moved.mean_a, moved.mean_b, moved.difference) == (4, 0.5, 0.75, 0.25)
    assert moved.p == moved.p_adjusted == 6 / 16
    assert moved.win_loss_tie == (3, 1, 0)
    # their standard deviation is the root of 0.375 / 3
    assert moved.effect == pytest.approx(0.25 / 0.125**0.5)
    assert moved.interval is None
    assert moved.finding is Finding.TOO_FEW  # the smallest p of four pairs is 2 / 16
    assert moved.min_detectable_difference == pytest.approx(0.7523, abs=1e-4)
    two = runs.of({"f1@5": [1.0, 0.0]}), runs.of({"f1@5": [0.5, 1.0]}, run_id="b")
    assert compare(*two).metric_changes[0].min_detectable_difference is None, "beyond the range"


def test_where_lower_is_better_less_is_a_gain(runs: RUNS) -> None:
    for name, gain in (("hallucination", True), ("hit@5", False)):
        a, b = runs.of({name: [1] * 8}), runs.of({name: [0] * 8}, run_id="b")
        comparison = compare(a, b)
        (moved,) = comparison.metric_changes
        assert moved.finding is (Finding.BETTER if gain else Finding.WORSE)
        assert moved.p == moved.p_adjusted == 2 / 256
        assert moved.win_loss_tie == ((8, 0, 0) if gain else (0, 8, 0))
        assert (moved.difference, moved.gain) == (-1.0, 1.0 if gain else -1.0)
        assert (
            moved.interval is moved.effect is moved.min_detectable_difference is None
        )  # no spread
        assert bool(find_regressions(comparison).beyond) is not gain
        (moves,) = comparison.sample_changes
        assert (len(moves.best), len(moves.worst)) == ((5, 0) if gain else (0, 5))


def test_several_metrics_are_held_to_a_stricter_mark(runs: RUNS) -> None:
    scores = {"hit@5": [1] * 6, "mrr@5": [1] * 6, "ndcg@5": [1] * 6}
    worse = {"hit@5": [0] * 6, "mrr@5": [0.5, *[1] * 5], "ndcg@5": [1] * 6}
    alone = compare(runs.of(scores), runs.of(worse, run_id="b"), metrics=["hit"])
    assert [each.metric for each in alone.metric_changes] == ["hit@5"]
    assert alone.metric_changes[0].p_adjusted == 2 / 64
    assert alone.metric_changes[0].significant
    among = compare(runs.of(scores), runs.of(worse, run_id="b"))
    assert [each.p_adjusted for each in among.metric_changes] == [4 / 64, 1, 1]  # ndcg did not move
    assert not among.metric_changes[0].significant


def test_metrics_with_the_same_numbers_are_one_test(runs: RUNS) -> None:
    """With one relevant document, hit and recall are the same numbers."""
    scores = {"hit@5": [1] * 6, "recall@5": [1] * 6, "mrr@5": [1] * 6}
    worse = {"hit@5": [0] * 6, "recall@5": [0] * 6, "mrr@5": [0.5, *[1] * 5]}
    first, second, third = compare(runs.of(scores), runs.of(worse, run_id="b")).metric_changes
    assert first.p_adjusted == second.p_adjusted == 4 / 64
    assert (first.same_as, second.same_as, third.same_as) == (None, "hit@5", None)
    del worse["mrr@5"]
    both = compare(runs.of(scores), runs.of(worse, run_id="b")).metric_changes
    assert [each.p_adjusted for each in both] == [2 / 64, 2 / 64]


def test_fewer_than_two_pairs_tell_nothing(runs: RUNS) -> None:
    for n in (0, 1):
        a, b = runs.of({"hit@5": [1] * n}), runs.of({"hit@5": [0] * n}, run_id="b")
        comparison = compare(a, b)
        (moved,) = comparison.metric_changes
        assert (moved.finding, moved.p, moved.n) == (Finding.TOO_FEW, None, n)
        assert not find_regressions(comparison).beyond


def test_what_is_not_scored_on_both_sides_is_counted_and_not_averaged(runs: RUNS) -> None:
    a = runs.of({"faithfulness": [1.0, 1.0, None, runs.failed(), 0.5, None]})
    b = runs.of({"faithfulness": [0.0, None, 1.0, runs.failed(), 0.5, runs.failed()]}, run_id="b")
    (moved,) = compare(a, b).metric_changes
    assert (moved.n, moved.mean_a, moved.mean_b) == (2, 0.75, 0.25)
    assert (moved.unscored_a, moved.unscored_b) == ((2, 1), (1, 2))
    assert (moved.only_in_a, moved.only_in_b) == (1, 1)


def test_the_samples_that_moved_most_come_worst_first(runs: RUNS) -> None:
    a = runs.of({"f1@5": [1.0, 0.5, 0.5, 0.0, 0.2]})
    b = runs.of({"f1@5": [0.9, 0.0, 0.5, 1.0, 0.1]}, run_id="b")
    (moves,) = compare(a, b, top=2).sample_changes
    assert [(each.id_b, each.a, each.b) for each in moves.worst] == [
        ("q1", 0.5, 0.0),
        ("q0", 1.0, 0.9),
    ]
    assert [(each.id_b, each.query) for each in moves.best] == [("q3", "What is q3?")]


def test_a_metric_is_compared_across_policies_and_decides_nothing(runs: RUNS) -> None:
    a, b = (
        runs.of({name: [runs.claimed(value, runs.claim("It is red.", label))] * 20}, run_id=name)
        for name, value, label in (
            ("faithfulness", 1.0, Label.CONTRADICTED),
            ("faithfulness:deepeval", 0.5, Label.SUPPORTED),
        )
    )
    comparison = compare(a, b)
    (change,) = comparison.metric_changes
    assert (change.metric, change.mean_a, change.mean_b) == ("faithfulness:deepeval", 1.0, 0.5)
    assert comparison.renamed == {"faithfulness:deepeval": "faithfulness"}
    assert (comparison.only_a, comparison.only_b, comparison.unchanged) == ((), (), False)
    assert comparison.claims[0].counts[Kind.GAINED] == 20
    assert [each[1:] for each in comparison.changes] == [
        (
            "faithfulness:deepeval",
            "faithfulness: policy strict, 0 to 1, higher is better",
            "policy deepeval, 0 to 1, higher is better",
        )
    ]
    assert side_by_side([a, b]).table["faithfulness:deepeval"][0] == 20
    assert compare(a, b, metrics=["faithfulness"]).renamed == comparison.renamed
    found = find_regressions(comparison)
    assert (found.doubts, found.beyond) == (("no metric was scored in both runs",), ())


@each_case(
    ("a", "b", "compared"),
    [
        (["faithfulness", "hit@3"], ["faithfulness:ragas", "hit@5"], ["faithfulness:ragas"]),
        (["faithfulness"], ["faithfulness", "faithfulness:ragas"], ["faithfulness"]),
        (["faithfulness:ragas"], ["faithfulness,verify=each"], ["faithfulness,verify=each"]),
        (["noise_sensitivity"], ["noise_sensitivity,contexts=relevant"], []),
        (["hallucination"], ["faithfulness"], []),
    ],
)
def test_only_metrics_with_a_policy_are_compared_by_base_name(
    runs: RUNS, a: list[str], b: list[str], compared: list[str]
) -> None:
    sides = (runs.of({name: [1.0] for name in names}, run_id=names[0]) for names in (a, b))
    assert [change.metric for change in compare(*sides).metric_changes] == compared


@each_case(
    ("changed", "metrics"),
    [
        ({}, []),
        ({"judge": "openai:m"}, ["hit@5"]),
        ({"plan": {"policy": "ragas"}}, ["hit@5"]),
        ({"ids": ["other"]}, []),
        ({"source": Source(name="data.xlsx", fingerprint="0" * 64, rows=1)}, []),
    ],
)
def test_runs_are_unchanged_only_if_nothing_that_is_known_differs(
    runs: RUNS, changed: dict[str, Any], metrics: list[str]
) -> None:
    scores = {"hit@5": [1.0], "faithfulness": [1.0]}
    a, b = runs.of(scores), runs.of(scores, run_id="b", **changed)
    assert compare(a, b, metrics=metrics).unchanged is (not changed)
    assert not compare(a, runs.of({**scores, "mrr@5": [1.0]}, run_id="b")).unchanged


def test_rows_of_a_cluster_are_one_witness(runs: RUNS) -> None:
    tags = [{"source": f"s{i // 10}", "own": i} for i in range(40)]
    a = runs.of({"hit@5": [1] * 40}, tags=tags)
    b = runs.of({"hit@5": [0] * 30 + [1] * 10}, tags=tags, run_id="b")
    alone = compare(a, b).metric_changes
    assert alone[0].significant
    (moved,) = compare(a, b, cluster="source").metric_changes
    assert moved.p == 2 / 8  # three clusters that differ: two of eight flips
    assert not moved.significant
    assert moved.n == 40
    assert compare(a, b, cluster="own").metric_changes[0].p == alone[0].p


def test_a_label_is_what_it_is_written_as(runs: RUNS) -> None:
    same = []
    for labels in ([1, "1", True, "2"], ["1", "1", "True", "2"]):
        tags = [{"source": label} for label in labels] * 10
        a = runs.of({"hit@5": [1] * 40}, tags=tags)
        b = runs.of({"hit@5": [0, 1, 0, 0] * 10}, tags=tags, run_id="b")
        same.append(compare(a, b, cluster="source").metric_changes)
    assert same[0] == same[1]


def test_names_that_the_runs_lack_are_refused(runs: RUNS) -> None:
    a = runs.of({"hit@5": [1], "mrr@5": [1]}, tags=[{"source": "x"}])
    b = runs.of({"hit@5": [1], "f1@5": [1]}, run_id="b")
    comparison = compare(a, b)
    assert [each.metric for each in comparison.metric_changes] == ["hit@5"]
    assert (comparison.only_a, comparison.only_b) == (("mrr@5",), ("f1@5",))
    with pytest.raises(UnknownNameError, match="no metric of both runs named 'mrr'"):
        compare(a, b, metrics=["mrr"])
    with pytest.raises(UnknownNameError, match="did you mean 'source'"):
        compare(a, b, cluster="sorce")
    with pytest.raises(UsageError, match="cluster source: the samples of A have no tags"):
        compare(b, a, cluster="source")


LOST = Runs.failed()


@each_case(
    ("scores", "options", "least", "doubt"),
    [
        ([0.8] * 18, {}, {}, None),
        ([0.8] * 17, {}, {}, "only 17 of 20 samples of A (85%) have a partner in B; at least 90%"),
        ([0.8] * 17, {}, {"min_paired": 0.85}, None),
        ([1.0] * 20, {"partial": True}, {}, "run b was stopped before every row was finished"),
        ([None] * 20, {}, {}, "no metric was scored in both runs"),
        ([1.0], {"ids": ["x"], "queries": ["y"]}, {}, "no sample could be paired"),
        ([LOST, LOST, None, *[1.0] * 17], {}, {}, "hit@5: B has no score for 3 of 20 pairs that A"),
        ([LOST, LOST, *[1.0] * 18], {}, {}, None),
    ],
)
def test_what_was_lost_on_the_way_is_no_verdict(
    runs: RUNS, scores: list[Any], options: Any, least: Any, doubt: str | None
) -> None:
    b = runs.of({"hit@5": scores}, run_id="b", **options)
    found = find_regressions(compare(runs.of({"hit@5": [1.0] * 20}), b), **least).doubts
    assert len(found) == (doubt is not None)
    assert not doubt or found[0].startswith(doubt)


def test_a_drop_is_a_regression_unless_it_is_no_more_than_is_let_pass(runs: RUNS) -> None:
    comparison = compare(runs.of({"f1@5": [0.75] * 8}), runs.of({"f1@5": [0.7] * 8}, run_id="b"))
    for least, beyond in ((0, 1), (0.04, 1), (0.05, 0)):  # 0.05 up to rounding is not more
        found = find_regressions(comparison, min_effect=least)
        assert (len(found.beyond), len(found.within), found.doubts) == (beyond, 1 - beyond, ())


def test_a_drop_of_one_metric_is_a_verdict_if_another_lost_scores(runs: RUNS) -> None:
    a = runs.of({"hit@5": [1.0] * 20, "mrr@5": [1.0] * 20})
    b = runs.of({"hit@5": [None, 0.0] * 10, "mrr@5": [0.5] * 20}, run_id="b")
    found = find_regressions(compare(a, b))
    assert [change.metric for change in found.beyond] == ["mrr@5"]
    assert found.doubts == ()
    b = runs.of({"hit@5": [1.0, None] * 10, "mrr@5": [None, 1.0] * 10}, run_id="b")
    (doubt,) = find_regressions(compare(a, b)).doubts
    assert doubt.startswith("hit@5, mrr@5: B has no score for 10 of 20 pairs")


def pair_samples(runs: RUNS, a: dict[str, str], b: dict[str, str]) -> Pairing:
    one, two = (
        runs.of({"hit@5": [1] * len(side)}, ids=list(side), queries=list(side.values()))
        for side in (a, b)
    )
    return compare(one, two).pairing


def test_samples_pair_by_id_in_any_order(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "2": "why?"}, {"2": "why?", "1": " who? "})
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert (found.by_id, found.by_query, found.only_a, found.only_b) == (2, 0, 0, 0)


def test_those_left_pair_by_query(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "x": "why?"}, {"1": "who?", "y": "why?", "z": "when?"})
    assert found.pairs.tolist() == [[0, 0], [1, 1]]
    assert (found.by_id, found.by_query, found.only_a, found.only_b) == (1, 1, 0, 1)


def test_numbered_rows_that_moved_down_by_one_find_their_partners(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "2": "why?"}, {"1": "new?", "2": "who?", "3": "why?"})
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert (found.renamed, found.first_renamed) == (2, ("1", "2"))


def test_the_same_id_for_another_query_is_no_pair(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?"}, {"1": "why?"})
    assert found.pairs.tolist() == []
    assert (found.first_renamed, found.only_a, found.only_b) == (("1",), 1, 1)


def test_a_query_that_stands_twice_pairs_only_by_id(runs: RUNS) -> None:
    copies, one = {"x": "who?", "y": "who?"}, {"1": "who?"}
    for sides in ((copies, one), (one, copies)):
        found = pair_samples(runs, *sides)
        assert found.pairs.tolist() == []
        assert found.ambiguous == 2
    assert pair_samples(runs, copies, copies).by_id == 2
