"""Recording: where the finished rows of an evaluation go, in memory or in the store."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

from ragstone.errors import UsageError
from ragstone.messages import one_line
from ragstone.metrics.families.base import Metric
from ragstone.plan import Manifest
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.scores import Detail, Score
from ragstone.store import RowWriter, Store
from ragstone.tally import Tally


class Recording:
    """Keeps finished rows in memory, and counts them; within `async with`.

    Attributes:
        done: the places of the data set that were finished before.
        tally: what the rows come to so far.
    """

    done: Collection[int] = frozenset[int]()

    def __init__(self, manifest: Manifest, metrics: Sequence[Metric]) -> None:
        self.manifest = manifest
        self.metrics = {str(metric): metric for metric in metrics}
        self.tally = Tally(self.metrics, cluster=manifest.plan.cluster)
        self._rows: list[Row] = []
        self._scores: dict[str, list[tuple[int, Score]]] = {
            name: []
            for name, metric in self.metrics.items()
            if type(metric).summarise is not Metric.summarise
        }

    async def __aenter__(self) -> Self:
        """Make ready for rows."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish with rows."""

    async def keep(self, row: Row) -> None:
        """Keep one finished row."""
        self._count(row)
        self._rows.append(row)

    def _count(self, row: Row) -> None:
        self.tally.add(row)
        for name, scores in self._scores.items():
            score = row.scores[name]
            bare = score.model_copy(update={"claims": ()}) if score.claims else score
            scores.append((row.index, bare))

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        """Return the run of what was kept."""
        return Run(
            manifest=self.manifest,
            metrics={name: metric.described for name, metric in self.metrics.items()},
            rows=self._kept(),
            extras=self._extras(),
            partial=partial,
            stopped=stopped,
            counted=self.tally,
        )

    def _kept(self) -> Sequence[Row]:
        return sorted(self._rows, key=lambda row: row.index)

    def _extras(self) -> Mapping[str, Detail]:
        ordered = {
            name: [score for _, score in sorted(scores, key=lambda pair: pair[0])]
            for name, scores in self._scores.items()
        }
        return {
            name: metric.summarise(ordered.get(name, [])) for name, metric in self.metrics.items()
        }


class StoredRecording(Recording):
    """Keeps finished rows in a store, in little memory; a run that was begun there goes on.

    `retried` are the rows of it to be done again.
    """

    def __init__(
        self,
        manifest: Manifest,
        metrics: Sequence[Metric],
        *,
        store: Store,
        begun: bool,
        retry_failed: bool = False,
        transcript: bool = True,
    ) -> None:
        super().__init__(manifest, metrics)
        self._store, self._begun, self._transcript = store, begun, transcript
        self._writer: RowWriter | None = None
        if begun:
            self.done = store.done(manifest.run_id, but_failed=retry_failed)

    async def __aenter__(self) -> Self:
        """Enter the run, or count what is there of it, and begin to write.

        Raises:
            StoreError: the store cannot be used, or another process works on the run.
        """
        run_id = self.manifest.run_id
        if not self._begun:
            described = {name: metric.described for name, metric in self.metrics.items()}
            self._store.begin(
                self.manifest,
                described,
                fingerprint=self.manifest.fingerprint,
                transcript=self._transcript,
            )
        writer = self._store.writing(run_id)
        self._writer = await writer.__aenter__()
        for row in self._store.load(run_id).rows if self._begun else ():
            if row.index in self.done:
                self._count(row)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what was kept.

        Raises:
            StoreError: some of it could not be written.
        """
        if self._writer is not None:
            await self._writer.__aexit__(kind, error, trace)

    async def keep(self, row: Row) -> None:
        """Have one finished row written.

        Raises:
            StoreError: the store failed.
        """
        assert self._writer is not None, "the recording is not open"
        self._count(row)
        await self._writer.put(row)

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        """Return the run, and enter in the store what it came to."""
        run = super().run(partial=partial, stopped=stopped)
        self._store.finish(
            self.manifest.run_id,
            extras=run.extras,
            partial=partial,
            stopped=stopped,
            summary=run.to_dict(),
        )
        return run

    def _kept(self) -> Sequence[Row]:
        return self._store.load(self.manifest.run_id).rows


class Keeping(TypedDict, total=False):
    """Where finished rows are kept, and which run goes on.

    `store` is an open store, or the place of one (True: the usual place; None or False: in
    memory). The newest unfinished run of the same identity goes on, unless `fresh`; `resume` names
    the run that goes on, and with `retry_failed` its failed rows are done again. Without
    `transcript` no texts of judge replies are stored.
    """

    store: Store | str | Path | bool | None
    fresh: bool
    resume: str
    retry_failed: bool
    transcript: bool


def begun(
    manifest: Manifest, metrics: Sequence[Metric], **keeping: Unpack[Keeping]
) -> tuple[Recording, tuple[str, ...]]:
    """Return the recording of a run, new or gone on with, and what is to be known of that.

    Raises:
        UsageError: there is no store to go on from, or the run to go on with was asked otherwise.
        StoreError: the store cannot be used.
    """
    place = keeping.get("store")
    if place is None or place is False:
        if "resume" in keeping:
            raise UsageError("to resume a run takes the store that it is in")
        return Recording(manifest, metrics), ()
    store = place if isinstance(place, Store) else Store.open(None if place is True else place)
    notices: list[str] = []
    run_id = keeping.get("resume")
    if run_id is None and not keeping.get("fresh"):
        run_id = store.unfinished(manifest.fingerprint)
        notices += [] if run_id else _differences(store, manifest)
    if run_id is not None:
        earlier = store.info(run_id).manifest
        if differs := _said(earlier.changed(manifest)):
            raise UsageError(f"run {run_id} was asked otherwise, so it cannot go on: {differs}")
        manifest = earlier.model_copy(update={"plan": manifest.plan})
    recording = StoredRecording(
        manifest,
        metrics,
        store=store,
        begun=run_id is not None,
        retry_failed=keeping.get("retry_failed", False),
        transcript=keeping.get("transcript", True),
    )
    if run_id is not None:
        there = len(recording.done)
        notices.append(f"going on with run {run_id}: {there:,} of {manifest.source.rows:,} rows "
                       "were finished (--fresh starts anew)")  # fmt: skip
    return recording, tuple(notices)


def _differences(store: Store, manifest: Manifest) -> list[str]:
    """Say where the newest unfinished run of the same data differs."""
    for info in store.runs(limit=20):
        if not info.finished and info.manifest.source.name == manifest.source.name:
            differs = _said(info.manifest.changed(manifest))
            return [f"run {info.id} is unfinished and stays so, as this one differs: {differs}"]
    return []


def _said(changed: Mapping[str, tuple[str, str]]) -> str:
    """Say what differs, hashes by their name alone."""
    parts: list[str] = []
    for name, (was, now) in changed.items():
        hashed = name in ("data fingerprint", "judge setup")
        parts.append(name if hashed else f"{name} was {was or 'none'}, is {now or 'none'}")
    return one_line("; ".join(parts), 500)
