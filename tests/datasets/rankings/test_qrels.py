"""Judgments have a hash of their content."""

from pathlib import Path

import pytest

from ragstone.datasets.rankings.files import read_judgments

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"


def fingerprint(folder: Path, text: str) -> str:
    path = folder / "qrels"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_judgments(path, {}).fingerprint


@pytest.mark.parametrize(
    "changed",
    [
        QRELS.replace("q2", "q3"),
        QRELS.replace("c", "d"),
        QRELS.replace("b 0", "b 1"),
        QRELS.replace("q1 0 b", "q2 0 b"),
        QRELS + "q2 0 d 0\n",
        QRELS.replace("q2", "\ud83d"),
    ],
)
def test_whatever_is_judged_otherwise_has_another_fingerprint(changed: str, tmp_path: Path) -> None:
    assert fingerprint(tmp_path, changed) != fingerprint(tmp_path, QRELS)


def test_how_a_line_is_written_is_not_a_judgment(tmp_path: Path) -> None:
    wide = QRELS.replace(" ", "\t").replace("\n", "\r\n")
    assert fingerprint(tmp_path, wide) == fingerprint(tmp_path, QRELS)


def test_it_is_the_same_in_every_process(tmp_path: Path) -> None:
    assert fingerprint(tmp_path, QRELS).startswith("ebf82049ac2e")
