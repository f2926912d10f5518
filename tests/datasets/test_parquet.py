from contextlib import suppress
from io import BytesIO
from pathlib import Path

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets import load
from ragstone.datasets.formats.parquet import EXTRA, unpacked_size
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


def test_a_file_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    first, second = load(path).samples
    assert first.contexts == (Context(text="a", id="1"), Context(text="b", id="2"))
    assert (first.response, first.tags) == ("x", {"level": 1})
    assert (second.response, second.contexts) == (None, None)
    assert len(load(path, limit=1).samples) == 1


def test_a_folder_is_not_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a folder; name a file in it .*`to_parquet`"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff" + b"\1" * 50])
def test_damaged_columns_are_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
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
    monkeypatch.setattr("ragstone.datasets.formats.parquet.find_spec", lambda _: None)
    with pytest.raises(
        UsageError, match=f"needs an extra: pip install '{EXTRA}'".replace("[", r"\[")
    ):
        load(tmp_path / "a.parquet")


def test_columns_of_many_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    polars.DataFrame({"query": [f"q{n}" for n in range(3000)]}).write_parquet(path)
    assert [sample.query for sample in load(path).samples] == [f"q{n}" for n in range(3000)]


def test_columns_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is measured in tests/cli/test_limits.py."""
    monkeypatch.setattr("ragstone.datasets.formats.parquet.LARGEST", 50_000)
    polars.DataFrame({"query": ["x" * 1000] * 2000}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="its columns need more than 50,000 bytes"):
        load(tmp_path / "a.parquet")


def packed_columns(compression: str, height: int) -> bytes:
    """Write columns of all kinds, most of them texts."""
    frame = polars.concat([FRAME] * (height // 2 + 1))[:height].with_columns(
        nothing=None,
        truth=True,
        inner=polars.struct("user_input", "level"),
        category=polars.col("user_input").cast(polars.Categorical),
        text=polars.format("{} {}", polars.int_range(height), polars.lit("x" * 99)),
    )
    file = BytesIO()
    frame.write_parquet(file, compression=compression, row_group_size=300)
    return file.getvalue()


def test_the_unpacked_size_is_read_from_the_metadata() -> None:
    plain = packed_columns("uncompressed", 3000)
    size = unpacked_size(plain, value=0)
    assert 0.9 * len(plain) < size < len(plain)
    for compression in ("lz4", "zstd"):
        packed = packed_columns(compression, 3000)
        assert len(packed) < size / 2
        assert unpacked_size(packed, value=0) == pytest.approx(size, rel=0.01)
        assert unpacked_size(packed, value=1000) > 9 * 3000 * 1000
    assert unpacked_size(packed_columns("zstd", 0), value=9) < 999


@given(st.data())
def test_damaged_metadata_is_a_value_error(data: st.DataObject) -> None:
    content = bytearray(packed_columns("zstd", 100))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    del content[data.draw(st.integers(0, 2 * len(content))) :]
    with suppress(ValueError):
        assert unpacked_size(bytes(content), value=8) >= 0
