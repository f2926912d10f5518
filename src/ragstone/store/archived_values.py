"""Some thousand queries of a ranking's run as a line of JSON, and back."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat, TypeAdapter

from ragstone.ranked_values import REASONS, RankingScores
from ragstone.store.codec import from_text


class _Line(BaseModel):
    """What one line holds.

    Attributes:
        why: for each query whether it is scored (0), or the number of its reason.
        values: metric -> each query's number.
        failed: metric -> place in the line -> why it failed there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Sequence[str]
    texts: Mapping[str, str]
    why: Sequence[int]
    values: Mapping[str, Sequence[FiniteFloat]]
    failed: Mapping[str, Mapping[int, str]]


_LINE: TypeAdapter[_Line] = TypeAdapter(_Line)


def archived(values: RankingScores) -> str:
    """Return the values as a line of JSON, in ASCII."""
    return json.dumps(
        {
            "ids": list(values.ids),
            "texts": {name: values.texts[name] for name in values.ids if name in values.texts},
            "why": values.why.tolist(),
            "values": {name: values.numbers(name).tolist() for name in values.metrics},
            "failed": {name: dict(each) for name, each in values.failed.items() if each},
        },
        separators=(",", ":"),
        allow_nan=False,
    )


def from_archive(text: str, metrics: Sequence[str]) -> RankingScores:
    """Return the values by those metrics that a line was made of.

    Raises:
        ValueError: it was not made of such values.
    """
    line = from_text(_LINE, text)
    columns = [line.values.get(name, ()) for name in metrics]
    lengths = {len(line.ids), len(line.why), *map(len, columns)}
    if len(lengths) > 1 or set(line.values) != set(metrics):
        raise ValueError("the columns are not those of the run's metrics and queries")
    if not all(0 <= why <= len(REASONS) for why in line.why):
        raise ValueError("a query is without its numbers for no known reason")
    for name, places in line.failed.items():
        if name not in metrics:
            raise ValueError(f"{name} failed somewhere, and is no metric of the run")
        if not all(0 <= place < len(line.why) and line.why[place] == 0 for place in places):
            raise ValueError(f"{name} failed where no query is scored")
    values = np.empty((len(line.ids), len(metrics)))
    for place, column in enumerate(columns):
        values[:, place] = column
    why = np.array(line.why, dtype=np.uint8)
    return RankingScores(line.ids, line.texts, metrics, values, why=why, failed=line.failed)
