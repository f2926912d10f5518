import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.datasets import load
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
def test_a_file_of_columns(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / name
    kind = polars.lit("k").cast(polars.Categorical)
    write(FRAME.with_columns(kind=kind, inner=polars.struct("level")), path)
    first, second = load(path).samples
    assert first.contexts == (Context(text="a", id="1"), Context(text="b", id="2"))
    assert first.response == "x"
    assert first.tags == {"level": 1, "kind": "k", "inner": '{"level":1}'}
    assert (second.response, second.contexts) == (None, None)
    assert len(load(path, limit=1).samples) == 1
    write(polars.DataFrame({"query": [f"q{n}" for n in range(1000)]}), path)
    assert [sample.query for sample in load(path).samples] == [f"q{n}" for n in range(1000)]
    monkeypatch.setattr("ragstone.datasets.arrow.unpacked_limit", lambda _: 50_000)
    write(polars.DataFrame({"query": ["x" * 1000] * 2000}), path)
    with pytest.raises(InputError, match="its columns need more than 50,000 bytes"):
        load(path)  # memory is measured in tests/cli/test_limits.py


def test_a_folder_that_hugging_face_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("data-00000-of-00002.arrow", "data-00001-of-00002.arrow")
    folder = saved(tmp_path / "tower", *names)
    monkeypatch.setattr("ragstone.datasets.arrow.LARGEST", 1500)  # of each file
    loaded = load(folder)
    assert [sample.query for sample in loaded.samples] == ["q", "r"]
    assert loaded.source.name == "tower"
    content = b"".join((folder / name).read_bytes() for name in names)
    assert loaded.source.fingerprint == sha256(content).hexdigest()


def test_a_folder_that_is_not_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder; name a file in it, or a folder that"):
        load(tmp_path)
    with pytest.raises(UsageError, match="has no sheets; remove sheet One"):
        load(tmp_path, sheet="One")
    saved(tmp_path / "test", "data.arrow")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["test"]}', encoding="utf-8")
    with pytest.raises(UsageError, match=f"has the splits test; name one: {tmp_path / 'test'}"):
        load(tmp_path)


@each_case(
    "state",
    ["[]", "{}", '{"_data_files": []}', '{"_data_files": [{"filename": "../../a.arrow"}]}', "x"],
)
def test_a_state_that_names_no_files_of_its_folder(tmp_path: Path, state: str) -> None:
    folder = tmp_path / "d"
    if not folder.exists():
        saved(folder, "a.arrow")
    (folder / "state.json").write_text(state, encoding="utf-8")
    with pytest.raises(InputError, match="does not list the data files"):
        load(folder)


def test_what_to_install_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    monkeypatch.setattr("ragstone._internal.plugins.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs an extra: pip install 'ragstone\[parquet\]'"):
        load(path)


@given(st.sampled_from([".parquet", ".arrow", ".feather"]), st.data())
def test_any_damage_is_reported_with_the_file(suffix: str, data: st.DataObject) -> None:
    frame = polars.concat([FRAME] * 50).with_columns(
        nothing=None,
        truth=True,
        inner=polars.struct("user_input", "level"),
        category=polars.col("user_input").cast(polars.Categorical),
        text=polars.format("{} {}", polars.int_range(100), polars.lit("x" * 99)),
    )
    with TemporaryDirectory() as folder, suppress(InputError):
        path = Path(folder) / f"a{suffix}"
        write(frame, path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        del content[data.draw(st.integers(0, 2 * len(content))) :]
        path.write_bytes(content)
        assert load(path).samples
