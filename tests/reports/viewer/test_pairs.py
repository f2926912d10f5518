from dataclasses import replace

import numpy as np

from ragstone.reports.html.charts import scatter
from ragstone.reports.viewer.pairs import CELLS, DIFFED, Part, dots, find_pair, word_diff
from ragstone.results.compare.comparison import compare
from ragstone.store import Store


def test_words_that_differ_are_marked_and_the_texts_stay_whole() -> None:
    a, b = "It lasts  20 hours. Really.\n", "It lasts 30 hours."
    one, two = word_diff(a, b)
    changed = [part for part in one if part.changed]
    assert changed == [Part("  20", changed=True), Part(" Really.\n", changed=True)]
    assert [part for part in two if part.changed] == [Part(" 30", changed=True)]
    for text, parts in ((a, one), (b, two)):
        assert "".join(part.text for part in parts) == text


def test_words_that_are_equal_by_chance_between_longer_changes_are_marked() -> None:
    one, two = word_diff("we do not sell the old red phone", "they ask you for the blue new watch")
    assert [one, two] == [
        [Part("we do not sell the old red phone", changed=True)],
        [Part("they ask you for the blue new watch", changed=True)],
    ]


def test_equal_empty_and_long_texts_have_no_marks() -> None:
    long = "word " * (DIFFED + 1)
    for a, b in (("the same", "the same"), ("", ""), (long, "short")):
        one, two = word_diff(a, b)
        assert not any(part.changed for part in (*one, *two))
        assert "".join(part.text for part in one) == a


def test_pairs_are_led_through_worst_first(served) -> None:
    with Store.open(served.place, reading=True) as store:
        a, b = store.load("run-a"), store.load("run-b")
        better, worse = compare(a, b), compare(b, a)
        pair = find_pair(worse, b, a, "faithfulness", 0)
        assert pair
        assert (pair.rank, pair.total, pair.previous, pair.next) == (1, 12, None, 1)
        assert (pair.a.scores["faithfulness"].value, pair.b.scores["faithfulness"].value) == (1, 0)
        last = find_pair(better, a, b, "faithfulness", 5)
        assert last
        assert (last.rank, last.next) == (12, None)
        unscored = find_pair(better, a, b, "hit@5", 0)
        assert unscored
        assert (unscored.rank, unscored.total, unscored.next) == (0, 8, None)
        assert find_pair(better, a, b, "faithfulness", 99) is None
        assert find_pair(better, a, b, "mrr@5", 0) is None


def test_pairs_of_equal_scores_share_a_dot_that_leads_to_the_first(served) -> None:
    with Store.open(served.place, reading=True) as store:
        comparison = compare(store.load("run-a"), store.load("run-b"))
    found = list(dots(comparison, "faithfulness", str))
    expected = [(0, 1, 6, "0"), (1, 1, 6, "6")]
    assert [(dot.a, dot.b, dot.pairs, dot.link) for dot in found] == expected
    assert found[0].words == "6 samples: 0.00 in A, 1.00 in B"
    assert len(found) <= CELLS**2


def test_pairs_that_got_better_worse_or_neither_share_no_dot(served) -> None:
    """Their scores are too close to be drawn apart, but the chart counts them."""
    with Store.open(served.place, reading=True) as store:
        comparison = compare(store.load("run-a"), store.load("run-b"))
    a, b = np.array([0.5, 0.5, 0.5, 0, 1]), np.array([0.495, 0.5, 0.505, 0, 1])
    scores = comparison.scores["faithfulness"]
    scores = replace(scores, places=scores.places[:5], a=a, b=b)
    found = list(dots(replace(comparison, scores={"faithfulness": scores}), "faithfulness", str))
    assert sorted((dot.a, dot.b, dot.pairs) for dot in found) == sorted(
        zip(a, b, [1] * 5, strict=True)
    )
    chart = scatter(found, (0, 1), title="", higher_is_better=True)
    assert "5 pairs: 1 better, 1 worse in B" in chart
