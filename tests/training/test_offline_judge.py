"""The training of the offline judge, whole, on a few rows; and what ships is what it makes."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.judges.offline.matching import CONFLICTS, Features

pytest.importorskip("scipy", reason="scipy trains the weights: pip install 'ragstone[test]'")

ROOT = Path(__file__).parents[2]
FILES = ("weights.json", "MODEL_CARD.md")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = importlib.util.spec_from_file_location(
        "labelled_rows", Path(__file__).with_name("labelled_rows.py")
    )
    assert spec is not None
    assert spec.loader is not None
    rows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rows)
    folder = tmp_path_factory.mktemp("data")
    rows.write_rows(folder)
    return folder


def trained(data: Path, out: Path, seed: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training.offline_judge", str(data), "--out", str(out)]
    paths = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=250, check=False
    )


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """What two trainings wrote."""
    written = []
    for seed in ("1", "2"):
        out = tmp_path_factory.mktemp("out")
        run = trained(data, out, seed)
        assert run.returncode == 0, run.stderr
        written.append({name: (out / name).read_bytes() for name in FILES})
    return written


def test_two_trainings_write_the_same_bytes(made: list[dict[str, bytes]]) -> None:
    assert made[0] == made[1]


def test_the_weights_separate_true_from_false(made: list[dict[str, bytes]]) -> None:
    weights = json.loads(made[0]["weights.json"])
    assert weights["offset"] + weights["first_person"] < -1
    assert weights["offset"] + weights["coverage"] + weights["anywhere"] > 1


def test_more_words_never_make_a_claim_less_likely(made: list[dict[str, bytes]]) -> None:
    for written in (made[0]["weights.json"], shipped().encode()):
        weights = json.loads(written)
        assert weights["coverage"] >= 0
        assert weights["anywhere"] >= 0
        assert weights["first_person"] <= 0


def test_the_card_has_a_line_for_every_source_and_judge(made: list[dict[str, bytes]]) -> None:
    card = made[0]["MODEL_CARD.md"].decode()
    for name in ("begin", "defacto", "factcheck_gpt", "snli", "wice_dev"):
        assert f"| {name}: " in card
    for judge in ("judge", "plain overlap"):
        assert f"| {judge} |" in card


def test_a_file_that_is_not_the_manifests_is_refused(data: Path, tmp_path: Path) -> None:
    for path in data.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    manifest = json.loads((data / "MANIFEST.json").read_text("utf-8"))
    manifest["snli"]["sha256"] = "0" * 64
    (tmp_path / "MANIFEST.json").write_text(json.dumps(manifest), "utf-8")
    run = trained(tmp_path, tmp_path, "1")
    assert run.returncode == 2
    assert "snli.jsonl.gz has sha256" in run.stderr


def test_the_weights_in_the_package_are_for_its_features() -> None:
    names = ("offset", *Features._fields, *CONFLICTS, "balanced_accuracy")
    assert tuple(json.loads(shipped())) == names


def shipped() -> str:
    return (ROOT / "src/ragstone/judges/offline/weights.json").read_text("utf-8")
