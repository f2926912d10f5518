"""LocalSettings: what a local model's name says of how it is to be run and read."""

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone._internal.text import format_validation_errors
from ragstone.errors import UnknownNameError, UsageError
from ragstone.judges.spec import LOCAL

LENGTH = 512
"""Tokens of a pair where the model takes more and `length` says nothing: cost grows with it."""
ASK = "ask.txt"
"""The template of a folder for which `template` says nothing, where it has one."""

_PACE = {"batch", "threads", "device"}
"""What decides how fast the verdicts come."""


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalSettings(BaseModel):
    """How a local model is run and read.

    Attributes:
        labels: what the outputs mean, in their order, with `/` between; None: config.json says.
        threshold: the probability of support from which a claim is supported.
        head: `pair` judges the pair, `first` the same by its first token, `tokens` each token of
            the claim; None: as the outputs' shape says.
        output: the name of the output that is read, which is `logits` in most models.
        chances: whether that output is chances already, 0 to 1, and not logits.
        template: a file in the model's folder with `{context}` and `{claim}`, for models that
            take one text instead of a pair; None: `ask.txt`, where the folder has one.
        file: the ONNX file, in the model's folder.
        length: tokens of a context window and its claim together; None: as the model takes, at
            most 512.
        join: whether short contexts share a window. Apart, their order changes no verdict; joined,
            a claim may rest on two of them.
        batch: pairs in one run of the model; None: 16, or 1 where a pair's outputs hang on what
            else is in the run.
        threads: threads that one run uses; by default the cores there are.
        device: what the model runs on; `cuda` needs an onnxruntime that has it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: str | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    head: Literal["pair", "first", "tokens"] | None = None
    output: str = "logits"
    chances: bool = False
    template: str | None = None
    file: str | None = None
    length: Annotated[int, Field(ge=16)] | None = None
    join: bool = False
    batch: Annotated[int, Field(ge=1)] | None = None
    threads: Annotated[int, Field(ge=1)] = Field(default_factory=_cores)
    device: Literal["cpu", "cuda"] = "cpu"

    @classmethod
    def of(cls, said: Mapping[str, str]) -> "LocalSettings":
        """Read `name=value` options.

        Raises:
            UsageError: an option does not exist, or is out of its range.
        """
        if strange := sorted(said.keys() - cls.model_fields.keys()):
            raise UnknownNameError("option of a local judge", strange[0], cls.model_fields)
        try:
            return cls.model_validate(dict(said))
        except ValidationError as error:
            raise UsageError(f"a local judge's {format_validation_errors(error)}") from error

    def judge_name(self, model: str) -> str:
        """Return the judge's name: with what was said that shapes its verdicts, not its pace."""
        said = self.model_dump(include=self.model_fields_set - _PACE)
        words = {True: "yes", False: "no"}
        options = "".join(
            f",{name}={words[value] if isinstance(value, bool) else value}"
            for name, value in said.items()
            if value is not None
        )
        return f"{LOCAL}:{model}{options}"


# Libraries of the extra `local`, loaded when a local model is: nothing else needs them.


def library(
    package: Literal["onnxruntime", "tokenizers", "huggingface_hub"], name: str
) -> ModuleType:
    """Import a package of the extra, for the local judge of that name.

    Raises:
        UsageError: it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        said = f"the judge local:{name} needs an extra: pip install 'ragstone[local]'"
        raise UsageError(said) from error
