"""A promptfooconfig.yaml as samples and the settings of a run."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import cast

import yaml

from ragstone._internal.text import count
from ragstone._internal.yaml import Loader
from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.promptfoo import field_of, record_of
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
from ragstone.integrations.promptfoo.asserts import (
    INSTEAD,
    METRICS,
    NOTHING,
    AssertRequirements,
    Thing,
    assertion_problems,
    demands_of,
    expected_by,
    grading_problems,
    part,
    supported,
    unknown_keys,
)
from ragstone.types.row import TEST_FAILED, Row

KEYS = (
    *("prompts", "providers", "defaultTest", "tests", "grading", "ragas"),
    *("description", "$schema", "outputPath", "sharing", "evaluateOptions", "commandLineOptions"),
)
"""Keys of a configuration; those in the second line affect no score."""
TEST = ("vars", "assert", "options", "providerOutput", "description", "metadata")
TEST_UNSUPPORTED = ("provider", "providers", "prompts", "threshold", "assertScoringFunction")
"""Keys of a test that only promptfoo supports; a test that is skipped may have them."""
OPTIONS = ("provider", "disableVarExpansion", "disableDefaultAsserts")
ECHO = "echo"
NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")

_SUFFIXES = (".yaml", ".yml", ".json")
_KEYS = re.compile(r"""^\s*\{?\s*["']?(prompts|tests|defaultTest)["']?[ \t]*:""", re.MULTILINE)
_NAMES = re.compile(r'"(prompts|tests|defaultTest)"')
_PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


@dataclass(frozen=True)
class Configuration:
    """The samples of a configuration, and what its assertions require.

    Attributes:
        demands: what all tests require together; a run evaluates these.
        own: id of a sample -> what its test requires.
    """

    dataset: Dataset
    demands: AssertRequirements
    own: Mapping[str, AssertRequirements]

    def finish(self, row: Row) -> Row:
        """Return a scored row without the scores that only other tests assert.

        If its test fails, a note names the metrics that fail it.
        """
        row = self.demands.without_other_scores(row, self.own[row.sample.id])
        failing = self.failing(row)
        notes = (*row.notes, TEST_FAILED + ", ".join(failing)) if failing else row.notes
        return replace(row, notes=notes)

    def failing(self, row: Row) -> list[str]:
        return self.demands.failing(row.scores, self.own[row.sample.id])


def is_configuration(path: str | Path) -> bool:
    """Return whether a file is a configuration, by its name or its content.

    A configuration is YAML or JSON with `defaultTest`, `prompts` and `providers`, or `tests` that
    have `prompts` beside them or `vars` or `assert` in them. A file that cannot be read is not one;
    reading it as data reports the error.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    if path.name in NAMES:
        return True
    try:
        file = File.at(path)
        text = file.text()
        likely = _NAMES.search(text) if file.suffix == ".json" else _KEYS.search(text)
        whole = _parse(file) if likely else None
    except RagstoneError:
        return False
    given = cast("Thing", whole) if isinstance(whole, Mapping) else NOTHING
    tests = _listed(given.get("tests"))
    filled = [cast("Thing", test) for test in tests if isinstance(test, Mapping)]
    return (
        "defaultTest" in given
        or ("prompts" in given and ("tests" in given or "providers" in given))
        or any("vars" in test or "assert" in test for test in filled)
    )


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration that contains its responses.

    These are echoed prompts, `providerOutput`, or, without providers, a var such as `answer`.
    Supports inline prompts, vars, `defaultTest`, four assertion types, `grading` and `ragas`. As in
    promptfoo, each test and prompt is one sample, and a var that is a list becomes one test per
    item. Tests without a supported assertion are skipped, with a note.
    """
    file = File.at(Path(path))
    try:
        return _read(_object(_parse(file), file.name), file.name)
    except InputError:
        raise
    except UsageError as error:
        raise InputError(file.name, [Problem(str(error))]) from error


def _read(whole: Thing, name: str) -> Configuration:
    prompts, tests = _several(whole, "prompts"), _tests(whole, name)
    scored = {test.at: test for test in tests if supported(test.assertions)}
    if not scored:
        names = ", ".join(METRICS)
        raise UsageError(f"none of the assertions can be scored; supported types: {names}")
    demands, own = demands_of(
        {at: test.assertions for at, test in scored.items()},
        whole=whole,
        graders=[test.options.get("provider") for test in scored.values()],
    )
    if skipped := len(tests) - len(scored):
        note = (
            f"{skipped} of {count(len(tests), 'test')} have no supported assertion and were skipped"
        )
        demands = replace(demands, notes=(note, *demands.notes))

    records: list[dict[str, object]] = []
    asserted: dict[str, AssertRequirements] = {}
    done = 0
    for test in tests:
        if test.at not in scored:
            done += len(test.expanded()) * max(1, len(prompts))
            continue
        for record in test.records(prompts):
            done += 1
            records.append({**record, "id": str(done)})
            asserted[str(done)] = own[test.at]
    return Configuration(samples_of(records, name=name), demands, asserted)


def _tests(whole: Thing, name: str) -> "list[_Test]":
    problems = list(unknown_keys(whole, KEYS, "the configuration"))
    for block in ("ragas", "grading"):
        problems += grading_problems(whole, block)
    default = part(whole, "defaultTest")
    problems += _problems(default, "defaultTest")
    given = whole.get("tests")
    if given is not None and not isinstance(given, list):
        raise UsageError(f"tests in a separate file are not supported; {INSTEAD}")
    providers = _several(whole, "providers")
    tests: list[_Test] = []
    for place, item in enumerate(cast("list[object]", given or [{}]), 1):
        at = f"test {place}"
        try:
            tests.append(test := _Test.of(at, _object(item, at), default, providers))
        except UsageError as error:
            problems.append(f"{at}: {error}")
            continue
        types = {str(one.get("type")).removeprefix("not-") for one in test.assertions}
        if types.isdisjoint(METRICS):
            problems += unknown_keys(test.given, (*TEST, *TEST_UNSUPPORTED), at)
            for one in _assertions(test.given):
                problems += assertion_problems(one, at)
        else:
            problems += _problems(test.given, at)
    if problems:
        raise InputError(name, [Problem(problem) for problem in dict.fromkeys(problems)])
    return tests


@dataclass(frozen=True)
class _Test:
    """One test, merged with the default test; `at` is its place, `given` the test as written."""

    at: str
    given: Thing
    variables: Thing
    options: Thing
    assertions: Sequence[Thing]
    output: object
    providers: Sequence[str]

    @classmethod
    def of(cls, at: str, test: Thing, default: Thing, providers: Sequence[str]) -> "_Test":
        options = {**part(default, "options"), **part(test, "options")}
        shared = [] if options.get("disableDefaultAsserts") else _assertions(default)
        return cls(
            at=at,
            given=test,
            variables={**part(default, "vars"), **part(test, "vars")},
            options=options,
            assertions=[*shared, *_assertions(test)],
            output=test.get("providerOutput", default.get("providerOutput")),
            providers=providers,
        )

    def records(self, prompts: Sequence[str]) -> Iterator[dict[str, object]]:
        expected = expected_by(self.assertions, self.at)
        for variables in self.expanded():
            for prompt in prompts or ("",):
                record = record_of(variables, *self._answered(prompt, variables))
                if expected is not None:
                    record = {k: v for k, v in record.items() if field_of(k) != "reference"}
                    record["reference"] = _filled(expected, variables)
                yield record

    def _answered(self, prompt: str, variables: Thing) -> tuple[object, str]:
        output = self.output
        if output is None and not self.providers:
            answers = [name for name in variables if field_of(name) == "response"]
            if len(answers) != 1:
                raise UsageError(
                    f"{self.at} has no response: add providerOutput, or one var such as answer; or "
                    f"{INSTEAD}"
                )
            output = variables[answers[0]]
        if output is None and self.providers != [ECHO]:
            raise UsageError(
                f"{self.at}: only provider {ECHO} and providerOutput are supported; {INSTEAD}"
            )
        if output is None and not prompt:
            raise UsageError(f"{self.at}: provider {ECHO} repeats the prompt, but prompts is empty")
        if output is not None and "query" in map(field_of, variables):
            return output, ""
        asked = _filled(prompt, variables)
        return asked if output is None else output, asked

    def expanded(self) -> list[Thing]:
        if self.options.get("disableVarExpansion"):
            return [self.variables]
        choices: list[list[object]] = []
        for value in self.variables.values():
            items = _listed(value)
            plain = items and not any(isinstance(item, list | Mapping) for item in items)
            choices.append(items if plain else [value])
        return [dict(zip(self.variables, chosen, strict=True)) for chosen in product(*choices)]


def _problems(test: Thing, at: str) -> Iterator[str]:
    yield from unknown_keys(test, TEST, at)
    yield from unknown_keys(part(test, "options"), OPTIONS, f"options of {at}")
    for one in _assertions(test):
        yield from assertion_problems(one, at)
    for name, value in part(test, "vars").items():
        texts = [text for text in _listed(value) if isinstance(text, str)]
        if any(_TEMPLATE.search(text) or text.startswith("file://") for text in texts):
            yield f"{at}: the var {name} is a template or a file, which is not supported; {INSTEAD}"


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _parse(file: File) -> object:
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"{file.name}: a configuration must be YAML or JSON; {INSTEAD}")
    text, is_json = file.text(), file.suffix == ".json"
    try:
        if is_json:
            return cast("object", json.loads(text))
        return cast("object", yaml.load(text, Loader=Loader))  # noqa: S506 - ours is a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        kind = "JSON" if is_json else "YAML"
        raise InputError(file.name, [Problem(f"invalid {kind}: {error}")]) from error


def _assertions(test: Thing) -> list[Thing]:
    return [_object(item, "an assertion") for item in _listed(test.get("assert") or [])]


def _several(whole: Thing, name: str) -> list[str]:
    items = _listed(whole[name]) if whole.get(name) is not None else []
    if not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}: expected a string or a list of strings; {INSTEAD}")
    texts = [str(item) for item in items]
    if odd := [text for text in texts if name == "prompts" and text.startswith("file://")]:
        raise UsageError(f"the prompt {odd[0]} is a file, which is not supported; {INSTEAD}")
    return texts


def _filled(template: str, variables: Thing) -> str:
    def written(match: re.Match[str]) -> str:
        value = variables.get(match[1])
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if isinstance(value, list | Mapping):
            raise UsageError(f"a prompt uses a var that is a list or an object; {INSTEAD}")
        return "" if value is None else str(value)

    filled = _PLACE.sub(written, template)
    if _TEMPLATE.search(_PLACE.sub("", template)):
        raise UsageError(f"{template!r:.60}: only {{{{NAME}}}} is supported; {INSTEAD}")
    return filled


def _object(given: object, name: str) -> Thing:
    if not isinstance(given, Mapping):
        raise UsageError(f"{name}: expected a mapping, got a {type(given).__name__}")
    return cast("Thing", given)
