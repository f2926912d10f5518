"""The viewer's web application: its routes, and the checks before each request.

Other sites can neither read these pages nor frame them. Host names that someone else points at this
machine (DNS rebinding) are refused. No request to the viewer changes anything; the labelling page
has one address that does.
"""

import errno
import ipaddress
import socket
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.errors import RagstoneError, UsageError
from ragstone.reports.viewer.views import Views, asset, error_response, icon
from ragstone.store import Store

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_app(store: Store, *, host: str, port: int, calibration: str | None = None) -> ASGIApp:
    """Return the application over a store, for a server that listens on that host and port.

    `calibration` corrects the means, and the differences of runs without labels of their own.
    """
    views = Views(store, calibration)
    routes = [
        Route("/", views.runs),
        Route("/runs/{run}", _one_at_a_time(views.run), name="run"),
        Route("/compare", _one_at_a_time(views.compare)),
        Route("/assets/{name}", asset),
        Route("/healthz", views.health),
        Route("/favicon.ico", icon),
    ]
    handlers = dict.fromkeys((HTTPException, RagstoneError, Exception), error_response)
    app = Starlette(routes=routes, exception_handlers=handlers)
    return RequestGuard(app, is_own_host=host_check(host, port))


def _one_at_a_time(
    view: Callable[[Request], Response],
) -> Callable[[Request], Coroutine[None, None, Response]]:
    """Return the view as one whose slow requests wait for each other and for nothing else."""
    limiter = CapacityLimiter(1)

    async def answer(request: Request) -> Response:
        return await to_thread.run_sync(view, request, limiter=limiter)

    return answer


class RequestGuard:
    """Middleware that refuses foreign requests and adds security headers to every response.

    Starlette's TrustedHostMiddleware checks neither the port nor where a request comes from.
    """

    def __init__(
        self, app: ASGIApp, *, is_own_host: Callable[[str], bool], post: str | None = None
    ) -> None:
        self._app, self._is_own_host, self._post = app, is_own_host, post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        response = self._refusal(scope) or self._app
        await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if not self._is_own_host(headers.get("host", "")):
            words = "Unknown host. Open the address that ragstone printed.\n"
            return PlainTextResponse(words, status_code=421)
        if scope["method"] == "POST" and scope["path"] == self._post:
            scheme, _, origin = headers.get("origin", "").partition("://")
            if scheme != "http" or not self._is_own_host(origin):
                words = "Requests from other sites are refused.\n"
                return PlainTextResponse(words, status_code=403)
        elif scope["method"] not in ("GET", "HEAD"):
            allow = {"Allow": "GET, HEAD"}
            return PlainTextResponse("The viewer is read-only.\n", status_code=405, headers=allow)
        if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
            return None
        followed_link = (
            headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest", "document") == "document"
            and not scope["path"].endswith(".json")
        )
        if followed_link:
            return None
        return PlainTextResponse("Requests from other sites are refused.\n", status_code=403)


def host_check(host: str, port: int) -> Callable[[str], bool]:
    """Return a function that checks whether a Host header names this server.

    A server on all interfaces also accepts any IP address: only names can be pointed elsewhere.
    """
    names = {"localhost", "127.0.0.1", "::1", host.lower()}
    on_all_interfaces = host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    if on_all_interfaces:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def is_own_host(header: str) -> bool:
        name, colon, given_port = header.lower().rpartition(":")
        if not colon or given_port.endswith("]"):
            name, given_port = header.lower(), "80"
        name = name.removeprefix("[").removesuffix("]")
        if given_port != str(port):
            return False
        return name in names or (on_all_interfaces and _is_ip_address(name))

    return is_own_host


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


SHUTDOWN_SECONDS = 1
"""How long a request in progress may take when the server stops."""
LOOPBACK = "127.0.0.1"


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises:
        UsageError: the address cannot be used.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} on {host} is in use, perhaps by another `ragstone view`; stop it, "
                "or choose another port with --port (0 picks a free one)"
            ) from error
        why = error.strerror or error
        raise UsageError(f"cannot listen on {host}, port {port}: {why}") from error


def url_for(host: str, port: int) -> str:
    local = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104 - compared, not bound
    name = local.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def serve(app: ASGIApp, at: socket.socket, *, ready: Callable[[], None]) -> None:
    try:
        with at:
            ready()
            _server(app).run(sockets=[at])
    except KeyboardInterrupt:
        return


@contextmanager
def serve_in_background(place: str | Path) -> Generator[str, None, None]:
    """Serve a store's pages on this machine during the block; gives their URL.

    Raises:
        StoreError: there is no store at that place, or it cannot be read.
    """
    with Store.open(place, reading=True) as store, listen(LOOPBACK, 0) as at:
        port: int = at.getsockname()[1]
        server = _server(make_app(store, host=LOOPBACK, port=port))
        thread = Thread(target=server.run, kwargs={"sockets": [at]}, name="ragstone view")
        thread.start()
        try:
            yield url_for(LOOPBACK, port)
        finally:
            server.should_exit = True
            thread.join()


def _server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    return uvicorn.Server(config)
