# ruff: noqa: ARG005 - the parameters of these lambdas are what is tested
import asyncio
import re
import subprocess
import sys
import threading
from functools import partial
from types import MappingProxyType

import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause, TargetError, UsageError
from ragstone.targets.base import Answer
from ragstone.targets.factory import FunctionTarget, function_named
from ragstone.types.config import Plan
from ragstone.types.sample import Context, Sample

ROW = Sample.model_validate({"id": "1", "query": "Who?", "contexts": [{"text": "old"}]})
RESPONSE = frozenset(("response",))
ALL = frozenset(("response", "contexts", "ranking"))


def target(function, **settings: object) -> FunctionTarget:
    k = settings.pop("k", 5)
    plan = Plan(**{"min_similarity": 0.5, "timeout": 5, **settings})
    return FunctionTarget("rag", function, plan, k=k)


async def answer(function, wanted: frozenset[str] = RESPONSE, **settings: object) -> Answer:
    return await target(function, **settings).ask(ROW, wanted)


def sync(query: str) -> str:
    return f"sync {query}"


async def coroutine(query: str) -> str:
    await asyncio.sleep(0)
    return f"async {query}"


def any_name(question: str, k: int) -> str:
    return f"{question} {k}"


def only_keywords(*, query: str, threshold: float) -> str:
    return f"{query} {threshold}"


def whole_row(sample: Sample, k: int = 1) -> str:
    return f"{sample.id} {k}"


class Rag:
    def __call__(self, query: str) -> str:
        return f"called {query}"


class AsyncRag:
    async def __call__(self, query: str) -> str:
        return f"async called {query}"


@each_case(
    ("function", "response"),
    [
        (sync, "sync Who?"),
        (coroutine, "async Who?"),
        (any_name, "Who? 5"),
        (only_keywords, "Who? 0.5"),
        (lambda query, /: query, "Who?"),
        (whole_row, "1 5"),
        (lambda *arguments, **more: f"{arguments} {more}", "('Who?',) {}"),
        (partial(any_name, k=7), "Who? 5"),
        (Rag(), "called Who?"),
        (AsyncRag(), "async called Who?"),
    ],
)
async def test_what_may_be_called(function, response: str) -> None:
    given = await answer(function)
    assert (given.fields, given.failures) == ({"response": response}, {})


async def test_a_class_is_made_once_and_called_side_by_side() -> None:
    class Rag:
        made, barrier = 0, threading.Barrier(40, timeout=50)

        def __init__(self) -> None:
            type(self).made += 1

        def __call__(self, query: str) -> str:
            self.barrier.wait()
            return query

    asked = target(Rag)
    given = await asyncio.gather(*(asked.ask(ROW, RESPONSE) for _ in range(40)))
    assert not any(one.failures for one in given)
    assert Rag.made == 1


B5 = (Context(text="b", id="5"),)


@each_case(
    ("result", "fields"),
    [
        ("text", {"response": "text"}),
        ({"response": "a", "contexts": ["b"]}, {"response": "a", "contexts": (Context(text="b"),)}),
        ({"contexts": [{"text": "b", "id": 5, "page": 7}]}, {"contexts": B5}),
        (("a", ["b"]), {"response": "a", "contexts": (Context(text="b"),)}),
        ({"contexts": [{"content": "b", "point_id": 5}]}, {"contexts": B5}),
        ({"contexts": (), "ranking": []}, {"contexts": (), "ranking": ()}),
        (MappingProxyType({"response": "a"}), {"response": "a"}),
    ],
)
async def test_what_may_be_returned(result: object, fields: dict[str, object]) -> None:
    given = await answer(lambda q: result, frozenset(fields))
    assert (given.fields, given.failures) == (fields, {})


@each_case(
    ("result", "message"),
    [
        (None, "rag: returned NoneType, not text or a mapping"),
        (("a", ["b"], 5), "rag: returned tuple, not text or a mapping"),
        (("a", None), "rag: expected contexts to be a list, got null"),
        ({"anser": "a", 5: "b"}, "rag: returned 'anser', 5; it may return response, contexts, "),
        ({"answer": "a", "result": "b"}, "rag: returned both 'answer' and 'result'; return only"),
        ({"contexts": [object()]}, "rag: item 1 of contexts: text: must be text"),
        ({"contexts": [{"body": "a"}]}, "rag: item 1 of contexts has no text"),
        ({"ranking": ["A", None, "R"]}, "rag: item 2 of ranking is null or missing; "),
    ],
)
async def test_what_may_not_be_returned(result: object, message: str) -> None:
    given = await answer(lambda q: result, ALL)
    assert given.fields == {}
    assert given.failures.keys() == ALL
    for failure in given.failures.values():
        assert failure.cause is Cause.MALFORMED
        assert failure.message.startswith(message)
        assert "\n" not in failure.message


async def test_what_is_wanted_and_left_out_has_failed() -> None:
    given = await answer(sync, ALL)
    assert given.fields == {"response": "sync Who?"}
    assert given.failures.keys() == {"contexts", "ranking"}
    assert given.failures["ranking"].message == (
        "rag returned no ranking (or None); return a mapping of response, contexts, ranking"
    )
    given = await answer(lambda q: {"contexts": ["a"]}, frozenset(("ranking",)))
    assert given.failures == {}, "contexts stand in for a ranking"


