"""The demo's data set: questions about the corpus, as YAML and as the workbook made from it."""

from enum import StrEnum
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from ragstone.datasets.yaml_file import Loader

DATASET = Path(__file__).with_name("qr_smartphone_dataset.xlsx")
"""The workbook, made from `questions.yaml` by `scripts/make_demo_dataset.py`."""


class Difficulty(StrEnum):
    """How far a question's words are from those of its passages."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Entry(BaseModel):
    """One question; without point ids it is one that nothing in the corpus answers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    point_ids: tuple[int, ...]
    ground_truth_answer: str
    difficulty: Difficulty
    source_files: tuple[str, ...]


def entries() -> tuple[Entry, ...]:
    """Return every question, in the order of the workbook's rows."""
    text = files("ragstone.demo").joinpath("questions.yaml").read_text(encoding="utf-8")
    rows = yaml.load(text, Loader=Loader)  # noqa: S506 - ours is a SafeLoader
    return TypeAdapter(tuple[Entry, ...]).validate_python(rows)
