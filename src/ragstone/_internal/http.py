"""The only HTTP client: one session, what each status means, one table of foreign errors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import perf_counter
from types import TracebackType
from typing import Self

import aiohttp
from pydantic_core import PydanticSerializationError, to_json

from ragstone._internal.rate_limit import LATE, Caller, Limits, RetryableError, put_off
from ragstone._internal.text import public_url, quoted, redact
from ragstone.errors import CallError, Cause, UsageError

LONGEST_REPLY = 32 * 1024 * 1024
"""Bytes of a reply that are read at most, so that a broken server cannot fill the memory."""

_CERTIFICATE = "its TLS certificate was not accepted; a target's file may say `verify_tls: false`"

_FOREIGN: tuple[tuple[type[Exception], Cause, bool, str], ...] = (
    (TimeoutError, Cause.TIMEOUT, False, LATE),
    (aiohttp.ClientConnectorCertificateError, Cause.UNREACHABLE, False, _CERTIFICATE),
    (aiohttp.ClientSSLError, Cause.UNREACHABLE, False, "it does not speak TLS (https) there"),
    (aiohttp.ClientProxyConnectionError, Cause.UNREACHABLE, True, "the proxy is not reachable"),
    (aiohttp.ClientHttpProxyError, Cause.UNREACHABLE, True, "the proxy answered {error}"),
    (aiohttp.ClientConnectorDNSError, Cause.UNREACHABLE, True, "its host name is not known"),
    (
        aiohttp.ClientConnectorError,
        Cause.UNREACHABLE,
        True,
        "nothing accepts connections there; is it running?",
    ),
    (aiohttp.ServerDisconnectedError, Cause.UNREACHABLE, True, "it closed the connection"),
    (aiohttp.ClientPayloadError, Cause.TRUNCATED, True, "the connection broke within the reply"),
    (aiohttp.ClientResponseError, Cause.UNREACHABLE, True, "it does not speak HTTP ({error})"),
    (aiohttp.ClientError, Cause.UNREACHABLE, True, "{error}"),
    (OSError, Cause.UNREACHABLE, True, "{error}"),
)
"""Foreign error -> our cause, whether another try may fix it, and words; the first applies."""


@dataclass(frozen=True)
class Connection:
    """How to reach a server.

    Attributes:
        timeout: seconds that one try may take.
        again_if_late: whether a try that took longer is made again.
        hopeless: words in a refusal that no further try mends, such as a spent quota's.
        secrets: texts that no message may quote from a reply.
    """

    timeout: float = 60.0
    limits: Limits = field(default_factory=Limits)
    again_if_late: bool = False
    hopeless: tuple[str, ...] = ()
    verify_tls: bool = True
    proxy: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class HttpReply:
    """The body of a 2xx reply.

    `latency_ms` runs from its request to its last byte, waits not counted; `tries` says how many
    requests it took.
    """

    content: bytes
    latency_ms: float
    tries: int = 1


class Client:
    """Sends requests over one session; use as `async with Client(connection) as client`.

    With a `caller` it shares that one's limits with whoever else uses it.
    """

    def __init__(self, connection: Connection, *, caller: Caller | None = None) -> None:
        self._connection = connection
        self._session: aiohttp.ClientSession | None = None
        self._caller = caller or Caller(connection.limits)
        self._accepted: set[str] = set()

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._connection.verify_tls),
            timeout=aiohttp.ClientTimeout(total=self._connection.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),  # a cookie would carry one row's chat to the next
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session:
            await self._session.close()

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: object = None,
        retries: int | None = None,
        tokens: int = 0,
    ) -> HttpReply:
        """Send one request, with `body` as JSON, and return its 2xx reply.

        Failed connections, 429 and 5xx are tried again with growing waits, as long as
        Retry-After says where it is given; meanwhile no other request starts. Redirects are not
        followed: a key in the headers would travel along. `tokens` is what a model may need for it.

        Raises:
            CallError: there was no such reply.
            UsageError: the URL is none, or the server does not accept our key (401, 403) before it
                ever did at that URL.
        """
        content = None if body is None else _encoded(body)

        async def once() -> HttpReply:
            return await self._once(method, url, headers=headers, content=content)

        made = await self._caller.make(once, retries=retries, tokens=tokens)
        return replace(made.value, tries=made.tries) if made.tries > 1 else made.value

    async def _once(
        self, method: str, url: str, *, headers: Mapping[str, str] | None, content: bytes | None
    ) -> HttpReply:
        assert self._session, "use `async with` before sending"
        body = content and aiohttp.BytesPayload(content, content_type="application/json")
        place = redact(f"{method} {public_url(url)}", self._connection.secrets)
        start = perf_counter()
        try:
            async with self._session.request(
                method,
                url,
                headers=headers,
                data=body,
                allow_redirects=False,
                proxy=self._connection.proxy,
            ) as response:
                told = await _read(response, place)
                latency = (perf_counter() - start) * 1000
                self._check(response, told, place)
                self._accepted.add(place)
                return HttpReply(told, latency)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError) as error:
            raise UsageError(f"{public_url(url)!r} is no http or https URL") from error
        except (aiohttp.ClientError, OSError) as error:
            said = redact(_said(error), self._connection.secrets)
            raise self._translated(error, f"{place}: ", said) from error
        except ValueError as error:  # headers that HTTP forbids, or that contradict the URL
            said = redact(str(error), self._connection.secrets)
            raise UsageError(f"{place} cannot be sent: {said}") from error

    def _check(self, response: aiohttp.ClientResponse, content: bytes, place: str) -> None:
        """Raise what a status other than 2xx means."""
        status = response.status
        if 200 <= status < 300:
            return
        said = redact(content[:1000].decode("utf-8", "replace"), self._connection.secrets)
        message = f"{place} answered {status} {response.reason or ''}".rstrip()
        message += f": {quoted(said)}" if said.strip() else ""
        wait = _retry_after(response.headers.get("Retry-After"))
        cause = Cause.RATE_LIMITED if status == 429 else Cause.UNREACHABLE
        hopeless = any(word in said for word in self._connection.hopeless)
        if (status == 429 or status >= 500) and not hopeless:
            raise put_off(cause, message, wait)
        if status in (401, 403) and place not in self._accepted:  # else it is about one request
            raise UsageError(f"{message}\nThe key or its rights were not accepted; the run stops.")
        if 300 <= status < 400:
            to = public_url(response.headers.get("Location", "nowhere"))
            message += f" (to {redact(to, self._connection.secrets)}; name that URL instead)"
        raise CallError(cause, message, status=status)

    def _translated(self, error: Exception, place: str, said: str) -> CallError:
        timeout = self._connection.timeout
        for kind, cause, again, words in _FOREIGN:
            if isinstance(error, kind):
                message = place + words.format(error=quoted(said), timeout=timeout)
                absent = isinstance(error, aiohttp.ClientConnectorError) and not self._accepted
                late = cause is Cause.TIMEOUT and self._connection.again_if_late
                may_pass = late or (again and not absent)  # who never was there will not come
                return RetryableError(cause, message) if may_pass else CallError(cause, message)
        raise error


def _encoded(body: object) -> bytes:
    """Return it as JSON; half a character, which is no UTF-8, is escaped."""
    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body).encode()


async def _read(response: aiohttp.ClientResponse, place: str) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        content += chunk
        if len(content) > LONGEST_REPLY:
            size = LONGEST_REPLY // 1024**2
            raise CallError(Cause.MALFORMED, f"{place}: the reply is longer than {size} MiB")
    return bytes(content)


def _said(error: Exception) -> str:
    # the text of a ClientResponseError holds the whole URL, with its key
    is_reply = isinstance(error, aiohttp.ClientResponseError)
    return f"{error.status} {error.message}" if is_reply else str(error)


def _retry_after(header: str | None) -> float | None:
    """Read Retry-After, in seconds or as a date (RFC 9110, section 10.2.3)."""
    if header is None:
        return None
    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
