"""The training of the offline judge, whole, on a few rows; and what ships is what it makes."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.judges.offline.matching import CONFLICTS, Features

pytest.importorskip("scipy", reason="scipy trains the weights: pip install 'ragstone[test]'")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = runpy.run_path(str(Path(__file__).with_name("labelled_rows.py")))
    folder = tmp_path_factory.mktemp("data")
    rows["write_rows"](folder)
    return folder


def trained(data: Path, out: Path, seed: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training.offline_judge", str(data), "--out", str(out)]
    paths = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
    pipes = {"capture_output": True, "text": True, "timeout": 250, "check": False}
    return subprocess.run(command, cwd=ROOT, env=environment, **pipes)


def test_two_trainings_write_the_same_weights_and_card(data: Path, tmp_path: Path) -> None:
    made: list[list[bytes]] = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        out.mkdir()
        run = trained(data, out, seed)
        assert run.returncode == 0, run.stderr
        made.append([(out / name).read_bytes() for name in ("weights.json", "MODEL_CARD.md")])
    assert made[0] == made[1]
    weights, card = json.loads(made[0][0]), made[0][1].decode()
    assert weights["offset"] + weights["first_person"] < -1
    assert weights["offset"] + weights["coverage"] + weights["anywhere"] > 1
    for each in (weights, json.loads(shipped())):  # more words never make a claim less likely
        assert each["coverage"] >= 0
        assert each["anywhere"] >= 0
        assert each["first_person"] <= 0
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
