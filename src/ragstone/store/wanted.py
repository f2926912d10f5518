"""Wanted: which rows of a run are to be shown; Found: some of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sqlalchemy import ColumnElement

from ragstone.errors import UnknownNameError, UsageError
from ragstone.rows import Row
from ragstone.scores import State
from ragstone.store.schema import SCORES

MOST = 500
"""Rows that are given at once."""
LONGEST = 1000
"""Characters that are looked for; databases take no pattern of any length."""
STATES: Mapping[str, ColumnElement[bool]] = MappingProxyType(
    {state.value: SCORES.c.state == state.value for state in State}
    | {"flagged": SCORES.c.fallback.is_(True), "missed": SCORES.c.passed.is_(False)}
)
"""What a score can be asked to be: its state, made up by the policy, or short of its pass mark."""


@dataclass(frozen=True)
class Wanted:
    """Which rows of a run are to be shown, and in which order.

    Attributes:
        text: stands in the id, the query or the response, whatever the case of its letters.
        metric: what `state`, `low` and `high` are about; None is any metric.
        state: one of STATES.
        low, high: the least and the most that its score may be.
        tag, value: a tag that they have, and what it is, as text; None is anything.
        sort: the metric by whose value they are sorted, those without one last; None is by place.
    """

    text: str = ""
    metric: str | None = None
    state: str | None = None
    low: float | None = None
    high: float | None = None
    tag: str | None = None
    value: str | None = None
    sort: str | None = None
    descending: bool = False
    offset: int = 0
    limit: int = 50

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in STATES:
            raise UnknownNameError("state", self.state, STATES)
        if self.offset < 0 or not 1 <= self.limit <= MOST:
            raise UsageError(f"the offset is 0 or more, and the limit 1 to {MOST}")
        if len(self.text) > LONGEST:
            raise UsageError(f"a text to look for has {LONGEST:,} characters at most")

    @property
    def asks_of_scores(self) -> bool:
        """Whether something has to hold of a score of the row."""
        return self.state is not None or self.low is not None or self.high is not None


@dataclass(frozen=True)
class Found:
    """Some rows, without their exchanges, of `matched` that are as wanted, of `total`."""

    total: int
    matched: int
    rows: tuple[Row, ...]
