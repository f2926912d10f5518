"""LocalSettings: the options in a local model's name."""

import os
from importlib import import_module
from types import ModuleType
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ragstone.errors import UsageError
from ragstone.judges.spec import JudgeOptions

MAX_LENGTH = 512
"""Tokens of a pair unless `length` is set, even if the model takes more: cost grows with length."""
TEMPLATE = "ask.txt"
"""The file in a model's folder that is its template unless `template` is set."""


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalSettings(JudgeOptions):
    """The options of a local model.

    Attributes:
        labels: the meaning of the outputs in order, separated by `/`; None: config.json names it.
        threshold: the probability of support from which a claim is supported.
        head: `pair` judges the pair, `first` the same from its first token, `tokens` each token of
            the claim; None: the shape of the output decides.
        output: the name of the output to read.
        probabilities: whether that output is probabilities instead of logits.
        template: a file in the model's folder with `{context}` and `{claim}`, for models that
            take one text instead of a pair; None: `ask.txt`, if the folder has one.
        file: the ONNX file, in the model's folder.
        length: tokens of a window and a claim together; None: the model's limit, at most 512.
        join: whether short contexts share a window. Without it, their order changes no verdict;
            with it, a claim may rest on two of them.
        batch: pairs per run; None: 16, or 1 if the outputs of a pair depend on the others.
        threads: threads per run; by default the available cores.
        device: the device; `cuda` needs an onnxruntime that has it.
    """

    judge: ClassVar[str] = "a local judge"
    speed: ClassVar[frozenset[str]] = frozenset({"batch", "threads", "device"})

    labels: str | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    head: Literal["pair", "first", "tokens"] | None = None
    output: str = "logits"
    probabilities: bool = False
    template: str | None = None
    file: str | None = None
    length: Annotated[int, Field(ge=16)] | None = None
    join: bool = False
    batch: Annotated[int, Field(ge=1)] | None = None
    threads: Annotated[int, Field(ge=1)] = Field(default_factory=_cores)
    device: Literal["cpu", "cuda"] = "cpu"


def library(
    package: Literal["onnxruntime", "tokenizers", "huggingface_hub"], name: str
) -> ModuleType:
    """Import a package of the extra `local`, for the local judge of that name.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise UsageError(
            f"the judge local:{name} needs an extra: pip install 'ragstone[local]'"
        ) from error
