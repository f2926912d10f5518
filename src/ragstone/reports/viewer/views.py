"""Pages: what each address of the viewer answers."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache, partial

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ragstone._internal.text import one_line
from ragstone.errors import RagstoneError, UsageError
from ragstone.reports.comparison import sections
from ragstone.reports.html.samples import SideBySide, listed, whole
from ragstone.reports.html.templates import asset, rendered
from ragstone.reports.table_rows import finite
from ragstone.reports.viewer.cache import AT_ONCE, Kept, Progress, RunList, Summaries, as_of
from ragstone.results.compare import Comparison, compare
from ragstone.store import RunInfo, Store, StoreError, find_run, running_runs
from ragstone.store.search import MetricCounts, RowQuery, count_scores, find_rows, row_at

# Answers: pages and data as responses, and errors in words.

_WORDS = {
    404: "There is no such page",
    400: "This cannot be shown",
    503: "The store cannot be read",
    500: "Something went wrong in ragstone",
}
_BUG = "This is a fault of ragstone: the terminal where `ragstone view` runs shows it whole."


def page(name: str, *, status: int = 200, **context: object) -> Response:
    """Return a template filled with data."""
    html = rendered(name, **context).encode("utf-8", "replace")
    return Response(html, status, media_type="text/html; charset=utf-8")


def data(told: object, *, status: int = 200) -> Response:
    """Return plain data as JSON, in ASCII, as a lone surrogate in it has no UTF-8."""
    text = json.dumps(finite(told), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def refused(request: Request, error: Exception) -> Response:
    """Return an error in words: as data where data was asked for, else as a page."""
    status, words = _told(error)
    if request.url.path.endswith(".json"):
        return data({"error": words}, status=status)
    title = _WORDS.get(status, _WORDS[400])
    return page("error.html", status=status, heading=title, words=words)


def _told(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, StoreError):  # raised from another error, it is the database's
        return (503 if error.__cause__ else 404), str(error)
    return (400, str(error)) if isinstance(error, RagstoneError) else (500, _BUG)


# What a page's script asks of a run's rows, read from the address.


def wanted_of(asked: Mapping[str, str]) -> RowQuery:
    """Return which rows an address asks for; what is empty is not asked.

    Raises:
        UsageError: a number is none, or no such thing can be asked.
    """
    said = {name: value for name, value in asked.items() if value}
    order = said.get("order", "asc")
    if order not in ("asc", "desc"):
        raise UsageError(f"order={order}: it is asc or desc")
    return RowQuery(
        text=said.get("text", ""),
        metric=said.get("metric"),
        state=said.get("state"),
        low=_number(said, "low"),
        high=_number(said, "high"),
        tag=said.get("tag"),
        value=said.get("value"),
        sort=said.get("sort"),
        descending=order == "desc",
        offset=_count(said, "offset", 0),
        limit=_count(said, "limit", 50),
    )


def _number(said: Mapping[str, str], name: str) -> float | None:
    if name not in said:
        return None
    try:
        number = float(said[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name}={said[name]}: this is no number")
    return number


def _count(said: Mapping[str, str], name: str, default: int) -> int:
    text = said.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UsageError(f"{name}={text}: this is no count")
    return int(text)


TOLD = 10
"""Samples and claims told of each kind where two runs are compared."""
KEPT = 32
_LAST_PLACE = 2**31 - 1
"""What an integer of a database holds."""
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Pages:
    """Answers from a store; what reads it does so in a thread, never in the event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._summaries = Summaries(store)
        self._comparisons: Kept[Comparison] = Kept(KEPT)
        self._counts: Kept[dict[str, MetricCounts]] = Kept(KEPT)
        self._sides = lru_cache(KEPT)(self._side_by_side)

    def runs(self, request: Request) -> Response:
        """Answer with the list of runs."""
        limit = request.query_params.get("limit", "")
        number = int(limit) if limit.isascii() and limit.isdigit() and len(limit) < 6 else AT_ONCE
        shown = RunList.of(self._store, max(number, 1))
        return page("runs.html", store=self._store.name, runs=shown.runs, more=shown.more)

    async def run(self, request: Request) -> Response:
        """Answer with what a run came to, or with how far it is."""
        name: str = request.path_params["run"]
        info = await run_in_threadpool(self._info, name)
        if info.id != name:  # its tag, the beginning of its id, or `last`
            return RedirectResponse(request.url_for("run", run=info.id).path)
        rows_url = request.url_for("rows", run=info.id).path.removesuffix(".json")
        if info.summary is None:
            live = await self._live(info)
            shown = partial(page, "live.html", run=live, rows_url=rows_url)
        else:
            summary = await self._summaries.of(info)
            shown = partial(
                page,
                "stored_run.html",
                run=summary,
                tag=info.tag,
                rows_url=rows_url,
            )
        return await run_in_threadpool(shown)

    async def live(self, request: Request) -> Response:
        """Answer with how far a run is, as data."""
        info = await run_in_threadpool(self._info, request.path_params["run"])
        return data(await self._live(info))

    def rows(self, request: Request) -> Response:
        """Answer with some rows of a run, as data."""
        found = find_rows(self._store, request.path_params["run"], wanted_of(request.query_params))
        rows = [listed(row) for row in found.rows]
        return data({"total": found.total, "matched": found.matched, "rows": rows})

    def row(self, request: Request) -> Response:
        """Answer with all that is known of one row, as data."""
        run, place = request.path_params["run"], request.path_params["place"]
        row = row_at(self._store, run, int(place)) if _is_place(place) else None
        if row is None:
            raise HTTPException(404, f"run {run} has no row at place {one_line(place, 20)} yet")
        return data(whole(row, self._sides(run).of([row])[0]))

    async def compare(self, request: Request) -> Response:
        """Answer with what moved between two runs."""
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        if not all(names):
            raise UsageError("Name two runs to compare: choose them in the list of all runs.")
        a, b = [await run_in_threadpool(self._info, name) for name in names]
        if a.id == b.id:
            raise UsageError(f"A and B are both run {a.id}: choose two runs.")
        key = as_of(a), as_of(b)
        found = await self._comparisons.get(key, partial(self._compared, a.id, b.id))
        shown = partial(page, "compare.html", a=a, b=b, sections=sections(found))
        return await run_in_threadpool(shown)

    def asset(self, request: Request) -> Response:
        """Answer with a script or a style."""
        name: str = request.path_params["name"]
        kind = _TYPES.get(name.rpartition(".")[2])
        try:
            text = asset(name) if kind else ""
        except FileNotFoundError:
            text = ""
        if not text:
            raise HTTPException(404, f"There is no asset {name}.")
        return Response(text, media_type=kind)

    def health(self, request: Request) -> Response:
        """Answer that the pages are served."""
        del request
        return data({"status": "ok"})

    def icon(self, request: Request) -> Response:
        """Answer browsers that there is no icon, which is no error."""
        del request
        return Response(status_code=204)

    def _info(self, name: str) -> RunInfo:
        return self._store.info(find_run(self._store, name))

    def _compared(self, a: str, b: str) -> Comparison:
        return compare(self._store.load(a), self._store.load(b), top=TOLD)

    def _side_by_side(self, run_id: str) -> SideBySide:
        return SideBySide(self._store.info(run_id).metrics)

    async def _live(self, info: RunInfo) -> dict[str, object]:
        """Return how far a run is, and what it came to so far."""
        busy = await run_in_threadpool(running_runs, self._store)
        counts = await self._counts.get(as_of(info), partial(count_scores, self._store, info.id))
        none = MetricCounts(scored=0, undefined=0, failed=0, mean=None)
        return {
            "run_id": info.id,
            "tag": info.tag,
            "dataset": info.manifest.source.name,
            "judge": info.manifest.judge,
            "target": info.manifest.target,
            "started_at": info.started_at.isoformat(),
            "state": Progress.of(info, busy).value,
            "summed_up": info.summary is not None,
            "rows": info.rows,
            "rows_due": info.manifest.source.rows,
            "metrics": {
                name: asdict(counts.get(name, none))
                | {"label": described.label, "higher_is_better": described.higher_is_better}
                for name, described in info.metrics.items()
            },
        }


def _is_place(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _LAST_PLACE
