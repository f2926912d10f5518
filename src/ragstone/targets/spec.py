"""Descriptions of HTTP APIs in YAML: their calls, and the paths of the fields in their replies."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import quote

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError
from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator
from pydantic_core import ErrorDetails

from ragstone._internal.fields import FrozenModel, is_list, is_object
from ragstone._internal.secrets import remember
from ragstone._internal.text import describe_fault
from ragstone._internal.yaml import (
    NAME,
    VARIABLE,
    line_of,
    load_yaml,
    read_settings_file,
    variable_problems,
)
from ragstone.errors import InputError, Problem, nearest

Values = Mapping[str, object]

_FIELD = re.compile(rf"(?<!\$)\{{({NAME}(?:\.[^{{}}]+)?)\}}")
_EITHER = re.compile(rf"{VARIABLE.pattern}|{_FIELD.pattern}")
_ALMOST = re.compile(rf"(?<!\$)(\{{\{{\s*({NAME})\s*\}}\}}|\{{\s+({NAME})\s*\}}|\{{({NAME})\s+\}})")
"""`{{field}}` and `{ field }`, which stay as they are."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_LONG = re.compile("[A-Za-z0-9]{16,}")
_HOST = re.compile(r"[\w.-]+(:\d+)?(/.*)?")


def fields_in(value: object) -> list[str]:
    return [name for text in _texts(value) for name in _FIELD.findall(text)]


def fill(value: object, values: Values) -> object:
    """Fill `{field}`s and `${ENV}`s; a text that is one field becomes its value with its type."""

    def fill_text(text: str) -> object:
        if match := _FIELD.fullmatch(text):
            return values.get(match[1])
        return _fill(text, lambda name: _text(values.get(name)))

    return _map_texts(value, fill_text)


def fill_url(url: str, values: Values, *, base: str) -> str:
    """Percent-encode all fields except `{base}`, and add the query of the base at the end."""
    base, mark, query = fill_variables(base).partition("?")
    known = {name: quote(_text(value), safe="") for name, value in values.items()}
    whole = _fill(url, lambda name: {**known, "base": base.rstrip("/")}.get(name, ""))
    return f"{whole}{'&' if '?' in whole else '?'}{query}" if mark else whole


def fill_headers(headers: Mapping[str, str], values: Values) -> dict[str, str]:
    return {
        name: _CONTROL.sub(" ", _fill(text, lambda field: _text(values.get(field)))).strip()
        for name, text in headers.items()
    }


def fill_variables(text: str) -> str:
    return _fill(text, lambda name: f"{{{name}}}")


def _fill(text: str, field: Callable[[str], str]) -> str:
    """Fill fields and variables in one pass, so that filled values are never filled again."""
    return _EITHER.sub(
        lambda found: os.environ.get(found[1], "") if found[1] else field(found[2]), text
    )


def _text(value: object) -> str:
    return "" if value is None else str(value).encode("utf-8", "replace").decode("utf-8")


def _texts(value: object) -> list[str]:
    _map_texts(value, (found := list[str]()).append)
    return found


def _map_texts(value: object, change: Callable[[str], object]) -> object:
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {key: _map_texts(item, change) for key, item in value.items()}
    if is_list(value):
        return [_map_texts(item, change) for item in value]
    return value


ROW_FIELDS = tuple(  # of the row, of the settings, and a new session for each row
    "query messages id reference k min_similarity threshold session_id base tags.NAME".split()
)


def _path(expression: str) -> str:
    try:
        jmespath.search(expression, None)  # also finds functions that do not exist
    except JMESPathTypeError:
        pass  # it would fit a reply that is not null
    except JMESPathError as error:
        why = str(error).splitlines()[0].rstrip(":")
        raise ValueError(f"{expression!r} is not a valid JMESPath expression: {why}") from error
    return expression


def _web(address: str) -> str:
    if not fill_variables(address).lower().startswith(("http://", "https://", "{base}")):
        near = f"; did you mean http://{address}?" if _HOST.fullmatch(address) else ""
        raise ValueError(f"it must start with http:// or https://{near}")
    return address


def _names(*allowed: str) -> AfterValidator:
    def check(value: object) -> object:
        problems: list[str] = []
        for name in dict.fromkeys(fields_in(value)):
            if name in allowed or (name.startswith("tags.") and "tags.NAME" in allowed):
                continue
            near = nearest(name, allowed)
            use = f"did you mean {{{near}}}?" if near else f"use: {', '.join(allowed) or 'none'}"
            problems.append(f"{{{name}}} is not a field here; {use}")
        texts = _texts(value)
        for written, *names in (found for text in texts for found in _ALMOST.findall(text)):
            if (name := "".join(names)) in allowed:
                problems.append(f"{written} is not a placeholder; write {{{name}}}")
        problems += [each for text in texts for each in variable_problems(text)]
        if problems:
            raise ValueError("; ".join(dict.fromkeys(problems)))
        return value

    return AfterValidator(check)


