"""The demo's corpus, and its data set: questions about it, as YAML and as a workbook.

The corpus is passages of a fictional phone's manuals, with paraphrases. The service does not
generate text: it answers with paraphrased lines. Some lines contain injected errors, so it is known
which sentences of its answers are wrong, and how.
"""

from collections import defaultdict
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import write_text
from ragstone._internal.yaml import load_yaml
from ragstone.types.sample import Context, Sample


class Flaw(StrEnum):
    WRONG_NUMBER = "wrong_number"
    CONTRADICTION = "contradiction"
    INVENTED_FEATURE = "invented_feature"


class Line(FrozenModel):
    """A sentence of a manual, and the service's paraphrase; with an `error` it is wrong."""

    text: str
    paraphrase: str | None = None
    error: Flaw | None = None

    @property
    def spoken(self) -> str:
        return self.paraphrase or self.text


class Passage(FrozenModel):
    id: int  # its point id
    source: str
    title: str
    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


@cache
def corpus() -> tuple[Passage, ...]:
    folder = files("ragstone.demo").joinpath("corpus")
    manuals = [_read(file) for file in folder.iterdir() if file.name.endswith(".yaml")]
    passages = [
        Passage.model_validate({"source": manual["source"], **passage})
        for manual in manuals
        for passage in manual["passages"]
    ]
    return tuple(sorted(passages, key=lambda passage: passage.id))


def _read(file: Traversable) -> Any:
    return load_yaml(file.read_text(encoding="utf-8"), file.name)[1]


def write_manuals(folder: Path) -> None:
    sections: defaultdict[str, list[str]] = defaultdict(list)
    for passage in corpus():
        sections[Path(passage.source).stem].append(f"## {passage.title}\n\n{passage.text}\n")
    for name, parts in sections.items():
        title = name.replace("-", " ").capitalize()
        write_text(folder / f"{name}.md", "\n".join([f"# {title}\n", *parts]))


# made from `questions.yaml` by `scripts/make_demo_dataset.py`
DATASET = Path(__file__).with_name("qr_smartphone_dataset.xlsx")


class Entry(FrozenModel):
    query: str
    point_ids: tuple[int, ...]  # none: nothing in the corpus answers it
    ground_truth_answer: str
    difficulty: Literal["easy", "medium", "hard"]
    source_files: tuple[str, ...]


def grounded_samples() -> tuple[Sample, ...]:
    """Return each question that the manuals answer: its reference, its passages and two more."""
    passages = corpus()
    places = {passage.id: n for n, passage in enumerate(passages)}
    samples: list[Sample] = []
    for number, entry in enumerate(entries()):
        if not entry.point_ids:
            continue
        shown = [places[point] for point in entry.point_ids]
        shown += [(shown[-1] + step) % len(passages) for step in (1, 2)]
        contexts = tuple(Context(text=passages[n].text) for n in dict.fromkeys(shown))
        reference = entry.ground_truth_answer
        samples.append(
            Sample(id=f"demo-{number}", query=entry.query, reference=reference, contexts=contexts)
        )
    return tuple(samples)


def entries() -> tuple[Entry, ...]:
    rows = _read(files("ragstone.demo").joinpath("questions.yaml"))
    return TypeAdapter(tuple[Entry, ...]).validate_python(rows)
