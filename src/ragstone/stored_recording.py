"""StoreRecorder: the finished rows of an evaluation, kept in the store."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from ragstone.metrics.families.base import Metric
from ragstone.plan import Manifest
from ragstone.recording import Recorder
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.store import RowWriter, RunLockedError, Store, reopen


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
        writer = self._store.writing(run_id)
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
        reopen(self._store, self.manifest)
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
