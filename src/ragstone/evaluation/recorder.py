"""Keeping: where finished rows are kept, and which run goes on."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict, Unpack

from ragstone._internal.text import count, one_line
from ragstone.errors import UsageError
from ragstone.metrics.base import Metric
from ragstone.results.metric_summary import ScoreColumn
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store import RowWriter, RunLockedError, Store, StoreError, resume, running_runs
from ragstone.types.config import Manifest
from ragstone.types.row import Row
from ragstone.types.score import NOTHING, Detail

# Recorder: where the finished rows of an evaluation go, in memory or in the store.


class Recorder:
    """Keeps finished rows in memory, and counts them; within `async with`.

    Attributes:
        done: the places of the data set that were finished before.
        tally: what the rows come to so far.
    """

    done: Collection[int] = frozenset[int]()

    def __init__(self, manifest: Manifest, metrics: Sequence[Metric]) -> None:
        self.manifest = manifest
        self.metrics = {str(metric): metric for metric in metrics}
        self.tally = RunSummaryBuilder(self.metrics, cluster=manifest.plan.cluster)
        self._rows: list[Row] = []
        self._scores = {
            name: ScoreColumn()
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
        self.count(row)
        self._rows.append(row)

    def count(self, row: Row) -> None:
        """Count one row that is kept elsewhere."""
        self.tally.add(row)
        for name, scores in self._scores.items():
            scores.add(row.index, row.scores[name])

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
        extras: dict[str, Detail] = dict.fromkeys(self.metrics, NOTHING)
        for name, scores in self._scores.items():
            extras[name] = self.metrics[name].summarise(scores.in_order())
        return extras


# StoreRecorder: the finished rows of an evaluation, kept in the store.


class StoreRecorder(Recorder):
    """Keeps finished rows in a store, in little memory; a run that was begun there goes on.

    Rows that the budget cut short are kept, and done again when the run goes on; with
    `retry_failed` so are all of which a score failed. A store that `closes` with the recording
    is closed by `run`; the rows can be read all the same.
    """

    def __init__(
        self,
        manifest: Manifest,
        metrics: Sequence[Metric],
        *,
        store: Store,
        closes: bool = False,
        open_recorder: bool = False,
        retry_failed: bool = False,
        transcript: bool = True,
    ) -> None:
        super().__init__(manifest, metrics)
        self._store, self._begun, self._transcript = store, open_recorder, transcript
        self._retried, self._closes = retry_failed, closes
        self._writer: RowWriter | None = None
        if open_recorder:
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
        writer = self._store.open_writer(run_id)
        self._writer = await writer.__aenter__()
        try:
            if self._begun:
                self._go_on()
        except BaseException as error:
            await writer.__aexit__(type(error), error, error.__traceback__)
            raise
        self._begun = True
        return self

    def _go_on(self) -> None:
        """Count what is finished; nobody else can write to the run by now."""
        resume(self._store, self.manifest)
        self.done = self._store.done(self.manifest.run_id, but_failed=self._retried)
        for row in self._store.load(self.manifest.run_id).rows:
            if row.index in self.done:
                self.count(row)

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
        self.count(row)
        await self._writer.put(row)

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        """Return the run, and enter in the store what it came to."""
        run = super().run(partial=partial, stopped=stopped)
        if self._begun:  # not stopped before the first row
            if self.tally.rows < len(run.rows):  # stopped before all that was to be done again was
                run = self._recounted(run)
            with suppress(RunLockedError):  # whoever went on with it since enters what it comes to
                self._store.finish(
                    self.manifest.run_id,
                    extras=run.extras,
                    partial=partial or run.tally.over_budget,
                    stopped=stopped,
                    summary=run.to_dict(),
                )
        if self._closes:
            self._store.close()
        return run

    def _recounted(self, run: Run) -> Run:
        """Return the run by all of its stored rows, those of an earlier time too."""
        whole = Recorder(self.manifest, tuple(self.metrics.values()))
        for row in run.rows:
            whole.count(row)
        return replace(whole.run(partial=run.partial, stopped=run.stopped), rows=run.rows)

    def _kept(self) -> Sequence[Row]:
        return self._store.load(self.manifest.run_id).rows if self._begun else ()


_IN_WORDS = {
    "judge setup": "the judge's model, options or prompts changed",
    "target setup": "the target's file or options changed",
}
"""What differs where hashes do, which say nothing to people."""


class RunChangedError(UsageError):
    """A run cannot go on: something that decides its numbers is not what it was."""


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


def open_recorder(
    manifest: Manifest, metrics: Sequence[Metric], **keeping: Unpack[Keeping]
) -> tuple[Recorder, tuple[str, ...]]:
    """Return the recording of a run, new or gone on with, and what is to be known of that.

    Raises:
        UsageError: there is no store to go on from.
        RunChangedError: the run to go on with was asked otherwise.
        StoreError: the store cannot be used, or another process works on a run of this identity.
    """
    place = keeping.get("store")
    if place is None or place is False:
        if "resume" in keeping:
            raise UsageError("to resume a run takes the store that it is in")
        return Recorder(manifest, metrics), ()
    store = place if isinstance(place, Store) else _opened(place)
    run_id, notices = keeping.get("resume"), list[str]()
    if run_id is None and not keeping.get("fresh"):
        run_id, notices = _unfinished(store, manifest, transcript=keeping.get("transcript", True))
    made = partial(StoreRecorder, metrics=metrics, store=store, closes=store is not place)
    if run_id is None:
        return made(manifest, transcript=keeping.get("transcript", True)), tuple(notices)
    earlier = store.info(run_id).manifest
    _check_same(earlier, manifest)
    recording = made(
        earlier.model_copy(update={"plan": manifest.plan, "source": manifest.source}),
        open_recorder=True,
        retry_failed=keeping.get("retry_failed", False),
    )
    anew = "" if "resume" in keeping else " (--fresh starts anew)"
    rows = count(manifest.source.rows, "row")
    said = f"going on with run {run_id}: {len(recording.done):,} of {rows} were finished{anew}"
    return recording, (*notices, said)


def _opened(place: str | Path | bool) -> Store:
    try:
        return Store.open(None if isinstance(place, bool) else place)
    except StoreError as error:
        raise StoreError(f"{error}\nTo go without a store: --no-store") from error


def _check_same(earlier: Manifest, now: Manifest) -> None:
    """Refuse to go on with a run by other means than it was begun with.

    Raises:
        RunChangedError: what decides its numbers is not the same.
    """
    changed = earlier.changed(now)
    target = earlier.plan.target or earlier.plan.fallback_target or ""
    if set(changed) == {"target setup"} and "://" in target:  # no file, and its name is the same
        raise RunChangedError(
            f"run {earlier.run_id} cannot go on so: the URL of its target was given with more "
            f"than {target}, such as a key or a password, which is not stored. While it is "
            "unfinished, the same `ragstone run` command goes on with it"
        )
    if differs := _said(changed, earlier):
        raise RunChangedError(
            f"run {earlier.run_id} was asked otherwise, so it cannot go on: {differs}\n"
            "Put that back as it was, name another run, or throw this one away: "
            f"`ragstone runs delete {earlier.run_id}`"
        )


def _unfinished(
    store: Store, manifest: Manifest, *, transcript: bool
) -> tuple[str | None, list[str]]:
    """Return the unfinished run that this one would go on with, and why one is left as it is.

    Raises:
        RunLockedError: another process works on the only one.
    """
    run_id = store.unfinished(manifest.fingerprint)
    if run_id is None:
        _check_alone(store, manifest)
        return None, _differences(store, manifest)
    if store.info(run_id).transcript == transcript:
        return run_id, []
    how = "without" if transcript else "with"
    why = f"it was begun {how} the judge's texts"
    return None, [f"run {run_id} is unfinished and stays so, as {why}"]


def _check_alone(store: Store, manifest: Manifest) -> None:
    """Refuse to do what another process is doing just now: it would be paid for twice.

    Raises:
        RunLockedError: another process is.
    """
    for run_id in running_runs(store, fingerprint=manifest.fingerprint):
        raise RunLockedError(
            f"run {run_id} does the same and is being worked on by another process; "
            "wait for it, or begin another with --fresh"
        )


def _differences(store: Store, manifest: Manifest) -> list[str]:
    """Say where the newest unfinished run of the same data differs."""
    for info in store.runs(limit=20):
        if not info.finished and info.manifest.source.name == manifest.source.name:
            differs = _said(info.manifest.changed(manifest), info.manifest)
            return [f"run {info.id} is unfinished and stays so, as this one differs: {differs}"]
    return []


def _said(changed: Mapping[str, tuple[str, str]], earlier: Manifest) -> str:
    """Say what differs from an earlier run, hashes by what they are of."""
    words = _IN_WORDS | {
        "data fingerprint": f"{earlier.source.name} has changed since the run was begun"
    }
    parts = [
        words.get(name) or f"{name} was {was or 'none'}, is {now or 'none'}"
        for name, (was, now) in changed.items()
    ]
    return one_line("; ".join(parts), 500)
