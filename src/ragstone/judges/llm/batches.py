"""Batch APIs: the requests of many rows are submitted together, and their replies collected later.

A batch costs half as much and takes up to a day. It is recorded in a file before it is submitted,
so that a later process finds it, even after kill -9, instead of paying for its requests again.
"""

import asyncio
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Self, TypeVar

from pydantic import AliasChoices, AliasPath, AwareDatetime, BaseModel, Field, ValidationError

from ragstone._internal import http
from ragstone._internal.files import make_folder, write_text
from ragstone._internal.rate_limit import (
    FIRST_BACKOFF,
    LONGEST_BACKOFF,
    RETRIES,
    Budget,
    Limits,
    PaidCall,
    RetryableError,
    RetryingCaller,
)
from ragstone._internal.text import quoted
from ragstone.errors import CallError, Cause, UsageError

B = TypeVar("B", bound=BaseModel)

DISCOUNT = 0.5
"""The price of a request in a batch, as a share of the normal one."""
QUIET = 2.0
"""Seconds without a new request after which those that wait are submitted."""
FIRST_POLL, LONGEST_POLL = 2.0, 60.0
"""Seconds between two looks at a batch; they grow."""
MOST_BYTES = 100 * 10**6
"""Bytes of the requests of a batch. OpenAI takes 200 MB, Anthropic 256 MB."""
LONGEST_RESULTS = 2**30
"""Bytes of a file of results."""
MOST_TRIES = 3
"""How often a request is submitted, if its batch expires or has no reply to it."""
KEPT = 29 * 86_400
"""Seconds for which both providers keep results, at least."""
OVERDUE = 2 * 86_400
"""Seconds after which a batch is given up; providers end it after one day."""
CLOCKS = 600
"""Seconds by which this machine's clock may differ from the provider's."""
NO_QUOTA = "insufficient_quota"
"""OpenAI's 429 of an account whose quota is exhausted: retries do not help."""

_ENDED = ("completed", "expired", "cancelled", "failed")
_TIMEOUT = 600.0
"""Seconds for a control request, which may carry a whole batch."""
_LATE = ("batch_expired", "request_timeout")
"""OpenAI's errors of a request that was not processed in time."""
_OVERLOADED = ("rate_limit_error", "api_error", "overloaded_error", "timeout_error")
"""Anthropic's errors that another try may fix."""
_log = logging.getLogger("ragstone.judge")


@dataclass(frozen=True)
class BatchSettings:
    """How batches are made.

    Attributes:
        folder: where they are recorded.
        vote: the number of the judge among those with the same model.
    """

    folder: Path
    vote: int
    budget: Budget
    retries: int


class Record(BaseModel):
    """What is stored about a batch: first without the provider's id, then with it.

    Attributes:
        at: when it was submitted, in seconds since 1970.
        requests: the ids of its requests.
        batch: the provider's id.
        answered: whether all results were handed out.
    """

    judge: str
    token: str
    at: float
    requests: list[str]
    batch: str | None = None
    answered: bool = False


class _Fault(BaseModel):
    code: str | None = None
    message: str | None = None


class BatchInfo(BaseModel):
    """What a provider reports about a batch."""

    id: str
    status: str = Field(validation_alias=AliasChoices("status", "processing_status"))
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    cancel_initiated_at: AwareDatetime | None = None
    counts: dict[str, int] | None = Field(None, validation_alias="request_counts")
    output_file_id: str | None = None
    error_file_id: str | None = None
    faults: list[_Fault] = Field([], validation_alias=AliasPath("errors", "data"))
    metadata: dict[str, str] | None = None

    @property
    def ended(self) -> str | None:
        if self.status == "ended":
            return "cancelled" if self.cancel_initiated_at else "completed"
        return self.status if self.status in _ENDED else None

    @property
    def total(self) -> int:
        counts = self.counts or {}
        return counts.get("total", sum(counts.values()))

    @property
    def done(self) -> int:
        counts = self.counts or {}
        processed = counts.get("completed", 0) + counts.get("failed", 0)
        return self.total - counts["processing"] if "processing" in counts else processed


class _Batches(BaseModel):
    data: list[BatchInfo]
    has_more: bool = False


