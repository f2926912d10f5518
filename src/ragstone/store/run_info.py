"""RunInfo: what the store knows about a run without reading its rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from sqlalchemy import Connection, func, select

from ragstone._internal.fields import Figure
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.store.codec import column, from_text, to_text
from ragstone.store.errors import RunNotFoundError, StoreError
from ragstone.store.schema import QUERY_BLOCKS, ROWS, RUNS
from ragstone.types.config import Manifest
from ragstone.types.score import Detail, MetricInfo

_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)
METRICS: TypeAdapter[Mapping[str, MetricInfo]] = TypeAdapter(dict[str, MetricInfo])
EXTRAS: TypeAdapter[Mapping[str, Detail]] = TypeAdapter(dict[str, dict[str, Figure]])
SUMMARY: TypeAdapter[Mapping[str, object]] = TypeAdapter(dict[str, object])


class RunLine(BaseModel):
    """One line of the table of runs."""

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


@dataclass(frozen=True)
class RunInfo:
    """One line in the list of runs.

    Attributes:
        finished_at: None while rows are missing.
        tag: a name that a user gave the run, if any.
        fingerprint: equal for runs of the same configuration.
        metrics: metric name -> its description, in the order of the request.
        extras: metric name -> its own figures.
        summary: the summary passed to `finish`, if any.
        stopped: the budget that was spent, if any.
        transcript: whether the judge's replies are stored; without them no run can be rescored.
        rows: the number of stored rows.
        ranked: whether it is a ranking run, which has scores but no stored rows.
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

    @property
    def finished(self) -> bool:
        """Whether every row was finished."""
        return self.finished_at is not None

    @classmethod
    def of(cls, line: RunLine, rows: int, *, ranked: bool = False) -> "RunInfo":
        """Read a line of the table of runs.

        Raises:
            StoreError: this version cannot read it.
        """
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
            )
        except ValidationError as error:
            raise StoreError(
                f"run {line.id} cannot be read: {one_line(format_validation_errors(error), 300)}; "
                "if a newer version of ragstone wrote it, update ragstone"
            ) from error


def format_time(time: datetime) -> str:
    """Return a time as text in UTC, which sorts in the order of time."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def manifest_text(manifest: Manifest) -> str:
    """Return a manifest as JSON; the path of its file is absolute."""
    return to_text(_MANIFEST, _move_source(manifest, Path.absolute))


def _move_source(manifest: Manifest, move: Callable[[Path], Path]) -> Manifest:
    path = manifest.source.path
    if path is None:
        return manifest
    source = manifest.source.model_copy(update={"path": str(move(Path(path)))})
    return manifest.model_copy(update={"source": source})


def _relative(path: Path) -> Path:
    """Return a path relative to the working folder; reports show no more than this."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def read_run_info(connection: Connection, number: int) -> RunInfo:
    """Return the info of the run with that number.

    Raises:
        StoreError: this version cannot read it.
    """
    lines = connection.execute(select(RUNS).where(RUNS.c.number == number)).mappings()
    line = RunLine.model_validate(dict(lines.one()))
    counted = select(func.count()).select_from(ROWS).where(ROWS.c.run == number)
    queries = func.count(), func.coalesce(func.sum(QUERY_BLOCKS.c.queries), 0)
    rows = connection.execute(counted).scalar_one()
    blocks, ranked = connection.execute(select(*queries).where(QUERY_BLOCKS.c.run == number)).one()
    return RunInfo.of(line, rows + ranked, ranked=blocks > 0)


def find_run_number(connection: Connection, run_id: str, *, store: str) -> int:
    """Return the number of a run in the tables of its rows.

    Raises:
        RunNotFoundError: there is no such run.
    """
    query = select(RUNS.c.number).where(RUNS.c.id == column(run_id))
    number = connection.execute(query).scalar()
    if number is None:
        raise RunNotFoundError(f"there is no run {run_id} in {store}")
    return number
