"""Ranked runs: the run of a ranking from a file, kept in the store in blocks of values."""

from datetime import UTC, datetime

from ragstone.ranked_values import RankedRows
from ragstone.run import Run
from ragstone.store.codec import to_text
from ragstone.store.entering import entering
from ragstone.store.run_info import EXTRAS, METRICS, SUMMARY, RunLine, manifest_text, stamp
from ragstone.store.store import Store
from ragstone.store.value_blocks import blocks_of, write_block


def keep_ranked(store: Store, run: Run) -> None:
    """Store the run of a ranking, whole or not at all; `run.rows` are RankedRows.

    Raises:
        StoreError: the store cannot be used, or holds a run of that id.
    """
    rows = run.rows
    assert isinstance(rows, RankedRows), "the rows of other runs are stored as they finish"
    place = 0
    with entering(store, _line(run)) as (connection, number):
        for part in rows.parts():
            for start, block in blocks_of(part):
                with connection.begin():
                    write_block(connection, number, place + start, block)
            place += len(part)


def _line(run: Run) -> RunLine:
    manifest = run.manifest
    return RunLine(
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
