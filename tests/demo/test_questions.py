import runpy
from pathlib import Path

from python_calamine import CalamineWorkbook

from ragstone.demo.questions import (
    DATASET,
    Flaw,
    Line,
    corpus,
    entries,
    write_manuals,
)
from ragstone.demo.server import make_service
from ragstone.testsets.documents import read_documents

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_demo_dataset.py"
COLUMNS = ["Query", "Point_ids", "Ground_truth_answer", "difficulty", "Source_files"]


def point_ids(cell: object) -> tuple[int, ...]:
    if isinstance(cell, float):
        return (int(cell),)
    return tuple(int(piece) for piece in str(cell).strip("[]").split(",") if piece)


def test_the_workbook_holds_the_questions():
    header, *cells = CalamineWorkbook.from_path(DATASET).get_sheet_by_index(0).to_python()
    assert header == COLUMNS
    for (query, points, *others), entry in zip(cells, entries(), strict=True):
        assert (query, point_ids(points)) == (entry.query, entry.point_ids)
        sources = ", ".join(entry.source_files)
        assert others == [entry.ground_truth_answer, entry.difficulty, sources]


def test_the_script_writes_the_same_bytes_each_time(tmp_path: Path):
    make = runpy.run_path(str(SCRIPT))["make"]
    for name in ("one.xlsx", "two.xlsx"):
        make(tmp_path / name)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two.xlsx").read_bytes()


def errors_in(response: str) -> list[Line]:
    lines = (line for passage in corpus() for line in passage.lines if line.error)
    return [line for line in lines if line.spoken in response]


def test_some_answers_have_injected_errors_of_all_kinds():
    service = make_service()
    found = [errors_in(service.chat(entry.query).response) for entry in entries()]
    seen = {error for errors in found for error in errors}
    assert len(seen) >= 12
    assert {error.error for error in seen} == set(Flaw)
    assert 0.15 <= sum(map(bool, found)) / len(entries()) <= 0.45


def test_the_manuals_have_a_section_for_each_passage(tmp_path: Path):
    write_manuals(tmp_path / "manuals")
    chunks = read_documents(tmp_path / "manuals").chunks
    assert len(chunks) == len(corpus())
    assert all(any(passage.text in chunk.text for chunk in chunks) for passage in corpus())
