"""What each address of the viewer returns: pages, files and errors."""

import json
from collections.abc import Iterator, Mapping

import numpy as np
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ragstone._internal.text import count
from ragstone.errors import RagstoneError, UsageError
from ragstone.reports.comparison import sections, verdict
from ragstone.reports.format import brief, finite
from ragstone.reports.html.charts import Dot, forest, scatter
from ragstone.reports.html.page import page_context, read_asset, render
from ragstone.reports.terminal import run_entry
from ragstone.results.comparison import Comparison, find_regressions
from ragstone.results.paired import MetricChange
from ragstone.store import RunInfo, RunNotFoundError, Store, StoreError, find_run, running_runs
from ragstone.store.reader import StoredRows
from ragstone.store.runs import compare, summarize

_HEADINGS = {
    404: "Page not found",
    400: "Invalid request",
    503: "The store cannot be read",
    500: "Internal error in ragstone",
}
EXAMPLES = 10
"""Samples and claims listed in each section of a comparison."""
DEFAULT_RUNS = 100
"""Runs in the list by default."""
COUNTED_ROWS = 10_000
"""Rows that are counted quickly enough for the list."""
SHOWN_ROWS = 1000
"""Samples on the page of a run, the worst; it takes a second."""
CELLS = 50
"""Dots in a row of a chart; pairs that are closer and changed in the same direction share a dot."""
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
        runs: list[dict[str, object]] = []
        for info in infos[:limit]:
            state = "finished" if info.finished else "running" if info.id in running else "stopped"
            is_short = info.rows <= COUNTED_ROWS or state == "running"
            known = summarize(self._store, info) if is_short else info
            runs.append({**run_entry(known), "state": state})
        more = len(infos) > limit
        return html_response("runs.html", {"store": self._store.name, "runs": runs, "more": more})

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
        context = page_context(run, SHOWN_ROWS) | {"tag": info.tag, "running": running}
        return html_response("stored_run.html", context)

    def compare(self, request: Request) -> Response:
        names = [request.query_params.get(side, "") for side in ("a", "b")]
        if not all(names):
            raise UsageError("Select two runs to compare in the list of runs.")
        a, b = map(self._info, names)
        if a.id == b.id:
            raise UsageError(f"A and B are the same run, {a.id}: select two different runs.")
        comparison = compare(
            a.id, b.id, top=EXAMPLES, calibration=self._calibration, store=self._store
        )
        run_b = self._store.load(b.id)
        page = request.url_for("run", run=b.id).path
        in_b: dict[int, int] = dict(comparison.pairing.pairs.tolist())

        def sample_url(row_of_a: int) -> str:
            position, rows = in_b[row_of_a], run_b.rows
            index = rows.index_at(position) if isinstance(rows, StoredRows) else position
            return f"{page}#sample={index}"

        def chart(change: MetricChange) -> Markup:
            info = b.metrics[change.metric]
            found = [
                Dot(x, y, number, words, sample_url(row))
                for x, y, number, words, row in _dots(comparison, change)
            ]
            title = f"Scores of samples by {change.metric}"
            return scatter(found, info.range, title=title, higher_is_better=info.higher_is_better)

        changes = comparison.metric_changes
        return html_response(
            "compare.html",
            {
                "a": a,
                "b": b,
                "comparison": comparison,
                "verdict": verdict(find_regressions(comparison)),
                "sections": {each.name: each for each in sections(comparison)},
                "forest": forest(changes),
                "scatters": {each.metric: chart(each) for each in changes if each.n},
                "sample_url": sample_url,
            },
        )

    def health(self, request: Request) -> Response:
        del request
        return json_response({"status": "ok"})

    def _info(self, name: str) -> RunInfo:
        return self._store.info(find_run(self._store, name))


def _dots(
    comparison: Comparison, change: MetricChange
) -> Iterator[tuple[float, float, int, str, int]]:
    """Yield the scores in A and B of pairs near each other, their number, and a row of A.

    The row is the first of those that got worse most, so a dot leads to the worst of its samples.
    """
    scores = comparison.scores[change.metric]
    if not scores.places.size:
        return
    difference = np.round(scores.b - scores.a, 12) * (1 if change.higher_is_better else -1)
    order = np.lexsort((scores.places, scores.a, difference))
    values = np.column_stack((scores.a, scores.b))[order]
    span = float(values.max() - values.min()) or 1.0
    signs = np.sign(np.round(values[:, 1] - values[:, 0], 12))
    cells = np.column_stack((np.round(values / span * CELLS), signs))
    _, firsts, numbers = np.unique(cells, axis=0, return_index=True, return_counts=True)
    rows = comparison.pairing.pairs[scores.places[order[firsts]], 0]
    for (a, b), number, row in zip(
        values[firsts].tolist(), numbers.tolist(), rows.tolist(), strict=True
    ):
        words = f"{count(number, 'sample')}: {brief(a)} in A, {brief(b)} in B"
        yield a, b, number, words, row


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


def html_response(template: str, context: Mapping[str, object], *, status: int = 200) -> Response:
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
    context = {"heading": heading, "message": message}
    return html_response("error.html", context, status=status)
