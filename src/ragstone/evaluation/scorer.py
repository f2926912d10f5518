"""Scorer: scores tables of rows in any process, for engines such as Ray Data, Dask and Spark."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Unpack, cast

from pydantic_core import from_json

from ragstone._internal.files import write_file
from ragstone._internal.plugins import check_extra
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import plain_name
from ragstone.datasets import Dataset, Shard
from ragstone.datasets.columns import ALIASES, FIELD_OF, resolve_columns
from ragstone.datasets.dataset import samples_in
from ragstone.datasets.frames import Frame, frame_of, rows_of
from ragstone.datasets.table import Table, records_in
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
from ragstone.evaluation import runner, workers
from ragstone.evaluation.preflight import Preflight, check_judge_settings
from ragstone.evaluation.recorder import settings_key
from ragstone.evaluation.runner import Options, ScoringOptions
from ragstone.judges.base import Judge
from ragstone.metrics import select
from ragstone.store.codec import column
from ragstone.types.config import Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample

_TABLE = "the table"


class ScoringStoppedError(RagstoneError):
    """A service failed for so many rows that the table was not scored."""


class Scorer:
    """Scores tables of rows: Arrow in, Arrow out, in any process of any engine.

    It can be pickled. Each process makes the judge once, when it scores its first table, so that
    models are loaded and connections opened once. Settings are those of `evaluate`; `concurrency`
    is that of one process. Limits for a whole run, such as `max_cost`, cannot be set.

        scorer = Scorer(metrics=["faithfulness", "hit"], k=5)
        scores = scorer(table)

    Attributes:
        metrics: the full names of the metrics.
        judge: the name of the judge.
        columns: the names of the columns of `scores`, and their types.

    Raises:
        UsageError: an option is invalid, or the judge cannot answer a metric requested by name.
    """

    def __init__(self, **options: Unpack[ScoringOptions]) -> None:
        for_runs = Options.__annotations__.keys() - ScoringOptions.__annotations__.keys()
        if others := sorted(options.keys() & for_runs):
            raise UsageError(
                f"{others[0]} is for a whole run; pass it to evaluate(..., scored=FOLDER), "
                "which summarizes the scored rows"
            )
        plan = runner.plan_of(options)
        plan = plan.model_copy(update={"judge": plan.judge})  # no other is chosen by itself
        limits = ("max_calls", "max_cost", "rpm", "tpm")  # would hold for each process
        if limited := [each for each in limits if getattr(plan, each)]:
            raise UsageError(f"{' and '.join(limited)} cannot be combined with a Scorer yet")
        metrics = select(plan.metrics, **plan.parameters)
        judge = runner.judge_of(options, plan, Budget(), metrics=metrics)
        own = judge if isinstance(options.get("judge"), Judge) else None
        if own is None:
            check_judge_settings(runner.explicit_settings(options), plan)
        known = Dataset((), Source(name=_TABLE), known=frozenset(ALIASES))
        ready = Preflight.compare(metrics, known, judge=judge)
        ready.check(metrics, plan)
        self._setup = workers.WorkerSetup.of(plan, ready.metrics, judge=own, counts=False)
        self._settings = settings_key(plan, judge, metrics)
        self.judge = judge.name
        self.metrics = self._setup.metrics
        fields = workers.SCORE_FIELDS.items()
        scores = {f"scores.{name}.{part}": of for name in self.metrics for part, of in fields}
        texts = dict.fromkeys((workers.BODY, workers.TRANSCRIPT, workers.SETTINGS), str)
        self.columns: Mapping[str, type] = {"id": str, **scores, **texts}

    def __call__(self, table: Frame) -> Frame:
        """Return a line for each row of the table, in the same order.

        The table has the columns of a data file: `id`, `query`, `response`, `contexts` and others.
        It may be from PyArrow, polars, pandas, or any library with Arrow's PyCapsule interface; the
        result is from the same library, or from PyArrow. Its columns are `id`; for each metric
        `scores.METRIC.value` (null unless the state is `scored`), `.state`, `.cause` and `.reason`;
        and texts for `evaluate(..., scored=FOLDER)`: the row and the judge's replies as JSON.

        Raises:
            InputError: rows are invalid; the error has every problem with its row and column.
            UsageError: this is not a table, or the judge cannot be made in this process.
            ScoringStoppedError: a service seems to be down.
        """
        rows = rows_of(table)
        if rows is None:
            raise UsageError(
                f"a Scorer takes Arrow tables and data frames, got a {type(table).__name__}; "
                "with map_batches of Ray Data, set batch_format='pyarrow'"
            )
        read = Table.of(rows)
        samples: Sequence[Sample] = ()
        if read.rows:
            self._check_ids(read)
            columns = self._setup.plan.columns
            samples, _ = samples_in(read, _TABLE, columns=columns)
        return frame_of(self._score(tuple(map(Row, count(), samples))), self.columns, like=table)

    def write(self, shard: Shard, folder: str | Path) -> Path:
        """Score a shard and write its scores to a file in the folder, unless it is there already.

        The file is complete or absent, also if the process is killed, so a shard may be repeated.
        """
        last = shard.first + shard.rows - 1
        path = Path(
            folder, f"rows-{shard.first:010}-{last:010}-{self._settings[:8]}{workers.SUFFIX}"
        )
        if not path.exists():
            check_extra("polars", f"writing {path}", "parquet")
            import polars

            cells, like = self._score(tuple(shard.read())), polars.DataFrame()
            frame = cast("polars.DataFrame", frame_of(cells, self.columns, like=like))
            write_file(path, lambda part: frame.write_parquet(part, row_group_size=workers.AT_ONCE))
        return path

    def close(self) -> None:
        """Close the judge of this process; the next table opens it again."""
        workers.close_scorers(self._setup.id)

    def _check_ids(self, table: Table) -> None:
        """Raise an InputError unless each row has an id; tables of one data set have any order."""
        records = list(records_in(table.rows))
        names = tuple(dict.fromkeys(name for record in records for name in record.values))
        columns = self._setup.plan.columns
        chosen = resolve_columns(columns, names) if names else {}
        ids = [name for name in names if FIELD_OF.get(plain_name(name)) == "id"]
        ids = [chosen["id"]] if "id" in chosen else ids
        fix = "give each row an id that is unique in the whole data set"
        if problems := [
            Problem("there is no id", fix, row=record.row)
            for record in records
            if all(record.values.get(name) is None for name in ids)
        ]:
            raise InputError(_TABLE, problems)

    def _score(self, rows: Sequence[Row]) -> Mapping[str, Sequence[object]]:
        lines: list[Mapping[str, object]] = []
        found = workers.scorer_of(self._setup).score(rows) if rows else None
        if found and found.stopped:
            raise ScoringStoppedError(
                f"{found.stopped}; none of {workers.describe_rows(rows)} are scored"
            )
        for record in sorted(found.records, key=lambda each: each.place) if found else ():
            texts = record.encoded
            line = {"id": record.row[1], workers.SETTINGS: self._settings}
            line |= {workers.BODY: texts.body, workers.TRANSCRIPT: texts.transcript}
            scores: dict[str, dict[str, Any]] = from_json(texts.body)["scores"]
            for name, score in scores.items():
                for part in workers.SCORE_FIELDS:
                    cell = score.get(part)
                    line[f"scores.{name}.{part}"] = column(cell) if isinstance(cell, str) else cell
            lines.append(line)
        return {name: [line[name] for line in lines] for name in self.columns}
