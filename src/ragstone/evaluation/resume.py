"""Which run of a store is resumed or begun, and the recorder that saves its rows there."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

from ragstone._internal.text import count, one_line
from ragstone.evaluation.recorder import Recorder, RowCounts, RunChangedError, StoreOptions
from ragstone.metrics.base import Metric
from ragstone.results.calibration import load_calibration
from ragstone.results.run import Run
from ragstone.store import (
    RowWriter,
    RunInfo,
    RunLockedError,
    Store,
    StoreError,
    resume,
    running_runs,
)
from ragstone.store.codec import Record, RowIndexSet
from ragstone.store.errors import SAME_EVALUATION
from ragstone.types.config import ORIGIN, Manifest
from ragstone.types.row import Row

_SETUP_CHANGES = {  # identity keys that are hashes, and what a changed hash means
    "judge setup": "the judge's model, options or prompts changed",
    "target setup": "the target's file or options changed",
}


class StoreRecorder(Recorder):
    """Saves finished rows in a store, and can resume a run. If it `closes`, `run` closes it."""

    def __init__(
        self,
        manifest: Manifest,
        metrics: Sequence[Metric],
        *,
        store: Store,
        closes: bool,
        resumed: bool,
        options: StoreOptions,
    ) -> None:
        super().__init__(manifest, metrics)
        self._store, self._closes, self._resumed = store, closes, resumed
        self.transcript = options.get("transcript", True)
        self._retry_failed = options.get("retry_failed", False)
        self._fresh = options.get("fresh", False)
        self._writer: RowWriter | None = None
        self._changed = False
        if resumed:
            self._read_done()

    async def __aenter__(self) -> Self:
        run_id = self.manifest.run_id
        async with AsyncExitStack() as stack:
            if self._resumed:
                self._writer = await stack.enter_async_context(self._store.open_writer(run_id))
                self._read_done()  # no other process can write to the run now
                for row in self._store.load(run_id).rows:
                    if row.index in self.done:
                        self.counted.add(row)
            elif not self._fresh:  # from now on, so that no calls are paid twice
                stack.enter_context(self._store.starting(self.manifest.fingerprint))
            self._open = stack.pop_all()
        return self

    def _read_done(self) -> None:
        run_id = self.manifest.run_id
        done = self.done = self._store.done(run_id, retry_failed=self._retry_failed)
        if self._retry_failed:
            again = (index for index in self._store.done(run_id) if index not in done)
            self.retried = RowIndexSet.of(again)

    async def __aexit__(self, *raised: Any) -> None:
        await self._open.__aexit__(*raised)

    async def record(self, row: Row) -> None:
        writer = await self._open_writer()
        self.counted.add(row)
        await writer.put(row)

    async def record_shard(self, records: Iterable[Record], counted: RowCounts) -> None:
        writer = await self._open_writer()
        self.counted.merge(counted)
        for record in records:
            await writer.put(record)

    async def _open_writer(self) -> RowWriter:
        if not self._changed:
            if self._resumed:
                resume(self._store, self.manifest)
            else:
                described = {name: metric.described for name, metric in self.metrics.items()}
                fingerprint, transcript = self.manifest.fingerprint, self.transcript
                writer = self._store.begin_writing(
                    self.manifest, described, fingerprint=fingerprint, transcript=transcript
                )
                self._writer = await self._open.enter_async_context(writer)
            self._changed = True
        assert self._writer is not None, "the recorder is not open"
        return self._writer

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        run = super().run(partial=partial, stopped=stopped)
        if self._resumed or self._changed:
            if self.counts.rows < len(run.rows):  # stopped before all retried rows were done
                recount = Recorder(self.manifest, tuple(self.metrics.values()))
                for row in run.rows:
                    recount.counted.add(row)
                run = replace(recount.run(partial=partial, stopped=stopped), rows=run.rows)
            with suppress(RunLockedError):  # a process that resumed it stores the summary
                self._store.finish(
                    self.manifest.run_id,
                    extras=run.extras,
                    partial=partial or run.counts.over_budget,
                    stopped=stopped,
                    summary=run.to_dict(),
                    counts=run.counts,
                )
        if self._closes:
            self._store.close()
        return run

    def _saved_rows(self) -> Sequence[Row]:
        stored = self._resumed or self._changed
        return self._store.load(self.manifest.run_id).rows if stored else ()


def open_recorder(
    manifest: Manifest,
    metrics: Sequence[Metric],
    options: StoreOptions,
    *,
    reusable: frozenset[str] = frozenset(),
) -> tuple[Recorder, tuple[str, ...]]:
    """Return the recorder, and notices; `reusable` fields are taken from an earlier run."""
    place = options.get("store")
    try:
        named = None if isinstance(place, bool) else place
        store = named if isinstance(named, Store) else Store.open(named)
    except StoreError as error:
        raise StoreError(f"{error}\nUse another store, or run without one.") from error
    if manifest.plan.calibration:
        store.check_labels(load_calibration(manifest.plan.calibration))
    notices: list[str] = []
    run_id = options.get("resume")
    if run_id is None and not options.get("fresh"):
        run_id, notices = _find_unfinished(store, manifest, options.get("transcript", True))
    if run_id is not None:
        earlier = store.info(run_id).manifest
        _check_same_settings(earlier, manifest)
        newer = {"plan": manifest.plan, "source": manifest.source}
        newer |= {"reports": manifest.reports} if manifest.reports else {}
        manifest = earlier.model_copy(update=newer)
    answered: Mapping[int, Row] = {}
    if run_id is None and reusable and not options.get("fresh"):
        earlier_run, answered = _find_answers(store, manifest, reusable)
        if earlier_run and answered:
            manifest = manifest.model_copy(update={"answers_from": earlier_run.id})
            assert earlier_run.finished_at is not None
            minutes = round((manifest.started_at - earlier_run.finished_at).total_seconds() / 60)
            age = f"{count(minutes, 'minute')} ago" if minutes else "just now"
            again = f"Reusing {count(len(answered), 'answer')} of run {earlier_run.id} ({age})"
            notices.append(f"{again}; --fresh asks the target again")
    closes, resumed = store is not place, run_id is not None
    recorder = StoreRecorder(
        manifest, metrics, store=store, closes=closes, resumed=resumed, options=options
    )
    recorder.answered = answered
    if resumed:
        hint = "" if "resume" in options else " (use fresh to start a new run)"
        rows = count(manifest.source.rows, "row")
        notices.append(
            f"Resuming run {run_id}: {len(recorder.done):,} of {rows} are finished{hint}"
        )
    return recorder, tuple(notices)


REUSED_FOR = timedelta(hours=1)  # how long after a run its answers are those of the target
_ANSWERS = "data fingerprint|rows|sample|sheet|columns|target|target setup|min_similarity|version"


def _find_answers(
    store: Store, manifest: Manifest, fields: frozenset[str]
) -> tuple[RunInfo | None, Mapping[int, Row]]:
    """Return the newest run that asked this target the same, and its rows without failed answers.

    Runs that reused answers are skipped; otherwise the same answers could be reused forever.
    """
    for info in store.runs(limit=20):
        end, was = info.finished_at, info.manifest
        if end is None or was.answers_from or ORIGIN in was.identity or info.ranked or info.damage:
            continue
        same = all(was.identity.get(n) == manifest.identity.get(n) for n in _ANSWERS.split("|"))
        if same and _depth(was) == _depth(manifest) and manifest.started_at - end <= REUSED_FOR:
            return info, {
                row.index: Row(row.index, row.sample, notes=row.notes)
                for row in store.load(info.id).rows
                if not row.failures
                and all(getattr(row.sample, field) is not None for field in fields)
            }
    return None, {}


def _depth(manifest: Manifest) -> int:
    """Return how many documents the target was asked for."""
    named = re.findall(r"@(\d+)", manifest.identity.get("metrics", ""))
    return max([*manifest.plan.cutoffs, *map(int, named)])


def _find_unfinished(
    store: Store, manifest: Manifest, transcript: bool
) -> tuple[str | None, list[str]]:
    run_id = store.unfinished(manifest.fingerprint)
    if run_id is not None:
        if store.info(run_id).transcript == transcript:
            return run_id, []
        how = "without" if transcript else "with"
        return None, [
            f"Starting a new run; unfinished run {run_id} was started {how} the judge's texts"
        ]
    for running in running_runs(store, fingerprint=manifest.fingerprint):
        raise RunLockedError(SAME_EVALUATION.format(f" (run {running})"))
    for info in store.runs(limit=20):
        if info.rows and not info.finished and info.manifest.source.name == manifest.source.name:
            differs = _describe_changes(info.manifest.changed(manifest), info.manifest)
            notice = f"Starting a new run; unfinished run {info.id} has other settings: {differs}. "
            return None, [f"{notice}Resume it with `ragstone resume {info.id}`"]
    return None, []


def _check_same_settings(earlier: Manifest, now: Manifest) -> None:
    changed = earlier.changed(now)
    target = earlier.plan.target or earlier.plan.fallback_target or ""
    if set(changed) == {"target setup"} and "://" in target:  # a URL, so its secret part changed
        raise RunChangedError(
            f"cannot resume run {earlier.run_id}: its target URL {target} had parts that are not "
            "stored, such as a key or password. Repeat the original `ragstone run` command instead"
        )
    if differs := _describe_changes(changed, earlier):
        raise RunChangedError(
            f"cannot resume run {earlier.run_id}, because its settings differ: {differs}\n"
            "Restore them, name another run, or delete this one: "
            f"`ragstone runs delete {earlier.run_id}`"
        )


def _describe_changes(changed: Mapping[str, tuple[str, str]], earlier: Manifest) -> str:
    data = f"{earlier.source.name} changed since the run was started"
    words = _SETUP_CHANGES | {"data fingerprint": data}
    parts = [
        words.get(name) or f"{name} was {was or 'none'}, is {now or 'none'}"
        for name, (was, now) in changed.items()
    ]
    return one_line("; ".join(parts), 500)
