import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause, JudgeError, UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.judges.cache import CachedJudge, CachedReply, ReplyCache
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims
from ragstone.types.reply import Failure, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
OTHER = ExtractClaims(query="q", response="It is red.")
CLAIM = Claim(text="It is blue.", span=(0, 11))
SPENT = Usage(calls=2, retries=1, prompt_tokens=90, cost_usd=0.1)
REPLY = Reply((CLAIM,), SPENT, ("re-asked",), '{"claims": ["It is blue."]}', 2)
FREE = Reply((CLAIM,), Usage(cached=1, reused_tokens=90), REPLY.notes, REPLY.raw)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".ragstone" / "replies.db"


def scripted(
    answer: object = REPLY, *, identity: str | None = "model", seconds: float = 0.0
) -> ScriptedJudge:
    return ScriptedJudge({"extract_claims": answer}, identity=identity, seconds=seconds)


async def test_what_was_answered_is_not_asked_again_and_costs_nothing(path: Path) -> None:
    judge = scripted()
    async with CachedJudge(judge, path) as cached:
        assert (cached.name, cached.kinds) == ("scripted", {"extract_claims"})
        assert await cached.answer(ONE) == REPLY
        assert await cached.answer(ONE) == FREE
        assert await cached.answer(OTHER) == REPLY
    for identity, reply in (("model", FREE), ("another", REPLY), (None, REPLY), (None, REPLY)):
        again = scripted(identity=identity)
        async with CachedJudge(again, path) as cached:
            assert await cached.answer(ONE) == reply
        assert len(again.asked) == (reply is REPLY)
    assert judge.asked == [ONE, OTHER]


async def test_a_failure_is_not_kept_nor_a_doubt_that_was_cut_short(path: Path) -> None:
    cut = replace(REPLY, final=False)
    answers = iter([Failure(Cause.TIMEOUT, "too late"), cut, REPLY])
    async with CachedJudge(scripted(lambda _: next(answers)), path) as cached:
        with pytest.raises(JudgeError, match="too late"):
            await cached.answer(ONE)
        assert [await cached.answer(ONE) for _ in range(3)] == [cut, REPLY, FREE]


async def test_rows_that_ask_the_same_at_once_make_one_call(path: Path) -> None:
    judge = scripted(seconds=0.01)
    async with CachedJudge(judge, path) as cached:
        replies = await asyncio.gather(*(cached.answer(q) for q in [ONE, OTHER] * 10))
    assert len(judge.asked) == 2
    assert replies.count(FREE) == 18


@pytest.mark.parametrize("error", [Failure, CallError, UsageError])
async def test_and_share_its_failure_which_cost_once(error: type, path: Path) -> None:
    def fail(_: object) -> object:
        if error is Failure:
            return Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=3))
        raise UsageError("too late") if error is UsageError else error(Cause.TIMEOUT, "too late")

    judge = scripted(fail, seconds=0.01)
    async with CachedJudge(judge, path) as cached:
        asking = [cached.answer(ONE) for _ in range(5)]
        told = await asyncio.gather(*asking, return_exceptions=True)
    assert [str(each) for each in told] == ["too late"] * 5
    if error is Failure:
        assert [each.failure.usage.calls for each in told] == [3, 0, 0, 0, 0]
    assert len(judge.asked) == (5 if error is UsageError else 1)


@pytest.mark.parametrize("broken", [0, 1])
async def test_a_call_that_is_broken_off_is_made_by_the_next_that_waits(path: Path, broken: int):
    judge = scripted(seconds=0.05)
    async with CachedJudge(judge, path) as cached:
        tasks = [asyncio.create_task(cached.answer(ONE)) for _ in range(3)]
        await asyncio.sleep(0.01)
        tasks[broken].cancel()
        told = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(told.pop(broken), asyncio.CancelledError)
    assert told == [REPLY, FREE]
    assert len(judge.asked) == 2 - broken, "who only waited takes the answer from nobody"


CHANGES = [  # as a flipped bit or byte would
    *("value = replace(value, 'blue', 'blud')", "value = CAST(X'5b22ff225d' AS TEXT)"),
    *("value = 'no JSON'", "notes = '[]'", "raw = NULL", "usage = replace(usage, '90', '91')"),
    "checksum = checksum + 1",
]


async def test_a_damaged_reply_counts_as_missing_with_one_warning(tmp_path, caplog) -> None:
    """Line 4 of issue 18: a changed reply is never used, whatever part of it changed."""
    for number, change in enumerate(CHANGES):
        path, judge = tmp_path / f"{number}.db", scripted()
        async with CachedJudge(judge, path) as cached:
            await cached.answer(ONE)
            await cached.answer(OTHER)
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute(f"UPDATE replies SET {change}")
            caplog.clear()
            assert await cached.answer(OTHER) == REPLY, change
            assert await cached.answer(ONE) == REPLY, change
            assert await cached.answer(ONE) == await cached.answer(OTHER) == FREE, change
        told = [record.message for record in caplog.records if "damaged" in record.message]
        assert told == [f"{path}: damaged replies are ignored; the judge is called again"], change


HALF = "half a character: \ud83d"


@each_case(
    "reply", [Reply((Claim(text=HALF),)), replace(REPLY, raw=HALF), replace(REPLY, notes=(HALF,))]
)
async def test_a_reply_that_no_file_can_hold_is_given_all_the_same(reply, tmp_path) -> None:
    async with CachedJudge(scripted(reply), tmp_path / "half.db") as cached:
        for _ in range(2):
            assert await cached.answer(ONE) == reply


