import gzip
from pathlib import Path
from types import SimpleNamespace

import pytest

from ragstone.store import Store, StoreError, delete, export, import_, tag

FINISHED = {"extras": {"hit@5": {"Hits": 2}}, "summary": {"a": 1}}


@pytest.fixture
async def filled(store: Store, make: SimpleNamespace) -> Store:
    make.begin(store, "r1")
    async with store.writing("r1") as writer:
        for place, text in enumerate(["a\0", "half \ud83d", "😀 \n"]):
            await writer.put(make.full_row(place, text))
    store.finish("r1", **FINISHED)
    tag(store, "r1", "mine")
    return store


@pytest.mark.parametrize("name", ["run.jsonl", "run.jsonl.gz"])
async def test_a_run_goes_into_a_file_and_comes_back(
    filled: Store, tmp_path: Path, name: str
) -> None:
    path, before = tmp_path / name, filled.info("r1")
    rows = list(filled.load("r1").rows)
    export(filled, "r1", path)
    opened = gzip.open if name.endswith("gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        assert len(file.readlines()) == 5
    with pytest.raises(StoreError, match="run r1 is there already"):
        import_(filled, path)
    delete(filled, "r1")
    assert import_(filled, path) == "r1"
    after = filled.info("r1")
    assert vars(after) == vars(before) | {"tag": None}
    assert list(filled.load("r1").rows) == rows
    assert [each.value for each in filled.values("r1", "hit@5")] == [1.0] * 3


@pytest.mark.parametrize("lines", [1, 3, 4])
async def test_a_file_that_was_cut_short_enters_nothing(
    filled: Store, tmp_path: Path, lines: int
) -> None:
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    delete(filled, "r1")
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    path.write_text("".join(kept), encoding="utf-8")
    with pytest.raises(StoreError, match=f"cut short after {lines - 1} rows"):
        import_(filled, path)
    assert filled.runs() == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no file of `ragstone runs export`"),
        (b'{"a": 1}\n', "no file of `ragstone runs export`"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_another_file_is_refused(store: Store, tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        import_(store, path)


def test_a_broken_archive_is_told(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:30])
    with pytest.raises(StoreError, match="cannot be read"):
        import_(store, path)
    with pytest.raises(StoreError, match="cannot be read"):
        import_(store, tmp_path / "nothing")


async def test_a_broken_row_is_told_by_its_line(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with filled.changing() as connection:
        connection.exec_driver_sql("UPDATE texts SET body = '{' WHERE place = 2")
    with pytest.raises(StoreError, match="row 2 of run r1 cannot be read"):
        list(filled.load("r1").rows)
    export(filled, "r1", path)
    delete(filled, "r1")
    with pytest.raises(StoreError, match="line 4 is not a row"):
        import_(filled, path)
    assert filled.runs() == []


def test_an_export_that_fails_leaves_the_old_file(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(StoreError, match="there is no run"):
        export(store, "r1", path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("runs.db")] == [
        "run.jsonl"
    ]


def test_an_export_to_nowhere_is_told(store: Store, make: SimpleNamespace, tmp_path: Path) -> None:
    make.begin(store, "r1")
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export(store, "r1", tmp_path / "none" / "run.jsonl")
