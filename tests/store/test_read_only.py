"""A read-only store can be listed, shown, compared and exported; whatever writes is refused."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.test_paths import outcomes
from tests.cli.test_runs import made
from tests.conftest import Fork
from tests.store.test_runs import ranked

from ragstone.store import Store, StoreError, export, save_ranking, tag

pytestmark = pytest.mark.timeout(1800)  # dozens of commands, perhaps on a busy machine
posix = pytest.mark.skipif(os.name != "posix", reason="needs permissions")

READING = """
runs list
runs show last
runs export last out/run.db
runs show last --json -
runs show last --html out/report.html
compare one last
runs rescore last --policy all
rank --qrels qrels --ranking ranking --baseline ranked
labels list last
labels draw last
view nobody
"""
WRITES = """
run data.jsonl -m exact_match --target plugin.py:ask --no-export
run data.jsonl -m exact_match --target plugin.py:ask --no-export --fresh
rank --qrels qrels --ranking ranking --store {place}
resume last --retry-failed
runs rescore last --save
runs tag last name
runs tag last --remove
runs delete last --yes
runs delete --older-than 1h --yes
runs import run.db
labels start last --no-browser
labels import data.jsonl --run last
"""
NOBODY = "there is no run named 'nobody'"
"""`view` reads the store, and then ends."""


def fill(place: str, home: Path) -> None:
    """Store two runs and a ranking, and write the files that the commands name."""
    (home / "data.jsonl").write_text('{"query": "q", "reference": "A."}\n')
    (home / "plugin.py").write_text("def ask(query): open('called', 'w'); return 'A.'")
    (home / "qrels").write_text("q7 0 d1 1\n")
    (home / "ranking").write_text("q7 Q0 d1 1 1.0 r\n")
    (home / "out").mkdir()
    (home / "store").mkdir()
    with Store.open(place) as store:
        save_ranking(store, ranked("ranked"))
        run = made(place)
        export(store, run, home / "run.db")
        tag(store, run, "first")
    made(place)


def check(fork: Fork, place: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands on a store that cannot be changed."""
    monkeypatch.setenv("RAGSTONE_STORE", place)
    reading, writing = (text.strip().splitlines() for text in (READING, WRITES))
    lines = [*reading, *writing]
    cases = [(line.format(place=place).split(), home) for line in lines]
    found: list[str] = []
    for line, result in zip(lines, outcomes(fork, home, cases), strict=True):
        text = f"{result['out']}{result['err']}"
        part = "the store is read-only" if line in writing else NOBODY if "nobody" in line else ""
        left = [name for name in result["left"] if not name.startswith("out/")]
        fine = result["code"] == (2 if part else 0) and part in text
        if not fine or "Traceback" in text or left:
            found.append(f"{line}: {result}")
    assert not found, "\n".join(found)


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ragstone-read-only-"))
    folder.chmod(0o755)
    yield folder
    (folder / "store").chmod(0o755)
    shutil.rmtree(folder)


def fill_file(home: Path, *ends: str) -> Path:
    """Return a file with runs; the tag `one` is in the files with these endings, if any."""
    place = home / "made.db"
    fill(str(place), home)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("UPDATE runs SET tag = 'one' WHERE tag = 'first'")
        connection.commit()
        if not ends:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for end in ("", *ends):
            shutil.copy(f"{place}{end}", home / f"store/runs.db{end}")
    return home / "store/runs.db"


def protect(path: Path, *, files: bool = True, folder: bool = True) -> None:
    for file in path.parent.iterdir() if files else ():
        file.chmod(0o444)
    path.parent.chmod(0o555 if folder else 0o755)


@posix
@pytest.mark.parametrize("kind", ["file", "folder", "both", "in use", "remains of a log"])
def test_a_read_only_file(kind: str, fork: Fork, home: Path, monkeypatch) -> None:
    path = fill_file(home, *(("-wal", "-shm") if kind == "in use" else ()))
    if kind == "remains of a log":
        Path(f"{path}-wal").touch()
    protect(path, files=kind != "folder", folder=kind != "file")
    check(fork, str(path), home, monkeypatch)


@posix
def test_a_file_that_cannot_be_read_is_explained(fork: Fork, home: Path, monkeypatch) -> None:
    path = fill_file(home, "-wal")
    protect(path)
    monkeypatch.setenv("RAGSTONE_STORE", str(path))
    (done,) = outcomes(fork, home, [(["runs", "list"], home)])
    assert done["code"] == 2
    assert "copy it with its -wal file" in str(done["err"])


@pytest.fixture
def reader(server: SimpleNamespace) -> Iterator[str]:
    """The URL of a PostgreSQL store for a user who may only read."""
    pytest.importorskip("psycopg", reason="no psycopg here: pip install 'ragstone[postgres]'")
    server.query("CREATE ROLE reader LOGIN")
    yield server.url.replace("tester@", "reader@")
    server.query("DROP SCHEMA ragstone CASCADE")
    server.query("DROP ROLE reader")


@pytest.mark.parametrize("copy", [False, True])
def test_a_user_who_may_only_read_or_a_server_that_is_a_read_only_copy(
    copy: bool, reader: str, server: SimpleNamespace, fork: Fork, home: Path, monkeypatch
) -> None:
    fill(server.url, home)
    server.query("UPDATE ragstone.runs SET tag = 'one' WHERE tag = 'first'")
    schema, tables = ("ALL", "ALL") if copy else ("USAGE", "SELECT")
    server.query(f"GRANT {schema} ON SCHEMA ragstone TO reader")
    server.query(f"GRANT {tables} ON ALL TABLES IN SCHEMA ragstone TO reader")
    if copy:
        server.query("ALTER ROLE reader SET default_transaction_read_only TO on")
    check(fork, reader, home, monkeypatch)


def test_an_empty_database_of_a_user_who_may_only_read(reader: str, server) -> None:
    server.query("CREATE SCHEMA ragstone")
    server.query("GRANT USAGE ON SCHEMA ragstone TO reader")
    with pytest.raises(StoreError, match="the database is empty; choose another path"):
        Store.open(reader, reading=True)


def test_nothing_can_be_changed_while_reading(place: str) -> None:
    Store.open(place).close()
    with (
        Store.open(place, reading=True) as store,
        pytest.raises(StoreError, match="read-only"),
        store.transaction() as connection,
    ):
        connection.exec_driver_sql("DELETE FROM runs")


def test_a_file_in_another_mode_is_left_so(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes()
    with Store.open(path, reading=True) as store:
        assert store.runs() == []
    assert path.read_bytes() == before
