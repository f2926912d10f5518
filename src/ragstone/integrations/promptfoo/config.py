"""A promptfooconfig.yaml as samples and the settings of a run."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import cast

import yaml

from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.adapters.promptfoo import field_of, record_of
from ragstone.datasets.formats.yaml import Loader
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
from ragstone.integrations.promptfoo.asserts import (
    AssertRequirements,
    Thing,
    demands_of,
    expected_by,
    part,
)

READ = ("prompts", "providers", "defaultTest", "tests", "ragas")
SILENT = (
    "description",
    "$schema",
    "outputPath",
    "sharing",
    "evaluateOptions",
    "commandLineOptions",
)
"""Keys that are ignored because they affect no score."""
TEST = ("vars", "assert", "options", "providerOutput", "description", "metadata")
OPTIONS = ("provider", "disableVarExpansion", "disableDefaultAsserts")
ECHO = "echo"
NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")

_SUFFIXES = (".yaml", ".yml", ".json")
_PROMPTS = re.compile(r"""^["']?prompts["']?[ \t]*:""", re.MULTILINE)
_PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_INSTEAD = "run `promptfoo eval -o results.json` and pass results.json to ragstone"


@dataclass(frozen=True)
class Configuration:
    """The samples of a configuration, and what its assertions require."""

    dataset: Dataset
    demands: AssertRequirements


def is_configuration(path: str | Path) -> bool:
    """Return whether a file is a configuration, by its name or its content.

    A configuration is YAML or JSON with `prompts` and with `tests` or `providers`. A file that
    cannot be read is not one; reading it as data reports the error.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    if path.name in NAMES:
        return True
    try:
        file = File.read(path)
        text = file.text()
        likely = '"prompts"' in text if file.suffix == ".json" else _PROMPTS.search(text)
        whole = _parse(file) if likely else None
    except RagstoneError:
        return False
    names = set(cast("Thing", whole)) if isinstance(whole, Mapping) else set[str]()
    return "prompts" in names and not names.isdisjoint(("tests", "providers"))


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration that contains its responses: echoed prompts, or `providerOutput`.

    Supports inline prompts, the provider `echo`, vars, `defaultTest`, four assertion types,
    `grading` and `ragas`. As in promptfoo, each test and prompt is one sample, and a var that is
    a list becomes one test per item.

    Raises:
        UsageError: the file uses something unsupported; the message explains what to do.
        InputError: it is not valid YAML or JSON, or a test's vars are not a valid sample.
    """
    file = File.read(Path(path))
    whole = _object(_parse(file), file.name)
    _only(whole, (*READ, *SILENT), "the configuration")
    tests = list(_tests(whole))
    demanded = {test.demands for test in tests}
    if len(demanded) > 1:
        raise UsageError(
            f"{file.name}: tests have different assertions, but a run scores all rows the same "
            f"way; move the assertions to defaultTest, or {_INSTEAD}"
        )
    records = [record for test in tests for record in test.records(_prompts(whole))]
    numbered = [{**record, "id": str(number)} for number, record in enumerate(records, 1)]
    return Configuration(samples_of(numbered, name=file.name), tests[0].read)


@dataclass(frozen=True)
class _Test:
    """One test, merged with the default test."""

    variables: Thing
    options: Thing
    output: object
    echoes: bool
    expected: str | None
    read: AssertRequirements

    @property
    def demands(self) -> str:
        """A key that is equal for equal assertions."""
        return repr(self.read)

    def records(self, prompts: Sequence[str]) -> Iterator[dict[str, object]]:
        """Return a row for each combination of the variables, and each prompt."""
        for variables in self._expanded():
            for prompt in prompts:
                record = record_of(variables, *self._answered(prompt, variables))
                if self.expected is not None:
                    record = {k: v for k, v in record.items() if field_of(k) != "reference"}
                    record["reference"] = _filled(self.expected, variables)
                yield record

    def _answered(self, prompt: str, variables: Thing) -> tuple[object, str]:
        """Return the response, and the filled prompt if there is no query."""
        if self.output is None and not self.echoes:
            raise UsageError(f"only provider {ECHO} and providerOutput are supported; {_INSTEAD}")
        if self.output is not None and "query" in map(field_of, variables):
            return self.output, ""
        asked = _filled(prompt, variables)
        return asked if self.output is None else self.output, asked

    def _expanded(self) -> Iterator[Thing]:
        if self.options.get("disableVarExpansion"):
            yield self.variables
            return
        choices = (_choices(value) for value in self.variables.values())
        for chosen in product(*choices):
            yield dict(zip(self.variables, chosen, strict=True))


def _choices(value: object) -> Sequence[object]:
    items = _listed(value)
    plain = all(not isinstance(item, list | Mapping) for item in items)
    return items if plain and items else [value]


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _parse(file: File) -> object:
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"{file.name}: a configuration must be YAML or JSON; {_INSTEAD}")
    text, is_json = file.text(), file.suffix == ".json"
    try:
        return cast("object", json.loads(text) if is_json else _yaml(text))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        kind = "JSON" if is_json else "YAML"
        raise InputError(file.name, [Problem(f"invalid {kind}: {error}")]) from error


