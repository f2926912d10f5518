"""The ranking metrics equal trec_eval's, as pytrec_eval-terrier computes them."""

import random

import numpy as np
import pytrec_eval
from tests.cases import each_case
from tests.golden.test_trec_eval_files import KS, MEASURES, THEIRS

from ragstone.metrics import get
from ragstone.metrics.retrieval import RankingMetric
from ragstone.types.rankings import Rankings

QUERIES = [f"q{number:04}" for number in range(150)]
IDS = [f"d{i}" for i in range(25)] + ["Straße 7", "文書", "\U0001f600", "é", "e\u0301", "ид-5"]


def made(seed: int) -> tuple[list[list[str]], list[dict[str, int]]]:
    """Make rankings with copies, of 0 to 40 documents, and grades from -1 to 3 for some."""
    rng = random.Random(seed)
    lists = [rng.choices(IDS, k=rng.choice([0, 1, 2, 3, 5, 10, 40])) for _ in QUERIES]
    grades = [
        {id_: rng.choice(weights) for id_ in rng.sample(IDS, rng.randint(1, 20))}
        for weights in rng.choices([(-1, 0, 0, 1, 2, 3), (1,), (0,), (-1, 0)], k=len(QUERIES))
    ]
    return lists, grades


@each_case("seed", range(5))
def test_the_five_metrics_equal_trec_evals(seed: int) -> None:
    """And the others too: trec_eval sees the lists without later copies, in falling scores."""
    lists, grades = made(seed)
    ran = {
        query: {id_: -float(rank) for rank, id_ in enumerate(dict.fromkeys(ids))}
        for query, ids in zip(QUERIES, lists, strict=True)
    }
    judged = dict(zip(QUERIES, grades, strict=True))
    theirs = pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(ran)
    expected = {
        name: np.array([theirs[query][measure] for query in QUERIES])
        for name, measure in THEIRS.items()
    }
    for k in KS:
        p, r = expected[f"precision@{k}"], expected[f"recall@{k}"]
        expected[f"f1@{k}"] = 2 * p * r / np.maximum(p + r, 1e-300)
    rankings = Rankings.of(lists, grades)
    for name, values in expected.items():
        metric = get(name)
        assert isinstance(metric, RankingMetric)
        ours = metric.values(rankings)
        np.testing.assert_allclose(ours, values, rtol=0, atol=1e-9, err_msg=name)
