"""Files of generated questions."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.testsets.output import (
    check_replaceable,
    provenance_path,
    write_dataset,
)
from ragstone.types.sample import Sample

ROWS = [Sample(id="a", query="How long does the battery last?")]


def test_a_data_set_is_never_without_its_record(tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    provenance_path(out).mkdir()
    with pytest.raises(UsageError):
        write_dataset(ROWS, out, {"questions": 1})
    assert not out.exists()
    provenance_path(out).rmdir()
    write_dataset(ROWS, out, {"questions": 1})
    record = json.loads(provenance_path(out).read_text(encoding="utf-8"))
    assert record["sha256"] == sha256(out.read_bytes()).hexdigest()
    assert check_replaceable(out) == 1
