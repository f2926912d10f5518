"""The offline judge: needs no model, no key and no network, and reads words, not meaning."""

from ragstone.judges.offline.judge import OfflineJudge, OfflineSettings

__all__ = ["OfflineJudge", "OfflineSettings"]
