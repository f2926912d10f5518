"""What `ragstone collect` is tried on: questions, and targets of Python that note what is asked."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragstone.types.label import HumanLabel

QUESTIONS = (
    '{"query": "How long does the Tarn 4 charge to 50 percent?", "point_ids": [101], "level": 1}\n'
    '{"query": "Who built the tower?", "ground_truth": "A guild."}\n'
)

ANSWERS = [
    {
        "query": "How fast does it charge?",
        "response": "It charges to 50 percent in 35 minutes.",
        "contexts": [{"id": "a", "text": "The phone charges to 50 percent in 22 minutes."}],
        "relevance": ["a"],
    },
    {
        "query": "How heavy is it?",
        "response": "The phone weighs 180 grams.",
        "contexts": [{"id": "b", "text": "The phone weighs 180 grams."}],
        "relevance": ["c"],
    },
]
FAILING = """
from pathlib import Path

def ask(query):
    with Path("asked.txt").open("a") as file:
        file.write(query + "\\n")
    if query in Path("failing.txt").read_text().split():
        raise ValueError("an outage")
    return {"response": query, "contexts": ["c"]}
"""
"""Fails for the queries that a file names, and writes down what it was asked."""


def asked(folder: Path) -> list[str]:
    """What the target that fails was asked since it was looked at last."""
    file = folder / "asked.txt"
    queries = file.read_text(encoding="utf-8").split() if file.exists() else []
    file.unlink(missing_ok=True)
    return sorted(queries)


def json_lines(path: Path | str, rows: Iterable[object]) -> str:
    """Write a file of JSON lines; return its name."""
    Path(path).write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return Path(path).name


def label(run: str, place: int, *, value: bool, **other: Any) -> HumanLabel:
    """A blind label of a whole response, unless told otherwise, that was made now."""
    of_row = {"position": place, "sample_id": f"q{place}", "metric": "faithfulness", "claim": None}
    by = {"annotator": "ana", "at": datetime.now(UTC), "blind": True}
    return HumanLabel(run=run, value=value, **of_row | by | other)


def rows(path: Path, queries: str) -> str:
    """A file with a row for each letter."""
    return json_lines(path, [{"query": query} for query in queries])


def target(folder: Path, body: str, name: str) -> str:
    """A target of Python in a module of its own; modules stay imported, so names differ."""
    (folder / f"{name}.py").write_text(body, encoding="utf-8")
    return f"{name}:ask"
