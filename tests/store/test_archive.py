import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.store.conftest import query

from ragstone.store import Store, StoreError, delete, export, find_run, import_, tag
from ragstone.store.archive import check_archive

FINISHED = {"extras": {"hit@5": {"Hits": 2}}, "summary": {"a": 1}}


@pytest.fixture
async def filled(store: Store, make: SimpleNamespace) -> Store:
    make.begin(store, "r1")
    async with store.open_writer("r1") as writer:
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
    with pytest.raises(StoreError, match="run r1 already exists"):
        import_(filled, path)
    delete(filled, "r1")
    assert import_(filled, path) == "r1"
    after = filled.info("r1")
    assert vars(after) == vars(before) | {"tag": None}
    assert list(filled.load("r1").rows) == rows
    assert query(filled, "SELECT value FROM scores WHERE metric = 'hit@5'") == [(1.0,)] * 3


@pytest.mark.parametrize("lines", [1, 3, 4])
async def test_a_file_that_was_cut_short_enters_nothing(
    filled: Store, tmp_path: Path, lines: int
) -> None:
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    check_archive(path)
    delete(filled, "r1")
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    path.write_text("".join(kept), encoding="utf-8")
    with pytest.raises(StoreError, match=f"truncated after {lines - 1} rows"):
        import_(filled, path)
    assert filled.runs() == []
    with pytest.raises(StoreError, match="truncated"):
        check_archive(path)


async def test_a_file_that_was_cut_short_in_its_last_line_is_told(
    filled: Store, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    path.write_text(path.read_text(encoding="utf-8")[:-3], encoding="utf-8")
    with pytest.raises(StoreError, match="truncated after 3 rows"):
        check_archive(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not written by `ragstone runs export`"),
        (b'{"a": 1}\n', "not written by `ragstone runs export`"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_another_file_is_refused(store: Store, tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        import_(store, path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("id", text)
            for text in ("", "../../x", "last", "a\nb", "x.importing", "a/b", ".a", "-a")
        ),
        *(("started_at", text) for text in ("yesterday", "", "2026-01-01", "2026-01-01T00:00:00")),
        ("finished_at", "99999999999999999"),
    ],
)
def test_a_head_with_a_bad_id_or_time_is_refused(
    filled: Store, tmp_path: Path, key: str, value: str
) -> None:
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    head, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(head) | {key: value}), *rest, ""]))
    delete(filled, "r1")
    for take in (lambda: check_archive(path), lambda: import_(filled, path)):
        with pytest.raises(StoreError, match=r"is not a run id|is not a time"):
            take()


