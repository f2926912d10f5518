from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.results.conftest import Runs

from ragstone.errors import UsageError
from ragstone.results.comparison import compare
from ragstone.results.paired import Finding
from ragstone.results.stats.paired_tests import holm, sign_flip
from ragstone.results.systems import LETTERS, side_by_side

scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=30, max_size=30)


def test_letters_are_the_pairs_whose_p_by_holm_is_below_5_percent(runs: type[Runs]) -> None:
    rng = np.random.default_rng(3)
    base, shifts = rng.random((2, 60)), [(0.0, 0.0), (0.02, 0.1), (0.15, 0.1)]
    names = ("hit@5", "mrr@5")
    values = [
        np.clip(base + np.array(shift)[:, None] + rng.normal(0, 0.1, (2, 60)), 0, 1)
        for shift in shifts
    ]
    found = side_by_side(
        [
            runs.of(dict(zip(names, each.tolist(), strict=True)), run_id=f"r{i}")
            for i, each in enumerate(values)
        ]
    )
    tested = [(a, b, m) for a in range(3) for b in range(a + 1, 3) for m in range(2)]
    ps = holm([sign_flip(values[b][m] - values[a][m]).p for a, b, m in tested])
    assert found.tests == len(tested)
    for a, b in permutations(range(3), 2):
        for m, name in enumerate(names):
            p = ps[tested.index((min(a, b), max(a, b), m))]
            higher = values[a][m].mean() > values[b][m].mean()
            assert (LETTERS[b] in found.table[name][1][a].worse) == (higher and p < 0.05)
    assert [cell.best for cell in found.table["hit@5"][1]] == [False, False, True]


def test_two_systems_agree_with_their_comparison(runs: type[Runs]) -> None:
    a = runs.of({"hit@5": [0.0] * 20, "hallucination": [0.0] * 20}, run_id="a")
    b = runs.of({"hit@5": [1.0] * 19 + [None], "hallucination": [1.0] * 20}, run_id="b")
    found = side_by_side([a, b])
    hit, lower = (found.table[name] for name in ("hit@5", "hallucination"))
    assert (hit[0], lower[0]) == (19, 20)
    assert [(c.mean, c.worse, c.best) for c in hit[1]] == [(0.0, "", False), (1.0, "a", True)]
    assert [(c.mean, c.worse, c.best) for c in lower[1]] == [(0.0, "b", True), (1.0, "", False)]
    assert found.comparisons[0, 1] == compare(a, b)
    assert found.names == ("data.xlsx (a)", "data.xlsx (b)")


def test_values_are_side_by_side_in_the_order_of_the_first(runs: type[Runs]) -> None:
    a = runs.of({"hit@5": [1.0, 0.0, 0.5]}, run_id="a")
    b = runs.of({"hit@5": [0.25, 0.75]}, run_id="b", ids=["q2", "q0"])
    values = side_by_side([a, b]).values("hit@5")
    np.testing.assert_equal(values, [[1.0, 0.75], [0.0, np.nan], [0.5, 0.25]])
    with pytest.raises(UsageError, match="no metric in common"):
        side_by_side([a, a, runs.of({"mrr@5": [1.0]})])
    with pytest.raises(UsageError, match="at most 25 systems, but there are 26"):
        side_by_side([a] * 26)


@given(scores, scores)
def test_the_finding_has_the_numbers_of_the_table(a: list[float], b: list[float]) -> None:
    found = compare(Runs.of({"hit@5": a}, run_id="a"), Runs.of({"hit@5": b}, run_id="b"))
    (change,), headline = found.metric_changes, found.headline
    words = headline.words
    assert headline.outcome is change.finding
    assert f"hit@5 {np.mean(a):.3f} → {np.mean(b):.3f}, {np.mean(b) - np.mean(a):+.3f}" in words
    wins, losses, _ = change.win_loss_tie
    assert f"; of 30 questions, {wins} better and {losses} worse" in words
    assert ("Better" in words) == (change.finding is Finding.BETTER)
    assert ("Worse" in words) == (change.finding is Finding.WORSE)
    if change.interval:
        assert "({:+.3f} to {:+.3f})".format(*change.interval) in words
    assert "regression" not in words


def test_a_loss_comes_before_a_gain(runs: type[Runs]) -> None:
    def headline(**values: float) -> str:
        b = runs.of({name: [value] * 20 for name, value in values.items()}, run_id="b")
        a = runs.of({name: [0.5] * 20 for name in values}, run_id="a")
        return "\n".join((compare(a, b).headline.words, *compare(a, b).headline.others))

    text = headline(exact_match=1.0, citation_recall=0.0, faithfulness=1.0)
    assert text.startswith("Worse: citation_recall 0.500 → 0.000")
    assert text.endswith("\nBetter: exact_match +0.500, faithfulness +0.500")
    assert headline(exact_match=0.5, faithfulness=0.5).startswith("No difference shown: exact_m")
    assert headline(exact_match=0.5).startswith("No difference shown: exact_match 0.500 → 0.500")


def test_a_difference_of_unanswered_rows_only_is_called_so(runs: type[Runs]) -> None:
    rows = [1.0] * 10 + [0.0] * 10
    a = runs.of({"hit@5": [1.0] * 20, "mrr@5": [0.0] * 20}, run_id="a")
    b = runs.of({"hit@5": rows, "mrr@5": [0.1] * 20}, run_id="b")
    empty = [replace(r, sample=r.sample.model_copy(update={"ranking": ()})) for r in b.rows[10:]]
    b = replace(b, rows=[*b.rows[:10], *empty])
    found = compare(a, b, metrics=["hit@5"])
    assert found.headline.words.endswith(
        "of 20 questions, 0 better and 10 worse, "
        "all 10 without an answer or a ranking in data.xlsx (b)"
    )
    assert found.sample_changes[0].worst[0].unanswered
    both = compare(a, b).headline
    assert both.words.startswith("Better: mrr@5")
    assert list(both.others) == ["Worse: hit@5 -0.500 (no result for 10)"]


def test_scores_that_one_side_lost_are_named(runs: type[Runs]) -> None:
    a, b = (runs.of({"hit@5": [1.0] * 8 + [end] * 4}, run_id=str(end)) for end in (1.0, None))
    assert compare(a, b).headline.words.endswith("; 4 more have no score in data.xlsx (None)")
    none = compare(a, runs.of({"mrr@5": [1.0]}, run_id="c")).headline
    assert (none.metric, none.words) == (None, "Nothing to compare: no metric has scores in both")
