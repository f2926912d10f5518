"""The ranking metrics equal trec_eval's, as pytrec_eval-terrier computes them."""

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytrec_eval
from tests.cases import each_case

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
from ragstone.types.rankings import Rankings

KS = (1, 2, 3, 5, 10, 100)
QUERIES = 150
IDS = [f"d{i}" for i in range(25)] + ["Straße 7", "文書", "\U0001f600", "é", "e\u0301", "ид-5"]

CUT = {
    "hit": "success.{k}",
    "recall": "recall.{k}",
    "precision": "P.{k}",
    "mrr": "recip_rank",
    "map": "map_cut.{k}",
    "ndcg": "ndcg_cut.{k}",
}
WHOLE = {"r_precision": "Rprec", "bpref": "bpref"}
"""Metric -> trec_eval's measure: of the list cut at k, and of all of it."""


Lists = list[list[str]]
Grades = list[dict[str, int]]


def made(seed: int) -> tuple[Lists, Grades]:
    """Make rankings with copies, of 0 to 40 documents, and grades from -1 to 3 for some."""
    rng = random.Random(seed)
    lists = [rng.choices(IDS, k=rng.choice([0, 1, 2, 3, 5, 10, 40])) for _ in range(QUERIES)]
    grades = [
        {id_: rng.choice(weights) for id_ in rng.sample(IDS, rng.randint(1, 20))}
        for weights in rng.choices([(-1, 0, 0, 1, 2, 3), (1,), (0,), (-1, 0)], k=QUERIES)
    ]
    return lists, grades


def reference(lists: Lists, grades: Grades, k: int) -> dict[str, list[float]]:
    """Return trec_eval's values of each query's list without later copies.

    Cut at k, but for the measures that know no k.

    It orders by score, and by id where scores are equal: so the scores fall strictly.
    """
    names = [f"q{number:04}" for number in range(len(lists))]
    judged = dict(zip(names, grades, strict=True))
    values: dict[str, list[float]] = {}
    for depth, measures in ((k, CUT), (None, WHOLE)):
        ran = {
            name: {id_: -float(rank) for rank, id_ in enumerate(list(dict.fromkeys(ids))[:depth])}
            for name, ids in zip(names, lists, strict=True)
        }
        asked = {metric: measure.format(k=k) for metric, measure in measures.items()}
        found = pytrec_eval.RelevanceEvaluator(judged, set(asked.values())).evaluate(ran)
        values |= {
            metric: [found[name][measure.replace(".", "_")] for name in names]
            for metric, measure in asked.items()
        }
    pairs = zip(values["precision"], values["recall"], strict=True)
    values["f1"] = [2 * p * r / (p + r) if p + r else 0.0 for p, r in pairs]
    return values


def ours(
    lists: Sequence[Sequence[str]], grades: Sequence[Mapping[str, float]], k: int
) -> dict[str, list[float]]:
    rankings = Rankings.of(lists, grades)
    metrics: tuple[RankingMetric, ...] = (
        *(Hit(k=k), Recall(k=k), Precision(k=k), F1(k=k), MRR(k=k)),
        *(MAP(k=k), NDCG(k=k), RPrecision(), BPref()),
    )
    return {metric.name: metric.values(rankings).tolist() for metric in metrics}


@each_case("seed", range(4))
def test_the_five_metrics_equal_trec_evals(seed: int) -> None:
    """And the others too."""
    lists, grades = made(seed)
    for k in KS:
        computed, expected = ours(lists, grades, k), reference(lists, grades, k)
        assert computed.keys() == expected.keys()
        for name, values in computed.items():
            np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-9, err_msg=name)
