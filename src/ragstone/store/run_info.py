"""RunInfo: what the store knows about a run without reading its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from sqlalchemy import Connection, RowMapping, func, select

from ragstone._internal.fields import Figure
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.store.codec import checksum, column, from_text, to_text
from ragstone.store.errors import DamagedRunError, RunNotFoundError, StoreError
from ragstone.store.schema import QUERY_BLOCKS, ROWS, RUNS
from ragstone.types.config import Manifest
from ragstone.types.score import Detail, MetricInfo

_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)
METRICS: TypeAdapter[Mapping[str, MetricInfo]] = TypeAdapter(dict[str, MetricInfo])
EXTRAS: TypeAdapter[Mapping[str, Detail]] = TypeAdapter(dict[str, dict[str, Figure]])
SUMMARY: TypeAdapter[Mapping[str, object]] = TypeAdapter(dict[str, object])


class RunLine(BaseModel):
    """One line of the table of runs; `rows` is the number of rows of a finished run."""

    model_config = ConfigDict(frozen=True)

    id: str
    started_at: str
    finished_at: str | None
    tag: str | None
    fingerprint: str
    manifest: str
    metrics: str
    extras: str
    summary: str | None
    stopped: str | None
    transcript: bool
    rows: int | None = None


@dataclass(frozen=True)
class RunInfo:
    """One line in the list of runs.

    Attributes:
        finished_at: None while rows are missing.
        fingerprint: equal for runs of the same configuration.
        stopped: the budget that was spent, if any.
        transcript: whether the judge's replies are stored; without them no run can be rescored.
        ranked: whether it is a ranking run, which has scores but no stored rows.
        damage: what is missing or changed since the run was stored.
    """

    id: str
    started_at: datetime
    finished_at: datetime | None
    tag: str | None
    fingerprint: str
    manifest: Manifest
    metrics: Mapping[str, MetricInfo]
    extras: Mapping[str, Detail]
    summary: Mapping[str, object] | None
    stopped: str | None
    transcript: bool
    rows: int
    ranked: bool = False
    damage: str | None = None

    @property
    def finished(self) -> bool:
        return self.finished_at is not None

    @classmethod
    def of(
        cls, line: RunLine, rows: int, *, ranked: bool = False, damage: str | None = None
    ) -> "RunInfo":
        try:
            return cls(
                id=line.id,
                started_at=datetime.fromisoformat(line.started_at),
                finished_at=datetime.fromisoformat(line.finished_at) if line.finished_at else None,
                tag=line.tag,
                fingerprint=line.fingerprint,
                manifest=_move_source(from_text(_MANIFEST, line.manifest), _relative),
                metrics=from_text(METRICS, line.metrics),
                extras=from_text(EXTRAS, line.extras),
                summary=from_text(SUMMARY, line.summary) if line.summary else None,
                stopped=line.stopped,
                transcript=line.transcript,
                rows=rows,
                ranked=ranked,
                damage=damage,
            )
        except ValueError as error:
            if damage:
                raise DamagedRunError(damage, line.id) from error
            is_json = isinstance(error, ValidationError)
            reason = format_validation_errors(error) if is_json else str(error)
            raise StoreError(
                f"run {line.id} cannot be read: {one_line(reason, 300)}; "
                "if a newer version of ragstone wrote it, update ragstone"
            ) from error


def format_time(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def manifest_text(manifest: Manifest) -> str:
    return to_text(_MANIFEST, _move_source(manifest, Path.absolute))


def _move_source(manifest: Manifest, move: Callable[[Path], Path]) -> Manifest:
    path = manifest.source.path
    if path is None:
        return manifest
    source = manifest.source.model_copy(update={"path": str(move(Path(path)))})
    return manifest.model_copy(update={"source": source})


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def read_line(connection: Connection, number: int) -> RowMapping:
    line = connection.execute(select(RUNS).where(RUNS.c.number == number)).mappings().first()
    if line is None:
        raise RunNotFoundError(_DELETED.format("a run"))
    return line


def read_run_info(connection: Connection, number: int) -> RunInfo:
    values = read_line(connection, number)
    rows, ranked = count_rows(connection, number)
    run_id, due, found = values["id"], values["rows"], None
    if values["checksum"] not in (None, _line_checksum(values)):
        found = f"the settings or summary of run {run_id} are not as they were stored"
    elif due not in (None, rows):
        found = f"run {run_id} has {rows:,} of its {due:,} rows"
    if found:
        check_stored(connection, number, run_id)
    try:
        line = RunLine.model_validate(dict(values))
    except ValidationError as error:
        raise DamagedRunError(found or f"the line of run {run_id} is invalid", run_id) from error
    return RunInfo.of(line, rows, ranked=ranked, damage=found)


def check_stored(
    connection: Connection, number: int, run_id: str, *, damage: str | None = None
) -> None:
    """Check after a run was read that it is still stored; raise its `damage`, if any."""
    query = select(RUNS.c.number).where(RUNS.c.number == number)
    if connection.execute(query).first() is None:
        raise RunNotFoundError(_DELETED.format(f"run {run_id}"))
    if damage:
        raise DamagedRunError(damage, run_id)


_DELETED = "{} was deleted by another process while it was read"


def count_rows(connection: Connection, number: int) -> tuple[int, bool]:
    counted = select(func.count()).select_from(ROWS).where(ROWS.c.run == number)
    queries = func.count(), func.coalesce(func.sum(QUERY_BLOCKS.c.queries), 0)
    rows = connection.execute(counted).scalar_one()
    blocks, ranked = connection.execute(select(*queries).where(QUERY_BLOCKS.c.run == number)).one()
    return rows + ranked, blocks > 0


def seal(connection: Connection, number: int) -> None:
    here = RUNS.c.number == number
    line = connection.execute(select(RUNS).where(here)).mappings().one()
    connection.execute(RUNS.update().where(here).values(checksum=_line_checksum(line)))


def _line_checksum(line: RowMapping) -> int:
    return checksum(*(line[each] for each in RUNS.c if each.name not in _UNSEALED))


_UNSEALED = ("number", "tag", "checksum", "started_at", "sort_time")
"""Columns without a checksum: the results of a run do not depend on them."""


def sort_time(connection: Connection, started_at: str) -> str:
    """Return a time to sort a new run by; none is newer, even if the clock was set back."""
    return max(started_at, connection.execute(select(func.max(RUNS.c.sort_time))).scalar() or "")


def find_run_number(connection: Connection, run_id: str, *, store: str) -> int:
    query = select(RUNS.c.number).where(RUNS.c.id == column(run_id))
    number = connection.execute(query).scalar()
    if number is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store}; it may have been deleted")
    return number
