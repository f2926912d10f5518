"""Dataset: the samples to evaluate, and where they came from."""

from dataclasses import dataclass

from ragstone.plan import Source
from ragstone.samples import Sample


@dataclass(frozen=True)
class Dataset:
    """Samples in the order of the file's rows, each id once, and the file they came from."""

    samples: tuple[Sample, ...]
    source: Source
