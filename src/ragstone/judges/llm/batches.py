"""Batch APIs: the open questions of a run are submitted together, and collected by a later run.

A batch costs half as much and takes up to a day, so no row waits for it. A run reads the replies
that have arrived, submits the requests that have none, and ends; the same command continues later.

No request is paid twice: its reply is in the reply cache, or the record of its batch names it. The
record is a file that is written before the batch is submitted. After a crash in between, the batch
is looked for: at OpenAI by a token in its metadata, at Anthropic, which stores none, by its size
and time. Records of collected batches stay until nothing is missing, because they tell which
requests failed how often, and when the evaluation began.
"""

import asyncio
import secrets
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Self, TypeVar

from pydantic import AliasChoices, AliasPath, AwareDatetime, BaseModel, Field, ValidationError

from ragstone._internal import http, rate_limit
from ragstone._internal.files import lock_file, make_folder, write_text
from ragstone._internal.rate_limit import FIRST_BACKOFF, Budget, RetryableError
from ragstone._internal.text import count, quoted
from ragstone.errors import BatchPendingError, CallError, Cause, UsageError
from ragstone.judges.cache import CachedReply, ReplyCache
from ragstone.types.row import Row

B = TypeVar("B", bound=BaseModel)

DISCOUNT = 0.5  # the share of the normal price that is paid
MAX_BYTES = 100 * 10**6  # of a batch: OpenAI takes 200 MB, Anthropic 256 MB
MAX_RESULT_BYTES = 2**30
MAX_TRIES = 3  # submissions of a request, if its batch expires or has no reply to it
KEPT = 29 * 86_400  # seconds for which both providers keep results, at least
OVERDUE = 2 * 86_400  # seconds after which a batch is given up; providers end it after one day
CLOCKS = 600  # seconds by which this machine's clock may differ from the provider's
STORED_AT_ONCE = 1000
NO_QUOTA = "insufficient_quota"  # OpenAI's 429 of an exhausted account: retries do not help
TOO_LARGE = "token_limit_exceeded"  # OpenAI's error of a batch larger than the account's queue
READ = "read"  # notes of a cached reply that was read; once no record names it, it is asked again

_CAUSES = {"expired": Cause.TIMEOUT, "failed": Cause.REJECTED}  # by how the batch ended
_ENDED = ("completed", "expired", "cancelled", "failed")
_TIMEOUT = 600.0  # seconds for a control request, which may carry a whole batch
_LATE = ("batch_expired", "request_timeout")  # OpenAI's errors of a request not processed in time
_STATUSES = {  # Anthropic's errors of a request, and their HTTP status; else it is 400
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "overloaded_error"), 429),
    **dict.fromkeys(("api_error", "timeout_error"), 500),
}


class RequestError(BaseModel):
    cause: Cause
    message: str
    status: int | None = None
    retryable: bool = False


class Record(BaseModel):
    """What is stored about a batch: first without the provider's id `batch`, then with it."""

    path: Path = Field(default=Path(), exclude=True)
    status: str = Field(default="", exclude=True)  # how far it is, for people
    judge: str
    token: str
    at: float  # when it was submitted, in seconds since 1970
    requests: list[str]
    batch: str | None = None
    errors: dict[str, RequestError] | None = None  # once it is collected: requests without a reply

    def save(self) -> None:
        write_text(self.path, self.model_dump_json())


class _Fault(BaseModel):
    code: str | None = None
    message: str | None = None


class BatchInfo(BaseModel):
    id: str
    status: str = Field(validation_alias=AliasChoices("status", "processing_status"))
    created_at: AwareDatetime
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


class _Batches(BaseModel):
    data: list[BatchInfo]
    has_more: bool = False


