import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy import select
from tests.store.conftest import START

from ragstone.metrics import get
from ragstone.results import ranking_run as ranked_values
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.store import (
    RunLockedError,
    Store,
    StoreError,
    delete,
    export,
    find_run,
    import_,
    prune,
    running_runs,
    save_ranking,
    tag,
    untag,
)
from ragstone.store.database import QUERY_BLOCKS, UNDER_WAY, VALUE_BLOCKS
from ragstone.types.config import Manifest, Plan, Source


@pytest.fixture
def shelf(store: Store, make: SimpleNamespace) -> Store:
    for minutes, run_id in enumerate(["20260301-a1", "20260301-b2", "20260302-c3"]):
        make.begin(store, run_id, minutes=minutes)
    tag(store, "20260301-a1", "baseline")
    return store


def test_a_run_is_found_by_id_beginning_tag_or_as_the_last(shelf: Store) -> None:
    for name, found in (
        ("20260301-b2", "20260301-b2"),
        ("20260301-b", "20260301-b2"),
        ("20260302", "20260302-c3"),
        ("baseline", "20260301-a1"),
        ("last", "20260302-c3"),
    ):
        assert find_run(shelf, name) == found
    for name, said in (
        ("20260301", "2 run ids begin with '20260301': 20260301-b2, 20260301-a1"),
        ("bseline", "did you mean 'baseline'"),
        ("%", "the newest: 20260302-c3, 20260301-b2"),
        ("", "there is no run named ''"),
    ):
        with pytest.raises(StoreError, match=said):
            find_run(shelf, name)


def test_a_tag_moves_and_is_taken_away(shelf: Store) -> None:
    with pytest.raises(StoreError, match="there is no run nothing"):
        tag(shelf, "nothing", "baseline")
    assert find_run(shelf, "baseline") == "20260301-a1"
    for name in ("", "last", "two words", "-x", "20260301-a1", "x" * 101):
        with pytest.raises(StoreError):
            tag(shelf, "20260301-b2", name)
    tag(shelf, "20260301-b2", "other")
    assert tag(shelf, "20260301-b2", "baseline") == ("20260301-a1", "other")
    assert tag(shelf, "20260301-b2", "baseline") == (None, None)
    assert [info.tag for info in shelf.runs()] == [None, "baseline", None]
    untag(shelf, "20260301-b2")
    assert {info.tag for info in shelf.runs()} == {None}


