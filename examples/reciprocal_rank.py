"""A custom metric: the reciprocal rank of the first relevant document.

ragstone run data.xlsx --plugin examples/reciprocal_rank.py --metric reciprocal_rank --k 5
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ragstone import RankingMetric, register


@register("reciprocal_rank")
class ReciprocalRank(RankingMetric):
    """One over the rank of the first relevant document."""

    label: ClassVar[str] = "Reciprocal Rank@K"

    k: int = 5

    def value(
        self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
    ) -> tuple[float, dict[str, int | None]]:
        """Score one query; `retrieved_ids` has the top k, best first."""
        for rank, document in enumerate(retrieved_ids, 1):
            if relevance.get(document, 0) > 0:
                return 1 / rank, {"first_hit_rank": rank}
        return 0.0, {"first_hit_rank": None}
