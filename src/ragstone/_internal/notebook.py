"""Jupyter notebooks: whether this process runs one, and HTML that it shows."""

import sys
from typing import Any


def _shell() -> Any:
    """Return IPython's shell if it belongs to a notebook, else None; IPython is not imported."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def in_notebook() -> bool:
    """Return whether this process runs the cells of a notebook."""
    return _shell() is not None


def show_html(html: str, text: str, *, name: str | None = None, update: bool = False) -> None:
    """Show HTML in the cell that runs, or `text` where HTML cannot be shown.

    With `update`, it replaces what was shown before under the same name.
    """
    transient = {"display_id": name} if name else {}
    data = {"text/html": html, "text/plain": text}
    _shell().display_pub.publish(data, transient=transient, update=update)
