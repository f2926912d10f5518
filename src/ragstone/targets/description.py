"""ApiDescription: an HTTP API in words of YAML: its calls, and where the answers stand in them."""

import os
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self, cast

import jmespath
import yaml
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from ragstone.errors import InputError, Problem, TargetError
from ragstone.messages import quoted
from ragstone.targets.templates import (
    fields_in,
    filled_variables,
    no_variables_in,
    variables_in,
)

ROW_FIELDS = ("query", "id", "reference", "k", "threshold", "session_id", "base", "tags.NAME")
"""What a `{field}` may name: the row's, the plan's, and a session of its own for each row."""


def _path(expression: str) -> str:
    try:
        jmespath.search(expression, None)  # finds functions that do not exist, too
    except JMESPathTypeError:
        pass  # it would fit a reply that is not null
    except JMESPathError as error:
        said = str(error).splitlines()[0].rstrip(":")
        raise ValueError(f"{expression!r} is no JMESPath: {said}") from error
    return expression


def _web(address: str) -> str:
    if not filled_variables(address).lower().startswith(("http://", "https://", "{base}")):
        raise ValueError("it has to begin with http:// or https://")
    return address


def _names(*allowed: str) -> AfterValidator:
    """Accept a template whose fields are these, and whose variables are set."""

    def check(value: object) -> object:
        problems = [
            f"{{{name}}} is no field here; there are: {', '.join(allowed) or 'none'}"
            for name in dict.fromkeys(fields_in(value))
            if name not in allowed and not (name.startswith("tags.") and "tags.NAME" in allowed)
        ]
        problems += [
            f"the environment variable {name} is not set"
            for name in dict.fromkeys(variables_in(value))
            if name not in os.environ
        ]
        problems += [f"{text} is no variable; write ${{NAME}}" for text in no_variables_in(value)]
        if problems:
            raise ValueError("; ".join(problems))
        return value

    return AfterValidator(check)


JmesPath = Annotated[str, AfterValidator(_path)]
Url = Annotated[str, _names(*ROW_FIELDS), AfterValidator(_web)]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
Headers = Mapping[HeaderName, Annotated[str, _names(*ROW_FIELDS)]]


class CallDescription(BaseModel):
    """One call: what is sent, and the Sample fields that its reply gives, by JMESPath."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Url
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: Headers = Field(default_factory=dict)
    body: Annotated[JsonValue, _names(*ROW_FIELDS)] = None
    stream: Literal["sse"] | None = None
    reply: Annotated[
        Mapping[Literal["response", "contexts", "ranking"], JmesPath], Field(min_length=1)
    ]


class ApiDescription(BaseModel):
    """An HTTP API: where it is, how to reach it, and its calls by name, in the order made.

    Attributes:
        base: what `{base}` stands for.
        health: asked first, once; an API that has none there (404, 405) is asked all the same.
        headers: sent with every request; a call's own go before them.
        proxy: an HTTP proxy's URL.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: Annotated[str, _names(), AfterValidator(_web)] | None = None
    health: Annotated[str, _names("base"), AfterValidator(_web)] | None = None
    headers: Headers = Field(default_factory=dict)
    verify_tls: bool = True
    proxy: Annotated[str, _names(), AfterValidator(_web)] | None = None
    calls: Annotated[Mapping[str, CallDescription], Field(min_length=1)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        fields = Counter(field for call in self.calls.values() for field in call.reply)
        problems = [
            f"{name} is given by {n} calls; name one" for name, n in fields.items() if n > 1
        ]
        if self.base is None and "base" in fields_in(self.model_dump()):
            problems.append("a URL begins with {base}, and there is no base: write one")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values of the variables it names: what no message may quote."""
        values = (os.environ.get(name, "") for name in variables_in(self.model_dump()))
        return tuple(value for value in values if value.strip())

    @classmethod
    def read(cls, path: Path) -> "ApiDescription":
        """Read a YAML file.

        Raises:
            TargetError: there is no such file.
            InputError: the file is no description of an API; all problems at once.
        """
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise TargetError(f"the target's file {path} cannot be read: {error}") from error
        return cls.parse(text, path.name)

    @classmethod
    def standard(cls, url: str) -> "ApiDescription":
        """Return the default API's description, at a URL."""
        text = files("ragstone.targets").joinpath("rag_api.yaml").read_text(encoding="utf-8")
        return cls.parse(text, "the target's URL", base=url)

    @classmethod
    def parse(cls, text: str, name: str, *, base: str | None = None) -> "ApiDescription":
        """Read the YAML text of a description; `name` is what messages call it.

        Raises:
            InputError: it is none; all problems at once.
        """
        try:
            said: object = yaml.safe_load(text)
            if base is not None and isinstance(said, dict):
                said = {**cast("dict[str, object]", said), "base": base}
            return cls.model_validate(said)
        except yaml.YAMLError as error:
            raise InputError(name, [Problem(f"this is no YAML: {quoted(str(error))}")]) from error
        except ValidationError as error:
            raise InputError(name, [_problem(fault) for fault in error.errors()]) from None


def _problem(fault: ErrorDetails) -> Problem:
    place = ".".join(str(part) for part in fault["loc"] if part not in ("[key]", "dict", "list"))
    said = fault["msg"].removeprefix("Value error, ")
    return Problem(f"{place or 'the file'}: {said}", "docs/targets.md shows a whole file")
