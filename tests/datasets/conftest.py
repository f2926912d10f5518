from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import xlsxwriter

from ragstone.datasets import table

Rows = Sequence[Sequence[object]]


STREAMED = {f"test_{name}" for name in ("arrow", "columns", "csv", "encoding", "json", "load")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of formats that can be read as needed in both ways."""
    if metafunc.module.__name__.rpartition(".")[2] in STREAMED:
        metafunc.parametrize("reading", ["memory", "stream"], indirect=True)


@pytest.fixture(autouse=True)
def reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files at once, or in small blocks; both give the same samples and errors."""
    if getattr(request, "param", "memory") == "stream":
        monkeypatch.setattr(table, "IN_MEMORY", -1)
        monkeypatch.setattr(table.FileRows, "size", 20)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of that name, and return its path."""

    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


@pytest.fixture
def workbook(tmp_path: Path) -> Callable[..., Path]:
    """Write a workbook of sheets, each a list of rows of cells, and return its path."""

    def written(**sheets: Rows) -> Path:
        path = tmp_path / "data.xlsx"
        with xlsxwriter.Workbook(str(path)) as book:
            dates = book.add_format({"num_format": "yyyy-mm-dd"})
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for row, cells in enumerate(rows):
                    for column, cell in enumerate(cells):
                        if hasattr(cell, "isoformat"):
                            sheet.write_datetime(row, column, cell, dates)
                        elif isinstance(cell, str) and cell.startswith("="):
                            formula, _, value = cell.partition(" -> ")
                            sheet.write_formula(row, column, formula, None, value)
                        elif cell is not None:
                            sheet.write(row, column, cell)
        return path

    return written
