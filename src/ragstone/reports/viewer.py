"""The web pages over the store and for labelling, and the checks before each request.

Other sites can neither read these pages nor frame them. Host names that someone else points at this
machine (DNS rebinding) are refused. No request to the viewer changes anything; the labelling page
has one address that does.
"""

import asyncio
import errno
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, cast

import uvicorn
from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragstone.errors import RagstoneError, UsageError
from ragstone.evaluation.labelling import RULE, Item, LabelSession
from ragstone.reports.comparison import finding_lines, sections
from ragstone.reports.format import brief, finite
from ragstone.reports.html.charts import forest, spark
from ragstone.reports.html.page import page_context, read_asset, render
from ragstone.reports.terminal import run_entry
from ragstone.store import RunInfo, RunNotFoundError, Store, StoreError, find_run, running_runs
from ragstone.store.reader import StoredRows
from ragstone.store.runs import compare, summarize

_HEADINGS = {
    404: "Page not found",
    400: "Invalid request",
    503: "The store cannot be read",
    500: "Internal error in ragstone",
}
EXAMPLES, DEFAULT_RUNS = 10, 100  # samples in each section of a comparison, and runs in the list
TREND = 20  # runs in the line of a metric
COUNTED_ROWS, SHOWN_ROWS = 10_000, 1000  # in the list, and on a run's page: each quick enough
_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Views:
    """Request handlers over a store. They block, so each call has a thread."""

    def __init__(self, store: Store, calibration: str | None = None) -> None:
        self._store, self._calibration = store, calibration

    def runs(self, request: Request) -> Response:
        asked = request.query_params.get("limit", "")
        valid = asked.isascii() and asked.isdigit() and len(asked) < 6
        limit = max(int(asked), 1) if valid else DEFAULT_RUNS
        infos = self._store.runs(limit=limit + 1)
        running = running_runs(self._store)
        runs: list[dict[str, Any]] = []
        for info in infos[:limit]:
            state = "finished" if info.finished else "running" if info.id in running else "stopped"
            is_short = info.rows <= COUNTED_ROWS or state == "running"
            known = summarize(self._store, info) if is_short else info
            focus = cast("Mapping[str, Any]", known.summary or {}).get("verdict", {}).get("metric")
            runs.append({**run_entry(known), "state": state, "focus": focus})
        finished: dict[str, list[dict[str, Any]]] = {}  # by data set, the oldest first
        pair: list[str] = []
        for run in reversed(runs):
            before = finished.setdefault(run["dataset"], [])
            run["trend"] = _trend([*before, run])
            if run["state"] == "finished":
                before.append(run)
                pair = [each["run_id"] for each in before[-2:]] if len(before) > 1 else pair
        more = len(infos) > limit
        return html_response("runs.html", store=self._store.name, runs=runs, more=more, pair=pair)

    def run(self, request: Request) -> Response:
        name: str = request.path_params["run"]
        info = self._info(name)
        if info.id != name:  # a tag, a prefix of the id, or `last`
            return RedirectResponse(request.url_for("run", run=info.id).path)
        run = self._store.load(info.id)
        plan = run.manifest.plan
        calibration = self._calibration or plan.calibration
        run = run.with_plan(plan.model_copy(update={"calibration": calibration}))
        running = info.id in running_runs(self._store)
        asked = request.query_params.get("row", "")  # a link from a comparison
        is_index = run.columns is None and asked.isascii() and asked.isdigit() and len(asked) < 10
        row = self._store.row(info.id, int(asked)) if is_index else None
        context = page_context(run, SHOWN_ROWS, also=row)
        return html_response("stored_run.html", tag=info.tag, running=running, **context)

    def compare(self, request: Request) -> Response:
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        if not all(names):
            raise UsageError("Select two runs to compare in the list of runs.")
        a, b = map(self._info, names)
        if a.id == b.id:
            raise UsageError(f"A and B are the same run, {a.id}: select two different runs.")
        comparison = compare(a.id, b.id, top=EXAMPLES, store=self._store)
        run_b = self._store.load(b.id)
        page = request.url_for("run", run=b.id).path
        in_b: dict[int, int] = dict(comparison.pairing.pairs.tolist())

        def sample_url(row_of_a: int) -> str:
            position, rows = in_b[row_of_a], run_b.rows
            index = rows.index_at(position) if isinstance(rows, StoredRows) else position
            return f"{page}?row={index}#sample={index}"

        return html_response(
            "compare.html",
            a=a,
            b=b,
            comparison=comparison,
            findings=list(finding_lines(comparison)),
            sections={each.name: each for each in sections(comparison)},
            forest=forest(comparison.metric_changes),
            sample_url=sample_url,
        )

    def _info(self, name: str) -> RunInfo:
        return self._store.info(find_run(self._store, name))


