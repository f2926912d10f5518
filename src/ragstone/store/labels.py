"""Reads and writes the labels of a run."""

from collections.abc import Callable, Iterable
from datetime import datetime

from sqlalchemy import Connection, select

from ragstone.store.codec import checksum, column
from ragstone.store.errors import DamagedRunError, StoreError
from ragstone.store.run_info import format_time
from ragstone.store.schema import LABELS, ROWS
from ragstone.store.writer import put_lines
from ragstone.types.label import HumanLabel

RESPONSE = -1
"""The stored claim index of a label of the whole response."""


def write_labels(connection: Connection, run: int, labels: Iterable[HumanLabel]) -> None:
    lines: dict[object, tuple[object, ...]] = {}
    for each in labels:
        key = _key(run, each)
        values = each.value, format_time(each.at), each.probability, each.blind
        lines[key] = (*key, *values, checksum(*key[1:], *values))
    rows = set(connection.execute(select(ROWS.c.place).where(ROWS.c.run == run)).scalars())
    if missing := {line[2] for line in lines.values()} - rows:
        raise StoreError(f"a label is for row {missing.pop()}, but the run has no such row")
    put_lines(connection, LABELS, list(lines.values()))


def change_labels(
    connection: Connection, run: int, run_id: str, change: Callable[[HumanLabel], HumanLabel]
) -> None:
    labels = read_labels(connection, run, run_id, lock=True)
    changed = ((label, change(label)) for label in labels)
    write_labels(connection, run, [new for old, new in changed if new != old])


def delete_label(connection: Connection, run: int, label: HumanLabel) -> None:
    here = zip(LABELS.primary_key, _key(run, label), strict=True)
    connection.execute(LABELS.delete().where(*(column == value for column, value in here)))


def _key(run: int, label: HumanLabel) -> tuple[int, str, int, int, str]:
    claim = RESPONSE if label.claim is None else label.claim
    return run, column(label.metric), label.position, claim, column(label.annotator)


def read_labels(
    connection: Connection, run: int, run_id: str, *, lock: bool = False
) -> list[HumanLabel]:
    """Return the labels of a run, sorted by metric, position, claim and annotator.

    With `lock`, others cannot change or delete them before the transaction ends.
    """
    here = (LABELS.c.run == ROWS.c.run) & (LABELS.c.place == ROWS.c.place)
    query = select(LABELS, ROWS.c.sample_id).join(ROWS, here).where(LABELS.c.run == run)
    query = query.order_by(*LABELS.primary_key)
    labels: list[HumanLabel] = []
    for line in connection.execute(query.with_for_update(of=LABELS) if lock else query):
        _, metric, place, claim, annotator, *values, stored, sample_id = line
        value, at, probability, blind = values
        if checksum(metric, place, claim, annotator, *values) != stored:
            raise DamagedRunError(
                f"a label of row {place} of run {run_id} is not as it was stored", run_id
            )
        labels.append(
            HumanLabel(
                run=run_id,
                position=place,
                sample_id=sample_id,
                metric=metric,
                claim=None if claim == RESPONSE else claim,
                value=value,
                annotator=annotator,
                at=datetime.fromisoformat(at),
                probability=probability,
                blind=blind,
            )
        )
    return labels
