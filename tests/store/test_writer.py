import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.store.conftest import query

from ragstone.store import Store, StoreError
from ragstone.store import database as engines


async def test_a_row_at_the_same_place_is_replaced(store: Store, make: SimpleNamespace) -> None:
    await make.put(store, *(make.small_row(1, hit) for hit in (0.0, 0.25, 0.5)))
    await make.put(store, make.small_row(1, 0.75))
    assert [row.scores["hit@5"].value for row in store.load("r1").rows] == [0.75]
    assert query(store, "SELECT value FROM scores WHERE metric = 'hit@5'") == [(0.75,)]


async def test_a_row_that_waits_alone_is_soon_written(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    async with store.open_writer("r1") as writer:
        await writer.put(make.small_row(0))
        for _ in range(100):
            if len(store.done("r1")) == 1:
                break
            await asyncio.sleep(0.05)
        assert list(store.done("r1")) == [0]


async def test_a_run_that_another_program_deletes_is_reported(store: Store, make) -> None:
    make.begin(store, "r1")
    writer = await store.open_writer("r1").__aenter__()
    query(store, "DELETE FROM runs")
    await writer.put(make.small_row(0))
    with pytest.raises(StoreError, match="the run was deleted by another program"):
        await writer.__aexit__(None, None, None)
    with pytest.raises(StoreError, match=r"no run r1 in .*; it may have been deleted"):
        store.finish("r1", extras={})


async def test_a_cancelled_run_keeps_what_was_put(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    put = asyncio.Event()

    async def work() -> None:
        async with store.open_writer("r1") as writer:
            for place in range(250):
                await writer.put(make.small_row(place))
            put.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await put.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # and again while it is being written
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(store.done("r1")) == 250


async def test_a_bug_in_the_block_is_raised_and_what_was_put_is_kept(store: Store, make) -> None:
    make.begin(store, "r1")
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - leaving the block is what is tested
        async with store.open_writer("r1") as writer:
            await writer.put(make.small_row(0))
            raise ZeroDivisionError
    assert list(store.done("r1")) == [0]


async def test_a_locked_file_ends_the_writing_with_what_was_lost(
    tmp_path: Path, make: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    monkeypatch.setattr(engines, "WAIT", 0.2)
    with Store.open(tmp_path / "runs.db") as store:
        make.begin(store, "r1")
        with closing(sqlite3.connect(tmp_path / "runs.db")) as other:
            with pytest.raises(StoreError) as error:  # noqa: PT012 - as above
                async with store.open_writer("r1") as writer:
                    for place in range(200):
                        await writer.put(make.small_row(place))
                    while len(store.done("r1")) < 200:  # noqa: ASYNC110 - it is another thread's
                        await asyncio.sleep(0.01)
                    other.execute("BEGIN IMMEDIATE")
                    for place in range(200, 5000):
                        await writer.put(make.small_row(place))
            with pytest.raises(ZeroDivisionError):  # noqa: PT012 - as above
                async with store.open_writer("r1") as writer:
                    await writer.put(make.small_row(200))
                    raise ZeroDivisionError
            assert "1 finished row is not stored" in caplog.text  # where the block fails too
            other.rollback()
        said = str(error.value)
        assert "another program locked it" in said
        assert "200 are. To continue the run: `ragstone resume r1`" in said
        assert list(store.done("r1")) == list(range(200))
        assert store.unfinished("f") == "r1"
