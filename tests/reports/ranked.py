"""A ranking's run of as many queries as a test wants; the values are made, not judged."""

import numpy as np
from tests.results.conftest import manifest_of

from ragstone.metrics import get
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.types.config import Plan, Source

METRICS = ("hit@5", "ndcg@5")


def ranked_run(queries: int, plan: Plan | None = None) -> Run:
    """Query n has ndcg n / queries; the first is not judged, the metric failed on the second."""
    places = np.arange(queries)
    values = np.stack([places % 2, places / queries], axis=1).astype(np.float64)
    values[:2] = 0
    rows = RankingScores(
        ids=[f"q{place}" for place in range(queries)],
        texts={"q2": "what?"},
        metrics=METRICS,
        values=values,
        why=np.where(places == 0, 2, 0).astype(np.uint8),
        failed={"ndcg@5": {1: "it raised"}},
    )
    source, asked = Source(name="bm25.run", rows=queries), plan or Plan(metrics=METRICS)
    manifest = manifest_of(run_id="r1", plan=asked, source=source, judge=None, judge_note=None)
    return Run(manifest=manifest, metrics={m: get(m).described for m in METRICS}, rows=rows)
