"""What each address of the viewer returns: pages, JSON data and errors."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ragstone._internal.text import one_line
from ragstone.errors import RagstoneError, UsageError
from ragstone.evaluation.rescore import policy_scores
from ragstone.reports.comparison import sections, verdict
from ragstone.reports.format import finite
from ragstone.reports.html.charts import forest, scatter
from ragstone.reports.html.page import read_asset, render
from ragstone.reports.html.samples import sample_document, sample_summary
from ragstone.reports.viewer.cache import (
    DEFAULT_RUNS,
    AsyncCache,
    Progress,
    Summaries,
    cache_key,
    history,
    list_runs,
)
from ragstone.reports.viewer.pairs import dots, find_pair
from ragstone.results.calibration import load_calibration
from ragstone.results.compare.comparison import Comparison, compare, find_regressions
from ragstone.results.compare.corrected_change import LabelledRun, correct_changes
from ragstone.results.compare.metric_change import MetricChange
from ragstone.store import RunInfo, RunNotFoundError, Store, StoreError, find_run, running_runs
from ragstone.store.search import MetricCounts, RowQuery, count_scores, find_rows, row_at

_HEADINGS = {
    404: "Page not found",
    400: "Invalid request",
    503: "The store cannot be read",
    500: "Internal error in ragstone",
}
EXAMPLES = 10
"""Samples and claims listed in each section of a comparison."""
CACHED = 32
_MAX_PLACE = 2**31 - 1
"""Largest integer of a database column."""
_MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}


class Views:
    """Request handlers over a store; all reading happens in threads, not in the event loop."""

    def __init__(self, store: Store, calibration: str | None = None) -> None:
        self._store, self._calibration = store, calibration
        self._summaries = Summaries(store, calibration)
        self._comparisons: AsyncCache[Comparison] = AsyncCache(CACHED)
        self._counts: AsyncCache[dict[str, MetricCounts]] = AsyncCache(CACHED)

    def runs(self, request: Request) -> Response:
        limit = request.query_params.get("limit", "")
        valid = limit.isascii() and limit.isdigit() and len(limit) < 6
        runs, more = list_runs(self._store, max(int(limit), 1) if valid else DEFAULT_RUNS)
        return html_response("runs.html", store=self._store.name, runs=runs, more=more)

    async def run(self, request: Request) -> Response:
        name: str = request.path_params["run"]
        info = await run_in_threadpool(self._info, name)
        if info.id != name:  # a tag, a prefix of the id, or `last`
            return RedirectResponse(_run_url(request, info.id))
        rows_url = request.url_for("rows", run=info.id).path.removesuffix(".json")
        if info.summary is None:
            live = await self._live(info)
            make = partial(html_response, "live.html", run=live, rows_url=rows_url)
        else:
            run = await self._summaries.get(info)
            found = partial(history, self._store, info, partial(_run_url, request))
            make = partial(
                html_response,
                "stored_run.html",
                run=run,
                tag=info.tag,
                rows_url=rows_url,
                history=await run_in_threadpool(found),
            )
        return await run_in_threadpool(make)

    async def live(self, request: Request) -> Response:
        info = await run_in_threadpool(self._info, request.path_params["run"])
        return json_response(await self._live(info))

    def rows(self, request: Request) -> Response:
        query = parse_query(request.query_params)
        found = find_rows(self._store, request.path_params["run"], query)
        rows = [sample_summary(row) for row in found.rows]
        return json_response({"total": found.total, "matched": found.matched, "rows": rows})

    def row(self, request: Request) -> Response:
        run, place = request.path_params["run"], request.path_params["place"]
        valid = place.isascii() and place.isdigit() and len(place) <= 10
        row = row_at(self._store, run, int(place)) if valid and int(place) <= _MAX_PLACE else None
        if row is None:
            raise HTTPException(404, f"run {run} has no row {one_line(place, 20)} yet")
        return json_response(
            sample_document(row, policy_scores([row], self._store.info(run).metrics)[0])
        )

    async def compare(self, request: Request) -> Response:
        a, b, comparison = await self._comparison(request)

        def chart(change: MetricChange) -> Markup:
            info = b.metrics[change.metric]
            link = partial(_pair_url, request, a.id, b.id, change.metric)
            title = f"Scores of samples by {change.metric}"
            found = list(dots(comparison, change.metric, link))
            return scatter(found, info.range, title=title, higher_is_better=info.higher_is_better)

        def make() -> Response:
            changes = comparison.metric_changes
            return html_response(
                "compare.html",
                a=a,
                b=b,
                comparison=comparison,
                verdict=verdict(find_regressions(comparison)),
                sections={each.name: each for each in sections(comparison)},
                forest=forest(changes),
                scatters={each.metric: chart(each) for each in changes if each.n},
                pair_url=partial(_pair_url, request, a.id, b.id),
            )

        return await run_in_threadpool(make)

    async def compare_sample(self, request: Request) -> Response:
        a, b, comparison = await self._comparison(request)
        metric, row = (request.query_params.get(name, "") for name in ("metric", "row"))

        def make() -> Response:
            valid = row.isascii() and row.isdigit() and len(row) <= 10
            one, two = (self._store.load(each.id) for each in (a, b))
            pair = find_pair(comparison, one, two, metric, int(row)) if valid else None
            if pair is None:
                raise HTTPException(404, "These runs have no such pair of samples.")
            address = partial(_pair_url, request, a.id, b.id, metric)
            return html_response(
                "compare_sample.html", a=a, b=b, metric=metric, pair=pair, pair_url=address
            )

        return await run_in_threadpool(make)

    async def _comparison(self, request: Request) -> tuple[RunInfo, RunInfo, Comparison]:
        """Return the runs that an address names, and their comparison.

        Raises:
            UsageError: it does not name two different runs.
        """
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        if not all(names):
            raise UsageError("Select two runs to compare in the list of runs.")
        a, b = [await run_in_threadpool(self._info, name) for name in names]
        if a.id == b.id:
            raise UsageError(f"A and B are the same run, {a.id}: select two different runs.")

        labels = [tuple(await run_in_threadpool(self._store.labels, each.id)) for each in (a, b)]

        def make() -> Comparison:
            runs = [self._store.load(each.id) for each in (a, b)]
            other = load_calibration(self._calibration) if self._calibration else None
            labelled = [LabelledRun.of(*each, other) for each in zip(runs, labels, strict=True)]
            return correct_changes(compare(*runs, top=EXAMPLES), *labelled)

        comparison = await self._comparisons.get((cache_key(a), cache_key(b), *labels), make)
        return a, b, comparison

    def health(self, request: Request) -> Response:
        del request
        return json_response({"status": "ok"})

    def _info(self, name: str) -> RunInfo:
        return self._store.info(find_run(self._store, name))

    async def _live(self, info: RunInfo) -> dict[str, object]:
        busy = await run_in_threadpool(running_runs, self._store)
        counts = await self._counts.get(
            cache_key(info), partial(count_scores, self._store, info.id)
        )
        empty = MetricCounts(scored=0, undefined=0, failed=0, mean=None)
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
                name: asdict(counts.get(name, empty))
                | {
                    "label": metric.label,
                    "higher_is_better": metric.higher_is_better,
                    "range": finite(metric.range),
                }
                for name, metric in info.metrics.items()
            },
        }


def _run_url(request: Request, run_id: str) -> str:
    return request.url_for("run", run=run_id).path


def _pair_url(request: Request, a: str, b: str, metric: str, row: int) -> str:
    query = urlencode({"a": a, "b": b, "metric": metric, "row": row})
    return f"{request.url_for('compare_sample').path}?{query}"


def asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    try:
        media_type = _MEDIA_TYPES[name.rpartition(".")[2]]
        return Response(read_asset(name), media_type=media_type)
    except (KeyError, FileNotFoundError):
        raise HTTPException(404, f"There is no file {name}.") from None


def icon(request: Request) -> Response:
    del request
    return Response(status_code=204)


def html_response(template: str, *, status: int = 200, **context: object) -> Response:
    html = render(template, **context).encode("utf-8", "replace")
    return Response(html, status, media_type="text/html; charset=utf-8")


def json_response(document: object, *, status: int = 200) -> Response:
    """Return plain data as JSON, in ASCII because a lone surrogate has no UTF-8."""
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
    return html_response("error.html", status=status, heading=heading, message=message)


def parse_query(parameters: Mapping[str, str]) -> RowQuery:
    """Read which rows an address asks for; empty parameters are ignored.

    Raises:
        UsageError: a number or the order is invalid.
    """
    given = {name: value for name, value in parameters.items() if value}
    order = given.get("order", "asc")
    if order not in ("asc", "desc"):
        raise UsageError(f"order={order}: use asc or desc")

    def number(name: str) -> float | None:
        if name not in given:
            return None
        try:
            value = float(given[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UsageError(f"{name}={given[name]}: not a number")
        return value

    def count(name: str, default: int) -> int:
        text = given.get(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise UsageError(f"{name}={text}: not a whole number of at least 0")
        return int(text)

    return RowQuery(
        text=given.get("text", ""),
        metric=given.get("metric"),
        state=given.get("state"),
        low=number("low"),
        high=number("high"),
        tag=given.get("tag"),
        value=given.get("value"),
        sort=given.get("sort"),
        descending=order == "desc",
        offset=count("offset", 0),
        limit=count("limit", 50),
    )
