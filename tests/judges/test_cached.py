import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from ragstone.errors import CallError, Cause, JudgeError, UsageError
from ragstone.judges.cache import CachedJudge
from ragstone.judges.panel import PanelJudge
from ragstone.judges.scripted import ScriptedJudge
from ragstone.types.claim import Claim
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

ONE = ExtractClaims(query="q", response="It is blue.")
OTHER = ExtractClaims(query="q", response="It is red.")
CLAIM = Claim(text="It is blue.", span=(0, 11))
SPENT = Usage(calls=2, retries=1, prompt_tokens=90, cost_usd=0.1)
REPLY = Reply((CLAIM,), SPENT, ("re-asked",), '{"claims": ["It is blue."]}', 2)
FREE = Reply((CLAIM,), Usage(cached=1), REPLY.notes, REPLY.raw)


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
    with pytest.raises(UsageError, match="--no-cache"):
        async with CachedJudge(scripted(), tmp_path):
            pass
