"""ragstone's own log, on standard error."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager

from ragstone._internal.secrets import redact
from ragstone.errors import UsageError

LEVELS = ("debug", "info", "warning", "error", "critical")
_CONTROLS = {*range(32), *range(127, 160)} - {ord("\t"), ord("\n")}
_SHOWN = dict.fromkeys(_CONTROLS, "\N{REPLACEMENT CHARACTER}")


class _Plain(logging.Formatter):
    """Replaces control characters, so that a model's reply cannot control the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record)).translate(_SHOWN)


@contextmanager
def logs() -> Generator[None, None, None]:
    """Write ragstone's own log to standard error while the block lasts, from LOG_LEVEL on."""
    level = os.environ.get("LOG_LEVEL", "").strip().lower()
    if level and level not in LEVELS:
        raise UsageError(f"LOG_LEVEL {level!r} is not a log level; known: {', '.join(LEVELS)}")
    logger = logging.getLogger("ragstone")
    handler = logging.StreamHandler()
    handler.setFormatter(_Plain("%(levelname)s %(name)s: %(message)s"))
    if logging.lastResort:  # for logs of libraries, such as OpenTelemetry's exporter
        logging.lastResort.setFormatter(_Plain())
    if level:
        logger.addHandler(handler)
        logger.setLevel(level.upper())
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
