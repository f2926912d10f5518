"""Web pages of runs: the templates, script and style that the HTML file and the viewer share."""

from base64 import b64encode
from functools import partial
from hashlib import sha256
from pathlib import Path

from markupsafe import Markup

from ragstone._internal.files import write_file
from ragstone.reports.facts import summary_of
from ragstone.reports.html.samples import blocks
from ragstone.reports.html.templates import SCRIPTS, STYLES, asset, pieces
from ragstone.reports.insights import excerpt
from ragstone.results.run import Run

# The HTML file: a whole run in one page that opens without a network.


def write_html(run: Run, path: Path) -> None:
    """Write a run as one HTML file: its scores, and its samples in compressed blocks.

    Raises:
        UsageError: the file cannot be written.
    """
    write_file(path, partial(_write, run))


def _write(run: Run, path: Path) -> None:
    script, style = ("\n".join(map(asset, names)) for names in (SCRIPTS, STYLES))
    some, left_out = excerpt(run)
    page = pieces(
        "file.html",
        run=summary_of(run),
        blocks=blocks(some),
        left_out=left_out,
        script_text=Markup(script),  # noqa: S704 - our own file
        script_hash=_hash(script),
        style_text=Markup(style),  # noqa: S704 - our own file
        style_hash=_hash(style),
    )
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(page)


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline text by."""
    return b64encode(sha256(text.encode()).digest()).decode()
