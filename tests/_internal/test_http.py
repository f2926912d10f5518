import asyncio
import json
import ssl
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from time import perf_counter

import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone._internal.http import Client, Connection, HttpReply, _retry_after
from ragstone._internal.rate_limit import Limits
from ragstone.errors import CallError, Cause, UsageError

PATH = "/x"
pytestmark = pytest.mark.usefixtures("quick")


def connection(**settings: object) -> Connection:
    limits = {name: settings.pop(name) for name in ("retries", "delay") if name in settings}
    return Connection(**settings, limits=Limits(**limits))


async def sent(url: str, **settings: object) -> HttpReply:
    async with Client(connection(**settings)) as client:
        return await client.send("POST", url, body={"a": 1})


async def failed(url: str, **settings: object) -> CallError:
    with pytest.raises(CallError) as caught:
        await sent(url, **settings)
    assert "\n" not in str(caught.value)
    return caught.value


async def test_a_reply(faulty, behave) -> None:
    faulty.script(PATH, behave.reply(b"fine"))
    assert (await sent(faulty.url + PATH)).content == b"fine"
    async with Client(connection()) as client:
        await client.send("POST", faulty.url + PATH, body={"a": "é \ud83d"})
    first, second = faulty.calls
    assert (first.method, first.text) == ("POST", '{"a":1}')
    assert json.loads(second.text) == {"a": "é \ud83d"}  # half a character is escaped


async def test_retry_after_is_waited_for_and_is_no_latency(faulty, behave) -> None:
    busy = behave.reply(status=429, headers={"Retry-After": "1"})
    faulty.script(PATH, busy, behave.reply(after=0.1))
    begun = perf_counter()
    latency = (await sent(faulty.url + PATH)).latency_ms
    first, second = faulty.calls
    assert second.at - first.at >= 1.0
    assert 100 <= latency <= 1000 * (perf_counter() - begun - 1)