def _trend(runs: Sequence[Mapping[str, Any]]) -> tuple[str, float, Markup] | None:
    """Return the main metric of the last run, its mean, and a line from the runs before it."""
    known = [{**each["metrics"], **each["corrected"]} for each in runs[-TREND:]]
    scored = (name for name, mean in known[-1].items() if mean is not None)
    name = runs[-1]["focus"] or next(scored, None)
    means = [mean for each in known if (mean := each.get(name)) is not None]
    if name is None or known[-1].get(name) is None:
        return None
    return name, means[-1], spark(means, f"{name}: {', '.join(map(brief, means))}")


def asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    try:
        media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
        return Response(read_asset(name), media_type=media_type)
    except (KeyError, FileNotFoundError):
        raise HTTPException(404, f"There is no file {name}.") from None


def html_response(template: str, status: int = 200, /, **context: object) -> Response:
    html = render(template, **context).encode("utf-8", "replace")
    return Response(html, status, media_type="text/html; charset=utf-8")


def json_response(document: object, *, status: int = 200) -> Response:
    # ASCII, because a lone surrogate has no UTF-8
    text = json.dumps(finite(document), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def error_response(request: Request, error: Exception) -> Response:
    status, message = 500, "This is a bug. The terminal of this server has the details."
    if isinstance(error, HTTPException):
        status, message = error.status_code, error.detail
    elif isinstance(error, StoreError):
        status = 404 if isinstance(error, RunNotFoundError) else 503
        message = str(error)
    elif isinstance(error, RagstoneError):
        status, message = 400, str(error)
    if request.url.path.endswith(".json"):
        return json_response({"error": message}, status=status)
    heading = _HEADINGS.get(status, _HEADINGS[400])
    return html_response("error.html", status, heading=heading, message=message)


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


def make_app(store: Store, *, port: int, calibration: str | None = None) -> ASGIApp:
    views = Views(store, calibration)
    app = _with_assets(
        Route("/", views.runs),
        Route("/runs/{run}", partial(_in_turn, views.run, CapacityLimiter(1)), name="run"),
        Route("/compare", partial(_in_turn, views.compare, CapacityLimiter(1))),
        Route("/healthz", json_response({"status": "ok"})),
    )
    return RequestGuard(app, port)


def _with_assets(*routes: Route) -> Starlette:
    shared = Route("/assets/{name}", asset), Route("/favicon.ico", Response(status_code=204))
    handlers = dict.fromkeys((HTTPException, RagstoneError, Exception), error_response)
    return Starlette(routes=[*routes, *shared], exception_handlers=handlers)


async def _in_turn(
    view: Callable[[Request], Response], limiter: CapacityLimiter, request: Request
) -> Response:
    return await to_thread.run_sync(view, request, limiter=limiter)


class RequestGuard:
    """Middleware that refuses foreign requests and adds security headers to every response."""

    # Starlette's TrustedHostMiddleware checks neither the port nor where a request comes from

    def __init__(self, app: ASGIApp, port: int, *, post: str | None = None) -> None:
        self._app, self._post = app, post
        names = ("localhost", LOOPBACK, "[::1]")
        self._hosts = {f"{name}:{port}" for name in names}.union(names if port == 80 else ())

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
        foreign = PlainTextResponse("Requests from other sites are refused.\n", status_code=403)
        if headers.get("host", "").lower() not in self._hosts:
            words = "Unknown host. Open the address that ragstone printed.\n"
            return PlainTextResponse(words, status_code=421)
        if scope["method"] == "POST" and scope["path"] == self._post:
            scheme, _, origin = headers.get("origin", "").partition("://")
            if scheme != "http" or origin.lower() not in self._hosts:
                return foreign
        elif scope["method"] not in ("GET", "HEAD"):
            allow = {"Allow": "GET, HEAD"}
            return PlainTextResponse("The viewer is read-only.\n", status_code=405, headers=allow)
        followed_link = (
            headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest", "document") == "document"
            and not scope["path"].endswith(".json")
        )
        own = followed_link or headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        return None if own else foreign


LOOPBACK = "127.0.0.1"


def listen(port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} on {LOOPBACK} is in use, perhaps by another `ragstone view`; stop "
                "it, or choose another one with --port (0 picks a free one)"
            ) from error
        why = error.strerror or error
        raise UsageError(f"cannot listen on {LOOPBACK}, port {port}: {why}") from error