class BatchApi(ABC):
    """A provider's batch API.

    Attributes:
        most: the number of requests in a batch, at most.
        after: the parameter of a list for the last id of the page before.
        headers: the headers of each request, with the key.
    """

    most: int
    after: str

    def __init__(self, url: str, headers: Mapping[str, str], *, retries: int) -> None:
        self.url, self.headers = url, dict(headers)
        connection = http.Connection(timeout=_TIMEOUT, retry_timeouts=True, permanent=(NO_QUOTA,))
        caller = RetryingCaller(Limits(retries=retries))
        self.client = http.Client(connection, caller=caller)

    @abstractmethod
    async def create(self, record: Record, requests: Mapping[str, bytes]) -> str:
        """Submit requests, by id, without a retry; return the provider's id."""

    @abstractmethod
    def is_of(self, record: Record, batch: BatchInfo) -> bool:
        """Return whether a batch seems to be the recorded one."""

    @abstractmethod
    def files(self, batch: BatchInfo) -> list[str]:
        """Return the paths of a batch's results."""

    @abstractmethod
    def read(self, line: bytes) -> tuple[str, bytes | CallError]:
        """Read a line of results: the request's id, and its reply or error.

        Raises:
            ValidationError: it is something else.
        """

    async def info(self, batch: str) -> BatchInfo:
        return await self._read(BatchInfo, f"batches/{batch}")

    async def find(self, record: Record, others: "Sequence[_Batch]") -> str | None:
        known = {batch.record.batch for batch in others}
        path, found = "batches?limit=100", None
        while True:
            page = await self._read(_Batches, path)
            for batch in page.data:  # the newest first
                if batch.id not in known and self.is_of(record, batch):
                    found = batch.id
            last = page.data[-1] if page.data and page.has_more else None
            if last is None or last.created_at.timestamp() < record.at - CLOCKS:
                return found
            path = f"batches?limit=100&{self.after}={last.id}"

    async def results(self, batch: BatchInfo) -> AsyncGenerator[tuple[str, bytes | CallError]]:
        for file in self.files(batch):
            reply = await self._send(file, longest=LONGEST_RESULTS)
            for line in BytesIO(reply.content):
                with suppress(ValidationError):
                    yield self.read(line)

    async def _send(
        self,
        path: str,
        *,
        body: object = None,
        content_type: str = "application/json",
        longest: int | None = None,
    ) -> http.HttpReply:
        return await self.client.send(
            "GET" if body is None else "POST",
            f"{self.url}/{path}",
            headers={**self.headers, "Content-Type": content_type},
            body=body,
            retries=None if body is None else 0,
            longest=longest,
        )

    async def _read(
        self,
        shape: type[B],
        path: str,
        *,
        body: object = None,
        content_type: str = "application/json",
    ) -> B:
        reply = await self._send(path, body=body, content_type=content_type)
        try:
            return shape.model_validate_json(reply.content)
        except ValidationError as error:
            begins = quoted(reply.content[:400].decode("utf-8", "replace"))
            message = f"{path}: the reply is not as expected ({error.title}); it begins {begins!r}"
            raise CallError(Cause.MALFORMED, message) from None


class _File(BaseModel):
    id: str


class _OpenAILine(BaseModel):
    custom_id: str
    status: int | None = Field(None, validation_alias=AliasPath("response", "status_code"))
    body: object = Field(None, validation_alias=AliasPath("response", "body"))
    code: str | None = Field(None, validation_alias=AliasPath("error", "code"))
    message: str | None = Field(None, validation_alias=AliasPath("error", "message"))


class OpenAIBatches(BatchApi):
    """OpenAI's: an uploaded file of requests, and a file each of results and of errors."""

    most = 50_000
    after = "after"

    async def create(self, record: Record, requests: Mapping[str, bytes]) -> str:
        mark = secrets.token_hex(16)
        part = f'--{mark}\r\nContent-Disposition: form-data; name="'
        head = f'{part}purpose"\r\n\r\nbatch\r\n{part}file"; filename="ragstone.jsonl"\r\n'
        form = [f"{head}Content-Type: application/jsonl\r\n\r\n".encode()]
        target = '"method":"POST","url":"/v1/chat/completions"'
        for name, content in requests.items():
            form += (f'{{"custom_id":"{name}",{target},"body":'.encode(), content, b"}\n")
        form.append(f"\r\n--{mark}--\r\n".encode())
        content_type = f"multipart/form-data; boundary={mark}"
        file = await self._read(_File, "files", body=b"".join(form), content_type=content_type)
        body = {
            "input_file_id": file.id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"ragstone": record.token},
        }
        return (await self._read(BatchInfo, "batches", body=body)).id

    def is_of(self, record: Record, batch: BatchInfo) -> bool:
        return (batch.metadata or {}).get("ragstone") == record.token

    def files(self, batch: BatchInfo) -> list[str]:
        ids = filter(None, (batch.output_file_id, batch.error_file_id))
        return [f"files/{file}/content" for file in ids]

    def read(self, line: bytes) -> tuple[str, bytes | CallError]:
        found = _OpenAILine.model_validate_json(line)
        if found.status is None:
            cause = Cause.TIMEOUT if found.code in _LATE else Cause.UNREACHABLE
            message = f"the batch has no reply: {quoted(found.message or found.code or '')}"
            return found.custom_id, RetryableError(cause, message)
        content = http.as_json(found.body)
        if 200 <= found.status < 300:
            return found.custom_id, content
        text = content[:4000].decode("utf-8", "replace")
        message = f"in a batch, the request returned {found.status}: {quoted(text)}"
        permanent = NO_QUOTA in text
        return found.custom_id, http.status_error(found.status, message, permanent=permanent)


