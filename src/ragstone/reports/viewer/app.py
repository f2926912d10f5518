"""Guard: lets in only what this machine's own pages ask, and tells browsers to keep it so.

Other sites cannot read what is served here, nor show it in a frame; a name that was pointed at
this machine by somebody else (DNS rebinding) is refused; nothing can be changed by any request.
"""

import ipaddress
import socket
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.errors import RagstoneError
from ragstone.reports.viewer.views import Pages, refused
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
_OWN = ("same-origin", "none")
"""Where a request may come from: our pages, or the person at the browser."""


class Guard:
    """Stands before the application."""

    def __init__(self, app: ASGIApp, *, is_ours: Callable[[str], bool]) -> None:
        self._app, self._is_ours = app, is_ours

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refused = self._refusal(scope)
        await (refused or self._app)(scope, receive, told)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        """Return the answer to what is not let in."""
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse(
                "This address is not one of this server's: open the one that `ragstone view` "
                "printed.\n",
                status_code=421,
            )
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse(
                "Nothing can be changed here.\n", status_code=405, headers={"Allow": "GET, HEAD"}
            )
        if headers.get("sec-fetch-site", "none") not in _OWN and not _is_visit(scope, headers):
            return PlainTextResponse("Other sites get nothing from here.\n", status_code=403)
        return None


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Return whether a person followed a link to a page."""
    to_page = headers.get("sec-fetch-mode") == "navigate"
    alone = headers.get("sec-fetch-dest", "document") == "document"
    return to_page and alone and not scope["path"].endswith(".json")


def hosts(host: str, port: int) -> Callable[[str], bool]:
    """Return what tells whether a Host header names the server that listens there.

    One that listens at every address of the machine is also named by any of them: a number is
    no name that somebody could point elsewhere.
    """
    names = {"localhost", "127.0.0.1", "::1", host.lower()}
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    if everywhere:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def is_ours(header: str) -> bool:
        name, colon, said = header.lower().rpartition(":")
        if not colon or said.endswith("]"):
            name, said = header.lower(), "80"
        name = name.removeprefix("[").removesuffix("]")
        return said == str(port) and (name in names or (everywhere and _is_number(name)))

    return is_ours


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


# The application: addresses, what answers them, and the guard before all.


def make_app(store: Store, *, host: str, port: int) -> ASGIApp:
    """Return the web application over a store, for the server that listens there."""
    pages = Pages(store)
    routes = [
        Route("/", pages.runs),
        Route("/runs/{run}", pages.run, name="run"),
        Route("/runs/{run}/live.json", pages.live),
        Route("/runs/{run}/rows.json", pages.rows, name="rows"),
        Route("/runs/{run}/rows/{place}.json", pages.row),
        Route("/compare", pages.compare),
        Route("/assets/{name}", pages.asset),
        Route("/healthz", pages.health),
        Route("/favicon.ico", pages.icon),
    ]
    handlers = {HTTPException: refused, RagstoneError: refused, Exception: refused}
    app = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(app, is_ours=hosts(host, port))
