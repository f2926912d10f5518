"""Summaries: what a run came to, as pages show it: as it was stored, or reckoned from the rows."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import cast

from ragstone.messages import count
from ragstone.reports.facts import Fact, titles
from ragstone.reports.summary import summary_of
from ragstone.store import RunInfo, Store
from ragstone.viewer.kept import Kept, as_of

FEW = 1000
"""Rows that are read in no time: of such runs pages tell all facts."""
KEPT = 32
_NEEDED = {"metrics", "slices", "gates", "options", "usage", "blame", "not_run", "target_health"}
"""What a page cannot be without; runs that an earlier version stored may lack it."""


class Summaries:
    """Gives the summaries of a store's runs that have one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[Mapping[str, object]] = Kept(KEPT)

    async def of(self, info: RunInfo) -> Mapping[str, object]:
        """Return a run's summary; of a short run, or where it was not stored whole, by its rows.

        Raises:
            StoreError: the rows cannot be read.
        """
        stored = info.summary or {}
        if info.rows > FEW and stored.keys() >= _NEEDED:
            told = [vars(fact) for fact in _facts(info, stored)]
            return {**stored, "titles": titles(info.metrics), "facts": told}
        return await self._kept.get(as_of(info), partial(self._reckoned, info.id))

    def _reckoned(self, run_id: str) -> Mapping[str, object]:
        return summary_of(self._store.load(run_id))


def _facts(info: RunInfo, stored: Mapping[str, object]) -> Iterator[Fact]:
    """Yield what is to be known of a long run, as far as that is known without its rows."""
    for note in info.manifest.source.notes:
        yield Fact("Note", note)
    metrics = cast("Mapping[str, Mapping[str, int]]", stored["metrics"])
    for name, figures in metrics.items():
        if flagged := figures.get("flagged"):
            yield Fact(
                "Made up", f"{name}: {count(flagged, 'score')}, by the policy", alarming=True
            )
    if info.ranked:  # its rows have no notes
        return
    yield Fact(
        "Not shown",
        f"notes on single rows, as the run has more than {FEW:,}: "
        f"`ragstone report {info.id} --html FILE` writes a page that has them",
    )