class _AnthropicLine(BaseModel):
    custom_id: str
    result: dict[str, object]
    type: str = Field(validation_alias=AliasPath("result", "type"))
    error: str = Field("", validation_alias=AliasPath("result", "error", "error", "type"))
    message: str = Field("", validation_alias=AliasPath("result", "error", "error", "message"))


class AnthropicBatches(BatchApi):
    """Anthropic's Message Batches; a reply is the whole result, which may be an error."""

    most = 100_000
    after = "after_id"

    async def create(self, record: Record, requests: Mapping[str, bytes]) -> str:
        del record
        items = [
            f'{{"custom_id":"{name}","params":'.encode() + content + b"}"
            for name, content in requests.items()
        ]
        body = b'{"requests":[' + b",".join(items) + b"]}"
        return (await self._read(BatchInfo, "batches", body=body)).id

    def is_of(self, record: Record, batch: BatchInfo) -> bool:
        late = batch.created_at.timestamp() - record.at
        return batch.total == len(record.requests) and -CLOCKS < late < CLOCKS + _TIMEOUT

    def files(self, batch: BatchInfo) -> list[str]:
        return [f"batches/{batch.id}/results"]

    def read(self, line: bytes) -> tuple[str, bytes | CallError]:
        found = _AnthropicLine.model_validate_json(line)
        if found.type not in ("succeeded", "errored"):
            cause = Cause.TIMEOUT if found.type == "expired" else Cause.UNREACHABLE
            return found.custom_id, RetryableError(cause, f"the request was {found.type}")
        if found.error in _OVERLOADED:
            message = f"in a batch, the request returned {found.error}: {quoted(found.message)}"
            return found.custom_id, RetryableError(Cause.UNREACHABLE, message)
        return found.custom_id, http.as_json(found.result)


@dataclass(eq=False)
class _Request:
    """A request that waits for its reply.

    The highest cost of its `call` is reserved from when it is taken until the reply is charged.
    """

    id: str
    content: bytes
    call: PaidCall
    answer: "asyncio.Future[http.HttpReply]"
    tries: int = 0


@dataclass(eq=False)
class _Batch:
    """A batch.

    Attributes:
        waiting: the requests that wait for it, by id.
        earlier: whether another process submitted it.
        unclaimed: results that no request waits for yet; None until it has ended.
    """

    path: Path
    record: Record
    waiting: dict[str, _Request] = field(default_factory=dict[str, _Request])
    earlier: bool = False
    unclaimed: dict[str, bytes | CallError] | None = None

    def save(self, **changes: object) -> None:
        self.record = self.record.model_copy(update=changes)
        make_folder(self.path.parent.parent)
        write_text(self.path, self.record.model_dump_json())


