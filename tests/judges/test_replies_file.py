import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.judges.cache import CachedReply, ReplyCache

KEPT = CachedReply('["é"]', "[]", None, "{}", 5.0)
OTHER = CachedReply("[2]", '["a note"]', "{2}", "{}", 6.0)

PUTTING = """
import asyncio, sys
from pathlib import Path
from ragstone.judges.cache import CachedReply, ReplyCache

async def main(path, name, count):
    file = await ReplyCache.open(Path(path))
    async def put(n):
        await file.keep(f"{name} {n}".encode(), CachedReply("[]", "[]", "x" * 1000, "{}", 0.0))
        print(n, flush=True)
        assert file.find(f"{name} {n}".encode())
    for start in range(0, int(count), 10):
        await asyncio.gather(*(put(n) for n in range(start, start + 10)))
    await file.close()

asyncio.run(main(*sys.argv[1:]))
"""


def putting(path: Path, name: str, count: int, before: str = "") -> "subprocess.Popen[str]":
    """Start a process that keeps so many replies, and prints each when it is kept."""
    return subprocess.Popen(
        [sys.executable, "-c", before + PUTTING, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def query(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ragstone" / "replies.db"


async def test_what_is_kept_is_found_at_once_and_in_the_next_run(path: Path) -> None:
    file = await ReplyCache.open(path)
    assert file.find(b"a") is None
    await asyncio.gather(file.keep(b"a", KEPT), file.keep(b"b", KEPT))
    await file.keep(b"b", OTHER)
    assert (file.find(b"a"), file.find(b"b")) == (KEPT, OTHER)
    await file.close()
    again = await ReplyCache.open(path)
    assert (again.find(b"a"), again.find(b"b"), again.find(b"c")) == (KEPT, OTHER, None)
    await again.close()


async def test_the_folder_is_made_and_kept_out_of_git(path: Path, tmp_path: Path) -> None:
    await (await ReplyCache.open(path)).close()
    assert (path.parent / ".gitignore").read_text() == "*\n"
    assert query(path, "PRAGMA journal_mode") == [("wal",)]
    await (await ReplyCache.open(tmp_path / "mine" / "replies.db")).close()
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["replies.db"]


async def test_closing_writes_what_waits(path: Path) -> None:
    file = await ReplyCache.open(path)
    puts = [asyncio.create_task(file.keep(b"%d" % n, KEPT)) for n in range(500)]
    await asyncio.sleep(0)
    await file.close()
    assert query(path, "SELECT count(*) FROM replies") == [(500,)]
    await asyncio.gather(*puts)


async def test_one_that_stops_waiting_holds_nobody_up(path: Path) -> None:
    file = await ReplyCache.open(path)
    impatient = asyncio.create_task(file.keep(b"a", KEPT))
    await asyncio.sleep(0)
    impatient.cancel()
    await file.keep(b"b", KEPT)
    assert (file.find(b"a"), file.find(b"b")) == (KEPT, KEPT)
    await file.close()


def test_many_processes_share_one_file(path: Path) -> None:
    processes = [putting(path, str(n), 200) for n in range(6)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
    assert query(path, "SELECT count(*) FROM replies") == [(1200,)]
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_the_end_of_the_process_loses_nothing_that_was_kept(path: Path) -> None:
    with putting(path, "a", 100_000) as process:
        assert process.stdout
        kept = [int(process.stdout.readline()) for _ in range(55)]
        process.send_signal(signal.SIGKILL)
        kept += [int(line) for line in process.stdout.read().splitlines()]
    keys = {key for (key,) in query(path, "SELECT key FROM replies")}
    assert {f"a {n}".encode() for n in kept} <= keys
    assert len(keys) <= len(kept) + 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_ends_the_keeping_and_not_the_run(path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    script = (limit + PUTTING).replace("assert file.find", "file.find")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), "a", "1000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 1000
    assert done.stderr.count("no more replies are kept") == 1
    assert f"{path}: " in done.stderr
    (count,) = query(path, "SELECT count(*) FROM replies")[0]
    assert isinstance(count, int)
    assert 10 <= count < 1000


async def test_a_file_that_breaks_on_the_way_is_told_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = await ReplyCache.open(path)
    await file.keep(b"a", KEPT)
    query(path, "DROP TABLE replies")
    await file.keep(b"b", KEPT)
    await file.keep(b"c", KEPT)
    assert file.find(b"a") is None
    await file.close()
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("ragstone.judge", "WARNING")
    assert "no such table: replies; the run goes on" in record.message


async def test_where_a_write_fails_the_others_may_still_write(path: Path) -> None:
    file = await ReplyCache.open(path)
    query(path, "CREATE TRIGGER stop BEFORE INSERT ON replies BEGIN SELECT RAISE(FAIL, 'no'); END")
    await file.keep(b"a", KEPT)  # fails within its transaction
    with closing(sqlite3.connect(path, timeout=0)) as other, other:
        other.execute("DROP TRIGGER stop")
        other.execute("DELETE FROM replies")
    await file.close()


def no_database(path: Path) -> None:
    path.write_bytes(b"this is text, and much more of it than a header" * 100)


def newer(path: Path) -> None:
    query(path, "CREATE TABLE replies (key, shape)")
    query(path, "PRAGMA user_version = 99")


def of_another_program(path: Path) -> None:
    query(path, "CREATE TABLE bookmarks (url)")


def of_another_program_with_layouts(path: Path) -> None:
    of_another_program(path)
    query(path, "PRAGMA user_version = 1")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (no_database, "file is not a database"),
        (newer, r"a newer ragstone wrote it \(layout 99, this version knows 1\)"),
        (of_another_program, "it is the database of another program"),
        (of_another_program_with_layouts, "it is the database of another program"),
        (a_folder, "unable to open database file"),
    ],
)
async def test_a_file_that_is_no_reply_cache_is_refused(
    made: object, seen: str, tmp_path: Path
) -> None:
    path = tmp_path / "replies.db"
    assert callable(made)
    made(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(UsageError, match=f"{seen}.*--no-cache") as raised:
        await ReplyCache.open(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert before == (path.is_file() and path.read_bytes())


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"Not a directory.*--no-cache"):
        await ReplyCache.open(tmp_path / "file" / "folder" / "replies.db")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root may write into every folder"
)
def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match=r"unable to open database file.*--no-cache"):
        asyncio.run(ReplyCache.open(tmp_path / "replies.db"))
