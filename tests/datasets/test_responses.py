"""Saved responses that say more of themselves than their rows do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.datasets import load
from ragstone.errors import UsageError

FILES = Path(__file__).parent / "files"
Write = Callable[[str, str], Path]


def test_saved_responses_to_one_question_are_told(tmp_path: Path) -> None:
    made = json.loads((FILES / "saved-responses.json").read_text(encoding="utf-8"))
    made["responses"] *= 2
    path = tmp_path / "responses.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    assert "repeated query_index: 0 (2 rows)" in load(path).source.notes


def test_a_collection_that_was_broken_off_is_no_data_yet(write: Write) -> None:
    with pytest.raises(UsageError, match="run the same `ragstone collect` command again"):
        load(write("a.json.part", "{}"))
