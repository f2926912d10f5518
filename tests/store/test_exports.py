"""A run goes into a file, which is a store, and comes back from it; other files are refused."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection, select
from tests.cases import each_case
from tests.store.conftest import LABEL, query
from tests.store.test_runs import ranked

from ragstone.results import ranking_run as ranked_values
from ragstone.store import Store, StoreError, delete, export, find_run, import_, save_ranking, tag
from ragstone.store.codec import checksum
from ragstone.store.database import LABELS, RUNS, TEXTS
from ragstone.store.reader import seal
from ragstone.store.runs import check_export
from ragstone.store.writer import pack

FINISHED = {"extras": {"hit@5": {"Hits": 2}}, "summary": {"a": 1}}


@pytest.fixture
async def filled(store: Store, make: SimpleNamespace) -> Store:
    texts = ["a\0", "half \ud83d", "😀 \n"]
    await make.put(store, *(make.full_row(place, text) for place, text in enumerate(texts)))
    store.finish("r1", **FINISHED)
    tag(store, "r1", "mine")
    store.add_labels("r1", [LABEL, replace(LABEL, claim=None)])
    return store


@pytest.fixture
async def path(filled: Store, tmp_path: Path) -> Path:
    """The file of a run that is in the store no more."""
    path = tmp_path / "run.db"
    export(filled, "r1", path)
    delete(filled, "r1")
    return path


@pytest.fixture
def exported(path: Path) -> Callable[[str], None]:
    """Change the exported file with SQL, each time as it was exported."""
    content = path.read_bytes()

    def change(script: str) -> None:
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as file, file:
            file.executescript(script)

    return change


def reseal(path: Path) -> None:
    """Compute the checksums again, as somebody who means harm would."""
    with Store.open(path) as store, store.transaction() as connection:
        for number in connection.execute(select(RUNS.c.number)).scalars().all():
            seal(connection, number)
        reseal_cells(connection)


def reseal_cells(connection: Connection) -> None:
    for run, place, body, transcript, _ in connection.execute(select(TEXTS)).all():
        here = TEXTS.c.run == run, TEXTS.c.place == place
        new = checksum(place, body, transcript)
        connection.execute(TEXTS.update().where(*here).values(checksum=new))
    for run, *values, _ in connection.execute(select(LABELS)).all():
        here = zip(LABELS.primary_key, (run, *values), strict=False)
        new = checksum(*values)
        where = (column == value for column, value in here)
        connection.execute(LABELS.update().where(*where).values(checksum=new))


def check_refusal(store: Store, path: Path, said: str) -> None:
    """A file is refused by both functions, and nothing of it is in the store."""
    for take in (lambda: check_export(path), lambda: import_(store, path)):
        with pytest.raises(StoreError, match=said):
            take()
    assert store.runs() == []
    assert query(store, "SELECT id FROM runs") == []


async def test_a_run_goes_into_a_file_and_comes_back(filled: Store, tmp_path: Path) -> None:
    path, before = tmp_path / "new/run.db", filled.info("r1")
    rows, labels = list(filled.load("r1").rows), filled.labels("r1")
    export(filled, "r1", path)
    assert [file.name for file in path.parent.iterdir()] == ["run.db"]
    with Store.open(path, reading=True) as store:  # the file is a store
        assert find_run(store, "last") == "r1"
        assert list(store.load("r1").rows) == rows
    with pytest.raises(StoreError, match="run r1 already exists"):
        import_(filled, path)
    delete(filled, "r1")
    check_export(path)
    assert import_(filled, path) == "r1"
    after = filled.info("r1")
    assert vars(after) == vars(before) | {"tag": None}
    assert list(filled.load("r1").rows) == rows
    assert filled.labels("r1") == labels
    assert query(filled, "SELECT value FROM scores WHERE metric = 'hit@5'") == [(1.0,)] * 3
    assert [file.name for file in path.parent.iterdir()] == ["run.db"]


async def test_an_unfinished_run_without_a_transcript_comes_back(store, make, tmp_path) -> None:
    manifest = make.manifest("r1", rows=5)
    writing = store.begin_writing(manifest, make.metrics, fingerprint="f", transcript=False)
    async with writing as writer:
        for place in (0, 3):
            await writer.put(make.full_row(place))
    rows, before = list(store.load("r1").rows), store.info("r1")
    export(store, "r1", tmp_path / "run.db")
    delete(store, "r1")
    import_(store, tmp_path / "run.db")
    assert (list(store.load("r1").rows), store.info("r1")) == (rows, before)
    assert store.unfinished("f") == "r1"


def test_a_ranking_goes_into_a_file_and_comes_back(store, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ranked_values, "BLOCK", 3)
    run = ranked()
    save_ranking(store, run)
    before = store.info("r1")
    export(store, "r1", tmp_path / "run.db")
    with pytest.raises(StoreError, match="run r1 already exists"):
        import_(store, tmp_path / "run.db")
    delete(store, "r1")
    assert import_(store, tmp_path / "run.db") == "r1"
    assert store.info("r1") == before
    assert list(store.load("r1").rows) == list(run.rows)


def test_another_file_is_refused(store: Store, make: SimpleNamespace, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    check_refusal(store, path, "there is no file")
    assert not path.exists()
    for content in (b"", b'{"a": 1}\n', b"\xff\xfe", b"SQLite format 3\0 not"):
        path.write_bytes(content)
        check_refusal(store, path, "files that `ragstone runs export` wrote")
        assert path.read_bytes() == content
    path = tmp_path / "other.db"
    with Store.open(path) as other:
        check_refusal(store, path, "contains 0 runs; export the one to import")
        make.begin(other, "r1")
        make.begin(other, "r2")
    check_refusal(store, path, "contains 2 runs; export the one to import")


def test_a_changed_byte_of_a_file_is_noticed(filled: Store, path: Path) -> None:
    """Line 4 of issue 18."""
    content = path.read_bytes()
    for old, new in (
        (b"0.75", b"0.25"),
        (b'"threshold":0.8', b'"threshold":0.6'),
        (b"lf ", b"l_ "),
    ):
        assert old in content
        path.write_bytes(content.replace(old, new))
        check_refusal(filled, path, "damaged or changed; export the run again")
    for share in (0.01, 0.6):  # or where it was cut short
        path.write_bytes(content[: int(len(content) * share)])
        check_refusal(filled, path, str(path))


ENDLESS = """
CREATE VIEW labels AS
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n
"""
HOSTILE = {
    "an endless view": f"DROP TABLE labels; {ENDLESS}",
    "a trigger": "CREATE TRIGGER evil AFTER UPDATE ON runs BEGIN SELECT load_extension('x'); END",
    "a virtual table": "CREATE VIRTUAL TABLE evil USING fts5(x)",
    "a body of bytes": "UPDATE texts SET body = CAST(body AS BLOB)",
    "a place of text": "UPDATE texts SET place = 'x' WHERE place = 1",
}


@each_case("what", HOSTILE)
def test_a_file_with_code_or_values_of_other_types_is_refused(
    filled: Store, path: Path, exported: Callable[[str], None], what: str
) -> None:
    exported(HOSTILE[what])
    if what not in ("an endless view", "a place of text"):
        with suppress(Exception):
            reseal(path)
    check_refusal(filled, path, "its tables are not those of a store")


def test_a_file_of_another_version_is_refused(filled, path: Path, exported) -> None:
    exported("UPDATE schema_version SET version = 2")
    check_refusal(filled, path, "another version of ragstone wrote this store")
    for statement in ("DROP TABLE texts", "ALTER TABLE rows DROP COLUMN calls"):
        exported(statement)
        check_refusal(filled, path, str(path))


@each_case(
    ("key", "value"),
    [
        *(("id", text) for text in ("", "../../x", "last", "x.importing")),
        *(("started_at", text) for text in ("yesterday", "2026-01-01T00:00:00")),
        ("finished_at", "99999999999999999"),
    ],
)
def test_a_bad_id_or_time_is_refused(filled, path: Path, exported, key: str, value: str) -> None:
    exported(f"UPDATE runs SET {key} = '{value}'")
    reseal(path)
    said = r"is not a run id|is not a time|cannot be read|contains 0 runs"
    check_refusal(filled, path, said)


def body(old: str, new: str) -> str:
    return f"UPDATE texts SET body = replace(body, '{old}', '{new}')"


CONTRADICTIONS = [
    ("DELETE FROM rows WHERE place = 1", "run r1 has 2 of its 3 rows|damaged"),
    (body('"index":2', '"index":0'), "row 3 of the run: its index 0 is repeated"),
    (body('"index":0', '"index":1000000000'), "row 1 .*: its index 1000000000 is .* too large"),
    (body("hit@5", "hit@6"), "row 1 of the run: its scores are not those"),
    ("UPDATE runs SET extras = '{\"x\": 5}'", "run r1 cannot be read:"),
    *(
        (f"UPDATE labels SET {change}", "a label of row 1 of run r1 cannot be read")
        for change in ("at = '2026-01-01'", "claim = -2 WHERE claim = 0")
    ),
]


@each_case(("statement", "said"), CONTRADICTIONS)
def test_a_file_whose_parts_contradict_each_other_is_refused(
    filled: Store, path: Path, exported: Callable[[str], None], statement: str, said: str
) -> None:
    """Line 7 of issue 18."""
    exported(statement)
    reseal(path)
    check_refusal(filled, path, said)


RANKED = [
    ("why", pack(bytes([7] * 7))),  # an unknown reason
    ("numbers", pack(b"123")),
    ("numbers", pack(b"\xff" * 56)),  # not finite
    ("names", pack(bytes(101 * 2**20))),  # a bomb
    ("failed", pack(b'[[7, "again"]]')),
    ("failed", pack(b'[[2, "again"]]')),  # of a query without scores
]


def test_a_damaged_ranking_is_refused(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    save_ranking(store, ranked())
    export(store, "r1", path)
    delete(store, "r1")
    content = path.read_bytes()
    for name, cell in RANKED:
        path.write_bytes(content)
        table = "query_blocks" if name in ("why", "names") else "value_blocks"
        with closing(sqlite3.connect(path)) as file, file:
            file.execute(f"UPDATE {table} SET {name} = ?", (cell,))
        check_refusal(store, path, "the queries from position 0 of run r1 cannot be read")


def test_an_export_that_fails_leaves_the_old_file(store: Store, make, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(StoreError, match="there is no run"):
        export(store, "r1", path)
    assert path.read_text(encoding="utf-8") == "old"
    left = [each.name for each in tmp_path.iterdir() if not each.name.startswith("runs.db")]
    assert left == ["run.db"]
    make.begin(store, "r1")
    with pytest.raises(StoreError, match="cannot be written: "):
        export(store, "r1", path / "run.db")


async def test_imports_at_the_same_time_leave_one_another_alone(filled, make, tmp_path) -> None:
    names = ["r2", "r3", "r4", "r5"]
    for name in names:
        make.begin(filled, name)
        export(filled, name, tmp_path / name)
        delete(filled, name)
    imports = (asyncio.to_thread(import_, filled, tmp_path / name) for name in names)
    assert await asyncio.gather(*imports) == names
    assert sorted(info.id for info in filled.runs()) == ["r1", *names]


IMPORTING = """
import sys, time
from pathlib import Path
from ragstone.store import Store, import_, runs

