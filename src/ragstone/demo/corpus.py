"""The demo's corpus: passages of a fictional phone's manuals, with paraphrases.

The service does not generate text: it answers with paraphrased lines. Some lines contain injected
errors, so it is known which sentences of its answers are wrong, and how.
"""

from enum import StrEnum
from functools import cache
from importlib.resources import files

import yaml

from ragstone._internal.fields import FrozenModel
from ragstone.datasets.formats.yaml import Loader


class Flaw(StrEnum):
    """The kind of an injected error."""

    WRONG_NUMBER = "wrong_number"
    CONTRADICTION = "contradiction"
    INVENTED_FEATURE = "invented_feature"


class Line(FrozenModel):
    """One sentence of a passage, and the service's version of it.

    Attributes:
        text: the sentence in the manual.
        paraphrase: the service's version; None if it uses `text`.
        error: the kind of error, if `paraphrase` is deliberately wrong.
    """

    text: str
    paraphrase: str | None = None
    error: Flaw | None = None

    @property
    def spoken(self) -> str:
        """The sentence that an answer shows."""
        return self.paraphrase or self.text


class Passage(FrozenModel):
    """One retrievable piece of a manual; `id` is its point id."""

    id: int
    source: str
    title: str
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """The passage as in the manual, without the title."""
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
