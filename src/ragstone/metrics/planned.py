"""Metrics that are named in the catalogue and not built yet: told as not run, never scored."""

from collections.abc import Mapping
from types import MappingProxyType

from ragstone.scores import MetricInfo

NOT_YET = "not in this version"

PLANNED: Mapping[str, MetricInfo] = MappingProxyType(
    {
        info.name: info
        for info in (
            MetricInfo(
                name="response_relevancy",
                label="Response Relevancy",
                family="generation",
                description="How much of the response is about what the user asked.",
                needs=("response",),
            ),
            MetricInfo(
                name="context_precision",
                label="Context Precision",
                family="generation",
                description="How well the relevant contexts are ranked above the others.",
                needs=("ranking", "reference"),
            ),
        )
    }
)
