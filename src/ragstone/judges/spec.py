"""How judges are named in one line: `A,B`, `A,threshold=0.7`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from pydantic import ValidationError

from ragstone._internal.fields import FrozenModel
from ragstone._internal.secrets import remember
from ragstone._internal.text import format_validation_errors
from ragstone.errors import UnknownNameError, UsageError

OFFLINE, LOCAL = "offline", "local"  # a name and a prefix, not providers

_BETWEEN = re.compile(r",(?!\s*[a-z_]+=)")


@dataclass(frozen=True)
class JudgeSpec:
    """One judge by name: `provider:model,option=value`; without `:`, the provider is ""."""

    provider: str
    model: str
    options: Mapping[str, str]

    @classmethod
    def of(cls, name: str) -> "JudgeSpec":
        head, *rest = name.split(",")
        options: dict[str, str] = {}
        for text in rest:
            option, _, value = (part.strip() for part in text.partition("="))
            if option in options:
                raise UsageError(f"judge {name}: {option}= is set twice")
            options[option] = value
        remember(options)
        provider, colon, model = head.partition(":")
        return cls(provider if colon else "", model if colon else head, MappingProxyType(options))


class JudgeOptions(FrozenModel):
    judge: ClassVar[str]
    speed: ClassVar[frozenset[str]] = frozenset()  # options that change no verdict

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        if unknown := sorted(options.keys() - cls.model_fields.keys()):
            raise UnknownNameError(f"option of {cls.judge}", unknown[0], cls.model_fields)
        try:
            return cls.model_validate(dict(options))
        except ValidationError as error:
            raise UsageError(f"{cls.judge}'s {format_validation_errors(error)}") from error

    def judge_name(self, name: str) -> str:
        words = {True: "yes", False: "no"}
        options = "".join(
            f",{name}={words[value] if isinstance(value, bool) else value}"
            for name, value in self.model_dump(include=self.model_fields_set - self.speed).items()
            if value is not None
        )
        return f"{name}{options}"


def split_names(names: str) -> list[str]:
    return [name.strip() for name in _BETWEEN.split(names)]


def is_model(name: str) -> bool:
    return name.partition(",")[0] != OFFLINE and not name.startswith(f"{LOCAL}:")


def is_free(names: str) -> bool:
    return not any(map(is_model, split_names(names)))


def check_model(name: str) -> None:
    hint = f"no model is named; pass its folder, as {LOCAL}:FOLDER" if name == LOCAL else ""
    if name.startswith("hf:"):
        hint = f"a model of the Hugging Face hub is named {LOCAL}:{name}"
    if hint:
        raise UsageError(f"judge {name}: {hint}")
    for option in JudgeSpec.of(name).options:
        raise UsageError(
            f"judge {name}: options such as {option}= are for local judges; LLMs have "
            "settings, such as temperature or max_tokens"
        )
