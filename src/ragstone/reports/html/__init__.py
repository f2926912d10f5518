"""Web pages of runs: one HTML file, and the templates and assets it shares with the viewer."""

from base64 import b64encode
from functools import partial
from hashlib import sha256
from pathlib import Path

from markupsafe import Markup

from ragstone._internal.files import write_file
from ragstone.reports.facts import summarize_run
from ragstone.reports.html.samples import embed_samples
from ragstone.reports.html.templates import SCRIPTS, STYLES, read_asset, render_parts
from ragstone.reports.insights import excerpt
from ragstone.results.run import Run


def write_html(run: Run, path: Path) -> None:
    """Write a run as one HTML file that needs no network.

    Raises:
        UsageError: the file cannot be written.
    """
    write_file(path, partial(_write, run))


def _write(run: Run, path: Path) -> None:
    script, style = ("\n".join(map(read_asset, names)) for names in (SCRIPTS, STYLES))
    # the Content-Security-Policy allows exactly these two inline texts
    script_hash, style_hash = (
        b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    parts = render_parts(
        "file.html",
        **page_context(run),
        script_text=Markup(script),  # noqa: S704 - our own file
        script_hash=script_hash,
        style_text=Markup(style),  # noqa: S704 - our own file
        style_hash=style_hash,
    )
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(parts)


def page_context(run: Run, max_rows: int | None = None) -> dict[str, object]:
    """Return what the page of a run shows; if it has more rows, only the worst of them."""
    shown, notice = excerpt(run, max_rows)
    return {"run": summarize_run(run), "blocks": embed_samples(shown), "left_out": notice}
