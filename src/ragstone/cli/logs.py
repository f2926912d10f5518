"""Logs: what ragstone does within, on standard error, where LOG_LEVEL asks for it."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager

from ragstone.errors import UsageError

LEVELS = ("debug", "info", "warning", "error", "critical")
_CONTROLS = {*range(32), *range(127, 160)} - {ord("\t"), ord("\n")}
_SHOWN = dict.fromkeys(_CONTROLS, "\N{REPLACEMENT CHARACTER}")


class _Plain(logging.Formatter):
    """Lets no reply of a model steer the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).translate(_SHOWN)


@contextmanager
def logs() -> Generator[None, None, None]:
    """Write ragstone's own log to standard error while the block lasts, from LOG_LEVEL on.

    Raises:
        UsageError: LOG_LEVEL is no level.
    """
    level = os.environ.get("LOG_LEVEL", "").strip().lower()
    if level and level not in LEVELS:
        raise UsageError(f"LOG_LEVEL {level!r} is no level; known: {', '.join(LEVELS)}")
    logger = logging.getLogger("ragstone")
    handler = logging.StreamHandler()
    handler.setFormatter(_Plain("%(levelname)s %(name)s: %(message)s"))
    if level:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