def _yaml(text: str) -> object:
    loader = Loader(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _tests(whole: Thing) -> Iterator[_Test]:
    default = _object(whole.get("defaultTest") or {}, "defaultTest")
    given = whole.get("tests")
    if given is not None and not isinstance(given, list):
        raise UsageError(f"tests in a separate file are not supported; {_INSTEAD}")
    names = _several(whole.get("providers"), "providers")
    for number, item in enumerate(_listed(cast("object", given) or {}), 1):
        yield _test(_object(item, f"test {number}"), default, whole, f"test {number}", names)


def _test(test: Thing, default: Thing, whole: Thing, at: str, providers: list[str]) -> _Test:
    for one, name in ((test, at), (default, "defaultTest")):
        _only(one, TEST, name)
        _only(part(one, "options"), OPTIONS, f"options of {name}")
    variables = {**part(default, "vars"), **part(test, "vars")}
    for name, value in variables.items():
        texts = [text for text in _listed(value) if isinstance(text, str)]
        if any(_TEMPLATE.search(text) or text.startswith("file://") for text in texts):
            raise UsageError(
                f"{at}: the var {name} is a template or a file, which is not supported; {_INSTEAD}"
            )
    options = {**part(default, "options"), **part(test, "options")}
    shared = [] if options.get("disableDefaultAsserts") else _assertions(default)
    assertions = [*shared, *_assertions(test)]
    return _Test(
        variables=variables,
        options=options,
        output=test.get("providerOutput", default.get("providerOutput")),
        echoes=providers == [ECHO],
        expected=expected_by(assertions, at),
        read=demands_of(assertions, whole=whole, grader=options.get("provider")),
    )


def _assertions(test: Thing) -> list[Thing]:
    return [_object(item, "an assertion") for item in _listed(test.get("assert") or [])]


def _prompts(whole: Thing) -> list[str]:
    prompts = _several(whole.get("prompts"), "prompts")
    if odd := [prompt for prompt in prompts if prompt.startswith("file://")]:
        raise UsageError(f"the prompt {odd[0]} is a file, which is not supported; {_INSTEAD}")
    return prompts


def _several(given: object, name: str) -> list[str]:
    items = _listed(given)
    if not items or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}: expected a string or a list of strings; {_INSTEAD}")
    return [str(item) for item in items]


def _filled(template: str, variables: Thing) -> str:
    """Fill in a prompt; a missing variable is empty."""
    filled = _PLACE.sub(lambda match: _written(variables.get(match[1])), template)
    if _TEMPLATE.search(_PLACE.sub("", template)):
        raise UsageError(f"{template!r:.60}: only {{{{NAME}}}} is supported; {_INSTEAD}")
    return filled


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | Mapping):
        raise UsageError(f"a prompt uses a var that is a list or an object; {_INSTEAD}")
    return "" if value is None else str(value)


def _object(given: object, name: str) -> Thing:
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}: expected a mapping, got a {type(given).__name__}")
    return cast("Thing", given)


def _only(given: Thing, known: Sequence[str], name: str) -> None:
    if unknown := [key for key in given if key not in known]:
        raise UsageError(f"{name}: unsupported: {', '.join(unknown)}; {_INSTEAD}")