async def test_a_deleted_run_is_gone_with_its_rows(shelf: Store, make: SimpleNamespace) -> None:
    async with shelf.open_writer("20260301-b2") as writer:
        await writer.put(make.full_row(0))
        with pytest.raises(RunLockedError, match="is in use by another process"):
            delete(shelf, "20260301-b2")
    writer = shelf.open_writer("20260301-b2")
    delete(shelf, "20260301-b2")
    with shelf.connect() as connection:
        for table in ("rows", "scores", "texts"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
    with pytest.raises(StoreError, match="there is no run"):
        delete(shelf, "20260301-b2")
    with pytest.raises(StoreError, match="there is no run 20260301-b2"):
        async with writer:
            pass


def test_a_clock_that_was_set_back_changes_neither_last_nor_what_is_pruned(
    store: Store, make: SimpleNamespace, tmp_path: Path
) -> None:
    """Line 7 of issue 18: the order is that of the store, not only that of the clock."""
    make.begin(store, "old", minutes=-100_000)
    make.begin(store, "ahead", minutes=10**7, fingerprint="g")  # the clock was ahead
    make.begin(store, "first", minutes=20)
    make.begin(store, "second")  # the clock was set back
    export(store, "old", tmp_path / "old.db")
    delete(store, "old")
    import_(store, tmp_path / "old.db")  # is older than the others, although it came last
    assert [info.id for info in store.runs()] == ["second", "first", "ahead", "old"]
    assert find_run(store, "last") == "second"
    assert prune(store, before=START + timedelta(minutes=10)) == []
    assert prune(store, before=START + timedelta(minutes=30)) == ["second", "first", "old"]


async def test_a_run_is_going_on_while_it_is_written(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    make.begin(store, "other", fingerprint="g")
    assert running_runs(store) == frozenset()
    async with store.open_writer("r1"), store.open_writer("other"):
        assert running_runs(store) == {"r1", "other"}
        assert running_runs(store, fingerprint="g") == {"other"}
        assert running_runs(store, fingerprint="h") == frozenset()
        assert running_runs(store) == {"r1", "other"}, "looking takes no lock away"
    assert running_runs(store) == frozenset()
    async with store.open_writer("r1"):
        pass
    store.finish("r1", extras={})
    assert running_runs(store) == frozenset()


METRICS = ("hit@5", "ndcg@5")
IDS = ["q1", "q\0", "half \ud83d", "ü 4", "line\n5", "q6", "q7"]


def ranked(run_id: str = "r1") -> Run:
    """Seven queries: the third is not ranked, the metric fails on the fifth and the last."""
    values = np.arange(14.0).reshape(7, 2) / 14
    values[2] = 0
    values[[4, 6], 1] = 0
    rows = RankingScores(
        ids=IDS,
        texts={"q1": "why?", "q6": "how \ud83d?"},
        metrics=METRICS,
        values=values,
        why=np.array([0, 0, 1, 0, 0, 0, 0], dtype=np.uint8),
        failed={"ndcg@5": {4: "it raised", 6: "again"}},
    )
    manifest = Manifest(
        run_id=run_id,
        version="0.1.0",
        started_at=START,
        plan=Plan(metrics=METRICS, k=5),
        source=Source(name="bm25.run", rows=7, notes=("7 queries are judged",)),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
        identity={"data": "bm25.run"},
    )
    return Run(manifest=manifest, metrics={m: get(m).described for m in METRICS}, rows=rows)


@pytest.fixture(params=[10_000, 3, 1])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """However many queries a block has."""
    monkeypatch.setattr(ranked_values, "BLOCK", request.param)
    return request.param


def test_a_run_comes_back_as_it_was(store: Store, at_once: int) -> None:
    run = ranked()
    save_ranking(store, run)
    (info,) = store.runs()
    assert (info.id, info.rows, info.ranked, info.finished) == ("r1", 7, True, True)
    assert info.summary is not None
    assert info.summary["metrics"] == json.loads(json.dumps(run.to_dict()["metrics"]))
    assert store.unfinished(info.fingerprint) is None
    stored = store.load("r1")
    assert list(stored.rows) == list(run.rows)
    assert stored.rows[-1] == run.rows[6]
    assert stored.to_dict() == run.to_dict()
    columns, before = stored.columns, run.columns
    assert columns is not None
    assert before is not None
    for name in METRICS:
        for one, other in zip(columns.column(name), before.column(name), strict=True):
            assert one.tolist() == other.tolist()
    assert [len(part) for part in columns.blocks()] == [
        len(IDS[start : start + at_once]) for start in range(0, len(IDS), at_once)
    ]


def test_a_run_is_there_whole_or_not_at_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_values, "BLOCK", 3)
    whole = ranked()
    rows = whole.rows
    assert isinstance(rows, RankingScores)
    broken = replace(rows, ids=[*IDS[:-1], b"no text"])  # the last block cannot be written
    with pytest.raises(TypeError):
        save_ranking(store, replace(whole, rows=broken))
    with store.connect() as connection:
        assert connection.execute(select(QUERY_BLOCKS)).all() == []
    save_ranking(store, ranked(f"r0{UNDER_WAY}"))  # as a killed process leaves it
    assert store.runs() == []
    save_ranking(store, whole)
    with store.connect() as connection:
        assert len(set(connection.execute(select(QUERY_BLOCKS.c.run)).all())) == 1
    with pytest.raises(StoreError, match="run r1 already exists"):
        save_ranking(store, whole)
    assert [info.id for info in store.runs()] == ["r1"]
    for by in (lambda: delete(store, "r1"), lambda: prune(store, before=START.replace(year=2030))):
        by()
        with store.connect() as connection:
            for table in (QUERY_BLOCKS, VALUE_BLOCKS):
                assert connection.execute(select(table)).all() == []
        save_ranking(store, whole)
