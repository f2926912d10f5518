"""What a metric raised: a stranger's costs that score, one of ours ends the run."""

import logging
import traceback
from pathlib import Path

from ragstone.messages import one_line
from ragstone.metrics.families.base import Metric

LONGEST = 300
"""Characters told of what was raised."""
_log = logging.getLogger("ragstone.scoring")


def is_ours(metric: Metric) -> bool:
    """Return whether a metric comes with ragstone, so that what it raises is our bug."""
    return type(metric).__module__.partition(".")[0] == "ragstone"


def words(metric: Metric, error: Exception) -> str:
    """Say in a line what a metric raised, and where; the log has all of it."""
    _log.debug("%s raised:", metric, exc_info=error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return one_line(f"the metric raised {type(error).__name__} at {where}: {error}", LONGEST)
