import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from ragstone.errors import CallError, Cause, JudgeError, UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.judges.cache import CachedJudge, CachedReply, ReplyCache
from ragstone.judges.panel import PanelJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
OTHER = ExtractClaims(query="q", response="It is red.")
CLAIM = Claim(text="It is blue.", span=(0, 11))
SPENT = Usage(calls=2, retries=1, prompt_tokens=90, cost_usd=0.1)
REPLY = Reply((CLAIM,), SPENT, ("re-asked",), '{"claims": ["It is blue."]}', 2)
FREE = Reply((CLAIM,), Usage(cached=1, reused_tokens=90), REPLY.notes, REPLY.raw)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.db"


def scripted(
    answer: object = REPLY, *, identity: str | None = "model", seconds: float = 0.0
) -> ScriptedJudge:
    return ScriptedJudge({"extract_claims": answer}, identity=identity, seconds=seconds)


async def test_what_was_answered_is_not_asked_again_and_costs_nothing(path: Path) -> None:
    judge = scripted()
    async with CachedJudge(judge, path) as cached:
        assert await cached.answer(ONE) == REPLY
        assert await cached.answer(ONE) == FREE
        assert await cached.answer(OTHER) == REPLY
    async with CachedJudge(judge, path) as cached:
        assert await cached.answer(ONE) == FREE
    assert judge.asked == [ONE, OTHER]


async def test_another_identity_is_another_answer(path: Path) -> None:
    for identity, asked in (("a", 1), ("b", 1), ("a", 0)):
        judge = scripted(identity=identity)
        async with CachedJudge(judge, path) as cached:
            await cached.answer(ONE)
        assert len(judge.asked) == asked


async def test_a_panel_with_a_judge_without_identity_is_asked_each_time(path: Path) -> None:
    def verdict(label: str, identity: str | None) -> ScriptedJudge:
        return ScriptedJudge({"verify_claims": [{"label": label}]}, identity=identity)

    async def label(own: str, identity: str | None = None) -> str:
        panel = PanelJudge([verdict(own, identity), verdict("SUPPORTED", "model")])
        async with CachedJudge(panel, path) as judge:
            question = VerifyClaims(claims=("a",), contexts=("b",))
            return (await judge.answer(question)).value[0].label

    assert await label("SUPPORTED") == "SUPPORTED"
    assert await label("CONTRADICTED") == "NOT_ENOUGH_INFO"  # it was changed
    assert await label("SUPPORTED", "own") == "SUPPORTED"
    assert await label("CONTRADICTED", "own") == "SUPPORTED"  # it says to be the same one


async def test_a_judge_without_identity_is_asked_each_time(path: Path) -> None:
    judge = scripted(identity=None)
    async with CachedJudge(judge, path) as cached:
        assert [await cached.answer(ONE) for _ in range(2)] == [REPLY, REPLY]
    assert len(judge.asked) == 2


async def test_a_failure_is_not_kept(path: Path) -> None:
    answers = iter([Failure(Cause.TIMEOUT, "too late"), REPLY])
    async with CachedJudge(scripted(lambda _: next(answers)), path) as cached:
        with pytest.raises(JudgeError, match="too late"):
            await cached.answer(ONE)
        assert await cached.answer(ONE) == REPLY
        assert await cached.answer(ONE) == FREE


async def test_nor_is_a_reply_whose_doubt_stayed_as_asking_again_was_cut_short(path: Path) -> None:
    cut = replace(REPLY, final=False)
    answers = iter([cut, REPLY])
    async with CachedJudge(scripted(lambda _: next(answers)), path) as cached:
        assert [await cached.answer(ONE) for _ in range(3)] == [cut, REPLY, FREE]


async def test_rows_that_ask_the_same_at_once_make_one_call(path: Path) -> None:
    judge = scripted(seconds=0.01)
    async with CachedJudge(judge, path) as cached:
        replies = await asyncio.gather(*(cached.answer(q) for q in [ONE, OTHER] * 10))
    assert len(judge.asked) == 2
    assert replies.count(FREE) == 18


async def test_and_share_its_failure_which_cost_once(path: Path) -> None:
    failure = Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=3))
    judge = scripted(failure, seconds=0.01)
    async with CachedJudge(judge, path) as cached:
        asking = [cached.answer(ONE) for _ in range(5)]
        told = await asyncio.gather(*asking, return_exceptions=True)
    assert len(judge.asked) == 1
    failures = [error.failure for error in told if isinstance(error, JudgeFailureError)]
    assert [failure.usage.calls for failure in failures] == [3, 0, 0, 0, 0]
    assert {failure.message for failure in failures} == {"too late"}


