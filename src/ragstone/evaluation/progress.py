"""The progress of `evaluate` in a notebook."""

from time import monotonic
from uuid import uuid4

from ragstone._internal.notebook import show_html
from ragstone._internal.text import count

SECONDS_BETWEEN_UPDATES = 0.2


class NotebookProgress:
    """A bar below the cell, updated with each finished row, but at most five times a second."""

    def __init__(self) -> None:
        self._name: str | None = None
        self._done = self._failed = 0
        self._start = self._shown = monotonic()

    def __call__(self, failed: bool, total: int) -> None:
        """Count a row of `total`, and whether a score of it failed."""
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