checked = runs._checked_rows

def slow(run):
    for row in checked(run):
        if row.index > 300:
            time.sleep(600)  # to be killed
        yield row

runs._checked_rows = slow
with Store.open(sys.argv[1]) as store:
    import_(store, Path(sys.argv[2]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_a_killed_import_left_is_no_run_and_is_cleared(store, place, make, tmp_path) -> None:
    asyncio.run(make.put(store, *map(make.small_row, range(450))))
    path = tmp_path / "run.db"
    export(store, "r1", path)
    delete(store, "r1")
    command = [sys.executable, "-c", IMPORTING, place, str(path)]
    with subprocess.Popen(command) as process:
        while not rows(store):
            assert process.poll() is None
            time.sleep(0.01)
        with pytest.raises(StoreError, match="another process is importing run r1"):
            import_(store, path)
        process.kill()
    assert rows(store)
    assert store.runs() == []
    for name in ("last", "r1"):
        with pytest.raises(StoreError, match="contains no"):
            find_run(store, name)
    for _ in range(100):  # PostgreSQL takes a moment to see that nobody is there
        with suppress(StoreError):
            import_(store, path)
            break
        time.sleep(0.1)
    assert [(info.id, info.rows) for info in store.runs()] == [("r1", 450)]
    assert rows(store) == 450


def rows(store: Store) -> int:
    with store.connect() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM rows").scalar_one()
