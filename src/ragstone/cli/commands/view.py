"""`ragstone view`: the stored runs as web pages, on this machine."""

import webbrowser
from functools import partial
from threading import Thread
from typing import Any

import click

from ragstone.cli import say
from ragstone.cli.options import RUN, STORE, open_store, option, setting
from ragstone.errors import UsageError
from ragstone.results.calibration import load_calibration
from ragstone.store import find_run

try:
    from ragstone.reports.viewer import is_loopback, listen, make_app, serve, url_for
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
        option("--host", "Address to listen on.", default="127.0.0.1"),
        option(
            "--expose",
            "Allow a --host that other machines can reach; there is no password.",
            is_flag=True,
        ),
        option("--no-browser", "Print the URL; do not open a browser.", is_flag=True),
        setting("calibration", "Correct the means of the run that this calibration was made from."),
        STORE,
    ],
    epilog=f"{RUN} Without it, the page lists all runs.",
)
def command(run: str | None, host: str, calibration: str | None, **given: Any) -> None:
    """Show the stored runs as web pages: scores, samples with their claims, comparisons.

    The pages are read-only and can be opened from this machine only. The page of a run
    in progress updates automatically.

    \b
    ragstone view
    ragstone view last --port 0 --no-browser
    """
    if not is_loopback(host):
        if not given["expose"]:
            raise UsageError(
                f"--host {host}: other machines could open the pages, which show all stored "
                "texts without a password; add --expose to allow this"
            )
        say(f"Warning: anyone who can reach {host} can read all runs here, without a password.")
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
        with listen(host, given["port"]) as at:
            bound: int = at.getsockname()[1]
            app = make_app(opened, host=host, port=bound, calibration=calibration)
            serve(app, at, ready=partial(ready, url_for(host, bound) + path))
