"""Judgments have a hash of their content."""

from pathlib import Path

from tests.cases import each_case

from ragstone.datasets.rankings.files import read_judgments

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"


def fingerprint(folder: Path, text: str) -> str:
    path = folder / "qrels"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return read_judgments(path, {}).fingerprint


@each_case(
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
    usual = fingerprint(tmp_path, QRELS)
    assert usual.startswith("ebf82049ac2e")
    assert fingerprint(tmp_path, changed) != usual
    how_it_is_written = QRELS.replace(" ", "\t").replace("\n", "\r\n")
    assert fingerprint(tmp_path, how_it_is_written) == usual
