from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ragstone.evaluation.ranking import RankingEvaluation, score_rankings
from ragstone.metrics.retrieval import RankingMetric
from ragstone.types.config import Plan
from ragstone.types.rankings import Rankings

RANKINGS = Rankings.of([["a"], [], ["b", "a"]], [{"a": 1}, {"a": 1}, {"a": 1}])


class First(RankingMetric):
    """The grade of the first document; it raises where there is none."""

    name, label = "first", "First"

    def value(self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]) -> float:
        return relevance.get(retrieved_ids[0], 0.0)


class Whole(RankingMetric):
    """Reckons all at once, and divides by what may be 0."""

    name, label = "whole", "Whole"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.ones(len(rankings)) / rankings.n_retrieved


class Short(RankingMetric):
    """Returns one value too few."""

    name, label = "short", "Short"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        return np.ones(len(rankings) - 1)


@pytest.mark.parametrize(
    ("metric", "values", "failed"),
    [
        (First(), [1.0, 0.0, 0.0], {1: "the metric raised IndexError at test_ranked_columns.py:"}),
        (Whole(), [1.0, 0.0, 0.5], {1: "which is no number"}),
        (Short(), [0.0] * 3, dict.fromkeys(range(3), "values of shape (0,) for 1 queries")),
    ],
)
def test_a_strangers_metric_fails_where_it_raises_and_counts_elsewhere(
    metric: RankingMetric, values: list[float], failed: dict[int, str]
) -> None:
    found, why = score_rankings(metric, RANKINGS)
    assert found.tolist() == values
    assert why.keys() == failed.keys()
    assert all(words in why[place] for place, words in failed.items())


class Ours(First):
    """As if it came with ragstone."""

    __module__ = "ragstone.metrics.ours"


def test_a_metric_of_ours_that_raises_ends_the_run() -> None:
    with pytest.raises(IndexError):
        score_rankings(Ours(), RANKINGS)


def test_the_queries_that_it_fails_on_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    (tmp_path / "run").write_text("q3 Q0 a 1 1 x\nq1 Q0 a 1 1 x\n")
    evaluation = RankingEvaluation.of(tmp_path / "qrels", Plan(metrics=("hit",)))
    metrics = (First(),)
    evaluation = RankingEvaluation(
        evaluation.plan, evaluation.source, evaluation.judgements, {}, metrics, "zero"
    )
    run = evaluation.run(tmp_path / "run")
    states = {row.sample.id: row.scores["first"].state.value for row in run.rows}
    assert states == {"q1": "scored", "q3": "scored", "q2": "failed"}
    summary = run.summary()["first"]
    assert (summary.mean, summary.failed, dict(summary.causes)) == (1.0, 1, {"metric_error": 1})
    assert "q2: the metric raised IndexError" in str(run.to_dict()["metrics"])
    assert run.troubles == ("1 of 3 scores of first failed, more than 10% (--max-failure-rate)",)
