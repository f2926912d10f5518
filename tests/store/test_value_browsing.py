"""A ranking's run is browsed as a run of rows with the same scores is."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics import get
from ragstone.results import ranking_run as ranked_values
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.store import Store, save_ranking
from ragstone.store.search import STATES, RowQuery, find_rows, row_at
from ragstone.types.config import Manifest, Plan, Source

METRICS = ("hit@5", "ndcg@5")
MANIFEST = Manifest(
    run_id="values",
    version="0",
    started_at=datetime.now(UTC),
    plan=Plan(),
    source=Source(name="a.run", rows=40),
    judge=None,
    judge_note=None,
    target=None,
    not_run={},
)
asked = st.sampled_from([*METRICS, "mrr@5", None])


def values() -> RankingScores:
    places = np.arange(40)
    return RankingScores(
        ids=[f"Q{place}" for place in places],
        texts={f"Q{place}": f"query {place}" for place in places[::2]},
        metrics=METRICS,
        values=np.stack([places % 2, places % 7 / 7], axis=1).astype(float)
        * (places % 5 > 0)[:, None],
        why=np.where(places % 5, 0, 1 + places % 2).astype(np.uint8),
        failed={"ndcg@5": {3: "it raised"}},
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with the same scores as blocks, and as rows."""
    place: Path = tmp_path_factory.mktemp("both") / "runs.db"
    metrics = {name: get(name).described for name in METRICS}
    run = Run(manifest=MANIFEST, metrics=metrics, rows=values())
    with Store.open(place) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked_values, "BLOCK", 7)
        save_ranking(store, run)
        store.begin(MANIFEST.model_copy(update={"run_id": "rows"}), metrics, fingerprint="")
        asyncio.run(fill(store, run))
        yield store


async def fill(store: Store, run: Run) -> None:
    async with store.open_writer("rows") as writer:
        for row in run.rows:
            await writer.put(row)


@given(
    wanted=st.builds(
        RowQuery,
        text=st.sampled_from(["", "q3", "QUERY 2", "nothing"]),
        metric=asked,
        state=st.sampled_from([None, *STATES]),
        low=st.sampled_from([None, 0.0, 0.3]),
        high=st.sampled_from([None, 0.3, 1.0]),
        tag=st.sampled_from([None, None, None, "kind"]),
        sort=asked,
        descending=st.booleans(),
        offset=st.sampled_from([0, 3, 50]),
        limit=st.sampled_from([1, 10, 50]),
    )
)
def test_the_same_is_found_in_the_same_order(both: Store, wanted: RowQuery) -> None:
    assert find_rows(both, "values", wanted) == find_rows(both, "rows", wanted)


def test_one_row_is_found_by_its_place(both: Store) -> None:
    assert row_at(both, "values", 3) == row_at(both, "rows", 3)
    for place in (40, -1):
        assert row_at(both, "values", place) is row_at(both, "rows", place) is None
    few = replace(RowQuery(), limit=2, sort="ndcg@5", descending=True)
    assert [row.index for row in find_rows(both, "values", few).rows] == [6, 13]