JmesPath = Annotated[str, AfterValidator(_path)]
Url = Annotated[str, _names(*ROW_FIELDS), AfterValidator(_web)]
HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
Headers = Mapping[HeaderName, Annotated[str, _names(*ROW_FIELDS)]]


class CallDescription(FrozenModel):
    """One call: what is sent, and Sample field -> its JMESPath in the reply."""

    url: Url
    method: Literal["GET", "POST", "PUT"] = "POST"
    headers: Headers = Field(default_factory=dict)
    body: Annotated[JsonValue, _names(*ROW_FIELDS)] = None
    stream: Literal["sse"] | None = None
    reply: Annotated[
        Mapping[Literal["response", "contexts", "ranking"], JmesPath], Field(min_length=1)
    ]


class ApiDescription(FrozenModel):
    """An HTTP API; `health` is requested first, and a call's own headers take precedence."""

    base: Annotated[str, _names(), AfterValidator(_web)] | None = None
    health: Annotated[str, _names("base"), AfterValidator(_web)] | None = None
    headers: Headers = Field(default_factory=dict)
    verify_tls: bool = True
    proxy: Annotated[str, _names(), AfterValidator(_web)] | None = None
    calls: Annotated[Mapping[str, CallDescription], Field(min_length=1)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        fields = Counter(field for call in self.calls.values() for field in call.reply)
        used = ((name, number) for name, number in fields.items() if number > 1)
        problems = [f"{name} is used in {n} calls; use it in only one" for name, n in used]
        if self.base is None and "base" in fields_in(self.model_dump()):
            problems.append("a URL starts with {base}, but base is not set")
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def remember_secrets(self) -> None:
        """Variables in headers count as secrets, elsewhere those with letters mixed with digits."""
        remember(_map_texts(self.model_dump(), fill_variables))
        headers = [self.headers, *(call.headers for call in self.calls.values())]
        sent = VARIABLE.findall("\n".join(text for each in headers for text in each.values()))
        for name in VARIABLE.findall("\n".join(_texts(self.model_dump()))):
            if not (value := os.environ.get(name, "")).startswith("http"):
                runs = _LONG.findall(value)
                mixed = any(not run.isalpha() and not run.isdecimal() for run in runs)
                remember(value, "key", in_replies=name in sent or mixed)

    @classmethod
    def read(cls, path: Path) -> "ApiDescription":
        return cls.parse(read_settings_file(path), path.name)

    @classmethod
    def standard(cls, url: str) -> "ApiDescription":
        text = files("ragstone.targets").joinpath("rag_api.yaml").read_text(encoding="utf-8")
        return cls.parse(text, "the target's URL", base=url)

    @classmethod
    def parse(cls, text: str, name: str, *, base: str | None = None) -> "ApiDescription":
        root, data = load_yaml(text, name)
        if base is not None and is_object(data):
            data = {**data, "base": base}
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            problems = [
                Problem(
                    f"{'.'.join(map(str, place)) or 'the file'}: {seen}",
                    "" if ";" in seen else "see docs/connect.md for a complete file",
                    row=line_of(root, place),
                    unit="line",
                )
                for fault in error.errors()
                for place in [[part for part in fault["loc"] if part not in _UNWRITTEN]]
                for seen in [_describe(fault)]
            ]
            raise InputError(name, sorted(problems, key=lambda problem: problem.row or 0)) from None


_UNWRITTEN = ("[key]", "dict", "list")  # parts of Pydantic's places that are not in the file


def _describe(fault: ErrorDetails) -> str:
    """Return in plain words what is wrong. It quotes no text, because texts may be secrets."""
    kind, place = fault["type"], fault["loc"]
    given: object = fault["input"]
    is_key = place[-1:] == ("[key]",)
    known: Iterable[str] = ApiDescription.model_fields
    if kind == "literal_error":
        known = re.findall(r"'(.+?)'", fault.get("ctx", {})["expected"])
    elif place[:1] == ("calls",):
        known = CallDescription.model_fields
    if kind == "extra_forbidden" or (kind == "literal_error" and is_key):
        near = nearest(str(place[-2 if is_key else -1]), known)
        return "unknown key; " + (f"did you mean {near}?" if near else f"use: {', '.join(known)}")
    if kind == "literal_error":
        near = nearest(str(given), known)
        seen = f"got {given!r:.40}" + (f"; did you mean {near}?" if near else "")
        return f"expected {' or '.join(known)}, {seen}"
    if kind == "string_pattern_mismatch":
        return "the name of a header may contain letters, digits and hyphens only"
    if kind == "too_short":
        return "must have at least one entry"
    fix = "; put it in quotes" if kind == "string_type" and given is not None else ""
    return describe_fault(fault) + fix
