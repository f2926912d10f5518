"""LocalModel: an ONNX model that is loaded, and what it says of pairs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.concurrency import in_thread
from ragstone._internal.text import count, quoted
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.judges.local.chunks import Pair, Pairs
from ragstone.judges.local.files import ModelFiles
from ragstone.judges.local.heads import Head
from ragstone.judges.local.settings import LocalSettings, library

# Session: what onnxruntime runs a model in.

_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
)


class _Input(Protocol):
    name: str
    type: str
    shape: Sequence[int | str | None]


class Session(Protocol):
    """What onnxruntime's session is asked."""

    def get_inputs(self) -> Sequence[_Input]:
        """Return what the model wants to be fed."""
        ...

    def get_outputs(self) -> Sequence[_Input]:
        """Return what the model puts out."""
        ...

    def run(
        self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[np.generic]]
    ) -> Sequence[NDArray[np.float32]]:
        """Run the model once."""
        ...


def open_session(name: str, onnx: Path, settings: LocalSettings) -> Session:
    """Load a model, for the local judge of that name.

    Raises:
        UsageError: it is no model, or the device is not there.
    """
    runtime = library("onnxruntime", name)
    options: Any = runtime.SessionOptions()
    options.intra_op_num_threads = settings.threads
    options.log_severity_level = 3  # errors; they are raised as well
    provider = _PROVIDERS[settings.device]
    if provider not in runtime.get_available_providers():
        raise UsageError(
            f"local:{name}: the onnxruntime that is installed has no "
            f"{settings.device}; put onnxruntime-gpu in its place, or leave device= out"
        )
    try:
        session: Any = runtime.InferenceSession(str(onnx), options, providers=[provider])
    except Exception as error:  # the library's errors have no class of their own
        said = quoted(str(error))
        raise UsageError(f"local:{name}: the model cannot be loaded: {said}") from error
    if provider not in session.get_providers():  # it falls back to the CPU by itself
        raise UsageError(f"local:{name}: {settings.device} could not be started")
    return cast("Session", session)


# Batches: what is asked at the same time goes through the model together.

A = TypeVar("A")
B = TypeVar("B")

GATHERING = 0.002
"""Seconds that the first of a batch waits for others: less than any model takes for one."""


