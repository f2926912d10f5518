import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import polars
import pytest

from ragstone.datasets import load
from ragstone.datasets.formats.arrow import EXTRA, FIRST
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Context

FRAME = polars.DataFrame(
    {
        "user_input": ["q", "r"],
        "retrieved_contexts": [["a", "b"], None],
        "retrieved_context_ids": [[1, 2], None],
        "response": ["x", None],
        "level": [1, 2],
    }
)


def saved(folder: Path, *files: str) -> Path:
    """What `Dataset.save_to_disk` of Hugging Face makes of the frame, in as many files."""
    folder.mkdir()
    for number, name in enumerate(files):
        FRAME[number : number + 1].write_ipc_stream(folder / name)
    state = {"_data_files": [{"filename": name} for name in files], "_split": None}
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text("{}", encoding="utf-8")
    return folder


def write(frame: polars.DataFrame, path: Path) -> None:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".arrow":
        frame.write_ipc_stream(path)
    else:
        frame.write_ipc(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_a_file_of_columns(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(FRAME, path)
    first, second = load(path).samples
    assert first.contexts == (Context(text="a", id="1"), Context(text="b", id="2"))
    assert (first.response, first.tags) == ("x", {"level": 1})
    assert (second.response, second.contexts) == (None, None)
    assert len(load(path, limit=1).samples) == 1


def test_a_folder_that_hugging_face_saved(tmp_path: Path) -> None:
    names = ("data-00000-of-00002.arrow", "data-00001-of-00002.arrow")
    folder = saved(tmp_path / "tower", *names)
    loaded = load(folder)
    assert [sample.query for sample in loaded.samples] == ["q", "r"]
    assert loaded.source.name == "tower"
    content = b"".join((folder / name).read_bytes() for name in names)
    assert loaded.source.fingerprint == sha256(content).hexdigest()


def test_a_folder_of_splits_names_them(tmp_path: Path) -> None:
    saved(tmp_path / "test", "data.arrow")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["test"]}', encoding="utf-8")
    with pytest.raises(UsageError, match=f"has the splits test; name one: {tmp_path / 'test'}"):
        load(tmp_path)


def test_a_folder_that_is_not_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder; name a file in it, or a folder that"):
        load(tmp_path)
    with pytest.raises(UsageError, match="has no sheets; remove --sheet One"):
        load(tmp_path, sheet="One")


@pytest.mark.parametrize(
    "state",
    ["[]", "{}", '{"_data_files": []}', '{"_data_files": [{"filename": "../../a.arrow"}]}', "x"],
)
def test_a_state_that_names_no_files_of_its_folder(tmp_path: Path, state: str) -> None:
    saved(tmp_path / "d", "a.arrow")
    (tmp_path / "d" / "state.json").write_text(state, encoding="utf-8")
    with pytest.raises(InputError, match="does not list the data files"):
        load(tmp_path / "d")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff" + b"\1" * 50])
def test_damaged_columns_are_reported(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"cannot read the columns: |there are no rows"):
        load(path)


def test_half_a_file_is_reported(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2] + content[-20:])
    with pytest.raises(InputError, match="cannot read the columns"):
        load(tmp_path / "a.parquet")


def test_what_to_install_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr("ragstone.datasets.formats.arrow.find_spec", lambda _: None)
    with pytest.raises(
        UsageError, match=f"needs an extra: pip install '{EXTRA}'".replace("[", r"\[")
    ):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
def test_columns_of_more_rows_than_are_unpacked_at_first(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(polars.DataFrame({"query": [f"q{n}" for n in range(3 * FIRST)]}), path)
    assert [sample.query for sample in load(path).samples] == [f"q{n}" for n in range(3 * FIRST)]


def test_columns_that_are_too_large_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(polars.DataFrame({"query": [f"{n} {'x' * 1000}" for n in range(50 * FIRST)]}), path)
    assert path.stat().st_size < 1_000_000
    code = (
        "import sys, resource; from ragstone.datasets.formats import arrow as columnar; "
        "from ragstone.datasets import load\n"
        "load(sys.argv[2])\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "columnar.LARGEST = 1_000_000\n"
        "try: load(sys.argv[1])\n"
        "except Exception as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    FRAME.write_parquet(tmp_path / "small.parquet")
    arguments = (sys.executable, "-c", code, str(path), str(tmp_path / "small.parquet"))
    message = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    assert "its columns need more than 1,000,000 bytes" in message
    assert int(message.splitlines()[-1]) < 20_000  # KiB; unpacked they are 52 MB


def test_the_files_of_a_folder_have_to_fit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path / "tower", "a.arrow", "b.arrow")
    size = int(FRAME[:1].estimated_size())
    monkeypatch.setattr("ragstone.datasets.formats.arrow.LARGEST", size + size // 2)
    with pytest.raises(InputError, match=r"tower: 1 problem\n.*its columns need more than "):
        load(folder)