async def test_a_judge_that_cannot_be_opened_leaves_no_open_file(path: Path) -> None:
    class Stuck(ScriptedJudge):
        async def __aenter__(self) -> Self:
            raise UsageError("no key")

    with pytest.raises(UsageError, match="no key"):
        async with CachedJudge(Stuck({}), path):
            pass
    assert {each.name for each in path.parent.iterdir()} == {".gitignore", "replies.db"}  # no WAL


KEPT = CachedReply('["é"]', "[]", None, "{}")

PUTTING = """
import asyncio, sys
from ragstone.judges.cache import CachedReply, ReplyCache

async def main(path, name, count):
    file = await ReplyCache(path).__aenter__()
    async def put(n):
        await file.store(f"{name} {n}".encode(), CachedReply("[]", "[]", "x" * 1000, "{}"))
        print(n, flush=True)
        assert await file.find(f"{name} {n}".encode())
    for start in range(0, int(count), 10):
        await asyncio.gather(*(put(n) for n in range(start, start + 10)))
    await file.__aexit__()

asyncio.run(main(*sys.argv[1:]))
"""


def putting(path: str | Path, name: str, count: int, before: str = "") -> "subprocess.Popen[str]":
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


async def test_the_folder_is_made_and_kept_out_of_git(path: Path, tmp_path: Path):
    await (await ReplyCache(path).__aenter__()).__aexit__()
    assert (path.parent / ".gitignore").read_text().startswith("*\n")
    assert query(path, "PRAGMA journal_mode") == [("wal",)]
    await (await ReplyCache(tmp_path / "mine" / "replies.db").__aenter__()).__aexit__()
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["replies.db"]


@pytest.mark.parametrize("cancelled", [False, True])
async def test_closing_writes_what_waits_even_if_it_is_cancelled(path, cancelled):
    file = await ReplyCache(path).__aenter__()
    puts = [asyncio.create_task(file.store(b"%d" % n, KEPT)) for n in range(500)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(file.__aexit__())
    await asyncio.sleep(0)
    if cancelled:
        closing.cancel()
    await asyncio.gather(closing, *puts, return_exceptions=True)
    assert query(path, "SELECT count(*) FROM replies") == [(500,)]


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
    script = (limit + PUTTING).replace("assert await file.find", "await file.find")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), "a", "1000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 1000
    assert done.stderr.count("continues without storing more replies") == 1
    assert f"{path}: " in done.stderr
    (count,) = query(path, "SELECT count(*) FROM replies")[0]
    assert isinstance(count, int)
    assert 10 <= count < 1000


async def test_a_file_that_breaks_on_the_way_is_told_once(path, caplog) -> None:
    async with CachedJudge(scripted(), path) as cached:
        assert [await cached.answer(ONE) for _ in range(2)] == [REPLY, FREE]
        query(path, "DROP TABLE replies")
        assert [await cached.answer(q) for q in (ONE, ONE, OTHER)] == [REPLY] * 3
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("ragstone.judge", "WARNING")
    assert "no such table: replies; the run continues" in record.message


async def test_where_a_write_fails_the_others_may_still_write(path: Path) -> None:
    file = await ReplyCache(path).__aenter__()
    query(path, "CREATE TRIGGER stop BEFORE INSERT ON replies BEGIN SELECT RAISE(FAIL, 'no'); END")
    await file.store(b"a", KEPT)  # fails within its transaction
    with closing(sqlite3.connect(path, timeout=0)) as other, other:
        other.execute("DROP TRIGGER stop")
        other.execute("DELETE FROM replies")
    await file.__aexit__()


NEWER = ("CREATE TABLE replies (key, shape)", "PRAGMA user_version = 99")
FOREIGN = ("CREATE TABLE bookmarks (url)",)


@each_case(
    ("made", "seen"),
    [
        ("text", "file is not a database"),
        (NEWER, "another program or version of ragstone"),
        (FOREIGN, "it is the database of another program"),
        ((*FOREIGN, "PRAGMA user_version = 1"), "it is the database of another program"),
        ("a folder", "unable to open database file"),
        ("within a file", "Not a directory"),
    ],
)
async def test_a_file_that_is_no_reply_cache_is_refused(made, seen, tmp_path) -> None:
    path = tmp_path / f"{seen}, {len(made)}.db"
    if isinstance(made, tuple):
        for statement in made:
            query(path, statement)
    elif made == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"this is text, and much more of it than a header" * 100)
    before = path.is_file() and path.read_bytes()
    place = path / "folder" / "replies.db" if made == "within a file" else path
    with pytest.raises(UsageError, match=f"{seen}.*run without cache") as raised:
        await ReplyCache(place).__aenter__()
    assert str(raised.value).startswith(f"{place}: ")
    assert before == (path.is_file() and path.read_bytes())


def test_a_server_is_no_place_for_replies_and_its_password_is_not_shown() -> None:
    for place in (
        "postgresql://me:hush-123@db/x",
        "postgresql:/me:hush-123@db/x",
        "me:hush-123@db/x",
    ):
        with pytest.raises(UsageError, match=r"replies are cached in a file") as told:
            CachedJudge(scripted(), place)
        assert "hush" not in str(told.value)
