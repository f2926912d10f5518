import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.store.conftest import query

from ragstone.errors import UsageError
from ragstone.store import RunLockedError, Store, StoreError


async def test_a_run_comes_back_as_it_was(store: Store, make: SimpleNamespace) -> None:
    texts = ["a\0", "half \ud83d", "😀 \u202e \\ud800 as written", 'say "no"\n' * 100_000]
    rows = [make.full_row(place, text) for place, text in enumerate(texts)]
    accepted = rows[0].sample.model_copy(update={"reference": ("a", "b")})
    rows[0] = replace(rows[0], sample=accepted)
    await make.put(store, *rows[::-1])
    unfinished = store.load("r1")
    assert (unfinished.partial, unfinished.stopped) == (True, None)
    store.finish("r1", extras={"hit@5": {"Hits": 2}}, stopped="100 calls", summary={"a": [1]})
    run = store.load("r1")
    assert (run.manifest, dict(run.metrics)) == (make.manifest("r1"), make.metrics)
    assert (run.partial, run.stopped) == (False, "100 calls")
    assert run.extras == {"faithfulness": {}, "hit@5": {"Hits": 2}}
    assert list(run.rows) == rows
    assert run.summary()["hit@5"].mean == 1


async def test_rows_are_read_anew_each_time(store: Store, make: SimpleNamespace) -> None:
    rows = [make.small_row(place) for place in range(250) if place != 5]
    await make.put(store, *rows)
    found = store.load("r1").rows
    assert len(found) == 249
    assert list(found) == list(found) == rows
    assert (found[0], found[5], found[-1]) == (rows[0], rows[5], rows[-1])
    assert found[3:9:2] == rows[3:9:2]
    with pytest.raises(IndexError):
        found[249]
    assert store.row("r1", 6) == make.small_row(6)
    assert store.row("r1", 5) is None
    with pytest.raises(StoreError, match="there is no run no such"):
        store.row("no such", 0)


async def test_what_is_done_is_told_by_place(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    assert list(store.done("r1")) == []
    await make.put(store, *[make.small_row(place) for place in (0, 1, 2, 6, 8)])
    assert list(store.done("r1")) == [0, 1, 2, 6, 8]
    assert list(store.done("r1", retry_failed=True)) == [1, 2, 8]


async def test_scores_and_usage_can_be_read_with_sql(store: Store, make: SimpleNamespace) -> None:
    rows = [make.small_row(0, 0.5), make.full_row(1, hit=0.25)]
    await make.put(store, *rows)
    scores = query(store, "SELECT metric, place, state, value FROM scores ORDER BY metric, place")
    assert scores == [
        ("faithfulness", 0, "failed", None),
        ("faithfulness", 1, "scored", 0.75),
        ("hit@5", 0, "scored", 0.5),
        ("hit@5", 1, "scored", 0.25),
    ]
    (first, second) = query(store, "SELECT sample_id, query_fingerprint, calls FROM rows")
    assert (first[0], first[2], second[0], second[2]) == ("q0", 0, "q1", rows[1].usage.calls)
    assert first[1] != second[1]


async def test_the_newest_unfinished_run_is_resumed(store: Store, make: SimpleNamespace) -> None:
    assert store.unfinished("f") is None
    make.begin(store, "a")
    make.begin(store, "b", minutes=1)
    make.begin(store, "other", minutes=2, fingerprint="g")
    assert store.unfinished("f") is None, "a run without rows could not start"
    for run_id in ("a", "b"):
        await make.put(store, make.full_row(0), run_id=run_id)
    assert store.unfinished("f") == "b"
    store.finish("b", extras={}, partial=True, stopped="10 calls")
    assert (store.unfinished("f"), store.info("b").stopped) == ("b", "10 calls")
    store.finish("b", extras={})
    assert store.unfinished("f") == "a"


async def test_a_run_that_is_worked_on_is_nobody_elses(store: Store, place: str, make) -> None:
    await make.put(store, make.full_row(0), run_id="a")
    async with store.open_writer("a"):
        assert store.unfinished("f") is None
        with Store.open(place) as other:
            assert other.unfinished("f") is None
            with pytest.raises(StoreError, match="run a is in use by another process"):
                async with other.open_writer("a"):
                    pass
    assert store.unfinished("f") == "a"


def test_a_run_that_is_not_there_or_there_already_is_told(store: Store, make) -> None:
    for call in (store.info, store.load, store.done, store.open_writer):
        with pytest.raises(StoreError, match="there is no run nothing"):
            call("nothing")
    make.begin(store, "a")
    with pytest.raises(UsageError, match="run a already exists"):
        make.begin(store, "a")


async def test_a_finished_run_stays_as_it_was_entered(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "a")
    async with store.open_writer("a"):
        with pytest.raises(RunLockedError, match="run a is in use by another process"):
            store.finish("a", extras={})
    store.finish("a", extras={}, summary={"by": "one"})
    store.finish("a", extras={}, partial=True, summary={"by": "another"})
    assert (store.info("a").finished, store.info("a").summary) == (True, {"by": "one"})


def test_a_store_that_nobody_holds_any_more_has_no_connections(server: SimpleNamespace) -> None:
    psycopg = pytest.importorskip("psycopg")
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'tester' AND pid <> "
    with psycopg.connect(server.url, autocommit=True) as connection:

        def connections() -> int:
            return connection.execute(query + "pg_backend_pid()").fetchone()[0]

        before = connections()
        store = Store.open(server.url)
        assert store.runs() == []
        assert connections() == before + 1
        del store
        for _ in range(100):  # the server takes a moment to see it
            if connections() == before:
                break
            time.sleep(0.05)
        assert connections() == before
    server.query("DROP SCHEMA IF EXISTS ragstone CASCADE")
