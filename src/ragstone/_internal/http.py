"""The HTTP client: one session, the meaning of each status, and a table of aiohttp's errors."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from io import BytesIO
from time import perf_counter
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic_core import PydanticSerializationError, to_json

from ragstone._internal.rate_limit import LATE, Limits, RetryableError, RetryingCaller, retry_after
from ragstone._internal.secrets import remember
from ragstone._internal.text import public_url, quoted
from ragstone.errors import CallError, Cause, UsageError

if TYPE_CHECKING:
    import aiohttp  # it takes a third of a second, and offline judges do not need it

REJECTED = frozenset((400, 409, 413, 414, 415, 422, 431, 451))  # a server that runs says no
NOT_IMPLEMENTED = 501  # no retry helps
LONGEST_REPLY = 32 * 1024 * 1024  # bytes: a broken server cannot fill the memory
_MARKS = b",[{\r\n"
MOST_MARKS = 1_000_000  # of a reply: each may begin a value, which takes 50 bytes or more

_CERTIFICATE = (
    "its TLS certificate is invalid; if your network has its own certificates, name their file in "
    "SSL_CERT_FILE; to skip verification, set `verify_tls: false` in the target file"
)

_REFUSED = "the server refuses connections; is it running?"
_ERRORS: tuple[tuple[str, Cause, bool, str], ...] = (
    ("TimeoutError", Cause.TIMEOUT, False, LATE),
    ("ClientConnectorCertificateError", Cause.UNREACHABLE, False, _CERTIFICATE),
    ("ClientSSLError", Cause.UNREACHABLE, False, "the server does not support TLS (https)"),
    ("ClientProxyConnectionError", Cause.UNREACHABLE, True, "the proxy is unreachable"),
    ("ClientHttpProxyError", Cause.UNREACHABLE, True, "the proxy returned {error}"),
    ("ClientConnectorDNSError", Cause.UNREACHABLE, True, "the host name is unknown"),
    ("ClientConnectorError", Cause.UNREACHABLE, True, _REFUSED),
    ("ServerDisconnectedError", Cause.UNREACHABLE, True, "the server closed the connection"),
    ("ClientPayloadError", Cause.TRUNCATED, True, "the connection was lost during the reply"),
    ("ClientResponseError", Cause.UNREACHABLE, True, "the server does not speak HTTP ({error})"),
    ("ClientError", Cause.UNREACHABLE, True, "{error}"),
    ("OSError", Cause.UNREACHABLE, True, "{error}"),
)
"""An error of aiohttp, its cause, whether a retry may help, and a message; the first applies."""
_LOCAL_HOSTS = frozenset(("127.0.0.1", "::1", "localhost"))
_UNSENT = frozenset(("ClientConnectorError", "ClientHttpProxyError"))


@dataclass(frozen=True)
class Connection:
    timeout: float = 60.0
    limits: Limits = field(default_factory=Limits)
    retry_timeouts: bool = False  # for judges: a RAG system may have acted on the first request
    # whether a 429 or 5xx reply, by its status and text, is one that no retry can fix
    permanent: Callable[[int, str], bool] = lambda _status, _text: False
    verify_tls: bool = True
    proxy: str | None = field(default=None, repr=False)
    from_environment: bool = False  # whether HTTPS_PROXY, HTTP_PROXY and NO_PROXY are read
    # the HTTP status of an error that a 2xx body carries
    error_status: Callable[[bytes], int | None] = lambda _content: None


@dataclass(frozen=True)
class HttpReply:
    content: bytes  # of a 2xx reply
    latency_ms: float  # from the last request to the last byte
    tries: int = 1


class Client:
    """Sends requests over one session; clients with the same `caller` share its limits."""

    def __init__(self, connection: Connection, *, caller: RetryingCaller | None = None) -> None:
        self._connection = connection
        self._session: aiohttp.ClientSession | None = None
        self._caller = caller or RetryingCaller(connection.limits)
        self._accepted: set[tuple[str, str]] = set()

    async def __aenter__(self) -> Self:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._connection.verify_tls),
            timeout=aiohttp.ClientTimeout(total=self._connection.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),  # a cookie would carry one row's chat to the next
        )
        return self

    async def __aexit__(self, *raised: object) -> None:
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

        Failed connections, 429 and 5xx are retried. Redirects are not followed: a key in the
        headers would be sent along. `tokens` is an estimate for the limit per minute.

        Raises:
            CallError: there was no 2xx reply.
            UsageError: the URL is invalid, or the first request to it was rejected (401, 403).
        """
        content = None
        if body is not None:
            try:
                content = to_json(body)
            except PydanticSerializationError:  # a lone surrogate is escaped
                content = json.dumps(body).encode()
        once = partial(self._once, method, url, headers, content)
        made = await self._caller.make(once, retries=retries, tokens=tokens)
        return replace(made.value, tries=made.tries) if made.tries > 1 else made.value

    async def ask(self, url: str, headers: Mapping[str, str], *, seconds: float) -> HttpReply:
        """Get something optional, once, without counting it as a call."""
        async with self._caller.slots, asyncio.timeout(seconds):
            return await self._once("GET", url, headers, None)

    def _environment_proxy(self, url: str) -> str | None:
        # not `trust_env` of aiohttp, which also sends passwords of ~/.netrc
        if not self._connection.from_environment:
            return None
        scheme, host = urlsplit(url).scheme, urlsplit(url).hostname or ""
        found = getproxies()
        proxy = found.get(scheme) or found.get("all")
        if not proxy or host in _LOCAL_HOSTS or proxy_bypass(host):
            return None
        remember(proxy)
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        if not proxy.lower().startswith(("http://", "https://")):
            raise UsageError(
                f"the proxy {public_url(proxy)} of the environment is not an http proxy"
            )
        return proxy

    async def _once(
        self, method: str, url: str, headers: Mapping[str, str] | None, content: bytes | None
    ) -> HttpReply:
        import aiohttp

        assert self._session, "use `async with` before sending"
        place = f"{method} {public_url(url)}"
        body = content and aiohttp.BytesIOPayload(BytesIO(content), content_type="application/json")
        start = perf_counter()
        try:
            async with self._session.request(
                method,
                url,
                headers=headers,
                data=body,
                allow_redirects=False,
                proxy=self._connection.proxy or self._environment_proxy(url),
            ) as response:
                received, marks = bytearray(), 0
                async for chunk in response.content.iter_chunked(65536):
                    received += chunk
                    marks += sum(map(chunk.count, _MARKS))
                    if len(received) > LONGEST_REPLY or marks > MOST_MARKS:
                        size = f"{LONGEST_REPLY // 1024**2} MiB"
                        size = size if marks <= MOST_MARKS else f"{MOST_MARKS:,} values or lines"
                        message = f"{place}: the reply is longer than {size}"
                        too_long = CallError(Cause.MALFORMED, message)
                        too_long.lost = True
                        raise too_long
                latency = (perf_counter() - start) * 1000
                self._check(
                    response, bytes(received), place, accepted=(method, url) in self._accepted
                )
                self._accepted.add((method, url))
                return HttpReply(bytes(received), latency)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError, UnicodeError):
            raise UsageError(f"{public_url(url)!r} is not an http or https URL") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._translated(error, place) from None
        except ValueError as error:  # headers that HTTP forbids, or that contradict the URL
            raise UsageError(f"{place} cannot be sent: {error}") from None

    def _check(
        self, response: "aiohttp.ClientResponse", content: bytes, place: str, *, accepted: bool
    ) -> None:
        status = response.status
        if 200 <= status < 300:
            if (carried := self._connection.error_status(content)) is None:
                return
            status = carried
        text = content[:4000].decode("utf-8", "replace")
        phrase = f"{response.status} {quoted(response.reason or '')}".rstrip()
        message = f"{place} returned {phrase}"
        message += f" with an error ({status})" if status != response.status else ""
        message += f": {quoted(text)}" if text.strip() else ""
        if status in (401, 403) and not accepted:
            raise UsageError(f"{message}\nThe key or its permissions were rejected; the run stops.")
        if 300 <= status < 400:
            to = public_url(response.headers.get("Location", "nowhere"))
            message += f" (to {quoted(to)}; use that URL instead)"
        cause = Cause.REJECTED if status in REJECTED else Cause.UNREACHABLE
        cause = {408: Cause.TIMEOUT, 429: Cause.RATE_LIMITED}.get(status, cause)
        is_passing = status in (408, 429) or (status >= 500 and status != NOT_IMPLEMENTED)
        if is_passing and not self._connection.permanent(status, text):
            wait = _retry_after(response.headers.get("Retry-After"))
            error = retry_after(cause, message, wait)
        else:
            error = CallError(cause, message, status=status)
        error.body = text
        raise error

    def _translated(self, error: "aiohttp.ClientError | OSError", place: str) -> CallError:
        import aiohttp

        names = {kind.__name__ for kind in type(error).__mro__}
        _, cause, retryable, words = next(row for row in _ERRORS if row[0] in names)
        is_reply = isinstance(error, aiohttp.ClientResponseError)  # its text has the whole URL
        text = quoted(f"{error.status} {error.message}" if is_reply else str(error))
        message = f"{place}: {words.format(error=text, timeout=self._connection.timeout)}"
        # a server that never answered is most likely not running
        absent = "ClientConnectorError" in names and not self._accepted
        timed_out = cause is Cause.TIMEOUT and self._connection.retry_timeouts
        retry = timed_out or (retryable and not absent)
        made = RetryableError(cause, message) if retry else CallError(cause, message)
        made.lost = names.isdisjoint(_UNSENT)
        return made


def _retry_after(header: str | None) -> float | None:
    if header is None:
        return None
    try:
        if header.strip().isdigit():
            return float(header)
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
