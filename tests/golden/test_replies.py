"""Real replies of a strong model to questions about the demo's texts, and what they mean.

A line has the kind, the question, the reply, and the value that was read (None if it cannot be),
for verdicts also the number of each policy. `FREEZE=1 pytest tests/golden/test_replies.py` renews
values and numbers; read the difference before you commit it.
"""

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ragstone.errors import JudgeError
from ragstone.judges.llm.prompt import TASKS
from ragstone.judges.llm.replies import RawReply
from ragstone.types.policy import POLICIES, get_policy
from ragstone.types.questions import ExtractClaims, Question, adapter_of

FILE = Path(__file__).parent / "replies.jsonl.gz"


def lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]


LINES = lines()


def question(line: Mapping[str, Any]) -> Question[Any]:
    kinds = {each.kind: each for each in Question.__subclasses__()}
    return kinds[line["kind"]].model_validate(line["question"])


def read(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with what its reply means now."""
    asked, task = question(line), TASKS[line["kind"]]
    shown = tuple(task.texts(asked).values())
    try:
        value = asked.reply(task.parse(RawReply(line["reply"], shown), asked)).value
    except JudgeError:
        return {**line, "value": None}
    made = {**line, "value": adapter_of(asked.kind).dump_python(value, mode="json")}
    if asked.kind == "verify_claims":
        labels = [verdict.label for verdict in value]
        numbers = {name: get_policy(name).number(labels) for name in sorted(POLICIES)}
        made["numbers"] = {name: round(number, 6) for name, number in numbers.items()}
    return made


if "FREEZE" in os.environ:
    text = "\n".join(json.dumps(read(line), ensure_ascii=False) for line in LINES)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    LINES = lines()


@pytest.mark.parametrize("kind", sorted(TASKS))
def test_replies_mean_what_they_meant(kind: str) -> None:
    own = [line for line in LINES if line["kind"] == kind]
    assert own
    for line in own:
        assert read(line) == line


def test_most_replies_are_read_whole_and_their_quotes_are_found() -> None:
    read_ones = [line for line in LINES if line["value"] is not None]
    assert len(LINES) >= 200
    assert len(read_ones) >= 0.97 * len(LINES)
    lists = [line for line in read_ones if line["kind"] == ExtractClaims.kind and line["value"]]
    omitted = 0
    for line in lists:
        asked = question(line)
        omitted += bool(TASKS[line["kind"]].omitted(asked, asked.reply(line["value"]).value))
    assert omitted <= 0.06 * len(lists)
    verdicts = [each for line in LINES if line["kind"] == "verify_claims" for each in line["value"]]
    quotes = [quote["verified"] for verdict in verdicts for quote in verdict["evidence"]]
    assert quotes.count(True) >= 0.97 * len(quotes)