class BatchApi(ABC):
    """A provider's batch API, within `async with api.client`."""

    max_requests: int
    after: str  # the parameter of a list for the last id of the page before

    def __init__(self, url: str, headers: Mapping[str, str], *, retries: int) -> None:
        self.url, self.headers = url, dict(headers)
        connection = http.Connection(
            timeout=_TIMEOUT,
            retry_timeouts=True,
            permanent=lambda _status, text: NO_QUOTA in text,
            from_environment=True,
        )
        caller = rate_limit.RetryingCaller(rate_limit.Limits(retries=retries))
        self.client = http.Client(connection, caller=caller)

    @abstractmethod
    async def create(self, record: Record, requests: Mapping[str, bytes]) -> str:
        """Submit requests by their ids, and return the provider's id."""

    @abstractmethod
    def matches(self, record: Record, batch: BatchInfo) -> bool:
        """Return whether a batch seems to be the recorded one."""

    @abstractmethod
    def files(self, batch: BatchInfo) -> list[str]:
        """Return the paths of a batch's results."""

    @abstractmethod
    def read(self, line: bytes) -> tuple[str, bytes | CallError]:
        """Return the request's id, and its reply or error; a ValidationError if it has none."""

    async def find(self, record: Record, others: Collection[str | None]) -> str | None:
        path, match = "batches?limit=100", None
        while True:
            page = await self.request(_Batches, path)
            for batch in page.data:  # the newest first
                if batch.id not in others and self.matches(record, batch):
                    match = batch.id
            last = page.data[-1] if page.data and page.has_more else None
            if last is None or last.created_at.timestamp() < record.at - CLOCKS:
                return match
            path = f"batches?limit=100&{self.after}={last.id}"

    async def results(self, batch: BatchInfo) -> AsyncGenerator[tuple[str, bytes | CallError]]:
        for file in self.files(batch):
            reply = await self.client.send(
                "GET", f"{self.url}/{file}", headers=self.headers, longest=MAX_RESULT_BYTES
            )
            for line in BytesIO(reply.content):
                with suppress(ValidationError):
                    yield self.read(line)

    async def request(
        self, shape: type[B], path: str, *, body: object = None, content_type: str = ""
    ) -> B:
        reply = await self.client.send(
            "GET" if body is None else "POST",
            f"{self.url}/{path}",
            headers={**self.headers, "Content-Type": content_type or "application/json"},
            body=body,
            retries=None if body is None else 0,
        )
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

    max_requests = 50_000
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
        file = await self.request(_File, "files", body=b"".join(form), content_type=content_type)
        body = {
            "input_file_id": file.id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"ragstone": record.token},
        }
        return (await self.request(BatchInfo, "batches", body=body)).id

    def matches(self, record: Record, batch: BatchInfo) -> bool:
        return (batch.metadata or {}).get("ragstone") == record.token

    def files(self, batch: BatchInfo) -> list[str]:
        ids = (batch.output_file_id, batch.error_file_id)
        return [f"files/{file}/content" for file in ids if file]

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
        error = http.status_error(found.status, message, permanent=NO_QUOTA in text)
        return found.custom_id, error


class _AnthropicLine(BaseModel):
    custom_id: str
    result: dict[str, object]
    type: str = Field(validation_alias=AliasPath("result", "type"))
    error: str = Field("", validation_alias=AliasPath("result", "error", "error", "type"))
    message: str = Field("", validation_alias=AliasPath("result", "error", "error", "message"))


class AnthropicBatches(BatchApi):
    """Anthropic's Message Batches; a reply is the whole result."""

    max_requests = 100_000
    after = "after_id"

    async def create(self, record: Record, requests: Mapping[str, bytes]) -> str:
        del record
        items = [
            f'{{"custom_id":"{name}","params":'.encode() + content + b"}"
            for name, content in requests.items()
        ]
        body = b'{"requests":[' + b",".join(items) + b"]}"
        return (await self.request(BatchInfo, "batches", body=body)).id

    def matches(self, record: Record, batch: BatchInfo) -> bool:
        late = batch.created_at.timestamp() - record.at
        size = sum((batch.counts or {}).values())
        return size == len(record.requests) and -CLOCKS < late < CLOCKS + _TIMEOUT

    def files(self, batch: BatchInfo) -> list[str]:
        return [f"batches/{batch.id}/results"]

    def read(self, line: bytes) -> tuple[str, bytes | CallError]:
        found = _AnthropicLine.model_validate_json(line)
        if found.type == "succeeded":
            return found.custom_id, http.as_json(found.result)
        if found.type != "errored":
            cause = Cause.TIMEOUT if found.type == "expired" else Cause.UNREACHABLE
            return found.custom_id, RetryableError(cause, f"the request was {found.type}")
        message = f"in a batch, the request returned {found.error}: {quoted(found.message)}"
        return found.custom_id, http.status_error(_STATUSES.get(found.error, 400), message)


_row: ContextVar[int] = ContextVar("row")


