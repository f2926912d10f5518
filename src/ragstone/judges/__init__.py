"""Judges: who answers questions, the judges around judges, and `making`, which joins them."""

from ragstone.judges.base import Judge
from ragstone.judges.offline import OfflineJudge

__all__ = ["Judge", "OfflineJudge"]
