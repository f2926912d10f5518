"""The offline judge: needs no model, no key and no network, and reads words, not meaning."""

from ragstone.judges.offline.judge import OfflineJudge

__all__ = ["OfflineJudge"]
