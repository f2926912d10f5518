"""LocalSettings: the options in a local model's name."""

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ragstone._internal.fields import FrozenModel
from ragstone._internal.text import format_validation_errors
from ragstone.errors import UnknownNameError, UsageError
from ragstone.judges.spec import LOCAL

MAX_LENGTH = 512
"""Tokens of a pair unless `length` is set, even if the model takes more: cost grows with length."""
TEMPLATE = "ask.txt"
"""The file in a model's folder that is its template unless `template` is set."""
_SPEED = {"batch", "threads", "device"}
"""Options that change no verdict."""


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalSettings(FrozenModel):
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

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "LocalSettings":
        """Read `name=value` options.

        Raises:
            UsageError: an option does not exist, or is out of its range.
        """
        if unknown := sorted(options.keys() - cls.model_fields.keys()):
            raise UnknownNameError("option of a local judge", unknown[0], cls.model_fields)
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            raise UsageError(f"a local judge's {format_validation_errors(error)}") from error

    def judge_name(self, model: str) -> str:
        """Return the judge's name, with the options that affect its verdicts."""
        words = {True: "yes", False: "no"}
        options = "".join(
            f",{name}={words[value] if isinstance(value, bool) else value}"
            for name, value in self.model_dump(include=self.model_fields_set - _SPEED).items()
            if value is not None
        )
        return f"{LOCAL}:{model}{options}"


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