@pytest.mark.parametrize("error", [CallError, JudgeError])
async def test_also_one_without_details(error: type[CallError], path: Path) -> None:
    def fail(_: object) -> object:
        raise error(Cause.UNREACHABLE, "gone")

    judge = scripted(fail, seconds=0.01)
    async with CachedJudge(judge, path) as cached:
        asking = [cached.answer(ONE) for _ in range(3)]
        told = await asyncio.gather(*asking, return_exceptions=True)
    assert len(judge.asked) == 1
    assert [str(each) for each in told if isinstance(each, CallError)] == ["gone"] * 3


async def test_a_call_that_is_broken_off_is_made_by_the_next_that_waits(path: Path) -> None:
    judge = scripted(seconds=0.05)
    async with CachedJudge(judge, path) as cached:
        first, second, third = (asyncio.create_task(cached.answer(ONE)) for _ in range(3))
        await asyncio.sleep(0.01)
        first.cancel()
        assert (await second, await third) == (REPLY, FREE)
    assert first.cancelled()
    assert len(judge.asked) == 2


async def test_one_that_stops_waiting_does_not_take_the_answer_from_the_others(path: Path) -> None:
    judge = scripted(seconds=0.05)
    async with CachedJudge(judge, path) as cached:
        first, second, third = (asyncio.create_task(cached.answer(ONE)) for _ in range(3))
        await asyncio.sleep(0.01)
        second.cancel()
        assert (await first, await third) == (REPLY, FREE)
    assert len(judge.asked) == 1


async def test_what_stops_the_run_stops_all_who_wait(path: Path) -> None:
    def reject(_: object) -> object:
        raise UsageError("the key was rejected")

    async with CachedJudge(scripted(reject, seconds=0.01), path) as cached:
        asking = [cached.answer(ONE) for _ in range(3)]
        told = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(error) for error in told] == [UsageError] * 3


def overwrite(path: Path, column: str, text: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE replies SET {column} = ?", (text,))


@pytest.mark.parametrize(
    ("column", "text"),
    [("value", "no JSON"), ("value", '[{"txt": "x"}]'), ("value", '"x"'), ("notes", "{}")],
)
async def test_a_kept_reply_that_cannot_be_read_is_asked_again(
    column: str, text: str, path: Path
) -> None:
    judge = scripted()
    async with CachedJudge(judge, path) as cached:
        await cached.answer(ONE)
        overwrite(path, column, text)
        assert await cached.answer(ONE) == REPLY
        assert await cached.answer(ONE) == FREE
    assert len(judge.asked) == 2


CHANGES = [  # as a flipped bit or byte would
    "value = replace(value, 'blue', 'blud')",
    "value = CAST(X'5b22ff225d' AS TEXT)",
    "notes = '[]'",
    "raw = NULL",
    "raw = ''",
    "usage = replace(usage, '90', '91')",
    "checksum = checksum + 1",
]


async def test_a_damaged_reply_counts_as_missing_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
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


async def test_nor_one_with_verdicts_for_other_claims(path: Path) -> None:
    judge = ScriptedJudge({"verify_claims": [{"label": "SUPPORTED"}]}, identity="model")
    question = VerifyClaims(claims=("a",), contexts=("b",))
    async with CachedJudge(judge, path) as cached:
        await cached.answer(question)
        overwrite(path, "value", "[]")
        await cached.answer(question)
    assert len(judge.asked) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda half: Reply((Claim(text=half),)),
        lambda half: Reply((CLAIM,), raw=half),
        lambda half: Reply((CLAIM,), notes=(half,)),
    ],
)
async def test_a_reply_that_no_file_can_hold_is_given_all_the_same(
    make: Callable[[str], Reply[object]], path: Path
) -> None:
    reply = make("half a character: \ud83d")
    async with CachedJudge(scripted(reply), path) as cached:
        for _ in range(2):
            assert await cached.answer(ONE) == reply


async def test_a_file_that_breaks_costs_no_answer(path: Path) -> None:
    async with CachedJudge(scripted(), path) as cached:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("DROP TABLE replies")
        assert [await cached.answer(q) for q in (ONE, ONE, OTHER)] == [REPLY] * 3


