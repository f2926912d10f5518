"""The demo's corpus: passages of a fictional phone's manuals, and what the service says of them.

The service does not generate text: it says a passage's lines, mostly in other words. Some lines are
planted errors, so it is known which sentences of its answers are wrong, and in what way.
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, ConfigDict

from ragstone.datasets.formats.yaml import Loader


class Flaw(StrEnum):
    """In what way a planted sentence is wrong."""

    WRONG_NUMBER = "wrong_number"
    CONTRADICTION = "contradiction"
    INVENTED_FEATURE = "invented_feature"


class Line(BaseModel):
    """One sentence of a passage, and how the service puts it.

    Attributes:
        text: the sentence as it stands in the manual.
        said: the service's words for it; None says `text` itself.
        planted: set where `said` is deliberately wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    said: str | None = None
    planted: Flaw | None = None

    @property
    def spoken(self) -> str:
        """The sentence that an answer shows."""
        return self.said or self.text


class Passage(BaseModel):
    """One retrievable piece of a manual; `id` is its point id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    source: str
    title: str
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """The lines as they stand in the manual, without the title."""
        return " ".join(line.text for line in self.lines)


@cache
def corpus() -> tuple[Passage, ...]:
    """Return every passage, by id."""
    folder = files("ragstone.demo").joinpath("corpus")
    manuals = [
        yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506 - ours is a SafeLoader
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    ]
    passages = [
        Passage.model_validate({"source": manual["source"], **passage})
        for manual in manuals
        for passage in manual["passages"]
    ]
    return tuple(sorted(passages, key=lambda passage: passage.id))
