from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from ragstone.store import (
    RunLockedError,
    Store,
    StoreError,
    delete,
    find_run,
    prune,
    resume,
    running_runs,
    tag,
    untag,
)


@pytest.fixture
def shelf(store: Store, make: SimpleNamespace) -> Store:
    for minutes, run_id in enumerate(["20260301-a1", "20260301-b2", "20260302-c3"]):
        make.begin(store, run_id, minutes=minutes)
    tag(store, "20260301-a1", "baseline")
    return store


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("20260301-b2", "20260301-b2"),
        ("20260301-b", "20260301-b2"),
        ("20260302", "20260302-c3"),
        ("baseline", "20260301-a1"),
        ("last", "20260302-c3"),
    ],
)
def test_a_run_is_found_by_id_beginning_tag_or_as_the_last(
    shelf: Store, name: str, found: str
) -> None:
    assert find_run(shelf, name) == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("20260301", "2 runs begin with '20260301': 20260301-b2, 20260301-a1"),
        ("bseline", "did you mean 'baseline'"),
        ("%", "the newest: 20260302-c3, 20260301-b2"),
        ("", "there is no run named ''"),
    ],
)
def test_a_run_that_is_not_found_is_told_with_near_ones(shelf: Store, name: str, said: str) -> None:
    with pytest.raises(StoreError) as error:
        find_run(shelf, name)
    assert said in str(error.value)


def test_an_empty_store_has_no_last_run(store: Store) -> None:
    for name in ("last", "x"):
        with pytest.raises(StoreError, match="holds no"):
            find_run(store, name)


def test_a_tag_moves_and_is_taken_away(shelf: Store) -> None:
    tag(shelf, "20260301-b2", "other")
    assert tag(shelf, "20260301-b2", "baseline") == ("20260301-a1", "other")
    assert tag(shelf, "20260301-b2", "baseline") == (None, None)
    assert [info.tag for info in shelf.runs()] == [None, "baseline", None]
    untag(shelf, "20260301-b2")
    assert {info.tag for info in shelf.runs()} == {None}


@pytest.mark.parametrize("name", ["", "last", "two words", "a\nb", "-x", "20260301-a1", "x" * 101])
def test_some_names_are_no_tags(shelf: Store, name: str) -> None:
    with pytest.raises(StoreError):
        tag(shelf, "20260301-b2", name)


def test_a_tag_for_no_run_changes_nothing(shelf: Store) -> None:
    with pytest.raises(StoreError, match="there is no run nothing"):
        tag(shelf, "nothing", "baseline")
    assert find_run(shelf, "baseline") == "20260301-a1"


async def test_a_deleted_run_is_gone_with_its_rows(shelf: Store, make: SimpleNamespace) -> None:
    async with shelf.open_writer("20260301-b2") as writer:
        await writer.put(make.full_row(0))
        with pytest.raises(RunLockedError, match="is being worked on"):
            delete(shelf, "20260301-b2")
    delete(shelf, "20260301-b2")
    with shelf.connect() as connection:
        for table in ("rows", "scores", "texts"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
    with pytest.raises(StoreError, match="there is no run"):
        delete(shelf, "20260301-b2")


def test_old_runs_are_pruned_but_for_tagged_ones(shelf: Store) -> None:
    assert prune(shelf, before=datetime(2026, 1, 1, tzinfo=UTC)) == []
    later = datetime(2026, 3, 1, 12, 31, 30, tzinfo=UTC).astimezone()
    assert prune(shelf, before=later) == ["20260301-b2"]
    assert prune(shelf, before=later + timedelta(days=1)) == ["20260302-c3"]
    assert [info.id for info in shelf.runs()] == ["20260301-a1"]


def test_a_run_that_is_taken_meanwhile_does_not_end_the_pruning(shelf: Store) -> None:
    later = datetime(2027, 1, 1, tzinfo=UTC)
    with shelf.lock("20260301-b2"):
        assert prune(shelf, before=later) == ["20260302-c3"]
    assert [info.id for info in shelf.runs()] == ["20260301-b2", "20260301-a1"]


async def test_a_run_that_was_thrown_away_is_written_to_no_more(
    shelf: Store, make: SimpleNamespace
) -> None:
    writer = shelf.open_writer("20260301-b2")
    delete(shelf, "20260301-b2")
    with pytest.raises(StoreError, match="there is no run 20260301-b2"):
        async with writer:
            pass


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


def test_a_run_that_goes_on_is_as_if_it_had_not_ended(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    store.finish("r1", extras={"hit@5": {"Hits": 2}}, stopped="10 calls", summary={"a": 1})
    resume(store, make.manifest("r1"))
    info = store.info("r1")
    assert (info.finished, info.stopped, info.summary, info.extras) == (False, None, None, {})