class BatchRun:
    """The batches of a run; entering it collects what is ready, and `submit` submits the rest."""

    def __init__(self, cache: Path, budget: Budget, retries: int) -> None:
        self.cache, self.budget, self.retries = cache, budget, retries
        self.folder = cache.with_name("batches")
        self.replies = ReplyCache(cache)
        self.waiting: set[int] = set()  # the indexes of rows with an open question
        self.lines: list[str] = []  # what is waited for
        self.queues: list[BatchQueue] = []

    @property
    def began(self) -> float:
        """The time of the oldest record: this evaluation paid for replies that are cached since."""
        times = [
            path.name.split("-")[1]
            for queue in self.queues
            for path in self.folder.glob(f"{queue.key}-*-*.json")
        ]
        return min((float(at) for at in times if at.isdecimal()), default=inf)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            make_folder(self.folder.parent)
            self.folder.mkdir(exist_ok=True)
            try:
                stack.enter_context(lock_file(self.folder / "lock", timeout=1.0))
            except BlockingIOError as error:
                raise UsageError(f"{error}: it submits batches; wait for its end") from None
            await stack.enter_async_context(self.replies)
            for queue in self.queues:
                await queue.collect()
            self._held = stack.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._held.aclose()

    def scorer(self, score: Callable[[Row], Awaitable[Row]]) -> Callable[[Row], Awaitable[Row]]:
        async def scored(row: Row) -> Row:
            _row.set(row.index)
            return await score(row)

        return scored

    async def submit(self) -> None:
        for queue in self.queues:  # what is in progress counts at its highest cost
            for most in queue.awaited.values():
                self.budget.calls += 1
                self.budget.charge(most)
        for queue in self.queues:
            await queue.submit()
        if not any(queue.open or queue.awaited for queue in self.queues):
            for queue in self.queues:
                queue.forget()