@each_case("wait", ["100000", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_an_absurd_wait_fails_at_once(faulty, behave, wait: str) -> None:
    faulty.script(PATH, behave.reply(status=429, headers={"Retry-After": wait}))
    error = await failed(faulty.url + PATH)
    assert (error.cause, error.tries) == (Cause.RATE_LIMITED, 1)
    assert "the server asked to wait" in str(error)


def test_a_wait_is_seconds_or_a_date_and_none_where_it_cannot_be_read() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 58 <= (_retry_after(date) or 0) <= 60
    assert _retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
    unreadable = "Fri, 31 Dec 2099 23:59:59 -0000"
    for header in (None, "", "soon", "-5", "1.5", "²", unreadable, "99999-99-99"):
        assert _retry_after(header) is None


@each_case(
    ("status", "text", "calls", "cause"),
    [
        (400, b"no", 1, Cause.REJECTED),
        (422, b"no", 1, Cause.REJECTED),
        (408, b"no", 2, Cause.TIMEOUT),  # two are enough
        (429, b"slow down", 3, Cause.RATE_LIMITED),
        (429, b"Your budget  is spent", 1, Cause.RATE_LIMITED),
        (500, b"out of memory", 3, Cause.UNREACHABLE),
        (503, b"out of budget", 3, Cause.UNREACHABLE),  # the status counts too
    ],
)
async def test_what_may_pass_is_tried_again(
    faulty, behave, status: int, text: bytes, calls: int, cause: Cause
) -> None:
    def over_budget(status: int, text: str) -> bool:
        return status != 503 and "budget" in text

    faulty.script(PATH, behave.reply(text, status=status))
    before = len(faulty.calls)
    error = await failed(faulty.url + PATH, retries=2, permanent=over_budget)
    assert (error.cause, error.tries, len(faulty.calls) - before) == (cause, calls, calls)
    assert error.status == (status if calls == 1 else None)


async def test_redirects_are_not_followed(faulty, behave) -> None:
    to = "http://u:pw@elsewhere/y?key=abc#z"
    faulty.script(PATH, behave.reply(status=302, headers={"Location": to}))
    error = await failed(faulty.url + PATH)
    assert error.cause is Cause.UNREACHABLE
    assert str(error).endswith("(to http://elsewhere/y; use that URL instead)")
    assert len(faulty.calls) == 1


async def test_a_reply_that_hangs_or_trickles_times_out_and_is_not_tried_again(
    faulty, behave
) -> None:
    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.05)

    for behaviour in (behave.hang(), trickle):
        faulty.script(PATH, behaviour)
        error = await failed(faulty.url + PATH, timeout=0.2)
        assert (error.cause, error.tries) == (Cause.TIMEOUT, 1)
        assert "no reply within 0.2 s" in str(error)
    assert len(faulty.calls) == 2


@each_case(("within", "cause"), [(False, Cause.UNREACHABLE), (True, Cause.TRUNCATED)])
async def test_a_dropped_connection_is_tried_again(
    faulty, behave, within: bool, cause: Cause
) -> None:
    faulty.script(PATH, behave.drop(within=within))
    error = await failed(faulty.url + PATH, retries=1)
    assert (error.cause, error.tries) == (cause, 2)
    faulty.script(PATH, behave.drop(within=within), behave.reply(b"fine"))
    assert (await sent(faulty.url + PATH)).content == b"fine"


async def test_a_reply_without_end_is_cut(faulty, behave, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone._internal.http.LONGEST_REPLY", 1024**2)
    monkeypatch.setattr("ragstone._internal.http.MOST_MARKS", 200_000)
    for mark, most, told in (
        (b"x", 1024**2, "1 MiB"),
        *((mark, 200_000, "200,000 values or lines") for mark in (b",", b"[", b"{", b"\n", b"\r")),
    ):
        faulty.script(PATH, behave.reply(mark * (most + 1)))
        error = await failed(faulty.url + PATH)
        assert error.cause is Cause.MALFORMED
        assert str(error).endswith(f"the reply is longer than {told}")
        faulty.script(PATH, behave.reply(mark * most))
        assert len((await sent(faulty.url + PATH)).content) == most


async def test_only_who_was_there_and_is_gone_is_waited_for(faulty, behave) -> None:
    faulty.script(PATH, behave.reply())
    async with Client(connection(retries=2)) as client:
        await client.send("POST", faulty.url + PATH)
        await faulty.stop()
        with pytest.raises(CallError, match=r"the server refuses connections; .*tried 3 times"):
            await client.send("POST", faulty.url + PATH)
    error = await failed(faulty.url + PATH, retries=3)
    assert (error.cause, error.tries) == (Cause.UNREACHABLE, 1)
    said = f"POST {faulty.url}{PATH}: the server refuses connections; is it running?"
    assert str(error) == said


async def test_a_server_that_speaks_no_http() -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    error = await failed(f"http://127.0.0.1:{port}/x", retries=0)
    server.close()
    assert error.cause is Cause.UNREACHABLE
    assert "the server does not speak HTTP (400 " in str(error)


@each_case(
    "url",
    [
        *("file:///etc/passwd", "http://", "h:80/x", "http://[::1"),
        *("http://h:99999/", "http://a..b/", f"http://{'a' * 70}.example/"),
    ],
)
async def test_what_is_no_url_stops_the_run(url: str) -> None:
    with pytest.raises(UsageError, match=r"is not an http or https URL|Invalid IPv6 URL"):
        await sent(url)


async def test_credentials_in_the_url_are_sent_and_not_shown(faulty, behave) -> None:
    faulty.script(PATH, behave.reply(status=500))
    url = faulty.url.replace("//", "//user:pw@") + f"{PATH}?key=abc"
    error = await failed(url, retries=0)
    assert faulty.calls[0].headers["authorization"].startswith("Basic ")
    assert faulty.calls[0].raw_path == f"{PATH}?key=abc"
    async with Client(Connection()) as client:
        with pytest.raises(UsageError, match="cannot be sent: Cannot combine") as caught:
            await client.send("GET", url, headers={"Authorization": "Bearer abc"})
    for said in (str(error), str(caught.value)):
        assert "pw" not in said
        assert "abc" not in said


async def test_a_cookie_is_not_sent_back(faulty, behave) -> None:
    faulty.script(PATH, behave.reply(headers={"Set-Cookie": "chat=1; Path=/"}))
    url = faulty.url.replace("127.0.0.1", "localhost")  # cookie jars take none from numbers
    async with Client(Connection()) as client:
        await client.send("GET", url + PATH)
        await client.send("GET", url + PATH)
    assert "cookie" not in faulty.calls[1].headers


async def test_the_proxy_is_asked(faulty, behave) -> None:
    faulty.script(PATH, behave.reply(b"by proxy"))
    reply = await sent(f"http://rag.invalid{PATH}?q=1", proxy=faulty.url)
    assert reply.content == b"by proxy"
    assert faulty.calls[0].raw_path == f"http://rag.invalid{PATH}?q=1"
    assert faulty.calls[0].headers["host"] == "rag.invalid"
    await faulty.stop()
    error = await failed("http://rag.invalid/x", proxy=faulty.url, retries=0)
    assert str(error) == "POST http://rag.invalid/x: the proxy is unreachable"


def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def test_the_proxy_of_the_environment_is_asked_where_that_is_wanted(
    faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty.script(PATH, behave.reply(b"by proxy"))
    url = f"http://rag.invalid{PATH}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        no_proxies(monkeypatch)
        monkeypatch.setenv(name, faulty.url)
        assert (await sent(url, from_environment=True)).content == b"by proxy"
    monkeypatch.setenv("NO_PROXY", "direct.invalid")
    for direct, wanted in ((url, False), (f"http://direct.invalid{PATH}", True)):
        error = await failed(direct, from_environment=wanted, retries=0)
        assert str(error) == f"POST {direct}: the host name is unknown"
    assert len(faulty.calls) == 3


async def test_https_has_a_proxy_of_its_own_and_a_local_server_none(
    faulty, behave, monkeypatch
) -> None:
    no_proxies(monkeypatch)
    monkeypatch.setenv("HTTPS_PROXY", faulty.url)
    for scheme, said in (("https", "the proxy returned 404"), ("http", "name is unknown")):
        error = await failed(f"{scheme}://rag.invalid/x", from_environment=True, retries=0)
        assert said in str(error)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid")
    faulty.script(PATH, behave.reply(b"fine"))
    for host in ("127.0.0.1", "localhost"):
        url = faulty.url.replace("127.0.0.1", host) + PATH
        assert (await sent(url, from_environment=True)).content == b"fine"


async def test_a_socks_proxy_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    no_proxies(monkeypatch)
    monkeypatch.setenv("ALL_PROXY", "socks5://me:sk-12345@proxy.invalid:1080")
    with pytest.raises(UsageError, match=r"proxy socks5://proxy\.invalid:1080 of") as caught:
        await sent("http://rag.invalid/x", from_environment=True)
    assert "sk-12345" not in str(caught.value)


async def test_no_password_of_netrc_is_sent(faulty, behave, tmp_path: Path, monkeypatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password pw\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    faulty.script(PATH, behave.reply())
    await sent(faulty.url + PATH, from_environment=True)
    assert "authorization" not in faulty.calls[0].headers


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder: Path = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    try:
        subprocess.run(
            [*command.split(), "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("openssl, which makes the certificate, is not installed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


async def test_a_certificate_of_its_own_making(make_faulty: Callable, behave, certificate) -> None:
    server = await make_faulty(certificate)
    server.script(PATH, behave.reply(b"fine"))
    error = await failed(server.url + PATH)
    assert error.cause is Cause.UNREACHABLE
    assert "its TLS certificate is invalid; if your network has its own" in str(error)
    assert server.calls == []
    assert (await sent(server.url + PATH, verify_tls=False)).content == b"fine"


async def test_https_asked_of_an_http_server(faulty) -> None:
    error = await failed(faulty.url.replace("http:", "https:"))
    assert "the server does not support TLS (https)" in str(error)


async def test_a_late_try_is_made_again_where_that_is_wanted(faulty, behave) -> None:
    faulty.script(PATH, behave.hang(), behave.reply(b"fine"))
    begun = asyncio.get_running_loop().time()
    reply = await sent(faulty.url + PATH, timeout=0.2, retry_timeouts=True)
    assert (reply.content, reply.tries) == (b"fine", 2)
    assert 1000 * (asyncio.get_running_loop().time() - begun) - reply.latency_ms >= 200


def test_a_secret_is_in_no_repr() -> None:
    connection = Connection(proxy="http://me:sk-12345@h")
    assert "sk-12345" not in repr(connection)
    assert "sk-12345" not in repr(Client(connection))
