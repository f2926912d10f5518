"""`ragstone view`: the stored runs as web pages, on this machine."""

import webbrowser
from functools import partial
from threading import Thread
from typing import Any

import click

from ragstone.cli.options import RUN, STORE, open_store, option, setting
from ragstone.errors import UsageError
from ragstone.results.calibration import load_calibration
from ragstone.store import find_run

try:
    from ragstone.reports.viewer import LOOPBACK, listen, make_app, serve
except ModuleNotFoundError as error:
    needed = (error.name or "").partition(".")[0]
    if needed not in ("starlette", "uvicorn"):
        raise
    raise UsageError(
        f"`ragstone view` needs {needed}, which is not installed: pip install 'ragstone[view]'"
    ) from error


@click.command(
    name="view",
    params=[
        click.Argument(["run"], required=False),
        option("--port", "0 picks a free port.", type=click.IntRange(0, 65535), default=8420),
        option("--no-browser", "Print the URL; do not open a browser.", is_flag=True),
        setting("calibration", "Correct the means of the run that this calibration was made from."),
        STORE,
    ],
    epilog=f"{RUN} Without it, the page lists all runs.",
)
def command(run: str | None, calibration: str | None, **given: Any) -> None:
    """Show the stored runs as web pages: scores, samples with their claims, comparisons.

    The pages are read-only and can be opened from this machine only. The page of a run
    in progress updates automatically.

    \b
    ragstone view
    ragstone view last --port 0 --no-browser
    """
    if calibration:
        load_calibration(calibration)

    def ready(url: str) -> None:
        click.echo(f"Showing the runs at {url} (Ctrl-C stops this).")
        if not given["no_browser"]:  # in a thread, because some browsers block the caller
            Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    with open_store(given["store"], reading=True) as opened:
        path = "/"
        if run:
            run_id = find_run(opened, run)
            path = f"/runs/{run_id}"
        with listen(given["port"]) as at:
            bound: int = at.getsockname()[1]
            app = make_app(opened, port=bound, calibration=calibration)
            serve(app, at, ready=partial(ready, f"http://{LOOPBACK}:{bound}{path}"))
