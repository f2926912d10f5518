"""Configuration: what a promptfooconfig.yaml asks for, as samples and the settings of a run."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import cast

import yaml

from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.adapters.promptfoo import field_of, record_of
from ragstone.datasets.formats.yaml import Loader
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UnknownNameError, UsageError
from ragstone.evaluation.config_file import Config, model_names, read_config
from ragstone.integrations.promptfoo.asserts import Demands, Thing, demands_of, expected_by, part
from ragstone.metrics import ClaimMetric, Metric, select
from ragstone.types.config import ClaimPlan, JudgePlan, Plan
from ragstone.types.policy import get_policy

READ = ("prompts", "providers", "defaultTest", "tests", "ragas")
SILENT = (
    "description",
    "$schema",
    "outputPath",
    "sharing",
    "evaluateOptions",
    "commandLineOptions",
)
"""Keys that change no number here."""
TEST = ("vars", "assert", "options", "providerOutput", "description", "metadata")
OPTIONS = ("provider", "disableVarExpansion", "disableDefaultAsserts")
ECHO = "echo"
NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")

_SUFFIXES = (".yaml", ".yml", ".json")
_PROMPTS = re.compile(r"""^["']?prompts["']?[ \t]*:""", re.MULTILINE)
_PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_INSTEAD = "run `promptfoo eval -o results.json` and give ragstone results.json"


@dataclass(frozen=True)
class Configuration:
    """The samples of a configuration, under its file's name, and what is demanded of each."""

    dataset: Dataset
    demands: Demands


def is_configuration(path: str | Path) -> bool:
    """Tell whether a file is a configuration: by its name, or by what it holds.

    That is YAML or JSON with `prompts`, and `tests` or `providers` beside them. What cannot be
    read is none; whoever reads it as data says why.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    if path.name in NAMES:
        return True
    try:
        file = File.read(path)
        text = file.text()
        told = '"prompts"' in text if file.suffix == ".json" else _PROMPTS.search(text)
        whole = _parsed(file) if told else None
    except RagstoneError:
        return False
    names = set(cast("Thing", whole)) if isinstance(whole, Mapping) else set[str]()
    return "prompts" in names and not names.isdisjoint(("tests", "providers"))


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration whose responses are in it: echoed prompts, or each `providerOutput`.

    Read are prompts written in the file, the provider `echo`, vars, `defaultTest`, assertions of
    four types, `grading` and `ragas`. One sample is made for each test and prompt, as promptfoo
    does; a var that is a list makes a test of each item.

    Raises:
        UsageError: the file holds what cannot be read here; the message says what to do.
        InputError: it is no YAML or JSON, or a test's vars make no sample.
    """
    file = File.read(Path(path))
    whole = _object(_parsed(file), file.name)
    _only(whole, (*READ, *SILENT), "the configuration")
    tests = list(_tests(whole))
    demanded = {test.demands for test in tests}
    if len(demanded) > 1:
        raise UsageError(
            f"{file.name}: tests are asserted differently, and a run scores all rows alike; put "
            f"the assertions into defaultTest, or {_INSTEAD}"
        )
    records = [record for test in tests for record in test.records(_prompts(whole))]
    numbered = [{**record, "id": str(number)} for number, record in enumerate(records, 1)]
    return Configuration(samples_of(numbered, name=file.name), tests[0].read)


@dataclass(frozen=True)
class _Test:
    """One test, with what the default test adds to it."""

    variables: Thing
    options: Thing
    output: object
    echoes: bool
    expected: str | None
    read: Demands

    @property
    def demands(self) -> str:
        """What tells one test's demands from another's."""
        return repr(self.read)

    def records(self, prompts: Sequence[str]) -> Iterator[dict[str, object]]:
        """Return a row for each choice of the variables, and each prompt."""
        for variables in self._expanded():
            for prompt in prompts:
                record = record_of(variables, *self._answered(prompt, variables))
                if self.expected is not None:  # which is what is held against the contexts
                    record = {k: v for k, v in record.items() if field_of(k) != "reference"}
                    record["reference"] = _filled(self.expected, variables)
                yield record

    def _answered(self, prompt: str, variables: Thing) -> tuple[object, str]:
        """Return what came back, and the prompt that was filled, if that matters."""
        if self.output is None and not self.echoes:
            raise UsageError(f"only {ECHO} and providerOutput are asked here; {_INSTEAD}")
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


def _parsed(file: File) -> object:
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"{file.name}: a configuration is read from YAML or JSON; {_INSTEAD}")
    text, is_json = file.text(), file.suffix == ".json"
    try:
        return cast("object", json.loads(text) if is_json else _yaml(text))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        kind = "JSON" if is_json else "YAML"
        raise InputError(file.name, [Problem(f"this is no {kind}: {error}")]) from error


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
        raise UsageError(f"tests stand in a file of their own, which is not read; {_INSTEAD}")
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
            raise UsageError(f"{at}: the var {name} is a template or a file; {_INSTEAD}")
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
        raise UsageError(f"the prompt {odd[0]} stands in a file, which is not read; {_INSTEAD}")
    return prompts


