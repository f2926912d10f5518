"""Layouts: which column is which field in each row, and what is in doubt there."""

from collections.abc import Mapping

from ragstone.datasets.columns import Layout, Spelling, doubt, no_query
from ragstone.datasets.table import Record
from ragstone.errors import Problem


class Layouts:
    """The layout of each row: of the header, or of the names that the row itself gives values.

    Attributes:
        query: the column that is the query, where a row does not say.
        queries: whether queries are read; else every row gets `NO_QUERY`.
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        chosen: Mapping[str, str],
        *,
        own: bool,
        read_as: str,
        queries: bool,
    ) -> None:
        self.queries = queries
        self._columns = columns
        self._sound = frozenset(columns)
        self._chosen = chosen
        self._own = own
        self._read_as = f" (the file is read as {read_as})" if read_as else ""
        self._made: dict[tuple[str, ...], Layout] = {}
        self._doubts: dict[tuple[str, tuple[str, ...]], int] = {}
        whole = Layout.of(columns, chosen)
        self.query = whole.fields.get("query", next(iter(whole.doubts.get("query", ())), None))

    def of(self, record: Record) -> Layout:
        """Return a row's layout, and remember what is in doubt there."""
        names = self._columns
        if self._own:
            given = record.values.items()
            names = tuple(n for n, value in given if value is not None and n in self._sound)
        if (layout := self._made.get(names)) is None:
            layout = self._made[names] = Layout.of(names, self._chosen)
        for doubtful in layout.doubts.items():
            self._doubts.setdefault(doubtful, record.row)
        return layout

    def without_query(self, record: Record) -> str:
        """Say what a row has instead of a query, where each row names its own values."""
        names = [repr(name) for name, value in record.values.items() if value is not None]
        if not self._own or self.query in record.values or not names:
            return "there is no query"
        return f"there is no query; the row has {', '.join(names[:8])}{self._read_as}"

    def problems(self, say: Spelling, near: str) -> list[Problem]:
        """Return what is in doubt, each once, with the first row if rows name their own values."""
        doubts = [
            doubt(field, names, say=say, row=row if self._own else None)
            for (field, names), row in self._doubts.items()
            if self.queries or field != "query"
        ]
        return (
            doubts
            if self.query or not self.queries
            else [no_query(self._columns, near, say=say), *doubts]
        )
