"""The page of `ragstone labels start`: one POST route reads and stores labels.

The page contains no data. Every request for data needs the token of the printed address, which is
behind a `#`, so that browsers send it to no server by themselves.
"""

import asyncio
from collections.abc import Callable, Mapping
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Any, cast

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragstone.errors import RagstoneError, UsageError
from ragstone.evaluation.labelling import RULE, Item, LabelSession
from ragstone.reports.viewer import (
    LOOPBACK,
    RequestGuard,
    asset,
    error_response,
    host_check,
    html_response,
    icon,
    json_response,
    listen,
    serve,
    url_for,
)

DATA = "/labels.json"
TOKEN = "X-Ragstone-Token"  # noqa: S105 - the name of a header
_VALUES = {"yes": True, "no": False, "unknown": None}


def serve_labels(session: LabelSession, *, port: int, ready: Callable[[str], None]) -> None:
    """Serve one annotator's session on this machine until Ctrl-C; `ready` gets the URL."""
    token = token_urlsafe(24)
    views = _Views(session, token)
    routes = [
        Route("/", _page),
        Route(DATA, views.answer, methods=["POST"]),
        Route("/assets/{name}", asset),
        Route("/favicon.ico", icon),
    ]
    handlers = dict.fromkeys((HTTPException, RagstoneError, Exception), error_response)
    app = Starlette(routes=routes, exception_handlers=handlers)
    with listen(LOOPBACK, port) as at:
        bound: int = at.getsockname()[1]
        guard = RequestGuard(app, is_own_host=host_check(LOOPBACK, bound), post=DATA)
        serve(guard, at, ready=lambda: ready(f"{url_for(LOOPBACK, bound)}/#{token}"))


def _page(_: Request) -> Response:
    return html_response("label.html", rule=RULE)


class _Views:
    def __init__(self, session: LabelSession, token: str) -> None:
        self._session, self._token, self._lock = session, token, asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        if not compare_digest(request.headers.get(TOKEN, "").encode(), self._token.encode()):
            raise HTTPException(403, "Open the whole address that `ragstone labels start` printed.")
        try:
            given = cast("Mapping[str, Any]", await request.json())
            item = Item(*map(int, given["item"])) if given.get("item") else None
            action = given["do"]
            value = _VALUES[given["value"]] if action == "answer" else None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
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
                "query": row.sample.asked,
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
