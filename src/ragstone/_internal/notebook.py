"""Jupyter notebooks: whether this process runs one, HTML that it shows, and progress."""

import sys
from time import monotonic
from typing import Any
from uuid import uuid4

from ragstone._internal.text import count


def _shell() -> Any:
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def in_notebook() -> bool:
    return _shell() is not None


def show_html(html: str, text: str, *, name: str | None = None, update: bool = False) -> None:
    """Show HTML in the cell that runs, or `text`; `update` replaces what has the same name."""
    transient = {"display_id": name} if name else {}
    data = {"text/html": html, "text/plain": text}
    _shell().display_pub.publish(data, transient=transient, update=update)


SECONDS_BETWEEN_UPDATES = 0.2


class NotebookProgress:
    """A bar below the cell, updated with each finished row, but at most five times a second."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._done = self._failed = 0
        self._start = self._shown = monotonic()

    def __call__(self, failed: bool, total: int) -> None:
        self._done, self._failed, now = self._done + 1, self._failed + failed, monotonic()
        if now - self._shown < SECONDS_BETWEEN_UPDATES and (self._done < total or not self._name):
            return
        words = f"{self._done:,} of {count(total, 'row')} evaluated"
        words += f", {self._failed:,} failed" if self._failed else ""
        words += f" in {now - self._start:,.1f} s"
        bar = f'<progress value="{self._done}" max="{total}" aria-label="{words}"></progress> '
        update, self._shown = self._name is not None, now
        self._name = self._name or f"ragstone-{uuid4().hex}"
        show_html(bar + words, words, name=self._name, update=update)
