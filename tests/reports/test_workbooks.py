from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from ragstone.errors import UsageError
from ragstone.reports.excel import FOLDER, check_output, write_workbooks
from ragstone.results.run import Run

MakeRun = Callable[..., Run]


@pytest.fixture
def time(make_run: MakeRun) -> str:
    return f"{make_run().manifest.started_at.astimezone():%Y%m%d-%H%M%S}"


def names(run: Run, folder: Path) -> list[str]:
    paths = write_workbooks(run, folder=folder)
    assert all(path.parent == folder and path.is_file() for path in paths)
    return [path.name for path in paths]


def test_a_group_gives_a_combined_workbook_a_family(
    make_run: MakeRun, tmp_path: Path, time: str
) -> None:
    assert names(make_run(), tmp_path / "new") == [
        f"retrieval_combined_k5_{time}.xlsx",
        f"generation_combined_k5_{time}.xlsx",
    ]
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.parametrize(
    ("asked", "ran", "expected"),
    [
        (["all_retrieval"], ["hit@3", "f1@3"], ["retrieval_combined_k3"]),
        (["all_generation"], ["faithfulness"], ["generation_combined_k3"]),
        (["hit", "f1"], ["hit@3", "f1@3"], ["retrieval_combined_k3"]),
        (
            ["faithfulness", "hit"],
            ["faithfulness", "hit@3"],
            ["retrieval_combined_k3", "generation_combined_k3"],
        ),
        (["hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit", "hit"], ["hit@3"], ["Hit@K_k3"]),
        (["hit@10"], ["hit@10"], ["Hit@K_k10"]),
        (["faithfulness"], ["faithfulness"], ["Faithfulness_k3"]),
        (["all"], [], []),
    ],
)
def test_which_workbooks_are_due(
    make_run: MakeRun,
    tmp_path: Path,
    time: str,
    asked: list[str],
    ran: list[str],
    expected: list[str],
) -> None:
    run = make_run([], names=ran, asked=asked, k=3)
    assert names(run, tmp_path) == [f"{name}_{time}.xlsx" for name in expected]


def test_made_up_names_replace_nothing(make_run: MakeRun, tmp_path: Path, time: str) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    assert [names(run, tmp_path) for _ in range(3)] == [
        [f"Hit@K_k5_{time}.xlsx"],
        [f"Hit@K_k5_{time}-2.xlsx"],
        [f"Hit@K_k5_{time}-3.xlsx"],
    ]


def test_the_default_folder_is_here(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (path,) = write_workbooks(make_run(names=("hit@5",), asked=("hit",)))
    assert path.parent == FOLDER
    assert (tmp_path / "results" / path.name).is_file()


def test_one_workbook_goes_where_it_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "sub.dir" / "X.xlsx"
    run = make_run(names=("hit@5",), asked=("all_retrieval",))
    assert write_workbooks(run, output=path) == (path,)
    assert write_workbooks(run, output=path) == (path,)
    assert [found.name for found in path.parent.iterdir()] == ["X.xlsx"]


def test_two_workbooks_never_share_a_path(make_run: MakeRun, tmp_path: Path) -> None:
    paths = write_workbooks(make_run(), output=tmp_path / "X.xlsx")
    assert [path.name for path in paths] == ["X_retrieval.xlsx", "X_generation.xlsx"]
    first, second = (openpyxl.load_workbook(path).sheetnames for path in paths)
    assert first == ["Summary", "Per-Query (Hit@K)", "Per-Query (F1@K)"]
    assert second == ["Summary", "Per-Query (Faithfulness)", "Claims"]


def test_labels_that_file_systems_refuse(make_run: MakeRun, tmp_path: Path, time: str) -> None:
    run = make_run(names=("hit@5",), asked=("hit",))
    info = run.metrics["hit@5"].model_copy(update={"label": "../a:b"})
    paths = write_workbooks(
        Run(run.manifest, {"hit@5": info}, run.rows, run.extras), folder=tmp_path
    )
    assert [path.name for path in paths] == [f"_a_b_k5_{time}.xlsx"]


def test_a_place_that_cannot_be_is_refused_before_the_run(
    make_run: MakeRun, tmp_path: Path
) -> None:
    check_output(tmp_path / "new" / "x.XLSX")
    with pytest.raises(UsageError, match=r"x\.csv does not end in \.xlsx; use a name such as"):
        check_output(tmp_path / "x.csv")
    (tmp_path / "folder.xlsx").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_output(tmp_path / "folder.xlsx")
    with pytest.raises(UsageError, match="is a folder"):
        write_workbooks(make_run(), output=tmp_path / "folder.xlsx")


def test_a_place_that_turns_out_impossible_is_told(make_run: MakeRun, tmp_path: Path) -> None:
    (tmp_path / "X_retrieval.xlsx").mkdir()
    with pytest.raises(UsageError, match=r"X_retrieval\.xlsx cannot be written: .*directory"):
        write_workbooks(make_run(), output=tmp_path / "X.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["X_retrieval.xlsx"]
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_workbooks(make_run(), folder=tmp_path / "file")