class PanicError(BaseException):
    """As Rust's panics are in Python, and what `pytest.skip` raises."""


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


OURS, AWAY = Cause.TARGET_ERROR, Cause.UNREACHABLE


@each_case(
    ("error", "cause", "message"),
    [
        (ValueError("bad\nnews " + "x" * 500), OURS, "rag raised ValueError: bad news"),
        (TimeoutError(), AWAY, "rag raised TimeoutError"),
        (SystemExit(3), OURS, "rag raised SystemExit: 3"),
        (asyncio.CancelledError(), OURS, "rag raised CancelledError"),
        (CallError(Cause.RATE_LIMITED, "slow"), Cause.RATE_LIMITED, "rag: slow"),
        (PanicError("oh"), OURS, "rag raised PanicError: oh"),
        (UnreadableError(), OURS, "rag raised UnreadableError: (its text raised RuntimeError)"),
    ],
)
async def test_a_function_that_raises_fails_its_row(
    error: BaseException, cause: Cause, message: str
) -> None:
    def fail(query: str) -> str:
        raise error

    async def fail_later(query: str) -> str:
        raise error

    for function in (fail, fail_later):
        given = await answer(function)
        failure = given.failures["response"]
        assert failure.cause is cause
        shown = re.sub(r" at \w+\.py:\d+", "", failure.message)
        assert shown.startswith(message)
        assert (shown == failure.message) is isinstance(error, CallError)
        assert "\n" not in failure.message
        assert len(failure.message) <= 300
        assert given.calls[0].failure == failure


async def test_functions_that_hang_hold_up_no_other_row() -> None:
    stop = threading.Event()

    def function(sample: Sample) -> str:
        if sample.id != "last":
            stop.wait(30)
        return "fine"

    async def later(query: str) -> str:
        await asyncio.sleep(30)
        return ""

    asked = target(function, timeout=0.2)
    given = await asyncio.gather(*(asked.ask(ROW, RESPONSE) for _ in range(60)))
    last = await asked.ask(ROW.model_copy(update={"id": "last"}), RESPONSE)
    stop.set()
    assert last.fields == {"response": "fine"}
    for one in (*given, await answer(later, timeout=0.2)):
        assert one.failures["response"].cause is Cause.TIMEOUT
        assert "rag: no answer within 0.2 s" in one.failures["response"].message


def test_a_function_that_hangs_does_not_hold_up_the_end_of_the_program() -> None:
    code = (
        "import time\n"
        "from ragstone.evaluation.runner import evaluate\n"
        "run = evaluate([{'query': 'q', 'relevance': ['a']}], metrics='hit', timeout=0.2,\n"
        "               target=lambda q: time.sleep(600))\n"
        "print(run.rows[0].scores['hit@5'].cause)"
    )
    command = [sys.executable, "-c", code]
    message = subprocess.run(command, capture_output=True, text=True, check=True, timeout=250)
    assert message.stdout.strip() == "timeout"


async def test_leaving_cancels_an_async_function() -> None:
    async def later(query: str) -> str:
        await asyncio.sleep(30)
        return ""

    task = asyncio.create_task(answer(later))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@each_case(
    ("function", "message"),
    [
        (lambda: "", "rag cannot be called: too many positional arguments"),
        (lambda query, user: "", "rag cannot be called: missing a required argument: 'user'"),
        (type("Needy", (), {"__init__": lambda self, key: None}), r"rag\(\) raised TypeError"),
        (str, "rag is an object of type str, which cannot be called; use a function, or an object"),
    ],
)
def test_a_function_that_needs_more_is_reported_before_the_run(function, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        target(function)


def test_a_function_is_found_by_name(module_file, tmp_path) -> None:
    module_file("my_rag_system.py", "def ask(query): return 'a'\nclass C:\n  def m(query): pass")
    assert function_named("my_rag_system:ask")("q") == "a"
    assert function_named("my_rag_system.py:ask")("q") == "a"
    assert function_named("my_rag_system:C.m").__name__ == "m"
    (tmp_path / "sub").mkdir()
    module_file("beside_cwd_rag.py", "A = 'a'")
    module_file("sub/beside_file_rag.py", "B = 'b'")
    code = "from beside_cwd_rag import A\nfrom beside_file_rag import B\ndef ask(q): return A + B"
    module_file("sub/rag_entry.py", code)
    assert function_named("sub/rag_entry.py:ask")("q") == "ab"


def test_a_name_that_stands_for_nothing(module_file) -> None:
    module_file("exits_rag.py", "import sys\nsys.exit(2)")
    for name, error, message in (
        ("no_such_rag:ask", UsageError, "no_such_rag cannot be imported: ModuleNotFoundError"),
        ("no_such_rag.py:ask", UsageError, r"there is no file no_such_rag\.py"),
        (":ask", UsageError, "cannot be imported"),
        ("exits_rag.py:ask", UsageError, "cannot be imported: SystemExit: 2"),
        ("json:no_such", TargetError, "json:no_such: json has no function 'no_such'"),
    ):
        with pytest.raises(error, match=message):
            function_named(name)