class Batches(Generic[A, B]):
    """Runs a function on many items at once, at most `size`, in a thread; one run at a time.

    What waits is sorted by `length`, so that little is filled up where items of a batch must be
    as long as the longest.
    """

    def __init__(
        self, run: Callable[[Sequence[A]], Sequence[B]], *, size: int, length: Callable[[A], int]
    ) -> None:
        self._run, self._size, self._length = run, size, length
        self._waiting: list[tuple[A, asyncio.Future[B]]] = []
        self._task: asyncio.Task[None] | None = None

    async def results(self, items: Sequence[A]) -> list[B]:
        """Return the results in the items' order; raises what the run raised.

        Raises:
            ValueError: the run gave more or fewer results than it had items.
        """
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in items]
        self._waiting += zip(items, futures, strict=True)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drain())
        return list(await asyncio.gather(*futures))

    async def close(self) -> None:
        """Let go of what waits, and wait until what runs has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()

    async def _drain(self) -> None:
        await asyncio.sleep(GATHERING)
        while self._waiting:
            waiting = [pair for pair in self._waiting if not pair[1].done()]
            self._waiting = []
            waiting.sort(key=lambda pair: self._length(pair[0]))
            for at in range(0, len(waiting), self._size):
                await self._finish(waiting[at : at + self._size])

    async def _finish(self, batch: Sequence[tuple[A, asyncio.Future[B]]]) -> None:
        under_way = [pair for pair in batch if not pair[1].done()]
        if not under_way:  # nobody waits for them any more
            return
        given: list[tuple[asyncio.Future[B], B]] = []
        error: BaseException = asyncio.CancelledError()
        try:
            found = await in_thread(partial(self._run, [item for item, _ in under_way]))
            given = list(zip((future for _, future in under_way), found, strict=True))
        except Exception as raised:  # noqa: BLE001 - raised again where it is awaited
            error = raised
        finally:
            for future, result in given:
                if not future.done():
                    future.set_result(result)
            for _, future in under_way:
                if future.done():
                    continue
                if isinstance(error, asyncio.CancelledError):
                    future.cancel()
                else:
                    future.set_exception(error)


INPUTS: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""What a model may want to be fed."""
CLOSE = 1e-3
"""How far beyond 0 and 1 chances may lie, by rounding."""
_TYPES: Mapping[str, type[np.generic]] = MappingProxyType(
    {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
)


@dataclass(frozen=True)
class Reading:
    """What a model says of one claim and one window.

    Attributes:
        supported: the chance of that, 0 to 1; `contradicted` likewise.
        flagged: the characters of the claim that tokens of too little support take up.
    """

    supported: float
    contradicted: float
    flagged: tuple[tuple[int, int], ...] = ()


class LocalModel:
    """Judges pairs, within `async with`: it is loaded, and tried once, as it is entered."""

    def __init__(
        self,
        name: str,
        files: ModelFiles,
        pairs: Pairs,
        head: Head,
        settings: LocalSettings,
        *,
        length: int,
    ) -> None:
        self._length = length
        self._least: tuple[int, int] = (1, 1)  # pairs in a run, and tokens in a pair
        self._name, self._files, self._pairs = name, files, pairs
        self._head, self._settings = head, settings
        self._session: Session | None = None
        self._batches = Batches[Pair, Reading | JudgeError](
            self._outcomes, size=settings.batch or 1, length=lambda pair: len(pair.ids)
        )

    async def __aenter__(self) -> Self:
        """Load the model, and see that its outputs are what its labels say.

        Raises:
            UsageError: it cannot be loaded or run, or is of no known shape.
        """
        await in_thread(self._load)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of it."""
        await self._batches.close()
        self._session = None

    async def read(self, pairs: Sequence[Pair]) -> list[Reading]:
        """Return what the model says of each pair.

        Raises:
            JudgeError: it could not be run on one of them.
        """
        readings: list[Reading] = []
        for outcome in await self._batches.results(pairs):
            if isinstance(outcome, JudgeError):
                raise JudgeError(outcome.cause, str(outcome))  # each asker has its own
            readings.append(outcome)
        return readings

    def _load(self) -> None:
        self._session = open_session(self._name, self._files.onnx, self._settings)
        wanted = [each.name for each in self._session.get_inputs()]
        strange = [name for name in wanted if name not in INPUTS]
        if strange or INPUTS[0] not in wanted:
            raise UsageError(
                f"local:{self._name}: the model wants to be fed {', '.join(strange or wanted)}; "
                f"known are {', '.join(INPUTS)}. One that generates text cannot be used so"
            )
        self._check_fixed(self._session)
        self._check_output(self._session)
        try:
            logits = self._run([self._pairs.pair("A context.", "A claim.")])
        except JudgeError as error:
            raise UsageError(f"local:{self._name}: {error}") from error
        self._head = self._head.check(logits.shape, self._name)
        if self._head.chances_out and (logits.min() < -CLOSE or logits.max() > 1 + CLOSE):
            raise UsageError(
                f"local:{self._name}: chances=yes, and {self._settings.output} holds numbers from "
                f"{logits.min():g} to {logits.max():g}: they are logits, so leave it out"
            )

    def _check_fixed(self, session: Session) -> None:
        """See that a model that was exported for one size only gets that; most take any."""
        ids = next(each for each in session.get_inputs() if each.name == INPUTS[0])
        batch, length = ids.shape
        self._least = (
            batch if isinstance(batch, int) else 1,
            length if isinstance(length, int) else 1,
        )
        if isinstance(length, int) and self._length > length:
            self._refuse(f"pairs of {length} tokens only: say length={length}")
        if isinstance(batch, int) and self._settings.batch != batch:
            self._refuse(f"batches of {batch} only: say batch={batch}")

    def _check_output(self, session: Session) -> None:
        """See that what is read is there: an output of another name may be of another scale."""
        names = [each.name for each in session.get_outputs()]
        if self._settings.output not in names:
            raise UsageError(
                f"local:{self._name}: the model has no output named {self._settings.output}; it "
                f"has {', '.join(names)}. Name the one to read with output=, and say chances=yes "
                "if it is chances (0 to 1, after a softmax or sigmoid) and not logits"
            )

    def _refuse(self, fixed: str) -> None:
        raise UsageError(
            f"local:{self._name}: the model was exported for {fixed}; or export it for any size"
        )

    def _outcomes(self, pairs: Sequence[Pair]) -> list[Reading | JudgeError]:
        """Read pairs together; one by one if that fails, so that one's fault is not another's."""
        try:
            return [*self._readings(pairs)]
        except JudgeError as error:
            if len(pairs) == 1:
                return [error]
        return [outcome for pair in pairs for outcome in self._outcomes([pair])]

    def _readings(self, pairs: Sequence[Pair]) -> list[Reading]:
        logits = self._run(pairs)
        if self._head.shape == "first":
            logits = logits[:, 0]
        supported, contradicted = self._head.chances(logits)
        if self._head.shape == "tokens":
            return [
                self._of_tokens(pair, yes, no)
                for pair, yes, no in zip(pairs, supported, contradicted, strict=True)
            ]
        both = zip(supported.tolist(), contradicted.tolist(), strict=True)
        return [Reading(yes, no) for yes, no in both]

    def _of_tokens(self, pair: Pair, yes: NDArray[np.float64], no: NDArray[np.float64]) -> Reading:
        """Return the reading of a claim by its tokens: as sure as the least supported of them."""
        if not pair.claim:
            return Reading(0.0, 0.0)
        least = min(pair.claim, key=lambda token: float(yes[token[0]]))
        flagged: list[tuple[int, int]] = []
        last = -2
        for place, start, end in pair.claim:
            if yes[place] < self._settings.threshold:
                if last == place - 1:
                    start = flagged.pop()[0]
                flagged.append((start, end))
                last = place
        return Reading(float(yes[least[0]]), float(no[least[0]]), tuple(flagged))

    def _run(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        assert self._session is not None, "the model is not loaded"
        feeds = self._feeds(self._session, pairs)
        try:
            logits = self._session.run([self._settings.output], feeds)[0][: len(pairs)]
        except Exception as error:  # the library's errors have no class of their own
            said = (
                f"the model could not be run on {count(len(pairs), 'pair')}: {quoted(str(error))}"
            )
            raise JudgeError(Cause.MALFORMED, said) from error
        if not np.isfinite(logits).all():
            raise JudgeError(Cause.MALFORMED, "the model put out what is no number")
        return logits

    def _feeds(self, session: Session, pairs: Sequence[Pair]) -> dict[str, NDArray[np.generic]]:
        longest = max(self._least[1], *(len(pair.ids) for pair in pairs))
        ids = np.full(
            (max(self._least[0], len(pairs)), longest), self._pairs.padding, dtype=np.int64
        )
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, pair in enumerate(pairs):
            ids[row, : len(pair.ids)] = pair.ids
            mask[row, : len(pair.ids)] = 1
            types[row, : len(pair.types)] = pair.types
        places = np.broadcast_to(np.arange(longest), ids.shape)
        known = dict(zip(INPUTS, (ids, mask, types, places), strict=True))
        return {
            each.name: known[each.name].astype(_TYPES.get(each.type, np.int64))
            for each in session.get_inputs()
        }
