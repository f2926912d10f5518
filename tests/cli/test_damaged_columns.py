"""Damaged Parquet, Arrow and Feather files end with exit code 2 and the name of the file."""

import random
from pathlib import Path

import polars
import pytest
from tests.cli.conftest import Command

N = 40
DATA = polars.DataFrame(
    {
        "query": [f"question {place}" for place in range(N)],
        "response": ["It lasts 20 hours.", None] * (N // 2),
        "contexts": [["one", "two"], ["three"]] * (N // 2),
        "reference": ["It lasts 20 hours."] * N,
    }
)
RANKING = polars.DataFrame(
    [(f"q{n // 4}", f"d{n % 4}", 1.0 - n % 4, n % 3) for n in range(N)],
    schema=["query_id", "document_id", "score", "grade"],
    orient="row",
)
VALUES = (b"\xff\xfe", {"a": 1}, [{"a": 1}], [["a"]], [1, 2])
COMMANDS = {
    "validate {}": DATA,
    "run {} -m exact_match --no-store --no-export": DATA,
    "rank --qrels {} --ranking good.parquet": RANKING,
    "rank --qrels good.parquet --ranking {}": RANKING,
}
KINDS = (".parquet", ".arrow", ".feather")


def content(frame: polars.DataFrame, kind: str, folder: Path) -> bytes:
    path = folder / f"good{kind}"
    if kind == ".parquet":
        frame.write_parquet(path, compression="uncompressed")
    elif kind == ".arrow":
        frame.write_ipc_stream(path)
    else:
        frame.write_ipc(path)
    return path.read_bytes()


def check(ragstone: Command, command: str, name: str, codes: set[int], what: str) -> list[str]:
    """Return what is wrong with how a command reads a file."""
    done = ragstone(*command.format(name).split())
    clear = done.code != 2 or name in done.err
    is_fine = done.code in codes and clear and "Traceback" not in done.out + done.err
    return [] if is_fine else [f"{command} {what}: {done.code}: {done.err[-300:]}"]


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_bytes(ragstone: Command, command: str, tmp_path: Path) -> None:
    content(RANKING, ".parquet", tmp_path)
    choose, found = random.Random(command), list[str]()
    for kind in KINDS:
        good, name = content(COMMANDS[command], kind, tmp_path), f"bad{kind}"
        middle = len(good) // 3
        damaged = {
            "half": good[: len(good) // 2],
            "shorter chunk": good[:middle] + good[middle + 50 :],
            "end only": good[-200:],
        }
        for number in range(12 if kind == ".parquet" else 0):  # polars may abort on Arrow files
            changed = bytearray(good)
            for place in choose.sample(range(len(good)), 1 + number % 4):
                changed[place] ^= 1 << choose.randrange(8)
            damaged[f"flipped {number}"] = bytes(changed)
        content(RANKING, ".parquet", tmp_path)
        for what, bytes_ in damaged.items():
            (tmp_path / name).write_bytes(bytes_)
            codes = {0, 2} if "flipped" in what else {2}
            found += check(ragstone, command, name, codes, f"{kind} {what}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_columns_of_another_type(ragstone: Command, command: str, tmp_path: Path) -> None:
    frame, found = COMMANDS[command], list[str]()
    content(RANKING, ".parquet", tmp_path)
    for column in frame.columns:
        for value in VALUES:
            changed = frame.with_columns(polars.Series(column, [value] * N))
            changed.write_parquet(tmp_path / "changed.parquet")
            what = f"{column} {value!r}"
            found += check(ragstone, command, "changed.parquet", {0, 2}, what)
    assert not found, "\n".join(found)
