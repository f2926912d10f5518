import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cases import each_case
from tests.store.conftest import query

from ragstone.store import Store, StoreError
from ragstone.store.database import create_store_engine
from ragstone.store.errors import display_name


def test_the_default_is_a_file_in_a_folder_that_git_does_not_see(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open() as store:
        assert store.name == str(Path(".ragstone/ragstone.db"))
        assert store.runs() == []
    assert (tmp_path / ".ragstone/.gitignore").read_text().startswith("*\n")


def refused(place: str | Path) -> str:
    with pytest.raises(StoreError) as error:
        Store.open(place)
    assert "secret" not in str(error.value)
    return str(error.value)


def test_what_is_no_store_stays_as_it_is(tmp_path: Path) -> None:
    assert re.search(r"it is a folder; name a file in it, such as .*stone\.db", refused(tmp_path))
    path = tmp_path / "notes.txt"
    path.write_text("notes " * 100)
    assert "it is not a database" in refused(path)
    assert path.read_text() == "notes " * 100
    assert "its folder cannot be created" in refused(path / "folder" / "runs.db")
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE mine (x)")
    was = path.read_bytes()
    assert "is the database of another program" in refused(path)
    assert path.read_bytes() == was


def test_the_tables_of_another_version_are_refused(place: str) -> None:
    with Store.open(place) as store:
        query(store, "UPDATE schema_version SET version = 9999")
    said = refused(place)
    assert "its tables have version 9999, this ragstone needs 1" in said
    assert "export its runs with that version (`ragstone runs export`) and import them here" in said
    with pytest.raises(StoreError, match="its tables have version 9999"):
        Store.open(place, reading=True)


def test_a_name_shows_no_password() -> None:
    assert display_name("postgres://me:secret@host/db?password=secret") == "postgresql://me@host/db"
    assert display_name(Path("a/b.db")) == str(Path("a/b.db"))


@each_case(
    "url",
    [
        *("postgresql://me:p@secret@h/r", "POSTGRES:/me:secret@h/r", "postgresql:me:secret@h/r"),
        *("mysql://me:secret@host/db", "sqlite:///x.db", "postgresql://me:secret@host:x/db"),
    ],
)
def test_a_wrong_url_shows_no_password_and_creates_nothing(url: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert re.search("specify a file|invalid URL|more than one @|has no //", refused(url))
    for use in (create_store_engine, display_name):
        with pytest.raises(StoreError) as caught:
            use(url)
        assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    said = refused("postgresql://me:secret@127.0.0.1:1/db")
    assert "connecting failed; correct the URL" in said
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'ragstone\[postgres\]'"):
        create_store_engine("postgresql://me@host/db")


def test_a_wrong_password_and_a_wrong_database_are_told(server: object) -> None:
    pytest.importorskip("psycopg")
    url: str = server.url  # type: ignore[attr-defined]
    assert "does not exist" in refused(url.replace("/postgres", "/nothing"))
    server.query("CREATE ROLE other LOGIN PASSWORD 'right'")  # type: ignore[attr-defined]
    rules = server.folder / "data" / "pg_hba.conf"  # type: ignore[attr-defined]
    kept = rules.read_text()
    rules.write_text("host all other 127.0.0.1/32 scram-sha-256\n" + kept)
    server.control("reload")  # type: ignore[attr-defined]
    said = ""
    for _ in range(50):  # the server reads its rules in its own time
        said = refused(url.replace("tester@", "other:secret@"))
        if "password" in said:
            break
        time.sleep(0.1)
    assert "password authentication failed" in said
    said = refused(url.replace("tester@", "other:right@"))
    assert "cannot create or use the schema" in said
    rules.write_text(kept)
    server.control("reload")  # type: ignore[attr-defined]


OPENING = "import sys\nfrom ragstone.store import Store\nprint(len(Store.open(sys.argv[1]).runs()))"


def test_many_may_open_a_new_store_at_once(place: str) -> None:
    opening = [
        subprocess.Popen(
            [sys.executable, "-c", OPENING, place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [process.communicate(timeout=120) for process in opening]
    assert said == [("0\n", "")] * 4


@pytest.fixture
async def beside(tmp_path: Path, make: SimpleNamespace) -> Path:
    """The file that locks the first run of a store."""
    place = tmp_path / "runs.db"
    with Store.open(place) as store:
        await make.put(store, make.full_row(0))
    return Path(f"{place}.run-1.lock")


def test_what_is_in_the_way_of_a_lock_is_told_and_is_no_other_process(tmp_path, beside) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        beside.mkdir()
        with pytest.raises(StoreError, match=r"run-1\.lock: "):
            store.unfinished("f")
        beside.rmdir()
        beside.write_text("left by another program")
        assert store.unfinished("f") == "r1"
        assert not beside.exists()


def test_the_end_of_a_look_at_a_lock_is_waited_for(tmp_path: Path, beside: Path) -> None:
    looking = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from ragstone._internal.files import lock_file\n"
        "with lock_file(Path(sys.argv[1]), timeout=0):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(0.2)\n"
    )
    beside.touch()
    command = [sys.executable, "-c", looking, str(beside)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        Store.open(tmp_path / "runs.db") as store,
    ):
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        store.finish("r1", extras={})
        assert store.info("r1").finished
