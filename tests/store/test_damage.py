"""Line 4 of issue 18: rows that are missing or changed are noticed by all that read them."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import event
from tests.store.conftest import full_row, query
from tests.store.test_runs import ranked

from ragstone.store import (
    DamagedRunError,
    Store,
    StoreError,
    delete,
    export,
    resume,
    save_ranking,
    tag,
)
from ragstone.store.errors import RunNotFoundError
from ragstone.store.runs import summarize


@pytest.fixture
async def finished(store: Store, make: SimpleNamespace) -> Store:
    await make.put(store, *(make.full_row(place, "It is ü.") for place in range(3)))
    store.finish("r1", extras={}, summary={"metrics": {}})
    make.begin(store, "whole", minutes=1)
    return store


def read(store: Store, tmp_path: Path) -> None:
    export(store, "r1", tmp_path / "run.db")


ROWS = {
    "rows": ["DELETE FROM rows WHERE place = 1"],
    "last row": [f"DELETE FROM {table} WHERE place = 2" for table in ("rows", "scores", "texts")],
    "all rows": [f"DELETE FROM {table}" for table in ("rows", "scores", "texts")],
    "texts": ["DELETE FROM texts WHERE place = 1"],
}
CHANGES = {
    "value": "UPDATE texts SET body = replace(body, '0.75', '0.25') WHERE place = 1",
    "bit": "UPDATE texts SET transcript = replace(transcript, 'yes', 'yer') WHERE place = 1",
    "place": "UPDATE texts SET place = 7 WHERE place = 1",
}
LINES = {
    "manifest": "UPDATE runs SET manifest = replace(manifest, '0.8', '0.6')",
    "no manifest": "UPDATE runs SET manifest = '{'",
    "summary": "UPDATE runs SET summary = NULL",
    "metrics": "UPDATE runs SET metrics = replace(metrics, 'hit@5', 'hit@6')",
}


@pytest.mark.parametrize("what", ROWS)
async def test_missing_rows_are_noticed(what: str, finished: Store, tmp_path: Path) -> None:
    read(finished, tmp_path)
    for statement in ROWS[what]:
        query(finished, statement)
    with pytest.raises(DamagedRunError, match=r"run r1 has .*of its \d rows: .*delete r1`"):
        read(finished, tmp_path)
    with pytest.raises(DamagedRunError):
        list(finished.load("r1").rows)
    assert [info.id for info in finished.runs()] == ["whole", "r1"]
    delete(finished, "r1")


@pytest.mark.parametrize("what", CHANGES)
async def test_changed_rows_are_noticed(what: str, finished: Store, tmp_path: Path) -> None:
    query(finished, CHANGES[what])
    place = 7 if what == "place" else 1
    message = rf"row {place} of run r1 is not as it was stored: .*backup"
    run = finished.load("r1")
    with pytest.raises(DamagedRunError, match=message):
        read(finished, tmp_path)
    with pytest.raises(DamagedRunError, match=message):
        list(run.rows)
    with pytest.raises(DamagedRunError, match=message):
        finished.row("r1", place)
    assert run.rows[0] == full_row(0, "It is ü.")


@pytest.mark.parametrize("what", LINES)
async def test_changed_settings_are_noticed(what: str, finished: Store, tmp_path: Path) -> None:
    query(finished, LINES[what] + " WHERE id = 'r1'")
    with pytest.raises(DamagedRunError, match="settings or summary of run r1 are not as they were"):
        read(finished, tmp_path)
    if what != "no manifest":
        whole, damaged = finished.runs()
        assert (whole.damage, damaged.id, bool(damaged.damage)) == (None, "r1", True)
    delete(finished, "r1")
    assert [info.id for info in finished.runs()] == ["whole"]


async def test_a_flipped_bit_in_the_file_is_noticed(tmp_path: Path, make: SimpleNamespace) -> None:
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        await make.put(store, make.full_row(0, "It is so: marked."))
        store.finish("r1", extras={})
    content = path.read_bytes()
    places = [at for at in range(len(content)) if content.startswith(b"marked.", at)]
    assert len(places) > 5
    for place in places[::3]:  # 0x6d becomes 0xed, which is no UTF-8, or `l`
        for bit in (0x80, 0x01):
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(changed)
            with Store.open(path) as store, pytest.raises(DamagedRunError, match="row 0 of run r1"):
                list(store.load("r1").rows)


async def test_changes_by_ragstone_are_no_damage(finished: Store, make, tmp_path: Path) -> None:
    tag(finished, "r1", "mine")
    tag(finished, "whole", "mine")
    read(finished, tmp_path)
    resume(finished, make.manifest("r1"))
    await make.put(finished, make.small_row(1), make.small_row(3))
    assert len(list(finished.load("r1").rows)) == 4
    finished.finish("r1", extras={}, partial=True)
    read(finished, tmp_path)
    finished.finish("r1", extras={})
    assert finished.info("r1").rows == 4
    read(finished, tmp_path)


BLOCKS = [
    "DELETE FROM query_blocks WHERE place = 0",
    "DELETE FROM query_blocks WHERE place = 6",
    "UPDATE query_blocks SET queries = 2 WHERE place = 0",
    "DELETE FROM value_blocks WHERE place = 3",
]


@pytest.mark.parametrize("statement", BLOCKS)
def test_damaged_rankings_are_noticed(statement: str, store: Store, monkeypatch) -> None:
    monkeypatch.setattr("ragstone.results.ranking_run.BLOCK", 3)
    save_ranking(store, ranked())
    assert len(list(store.load("r1").rows)) == 7
    query(store, statement)
    with pytest.raises(StoreError, match=r"run r1 (has|cannot be read)"):
        list(store.load("r1").rows)


@pytest.mark.parametrize("kind", ["finished", "resumed", "ranking"])
async def test_a_run_deleted_while_it_is_read_is_not_damaged(kind, finished, make, monkeypatch):
    monkeypatch.setattr("ragstone.results.ranking_run.BLOCK", 3)
    if kind == "ranking":
        delete(finished, "r1")
        save_ranking(finished, ranked())
    if kind == "resumed":
        resume(finished, make.manifest("r1"))
    run = finished.load("r1")
    delete(finished, "r1")
    for look in (list, lambda rows: rows[0]):
        with pytest.raises(RunNotFoundError, match="run r1 was deleted by another process"):
            look(run.rows)


@pytest.mark.slow
async def test_a_run_deleted_between_two_queries_is_not_damaged(store, make, tmp_path) -> None:
    """PostgreSQL shows each query what others have changed."""
    at, count = 0, 0

    def delete_run(*_: object) -> None:
        nonlocal count
        count += 1
        if count == at:
            delete(store, run)

    found: list[str] = []
    with Store.open(store.name, reading=True) as other:
        event.listen(other._engine, "before_cursor_execute", delete_run)
        while count >= at:
            at, count, run = at + 1, 0, f"r{at}"
            await make.put(store, make.small_row(0), run_id=run)
            store.finish(run, extras={})
            try:
                for info in other.runs():
                    summarize(other, info)
                other.row(run, 0)
                export(other, run, tmp_path / "run.db")
            except StoreError as error:
                found.append(f"{type(error).__name__}: {error}")
    wrong = [each for each in found if "RunNotFound" not in each or "deleted" not in each]
    assert not wrong
    assert len(found) > 10


async def test_a_damaged_column_that_no_result_needs_hides_no_run(finished: Store) -> None:
    if finished.name.startswith("postgresql:"):
        pytest.skip("PostgreSQL checks types")
    query(finished, "UPDATE runs SET sort_time = x'00' WHERE id = 'r1'")
    assert {info.id: info.damage for info in finished.runs()} == {"r1": None, "whole": None}
    query(finished, "UPDATE runs SET checksum = x'00' WHERE id = 'r1'")
    assert {info.id: bool(info.damage) for info in finished.runs()} == {"r1": True, "whole": False}
