"""Values inside objects, as columns where the user names them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.datasets import load
from ragstone.errors import UsageError
from ragstone.types.sample import Context

Write = Callable[[str, str], Path]
LANGFUSE = {"traceId": "t", "input": "q", "output": "a"}


@pytest.mark.parametrize("name", ["contexts", "metadata.contexts", "Metadata.Contexts"])
def test_a_part_of_the_metadata_may_be_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    record = {**LANGFUSE, "metadata": {"contexts": ["c"], "level": "easy"}}
    path.write_text(json.dumps(record), encoding="utf-8")
    sample = load(path, columns={"contexts": name}).samples[0]
    assert sample.contexts == (Context(text="c"),)
    assert sample.tags == {"traceId": "t", "level": "easy"}


def test_a_part_of_a_cell_may_be_named_however_deep(write: Write) -> None:
    path = write("a.csv", 'query,more\nq,"{""rag"": {""found"": [""c""], ""k"": 5}}"\nr,\n')
    first, second = load(path, columns={"contexts": "more.rag.found"}).samples
    assert first.contexts == (Context(text="c"),)
    assert (first.tags, second.contexts) == ({"more": '{"rag":{"k":5}}'}, None)
    with pytest.raises(UsageError, match=r"there is no column 'more\.rag\.lost'"):
        load(path, columns={"contexts": "more.rag.lost"})


def test_tags_and_metadata_of_langfuse_are_both_tags(write: Write) -> None:
    record = {**LANGFUSE, "tags": '["x"]', "metadata": '{"k": 1}'}
    cells = [",".join(record), ",".join('"' + v.replace('"', '""') + '"' for v in record.values())]
    tags = load(write("a.csv", "\n".join(cells))).samples[0].tags
    assert tags == {"traceId": "t", "tags": '["x"]', "k": 1}
