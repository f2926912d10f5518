import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ragstone.errors import Cause
from ragstone.store import Store, StoreError
from ragstone.store.search import MetricCounts, count_scores, summarise
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


def made(place: int) -> Row:
    late = Score.failed(Cause.TIMEOUT, "late")
    faithful = (Score.scored(place / 10), Score.undefined("nothing said"), late)[place % 3]
    scores = {"faithfulness": faithful, "hit@5": Score.scored(1.0)}
    return Row(place, Sample(id=f"q{place}", query="?"), scores=scores)


ROWS = [made(place) for place in range(10)]


async def fill(store: Store, make: SimpleNamespace, rows: list[Row]) -> None:
    make.begin(store, "r1")
    async with store.open_writer("r1") as writer:
        for row in rows:
            await writer.put(row)


async def test_of_no_rows_there_is_nothing_to_count(store: Store, make: SimpleNamespace) -> None:
    await fill(store, make, [])
    assert count_scores(store, "r1") == {}


async def test_the_figures_are_those_of_the_rows(store: Store, make: SimpleNamespace) -> None:
    await fill(store, make, ROWS)
    told = count_scores(store, "r1")
    assert told["faithfulness"].mean == pytest.approx(math.fsum([0, 0.3, 0.6, 0.9]) / 4)
    assert replace(told["faithfulness"], mean=None) == MetricCounts(4, 3, 3, None)
    assert told["hit@5"] == MetricCounts(10, 0, 0, 1.0)


async def test_a_run_without_a_summary_gets_one(store: Store, make: SimpleNamespace) -> None:
    await fill(store, make, ROWS)
    info = summarise(store, store.info("r1"))
    assert info.summary is not None
    assert info.summary["metrics"]["faithfulness"]["failed"] == 3
    kept = replace(info, summary={"metrics": {}})
    assert summarise(store, kept) is kept


def test_a_run_that_is_not_there_is_told(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no run no such"):
        count_scores(store, "no such")