def serve(app: ASGIApp, at: socket.socket, *, ready: Callable[[], None]) -> None:
    with suppress(KeyboardInterrupt), at:
        ready()
        make_server(app).run(sockets=[at])


def make_server(app: ASGIApp) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,  # second
    )
    return uvicorn.Server(config)


# The labelling page contains no data. Every request for data needs the token of the printed
# address, which is behind a `#`, so that browsers send it to no server by themselves.
DATA = "/labels.json"
TOKEN = "X-Ragstone-Token"  # noqa: S105 - the name of a header
_VALUES = {"yes": True, "no": False, "unknown": None}


def serve_labels(session: LabelSession, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve one annotator's session on this machine until Ctrl-C; `ready` gets the URL."""
    token = token_urlsafe(24)
    app = _with_assets(
        Route("/", html_response("label.html", rule=RULE)),
        Route(DATA, _LabelViews(session, token).answer, methods=["POST"]),
    )
    with listen(port) as at:
        bound: int = at.getsockname()[1]
        guard = RequestGuard(app, bound, post=DATA)
        serve(guard, at, ready=lambda: ready(f"http://{LOOPBACK}:{bound}/#{token}"))


class _LabelViews:
    def __init__(self, session: LabelSession, token: str) -> None:
        self._session, self._token, self._lock = session, token, asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        if not compare_digest(request.headers.get(TOKEN, "").encode(), self._token.encode()):
            raise HTTPException(403, "Open the whole address that `ragstone labels start` printed.")
        try:
            asked = cast("Mapping[str, Any]", await request.json())
            item = Item(*map(int, asked["item"])) if asked.get("item") else None
            action = asked["do"]
            value = _VALUES[asked["value"]] if action == "answer" else None
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise HTTPException(400, "This request is not valid.") from None
        async with self._lock:  # the session is not safe for several threads
            return json_response(await run_in_threadpool(self._act, action, item, value))

    def _act(self, action: str, item: Item | None, value: bool | None) -> dict[str, object]:
        session, verdict = self._session, None
        match action:
            case "answer" if item:
                session.answer(item, value)
            case "skip" if item:
                session.skip(item)
            case "undo":
                session.undo()
            case "reveal" if item:
                verdict = session.verdict(item)
            case "show":
                pass
            case _:
                raise UsageError("This request is not valid.")
        labels, current = session.labels, session.next()
        claim = None
        if current:
            row = session.row(current)
            judged = row.scores[session.plan.metric].claims[current.claim]
            claim = {
                "item": current,
                "sample_id": row.sample.id,
                "query": row.sample.query_with_history,
                "response": row.sample.response,
                "claim": judged.text,
                "span": judged.span,
                "contexts": [each.text for each in row.sample.contexts or ()],
            }
        shown = {"text", "label", "reason", "evidence"}
        return {
            "run": session.run_id,
            "annotator": session.annotator,
            "done": len(labels),
            "total": session.plan.claims,
            "skipped": sum(each not in labels for each in session.skipped),
            "last": next(reversed(labels), None),
            "current": claim,
            "verdict": verdict and verdict.model_dump(mode="json", include=shown),
        }
