"""Ranked runs: the run of a ranking from a file, kept in the store in blocks of values."""

from datetime import UTC, datetime

from ragstone.run import Run
from ragstone.store.codec import to_text
from ragstone.store.entering import entering
from ragstone.store.run_info import EXTRAS, METRICS, SUMMARY, RunLine, manifest_text, stamp
from ragstone.store.store import Store
from ragstone.store.stored_values import write_blocks


def save_ranking(store: Store, run: Run) -> None:
    """Store the run of a ranking, whole or not at all.

    Raises:
        StoreError: the store cannot be used, or holds a run of that id.
    """
    assert run.columns is not None, "the rows of other runs are stored as they finish"
    manifest = run.manifest
    line = RunLine(
        id=manifest.run_id,
        started_at=stamp(manifest.started_at),
        finished_at=stamp(datetime.now(UTC)),
        tag=None,
        fingerprint=manifest.fingerprint,
        manifest=manifest_text(manifest),
        metrics=to_text(METRICS, dict(run.metrics)),
        extras=to_text(EXTRAS, {name: dict(extra) for name, extra in run.extras.items()}),
        summary=to_text(SUMMARY, run.to_dict()),
        stopped=run.stopped,
        transcript=True,
    )
    with entering(store, line) as (connection, number):
        write_blocks(connection, number, run.columns)
