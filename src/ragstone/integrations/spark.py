"""Spark: scores the rows of a DataFrame on the machines that have them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar, Unpack, cast

from ragstone.errors import UsageError
from ragstone.evaluation.runner import ScoringOptions
from ragstone.evaluation.scored_files import BODY, SCORE_FIELDS, SETTINGS, TRANSCRIPT
from ragstone.evaluation.scorer import Scorer

SCORES = "scores"
"""The column with a field per metric, which has a field per part of its score."""
AT_ONCE = 200
"""Rows that are scored together."""


class SparkFrame(Protocol):
    """A DataFrame of Spark, or of Spark Connect."""

    @property
    def schema(self) -> Any: ...

    def mapInArrow(self, func: Any, schema: Any) -> Any:  # noqa: N802 - Spark's name
        ...


F = TypeVar("F", bound=SparkFrame)


def score(df: F, **options: Unpack[ScoringOptions]) -> F:
    """Return a DataFrame with the columns of another one, and the scores of its rows.

    `df` has the columns of a data file, among them an `id` that is unique in the whole data set.
    The options are those of `Scorer`. The column `scores` has `scores.METRIC.value` (null unless
    the state is `scored`), `.state`, `.cause` and `.reason`; three more columns have what
    `evaluate(..., scored=FOLDER)` reads from Parquet files. As always in Spark, rows are scored
    when they are needed: write the result to a table, because each use scores them again.

    Raises:
        UsageError: an option is invalid, a column has a name that is needed, or Spark is missing.
    """
    if find_spec("pyspark") is None:
        raise UsageError("scoring in Spark needs an extra: pip install 'ragstone[spark]'")
    scorer = Scorer(**options)
    added = (SCORES, BODY, TRANSCRIPT, SETTINGS)
    if taken := {name.lower() for name in df.schema.names}.intersection(added):
        raise UsageError(f"the DataFrame has a column {min(taken)} already; rename or drop it")

    types = cast("Any", import_module("pyspark.sql.types"))
    text, number = types.StringType(), types.DoubleType()
    parts = types.StructType(
        [
            types.StructField(part, number if t is float else text)
            for part, t in SCORE_FIELDS.items()
        ]
    )
    scores = types.StructType([types.StructField(name, parts) for name in scorer.metrics])
    columns = [types.StructField(SCORES, scores)]
    columns += [types.StructField(name, text) for name in added[1:]]
    schema = types.StructType([*df.schema.fields, *columns])
    return cast("F", df.mapInArrow(partial(_add_scores, scorer), schema))


def _add_scores(scorer: Scorer, batches: Iterable[Any]) -> Iterator[Any]:
    arrow = cast("Any", import_module("pyarrow"))
    nest: Callable[..., Any] = arrow.StructArray.from_arrays
    for batch in batches:
        for start in range(0, batch.num_rows, AT_ONCE):
            part = batch.slice(start, AT_ONCE)
            table = cast("Any", scorer(part)).combine_chunks()

            def column(name: str, table: Any = table) -> Any:
                return table.column(name).chunk(0)

            metrics = [
                nest([column(f"scores.{name}.{field}") for field in SCORE_FIELDS], [*SCORE_FIELDS])
                for name in scorer.metrics
            ]
            added = {SCORES: nest(metrics, [*scorer.metrics])}
            added |= {name: column(name) for name in (BODY, TRANSCRIPT, SETTINGS)}
            yield arrow.RecordBatch.from_arrays(
                [*part.columns, *added.values()], names=[*part.schema.names, *added]
            )
