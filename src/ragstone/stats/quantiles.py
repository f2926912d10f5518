"""Quantiles of plain numbers."""

from collections.abc import Sequence

import numpy as np


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which `share` (0 to 1) of the values lie; None for no values."""
    return float(np.quantile(np.asarray(values), share)) if values else None
