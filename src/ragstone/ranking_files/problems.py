"""Problems: what is wrong with a file, gathered up to a bound and told at once; and notes."""

from pathlib import Path

from ragstone.errors import InputError, Problem

MOST = InputError.shown - 1
"""Problems of one file that are gathered before it is given up."""


class Problems:
    """Gathers what is wrong with one file.

    Attributes:
        unit: what of the file is counted: lines, or the rows of a table.
        notes: what is not wrong, but must be known of the numbers.
    """

    def __init__(self, path: Path, unit: str = "line") -> None:
        self.name, self.unit = path.name, unit
        self.notes: list[str] = []
        self._found: list[Problem] = []

    def add(self, seen: str, fix: str = "", *, line: int | None = None) -> None:
        """Note one problem; lines and rows are counted from 1.

        Raises:
            InputError: there are too many to go on.
        """
        where = "" if line is None else f"{self.unit} {line}: "
        self._found.append(Problem(where + seen, fix))
        if len(self._found) >= MOST:
            self._found.append(Problem("the rest was not looked at"))
            self.tell()

    def tell(self) -> None:
        """Raise what was found, if anything was.

        Raises:
            InputError: something is wrong.
        """
        if self._found:
            raise InputError(self.name, self._found)
