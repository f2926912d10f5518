"""Pipes: a reader of standard output may leave before its end."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def silent_pipes() -> Generator[None, None, None]:
    """Let a reader of standard output leave early, as `head` does, without a word."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich makes the one the other
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