async def test_it_stands_for_the_judge_within(path: Path) -> None:
    judge = scripted()
    cached = CachedJudge(judge, path)
    assert (cached.name, cached.kinds) == ("scripted", {"extract_claims"})
    assert cached.identity("extract_claims") == "model"


async def test_a_judge_that_cannot_be_opened_leaves_no_open_file(path: Path) -> None:
    class Stuck(ScriptedJudge):
        async def __aenter__(self) -> Self:
            raise UsageError("no key")

    with pytest.raises(UsageError, match="no key"):
        async with CachedJudge(Stuck({}), path):
            pass
    assert [each.name for each in path.parent.iterdir()] == ["replies.db"]  # and no WAL


async def test_a_file_that_cannot_be_used_is_told_before_anything_is_asked(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="run without cache"):
        async with CachedJudge(scripted(), tmp_path):
            pass


KEPT = CachedReply('["é"]', "[]", None, "{}")
OTHER_OF_REPLIES_FILE = CachedReply("[2]", '["a note"]', "{2}", "{}")

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


def putting(
    path_of_replies_file: str | Path, name: str, count: int, before: str = ""
) -> "subprocess.Popen[str]":
    """Start a process that keeps so many replies, and prints each when it is kept."""
    return subprocess.Popen(
        [sys.executable, "-c", before + PUTTING, str(path_of_replies_file), name, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def query(path_of_replies_file: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path_of_replies_file)) as connection, connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def path_of_replies_file(tmp_path: Path) -> Path:
    return tmp_path / ".ragstone" / "replies.db"


async def test_what_is_kept_is_found_at_once_and_in_the_next_run(
    path_of_replies_file: Path,
) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    assert await file.find(b"a") is None
    await asyncio.gather(file.store(b"a", KEPT), file.store(b"b", KEPT))
    await file.store(b"b", OTHER_OF_REPLIES_FILE)
    assert (await file.find(b"a"), await file.find(b"b")) == (KEPT, OTHER_OF_REPLIES_FILE)
    await file.__aexit__()
    again = await ReplyCache(path_of_replies_file).__aenter__()
    assert (await again.find(b"a"), await again.find(b"b"), await again.find(b"c")) == (
        KEPT,
        OTHER_OF_REPLIES_FILE,
        None,
    )
    await again.__aexit__()


async def test_the_folder_is_made_and_kept_out_of_git(
    path_of_replies_file: Path, tmp_path: Path
) -> None:
    await (await ReplyCache(path_of_replies_file).__aenter__()).__aexit__()
    assert (path_of_replies_file.parent / ".gitignore").read_text().startswith("*\n")
    assert query(path_of_replies_file, "PRAGMA journal_mode") == [("wal",)]
    await (await ReplyCache(tmp_path / "mine" / "replies.db").__aenter__()).__aexit__()
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["replies.db"]


async def test_closing_writes_what_waits(path_of_replies_file: Path) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    puts = [asyncio.create_task(file.store(b"%d" % n, KEPT)) for n in range(500)]
    await asyncio.sleep(0)
    await file.__aexit__()
    assert query(path_of_replies_file, "SELECT count(*) FROM replies") == [(500,)]
    await asyncio.gather(*puts)


async def test_closing_writes_what_waits_even_if_it_is_cancelled(
    path_of_replies_file: Path,
) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    puts = [asyncio.create_task(file.store(b"%d" % n, KEPT)) for n in range(500)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(file.__aexit__())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(*puts)
    assert query(path_of_replies_file, "SELECT count(*) FROM replies") == [(500,)]


async def test_one_that_stops_waiting_holds_nobody_up(path_of_replies_file: Path) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    impatient = asyncio.create_task(file.store(b"a", KEPT))
    await asyncio.sleep(0)
    impatient.cancel()
    await file.store(b"b", KEPT)
    assert (await file.find(b"a"), await file.find(b"b")) == (KEPT, KEPT)
    await file.__aexit__()


def test_many_processes_share_one_file(path_of_replies_file: Path) -> None:
    processes = [putting(path_of_replies_file, str(n), 200) for n in range(6)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
    assert query(path_of_replies_file, "SELECT count(*) FROM replies") == [(1200,)]
    assert query(path_of_replies_file, "PRAGMA integrity_check") == [("ok",)]


def test_the_end_of_the_process_loses_nothing_that_was_kept(path_of_replies_file: Path) -> None:
    with putting(path_of_replies_file, "a", 100_000) as process:
        assert process.stdout
        kept = [int(process.stdout.readline()) for _ in range(55)]
        process.send_signal(signal.SIGKILL)
        kept += [int(line) for line in process.stdout.read().splitlines()]
    keys = {key for (key,) in query(path_of_replies_file, "SELECT key FROM replies")}
    assert {f"a {n}".encode() for n in kept} <= keys
    assert len(keys) <= len(kept) + 10


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_ends_the_keeping_and_not_the_run(path_of_replies_file: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    script = (limit + PUTTING).replace("assert await file.find", "await file.find")
    done = subprocess.run(
        [sys.executable, "-c", script, str(path_of_replies_file), "a", "1000"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 1000
    assert done.stderr.count("continues without storing more replies") == 1
    assert f"{path_of_replies_file}: " in done.stderr
    (count,) = query(path_of_replies_file, "SELECT count(*) FROM replies")[0]
    assert isinstance(count, int)
    assert 10 <= count < 1000


async def test_a_file_that_breaks_on_the_way_is_told_once(
    path_of_replies_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    await file.store(b"a", KEPT)
    query(path_of_replies_file, "DROP TABLE replies")
    await file.store(b"b", KEPT)
    await file.store(b"c", KEPT)
    assert await file.find(b"a") is None
    await file.__aexit__()
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("ragstone.judge", "WARNING")
    assert "no such table: replies; the run continues" in record.message


async def test_where_a_write_fails_the_others_may_still_write(path_of_replies_file: Path) -> None:
    file = await ReplyCache(path_of_replies_file).__aenter__()
    query(
        path_of_replies_file,
        "CREATE TRIGGER stop BEFORE INSERT ON replies BEGIN SELECT RAISE(FAIL, 'no'); END",
    )
    await file.store(b"a", KEPT)  # fails within its transaction
    with closing(sqlite3.connect(path_of_replies_file, timeout=0)) as other, other:
        other.execute("DROP TRIGGER stop")
        other.execute("DELETE FROM replies")
    await file.__aexit__()


def no_database(path_of_replies_file: Path) -> None:
    path_of_replies_file.write_bytes(b"this is text, and much more of it than a header" * 100)


def newer(path_of_replies_file: Path) -> None:
    query(path_of_replies_file, "CREATE TABLE replies (key, shape)")
    query(path_of_replies_file, "PRAGMA user_version = 99")


def of_another_program(path_of_replies_file: Path) -> None:
    query(path_of_replies_file, "CREATE TABLE bookmarks (url)")


def of_another_program_with_layouts(path_of_replies_file: Path) -> None:
    of_another_program(path_of_replies_file)
    query(path_of_replies_file, "PRAGMA user_version = 1")


def a_folder(path_of_replies_file: Path) -> None:
    path_of_replies_file.mkdir()


@pytest.mark.parametrize(
    ("made", "seen"),
    [
        (no_database, "file is not a database"),
        (
            newer,
            "another program or version of ragstone",
        ),
        (of_another_program, "it is the database of another program"),
        (of_another_program_with_layouts, "it is the database of another program"),
        (a_folder, "unable to open database file"),
    ],
)
async def test_a_file_that_is_no_reply_cache_is_refused(
    made: object, seen: str, tmp_path: Path
) -> None:
    path_of_replies_file = tmp_path / "replies.db"
    assert callable(made)
    made(path_of_replies_file)
    before = path_of_replies_file.is_file() and path_of_replies_file.read_bytes()
    with pytest.raises(UsageError, match=f"{seen}.*run without cache") as raised:
        await ReplyCache(path_of_replies_file).__aenter__()
    assert str(raised.value).startswith(f"{path_of_replies_file}: ")
    assert before == (path_of_replies_file.is_file() and path_of_replies_file.read_bytes())


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"Not a directory.*run without cache"):
        await ReplyCache(tmp_path / "file" / "folder" / "replies.db").__aenter__()


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root may write into every folder"
)
def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match=r"unable to open database file.*run without cache"):
        asyncio.run(ReplyCache(tmp_path / "replies.db").__aenter__())


def test_a_server_is_no_place_for_replies_and_its_password_is_not_shown() -> None:
    with pytest.raises(
        UsageError, match=r"postgresql://\.\.\.: replies are cached in a file"
    ) as told:
        CachedJudge(scripted(), "postgresql://me:hush-hush-123@db/x")
    assert "hush" not in str(told.value)