def rewrite(path: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    """Change the lines of a file; it has no checksum, as older versions wrote it."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    change(lines)
    lines[-1] = {"rows": len(lines) - 2}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def set_index(line: dict[str, object], index: int) -> None:
    line["body"] = json.dumps(json.loads(str(line["body"])) | {"index": index})


def drop_score(line: dict[str, object]) -> None:
    body = json.loads(str(line["body"]))
    del body["scores"]["hit@5"]
    line["body"] = json.dumps(body)


CONTRADICTIONS = {
    "contains 2 of the 3 rows": lambda lines: lines.pop(2),
    "contains 3 of the 4 rows": lambda lines: lines[0].update(rows=4),
    "line 4: the row's index 0 is repeated": lambda lines: set_index(lines[3], 0),
    "line 2: the row's index 1000000000 is .* too large": lambda lines: set_index(lines[1], 10**9),
    "line 2: the row's index -1 is": lambda lines: set_index(lines[1], -1),
    "line 3: the row's index 0 is .*out of order": lambda lines: lines.insert(2, lines.pop(1)),
    "line 3: the row's scores are not those": lambda lines: drop_score(lines[2]),
}


@pytest.mark.parametrize("said", CONTRADICTIONS)
async def test_a_file_whose_counts_contradict_its_rows_is_refused(
    filled: Store, tmp_path: Path, said: str
) -> None:
    """Line 7 of issue 18."""
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    delete(filled, "r1")
    rewrite(path, CONTRADICTIONS[said])
    with pytest.raises(StoreError, match=said):
        import_(filled, path)
    assert filled.runs() == []
    assert query(filled, "SELECT * FROM runs") == []


async def test_a_file_of_an_older_version_is_imported(filled: Store, tmp_path: Path) -> None:
    path, before = tmp_path / "run.jsonl", list(filled.load("r1").rows)
    export(filled, "r1", path)
    delete(filled, "r1")
    rewrite(path, lambda lines: lines[0].pop("rows"))
    import_(filled, path)
    assert list(filled.load("r1").rows) == before
    query(filled, "DELETE FROM rows WHERE place = 2")
    with pytest.raises(StoreError, match="run r1 has 2 of its 3 rows"):
        filled.load("r1")


async def test_a_changed_byte_of_a_file_is_noticed(filled: Store, tmp_path: Path) -> None:
    """Line 4 of issue 18."""
    path = tmp_path / "run.jsonl"
    export(filled, "r1", path)
    delete(filled, "r1")
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ("0.75", "0.25"),
        ('"threshold\\":0.8', '"threshold\\":0.6'),
        ("half", "calf"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        for take in (lambda: check_archive(path), lambda: import_(filled, path)):
            with pytest.raises(StoreError, match="damaged or changed; export the run again"):
                take()
    path.write_text(text * 2, encoding="utf-8")
    with pytest.raises(StoreError, match="damaged or changed"):
        check_archive(path)
    assert filled.runs() == []


def test_a_broken_archive_is_told(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 1000)[:30])
    with pytest.raises(StoreError, match="cannot be read"):
        import_(store, path)
    with pytest.raises(StoreError, match="there is no file"):
        import_(store, tmp_path / "nothing")


async def test_a_broken_row_is_told_by_its_line(filled: Store, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    query(filled, "UPDATE texts SET body = '{', checksum = NULL WHERE place = 2")
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
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written: "):
        export(store, "r1", tmp_path / "file" / "run.jsonl")


async def test_imports_at_the_same_time_leave_one_another_alone(
    filled: Store, make: SimpleNamespace, tmp_path: Path
) -> None:
    names = [f"r{number}" for number in range(2, 8)]
    for name in names:
        make.begin(filled, name)
        export(filled, name, tmp_path / name)
        delete(filled, name)
    for _ in range(3):
        imports = (asyncio.to_thread(import_, filled, tmp_path / name) for name in names)
        assert await asyncio.gather(*imports) == names
        assert sorted(info.id for info in filled.runs()) == ["r1", *names]
        for name in names:
            delete(filled, name)


IMPORTING = """
import sys
from pathlib import Path
from ragstone.store import Store, archive, import_

archive.check_file = lambda path: None  # a pipe, so that the test decides when it continues
with Store.open(sys.argv[1]) as store:
    import_(store, Path(sys.argv[2]))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_what_a_killed_import_left_is_no_run_and_is_cleared(
    store: Store, place: str, make: SimpleNamespace, tmp_path: Path
) -> None:
    asyncio.run(fill(store, make))
    path, pipe = tmp_path / "run.jsonl", tmp_path / "pipe.jsonl"
    export(store, "r1", path)
    delete(store, "r1")
    os.mkfifo(pipe)
    command = [sys.executable, "-c", IMPORTING, place, str(pipe)]
    with subprocess.Popen(command) as process, pipe.open("w") as file:
        file.writelines(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1])
        file.flush()
        while not rows(store):
            assert process.poll() is None
            time.sleep(0.01)
        with pytest.raises(StoreError, match="another process is importing run r1"):
            import_(store, path)
        process.kill()
    assert rows(store)
    assert store.runs() == []
    for name in ("last", "r1"):
        with pytest.raises(StoreError, match="contains no"):
            find_run(store, name)
    for _ in range(100):  # PostgreSQL takes a moment to see that nobody is there
        with suppress(StoreError):
            import_(store, path)
            break
        time.sleep(0.1)
    assert [(info.id, info.rows) for info in store.runs()] == [("r1", 450)]
    assert rows(store) == 450


async def fill(store: Store, make: SimpleNamespace) -> None:
    make.begin(store, "r1")
    async with store.open_writer("r1") as writer:
        for number in range(450):
            await writer.put(make.small_row(number))


def rows(store: Store) -> int:
    with store.connect() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM rows").scalar_one()