class BatchQueue:
    """Submits requests in batches once no more arrive, and waits for their results.

    The results of batches that an earlier process left are collected: a request is recognized by
    its content. Use within `async with`.
    """

    def __init__(self, api: BatchApi, judge: str, identity: str, settings: BatchSettings) -> None:
        self.api = api
        self._judge, self._settings = judge, settings
        self._key = sha256(f"{identity} {settings.vote}".encode()).hexdigest()[:16]
        self._seen = Counter[str]()
        self._queue = deque[_Request]()
        self._most, self._one_at_a_time = api.most, False
        self._batches: list[_Batch] = []
        self._earlier: dict[str, _Batch] = {}
        self._collector: asyncio.Task[None] | None = None
        self._tasks = set[asyncio.Task[None]]()
        self._followed = 0
        self._abandoned = self._reached = False

    async def __aenter__(self) -> Self:
        await self.api.client.__aenter__()
        for path in sorted(self._settings.folder.glob(f"{self._key}-*.json")):
            try:
                record = Record.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):  # a person, or a process that ends now, changed it
                continue
            if record.at < time.time() - KEPT:
                path.unlink()
                continue
            self._batches.append(batch := _Batch(path, record, earlier=True))
            self._earlier |= dict.fromkeys(record.requests, batch)
        return self

    async def __aexit__(self, *raised: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        current = asyncio.current_task()
        left = self._abandoned or bool(current and current.cancelling())
        if requests := sum(len(batch.waiting) for batch in self._batches):
            _log.warning(
                "%s: batches with %s requests go on; the same command, or `ragstone resume`, "
                "collects their results without paying again",
                self._judge,
                f"{requests:,}",
            )
        for batch in self._batches:
            RETRIES.waiting.pop(batch.record.token, None)
            if not left and (batch.record.answered or batch.unclaimed is not None):
                batch.path.unlink(missing_ok=True)
        await self.api.client.__aexit__()

    async def send(self, body: Mapping[str, object]) -> http.HttpReply:
        content = http.as_json(body)
        digest = sha256(content).hexdigest()[:32]
        self._seen[digest] += 1
        answer: asyncio.Future[http.HttpReply] = asyncio.get_running_loop().create_future()
        call = PaidCall.of(self._settings.budget)
        request = _Request(f"{digest}-{self._seen[digest]}", content, call, answer)
        batch = self._earlier.pop(request.id, None)
        if batch and batch.unclaimed is None:
            batch.waiting[request.id] = request
            if len(batch.waiting) == 1:
                self._start(self._collect_earlier(batch), batch.waiting.values)
        elif batch and batch.unclaimed and request.id in batch.unclaimed:
            self._settle(request, batch.unclaimed.pop(request.id))
        else:
            self._enqueue(request)
        try:
            return await answer
        except asyncio.CancelledError:
            self._abandoned = True
            raise

    def _enqueue(self, request: _Request) -> None:
        self._queue.append(request)
        if self._collector is None or self._collector.done():
            self._collector = self._start(self._collect(), lambda: self._queue)

    def _start(
        self, work: Coroutine[object, object, None], waiting: Callable[[], Iterable[_Request]]
    ) -> asyncio.Task[None]:
        async def run() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001 - raised where the requests were sent
                for request in waiting():
                    self._settle(request, error, final=True)

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _collect(self) -> None:
        while self._queue:
            size = 0
            while size < len(self._queue) < self._most:
                size = len(self._queue)
                await asyncio.sleep(QUIET)
            others = self._tasks - {self._collector}
            if waiting := {} if self._one_at_a_time and others else self._take():
                self._start(self._submit(waiting), waiting.values)
            elif others:  # they may return a part of the budget
                await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            elif self._queue:  # other judges may
                await asyncio.sleep(LONGEST_POLL)

    def _take(self) -> dict[str, _Request]:
        taken: dict[str, _Request] = {}
        size = 0
        while self._queue and len(taken) < self._most:
            request = self._queue[0]
            size += len(request.content)
            if taken and size > MOST_BYTES:
                break
            if not request.answer.done():
                try:
                    if not request.call.reserve():
                        break
                except CallError as error:
                    self._settle(request, error)
                else:
                    taken[request.id] = request
            self._queue.popleft()
        return taken

    async def _submit(self, waiting: dict[str, _Request]) -> None:
        """Submit a batch, and collect its results.

        If no reply arrives, it may have been created: it is looked for before the next try.
        """
        now, token = time.time(), secrets.token_hex(16)
        record = Record(judge=self._judge, token=token, at=now, requests=list(waiting))
        path = self._settings.folder / f"{self._key}-{now:.0f}-{token}.json"
        batch = _Batch(path, record, waiting)
        batch.save()
        self._batches.append(batch)
        contents = {name: request.content for name, request in waiting.items()}
        tries = 0
        while batch.record.batch is None:
            try:
                found = await self.api.find(record, self._batches) if tries else None
                batch.save(batch=found or await self.api.create(record, contents))
                self._reached = True
            except UsageError:
                batch.unclaimed = {}
                raise
            except CallError as error:
                if error.status is not None:  # it was refused
                    batch.unclaimed = {}
                if error.status in (404, 405):
                    message = f"{error}\nThe server has no batch API; run without --batch-api."
                    raise UsageError(message) from None
                if error.status is not None or tries == self._settings.retries:
                    raise
                tries += 1
                await asyncio.sleep(min(LONGEST_BACKOFF, FIRST_BACKOFF * 2**tries))
        await self._follow(batch)

    async def _collect_earlier(self, batch: _Batch) -> None:
        size = 0
        while size < len(batch.waiting):
            size = len(batch.waiting)
            await asyncio.sleep(QUIET)
        if batch.record.batch is None:
            found = await self.api.find(batch.record, self._batches)
            if found is None:  # it was not submitted
                batch.unclaimed = {}
                self._again(batch)
                return
            batch.save(batch=found)
        await self._follow(batch)

    async def _follow(self, batch: _Batch) -> None:
        at, token = batch.record.at, batch.record.token
        pause = FIRST_POLL
        self._followed += 1
        name = f"batch {self._followed} ({self._judge})"
        RETRIES.waiting[token] = f"{name}: {len(batch.waiting):,} requests, submitted {_clock(at)}"
        while time.time() < at + OVERDUE:
            await asyncio.sleep(pause)
            pause = min(LONGEST_POLL, 1.5 * pause)
            try:
                info = await self.api.info(batch.record.batch or "")
                self._reached = True
                total = info.total or len(batch.record.requests)
                text = f"{info.done:,} of {total:,} done, submitted {_clock(at)}"
                text += (
                    f", expires {_clock(info.expires_at.timestamp())}" if info.expires_at else ""
                )
                RETRIES.waiting[token] = f"{name}: {text}"
                if info.ended:
                    await self._hand_out(batch, info)
                    return
            except CallError as error:
                if error.status == 404:
                    raise UsageError(
                        f"{error}\nThe batch was submitted with another key, or was deleted. Use "
                        f"that key, or delete {batch.path} to submit its requests again."
                    ) from None
                if error.status is not None or not self._reached:
                    raise
                RETRIES.waiting[token] = f"{name}: {error}"
        hours = OVERDUE // 3600
        raise CallError(Cause.TIMEOUT, f"{name} has not ended, although {hours} hours have passed")

    async def _hand_out(self, batch: _Batch, info: BatchInfo) -> None:
        unclaimed: dict[str, bytes | CallError] = {}
        final = info.ended == "cancelled" and not batch.earlier
        async with aclosing(self.api.results(info)) as results:
            async for name, result in results:
                if request := batch.waiting.pop(name, None):
                    self._settle(request, result, final=final)
                elif batch.earlier:
                    unclaimed[name] = result
        too_large = any(fault.code == "token_limit_exceeded" for fault in info.faults)
        if too_large and (half := len(batch.waiting) // 2):
            self._most, self._one_at_a_time = min(half, self._most), True
            RETRIES.waiting[batch.record.token] = (
                f"{info.faults[0].message}; trying a smaller batch"
            )
            await asyncio.sleep(LONGEST_POLL)
            self._again(batch)
        whys = dict.fromkeys(quoted(fault.message or fault.code or "") for fault in info.faults)
        why = "; ".join((info.ended or "", *list(whys)[:3]))
        message = f"the batch {info.id} ended without a reply ({why})"
        lost = RetryableError(Cause.UNREACHABLE, message)
        if info.ended == "expired":
            lost = RetryableError(Cause.TIMEOUT, message)
        elif info.ended == "failed" and not too_large:
            lost = CallError(Cause.REJECTED, message)
        for request in batch.waiting.values():
            self._settle(request, lost, final=final)
        batch.waiting.clear()
        batch.unclaimed = unclaimed
        batch.save(answered=True)
        RETRIES.waiting.pop(batch.record.token, None)

    def _again(self, batch: _Batch) -> None:
        for request in batch.waiting.values():
            request.call.release()
            self._enqueue(request)
        batch.waiting.clear()

    def _settle(self, request: _Request, result: bytes | Exception, *, final: bool = False) -> None:
        if not isinstance(result, bytes):
            request.call.release()
        if request.answer.done():
            return
        request.tries += 1
        if isinstance(result, bytes):
            request.answer.set_result(http.HttpReply(result, 0.0, request.tries))
        elif isinstance(result, RetryableError) and request.tries < MOST_TRIES and not final:
            self._enqueue(request)
        elif isinstance(result, CallError):  # each has a traceback of its own
            tries = request.tries if result.tries else request.tries - 1
            error = CallError(result.cause, str(result), status=result.status, tries=tries)
            request.answer.set_exception(error)
        else:
            is_usage = isinstance(result, UsageError)
            request.answer.set_exception(UsageError(str(result)) if is_usage else result)


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%a %H:%M")  # noqa: DTZ006 - for people
