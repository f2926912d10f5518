"""A folder that examples/export_hhem.py wrote is judged as PyTorch judges the model it is of.

The model is tiny and of random weights, HHEM's class and its texts; `hhem/make.py` makes it.
"""

import ast
import asyncio
import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.model import LocalSettings
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims

FOLDER = Path(__file__).with_name("hhem")
SCRIPT = Path(__file__).parents[2] / "examples/export_hhem.py"
CASES = json.loads((FOLDER / "chances.json").read_text("utf-8"))
CLOSE = 1e-4


@each_case("batch", [1, 5, 16])
async def test_its_chances_are_those_of_pytorch(batch: int) -> None:
    questions = [VerifyClaims(claims=[each["claim"]], contexts=[each["context"]]) for each in CASES]
    async with EntailmentJudge(str(FOLDER), LocalSettings(batch=batch), download=False) as judge:
        replies = await asyncio.gather(*(judge.answer(question) for question in questions))
    assert len(replies) == 12
    for case, reply in zip(CASES, replies, strict=True):
        [verdict] = reply.value
        supported = case["supported"] >= 0.5
        assert verdict.label is (Label.SUPPORTED if supported else Label.NOT_ENOUGH_INFO)
        sure = case["supported"] if supported else 1 - case["supported"]
        assert verdict.confidence == pytest.approx(sure, abs=CLOSE)


def test_the_script_writes_what_the_folder_has() -> None:
    """It needs PyTorch, which is not here: its constants are read, and it is not run."""
    body = ast.parse(SCRIPT.read_text("utf-8")).body
    said = {
        each.targets[0].id: ast.literal_eval(each.value)
        for each in body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }
    assert (FOLDER / "ask.txt").read_text("utf-8") == said["ASK"]
    config = json.loads((FOLDER / "config.json").read_text("utf-8"))
    assert tuple(config["id2label"].values()) == said["LABELS"]