def _several(given: object, name: str) -> list[str]:
    items = _listed(given)
    if not items or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}: write a text, or a list of texts; {_INSTEAD}")
    return [str(item) for item in items]


def _filled(template: str, variables: Thing) -> str:
    """Return a prompt with its variables; one that is not there is nothing."""
    filled = _PLACE.sub(lambda match: _written(variables.get(match[1])), template)
    if _TEMPLATE.search(_PLACE.sub("", template)):
        raise UsageError(f"{template!r:.60}: only {{{{NAME}}}} is filled in here; {_INSTEAD}")
    return filled


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | Mapping):
        raise UsageError(f"a prompt names a var that is a list or object; {_INSTEAD}")
    return "" if value is None else str(value)


def _object(given: object, name: str) -> Thing:
    if not isinstance(given, Mapping):
        raise UsageError(f"{name} is of type {type(given).__name__}, not `key: value` lines")
    return cast("Thing", given)


def _only(given: Thing, known: Sequence[str], name: str) -> None:
    if strange := [key for key in given if key not in known]:
        raise UsageError(f"{name} has {', '.join(strange)}, which is not read here; {_INSTEAD}")


# Settings: what the `config` of an assertion says, and the metric, mark and plan it means.

MARK = 0.5
"""What a score has to reach where neither the test nor the policy says."""

OWN = ("metric", "threshold", "model", "preset", "config")
"""What a `config` may say beside fields of the plan."""
_ASKING = ("timeout", "retries", "columns")
KEYS = (*OWN, *JudgePlan.model_fields, *ClaimPlan.model_fields, *_ASKING)
TYPES = ("python", "not-python")

NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class Settings:
    """What one assertion is judged by; `named` is the metric as the user wrote it."""

    named: str
    metric: Metric
    threshold: float
    plan: Plan

    @classmethod
    def of(cls, said: Mapping[str, object], test: Mapping[str, object] = NOTHING) -> "Settings":
        """Read an assertion's `config`; `test` is the whole test, for the threshold beside it.

        What it says goes before RAGSTONE_JUDGE, then its preset, then the file that it names.

        Raises:
            UsageError: it says what there is not, or what promptfoo could not make use of.
        """
        if strange := sorted(said.keys() - set(KEYS)):
            raise UnknownNameError("setting of this assertion", strange[0], KEYS)
        plan = _plan(said)
        named = str(said.get("metric", "faithfulness"))
        metrics = select([named], **plan.parameters)
        if len(metrics) != 1:
            raise UsageError(f"metric: {named} is {len(metrics)} metrics; an assertion is one")
        metric = metrics[0]
        if not metric.higher_is_better:
            raise UsageError(
                f"metric: {named} is better when lower, and promptfoo passes what reaches a "
                "threshold; name one that is better when higher, such as faithfulness"
            )
        mark = _mark(said, test)
        if not isinstance(metric, ClaimMetric):
            return cls(named, metric, MARK if mark is None else mark, plan)
        own = (metric.threshold, get_policy(metric.policy).threshold, MARK)
        mark = next(each for each in (mark, *own) if each is not None)
        return cls(named, replace(metric, threshold=mark), mark, plan)


def _plan(said: Mapping[str, object]) -> Plan:
    fields = {key: value for key, value in said.items() if key not in OWN}
    if "model" in said:
        if "judge" in said:
            raise UsageError("judge and model say the same; leave one out")
        fields["judge"] = model_names(str(said["model"]))
    elif "judge" not in said and (judge := os.environ.get("RAGSTONE_JUDGE", "").strip()):
        fields["judge"] = judge
    file, preset = said.get("config"), said.get("preset")
    config = Config() if file is None else read_config(str(file))
    return config.plan(fields, preset_said=None if preset is None else str(preset))


def _mark(said: Mapping[str, object], test: Mapping[str, object]) -> float | None:
    """Return the threshold in the `config`, else the one that stands beside it in the test."""
    found = dict.fromkeys(_beside(each) for each in _alike(said, test))
    if "threshold" in said:
        return _number(said["threshold"])
    if len(found) > 1:
        marks = " and ".join("none" if mark is None else f"{mark:g}" for mark in found)
        raise UsageError(
            f"Python assertions with the same config have different thresholds ({marks}), and "
            "promptfoo does not tell which of them asks; put each threshold into its config"
        )
    return next(iter(found), None)


def _beside(assertion: Mapping[str, object]) -> float | None:
    return _number(assertion["threshold"]) if "threshold" in assertion else None


def _alike(said: Mapping[str, object], test: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the Python assertions of a test that have this config, those in sets too."""
    found = list(_settings_assertions(test))
    return [one for one in found if one.get("type") in TYPES and (one.get("config") or {}) == said]


def _settings_assertions(test: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for one in cast("Sequence[object]", test.get("assert") or ()):
        if isinstance(one, Mapping):
            assertion = cast("Mapping[str, object]", one)
            yield assertion
            yield from _settings_assertions(assertion)


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise UsageError(f"threshold: {given!r} is no number, such as 0.8")
    return float(given)