class BatchQueue:
    """The batches of one judge: `send` returns a reply that was collected, or it is requested."""

    def __init__(self, api: BatchApi, judge: str, identity: str, vote: int, run: BatchRun) -> None:
        self.api, self._judge, self._run = api, judge, run
        # the vote distinguishes judges with the same model
        self.key = sha256(f"{identity} {vote}".encode()).hexdigest()[:16]
        self._max_requests = api.max_requests
        self._batches: list[Record] = []
        self._tries = Counter[str]()
        self._errors: dict[str, RequestError] = {}
        self._submitted: set[str] = set()
        self._read: set[str] = set()  # whose replies were read, and counted
        self.awaited: dict[str, float] = {}  # in batches that have not ended: the highest costs
        self.open: dict[str, tuple[bytes, float]] = {}  # in no batch: with the content
        self.refusals: set[str] = set()  # the model may not know a parameter
        run.queues.append(self)

    async def send(self, body: Mapping[str, object]) -> http.HttpReply:
        """Return the reply to a request; a BatchPendingError if there is none yet."""
        content = http.as_json(body)
        name = sha256(content).hexdigest()[:32]  # a later run recognizes the request by it
        tries = self._tries[name]
        reply = await self._run.replies.find(self._cache_key(name))
        if reply and (tries or reply.notes != READ):  # else its evaluation has finished
            if name not in self._read:
                self._read.add(name)
                self._run.budget.calls += max(1, tries)
                if reply.notes != READ:
                    await self._run.replies.store(self._cache_key(name), replace(reply, notes=READ))
            return http.HttpReply(reply.value.encode(), 0.0, max(1, tries))
        most = rate_limit.PaidCall.of(self._run.budget).most
        error = self._errors.get(name)
        if name in self._submitted:
            self.awaited[name] = most
        elif error and not (error.retryable and tries < MAX_TRIES):
            raise CallError(error.cause, error.message, status=error.status, tries=tries)
        else:
            self.open[name] = content, most
        self._run.waiting.add(_row.get())
        raise BatchPendingError(f"{self._judge} replies in a batch")

    def _cache_key(self, name: str) -> bytes:
        return sha256(f"batch {self.key} {name}".encode()).digest()

    async def collect(self) -> None:
        for path in sorted(self._run.folder.glob(f"{self.key}-*.json")):
            try:
                record = Record.model_validate_json(path.read_bytes())
            except (OSError, ValidationError):  # a person changed it
                continue
            record.path = path
            if record.at < time.time() - KEPT:
                path.unlink()
            else:
                self._batches.append(record)
        async with self.api.client:
            for record in list(self._batches):
                if record.errors is None:
                    await self._collect(record)
        for record in self._batches:
            if record.errors is None:
                self._submitted.update(record.requests)
            else:
                self._tries.update(record.requests)
                self._errors |= record.errors
        self.refusals = {e.message for e in self._errors.values() if e.status in (400, 422)}

    async def _collect(self, record: Record) -> None:
        others = {other.batch for other in self._batches}
        was_lost = record.batch is None
        record.status = f"submitted {datetime.fromtimestamp(record.at):%a %H:%M}"  # noqa: DTZ006
        try:
            while True:
                if record.batch is None:
                    record.batch = await self.api.find(record, others)
                    if record.batch is None:  # it was not submitted
                        return self._drop(record)
                    record.save()
                info = await self.api.request(BatchInfo, f"batches/{record.batch}")
                if not info.ended and time.time() < record.at + OVERDUE:
                    return None
                if any(fault.code == TOO_LARGE for fault in info.faults):
                    self._max_requests = max(1, len(record.requests) // 2)
                    return self._drop(record)
                errors = await self._store_results(record, info)
                if len(errors) < len(record.requests) or not was_lost:
                    record.errors = errors
                    return record.save()
                others.add(info.id)  # it has no request of ours: it only had the same size
                record.batch = None
                record.save()
        except CallError as error:
            if error.status == 404:
                raise UsageError(
                    f"{error}\nThe batch was submitted with another key, or was deleted. Use that "
                    f"key, or delete {record.path} to submit its requests again."
                ) from None
            record.status = str(error)

    def _drop(self, record: Record) -> None:
        record.path.unlink()
        self._batches.remove(record)

    async def _store_results(self, record: Record, info: BatchInfo) -> dict[str, RequestError]:
        whys = dict.fromkeys(quoted(fault.message or fault.code or "") for fault in info.faults)
        why = "; ".join((info.ended or "overdue", *list(whys)[:3]))
        lost = RequestError(
            cause=_CAUSES.get(info.ended or "expired", Cause.UNREACHABLE),
            message=f"the batch {info.id} ended without a reply ({why})",
            retryable=info.ended in ("completed", "expired"),
        )
        errors = dict.fromkeys(record.requests, lost)
        replies: list[tuple[bytes, CachedReply]] = []
        async for name, result in self.api.results(info):
            if name not in errors:  # a duplicate, or a batch of somebody else
                continue
            if isinstance(result, CallError):
                errors[name] = RequestError(
                    cause=result.cause,
                    message=str(result),
                    status=result.status,  # a person cancels a batch
                    retryable=isinstance(result, RetryableError) and info.ended != "cancelled",
                )
                continue
            del errors[name]
            reply = CachedReply(result.decode(), "", None, "", time.time())
            replies.append((self._cache_key(name), reply))
        cache = self._run.replies
        for start in range(0, len(replies), STORED_AT_ONCE):
            some = replies[start : start + STORED_AT_ONCE]
            await asyncio.gather(*(cache.store(key, reply) for key, reply in some))
        if cache.failed:
            raise UsageError(
                f"{self._run.cache}: the reply cache cannot be written, so the replies of batch "
                f"{info.id} cannot be collected"
            )
        return errors

    async def submit(self) -> None:
        """Submit open requests, as far as the budget goes, and describe what is waited for."""
        for record in self._batches:
            if not self.awaited.keys().isdisjoint(record.requests):
                name = record.batch or "of unknown id"
                self._run.lines.append(f"Batch {name} ({self._judge}): {record.status}.")
        async with self.api.client:
            while taken := self._take():
                batch = await self._submit(taken)
                requests = count(len(taken), "request")
                self._run.lines.append(f"Submitted batch {batch} ({self._judge}): {requests}.")
                if self._max_requests < self.api.max_requests:
                    return  # the account's queue has no room for more

    def _take(self) -> dict[str, bytes]:
        taken: dict[str, bytes] = {}
        size = 0
        for name, (content, most) in list(self.open.items())[: self._max_requests]:
            size += len(content)
            if taken and size > MAX_BYTES:
                break
            try:
                if not self._run.budget.reserve(most):
                    break
            except CallError:  # the budget is spent
                break
            taken[name] = content
            del self.open[name]
            self.awaited[name] = most
        return taken

    async def _submit(self, requests: Mapping[str, bytes]) -> str:
        """Submit a batch. If no reply arrives, it is looked for before the next try."""
        now, token = time.time(), secrets.token_hex(16)
        path = self._run.folder / f"{self.key}-{int(now)}-{token}.json"
        names = list(requests)
        record = Record(path=path, judge=self._judge, token=token, at=now, requests=names)
        record.save()
        others = {other.batch for other in self._batches}
        self._batches.append(record)
        tries = 0
        while True:
            try:
                match = await self.api.find(record, others) if tries else None
                record.batch = match or await self.api.create(record, requests)
                record.save()
                return record.batch
            except UsageError:
                path.unlink()
                raise
            except CallError as error:
                if error.status is not None:  # it was refused
                    path.unlink()
                if error.status in (404, 405):
                    message = f"{error}\nThe server has no batch API; run without batch_api."
                    raise UsageError(message) from None
                if error.status is not None or tries == self._run.retries:
                    raise UsageError(f"{self._judge}: no batch was submitted: {error}") from None
            tries += 1
            await asyncio.sleep(min(rate_limit.LONGEST_BACKOFF, FIRST_BACKOFF * 2**tries))

    def forgive(self, status: int | None) -> None:
        """Forget errors that stop the run, so that the next command submits their requests."""
        for record in self._batches:
            errors = record.errors or {}
            if failed := {name for name, error in errors.items() if error.status == status}:
                record.errors = {name: errors[name] for name in errors.keys() - failed}
                record.requests = [name for name in record.requests if name not in failed]
                record.save()

    def forget(self) -> None:
        for record in self._batches:
            if record.errors is not None:
                record.path.unlink(missing_ok=True)
