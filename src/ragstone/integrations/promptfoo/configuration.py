"""promptfoo's configurations, such as promptfooconfig.yaml, as samples and settings of a run.

A run scores all samples with the same metrics and one judge, so all tests must assert the same.
All else is refused, with the advice to run promptfoo and to evaluate its results.json.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Unpack, cast

from pydantic import AfterValidator, BeforeValidator, Field, FiniteFloat, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from ragstone._internal.fields import FrozenModel, is_list, is_object, split_threshold
from ragstone._internal.rate_limit import Budget
from ragstone._internal.secrets import remember
from ragstone._internal.text import describe_fault, quoted
from ragstone._internal.yaml import load_yaml
from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.responses import field_of, record_of
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.preflight import LLM, LLM_KEY
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.integrations.promptfoo import RAGAS, RETRIES, ragas_in_environment
from ragstone.integrations.promptfoo.legacy import PROMPTS, UNSUPPORTED, legacy_judge
from ragstone.judges.base import RouterJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.metrics import select
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.gate import reaches
from ragstone.types.policy import preset
from ragstone.types.row import TEST_FAILED, Row
from ragstone.types.score import Score

FAITHFULNESS, RECALL = "context-faithfulness", "context-recall"  # its value is the answer
METRICS: Mapping[str, str] = {  # assertion type -> our equivalent metric
    FAITHFULNESS: "faithfulness",
    RECALL: "context_recall",
    "context-relevance": "context_relevance",
    "answer-relevance": "response_relevancy",
}
WITH_THRESHOLD = (FAITHFULNESS, RECALL)  # as a parameter; others are compared separately
APIS = ("chat", "responses", "messages")  # in `openai:responses:gpt-4o`
ECHO = "echo"
PROVIDERS = {"azureopenai": "azure", "togetherai": "together"}  # promptfoo's name -> ours
LEGACY = "promptfoo"  # prompts and parses like promptfoo 0.121.20 without RAGAS mode
INSTEAD = (
    "or run `promptfoo eval -o results.json` and pass results.json to ragstone, or name the system "
    "to ask with --target"
)
NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")
CONFIG = {  # key of a provider's config -> field of the plan
    "apiBaseUrl": "base_url",
    "temperature": "temperature",
    "max_tokens": "max_tokens",
}
# keys of a configuration that affect no score
NO_EFFECT = "description $schema outputPath sharing evaluateOptions commandLineOptions".split()

_KEYS = re.compile(r"""\b(prompts|tests|defaultTest)["']?\s*:""")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_NO_TEXT = re.compile(r"\{\{|\{%|\{#|^file://")

NO_CONFIG = Config()


@dataclass(frozen=True)
class AssertRequirements:
    """What the assertions of a configuration measure, and how."""

    metrics: tuple[str, ...]  # as `--metric` takes them, with their thresholds
    thresholds: Mapping[str, float]  # of metrics without a parameter for it
    settings: Mapping[str, object]  # fields of the plan, and `preset`
    ragas: bool
    notes: tuple[str, ...]

    def over(self, config: Config = NO_CONFIG) -> Config:
        """Return a config file's settings with those of the assertions, which take precedence."""
        named = self.settings.get("preset")
        settings = {
            **config.settings,
            **(preset(str(named)) if named else {}),
            **{key: value for key, value in self.settings.items() if key != "preset"},
            "metrics": self.metrics,
        }
        return replace(config, settings=MappingProxyType(settings), preset=None)

    def without_ragas(self) -> "AssertRequirements":
        ragas_only = ("preset", *UNSUPPORTED)
        kept = {name: value for name, value in self.settings.items() if name not in ragas_only}
        return replace(self, settings={**kept, "policy": LEGACY}, ragas=False)

    def failing(self, scores: Mapping[str, Score]) -> list[str]:
        """Return the metrics that fail a test; undefined, failed and imputed scores never pass."""
        failing: list[str] = []
        for name, score in scores.items():
            bare, threshold = split_threshold(name)
            least = self.thresholds.get(bare) if threshold is None else threshold
            if bare in METRICS.values() and (
                score.value is None
                or score.fallback
                or score.passed is False
                or (least is not None and not reaches(score.value, least))
            ):
                failing.append(name)
        return failing


@dataclass(frozen=True)
class Configuration:
    dataset: Dataset
    requirements: AssertRequirements

    def finish(self, row: Row) -> Row:
        if failing := self.requirements.failing(row.scores):
            return replace(row, notes=(*row.notes, TEST_FAILED + ", ".join(failing)))
        return row


def is_configuration(path: str | Path) -> bool:
    """Return whether a file is a configuration; one that cannot be read is not."""
    path = Path(path)
    if path.suffix.lower() not in (".yaml", ".yml", ".json") or not path.is_file():
        return False
    if path.name in NAMES:
        return True
    try:
        file = File.at(path)
        keys = _parse(file) if _KEYS.search(file.text()) else None
    except RagstoneError:
        return False
    return is_object(keys) and (
        "defaultTest" in keys
        or ("prompts" in keys and ("tests" in keys or "providers" in keys))
        or any(
            is_object(test) and ("vars" in test or "assert" in test)
            for test in _listed(keys.get("tests"))
        )
    )


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration that contains its responses.

    These are echoed prompts, `providerOutput`, or, without providers, a var such as `answer`. As in
    promptfoo, each test and prompt is one sample.
    """
    file = File.at(Path(path))
    try:
        return _read(_parse(file), file.name)
    except InputError:
        raise
    except UsageError as error:
        raise InputError(file.name, [Problem(str(error))], INSTEAD) from error


def _parse(file: File) -> object:
    if file.suffix != ".json":
        return load_yaml(file.text(), file.name)[1]
    try:
        return cast("object", json.loads(file.text()))
    except (ValueError, RecursionError) as error:
        raise InputError(file.name, [Problem(f"invalid JSON: {error}")]) from error


def _listed(value: object) -> Sequence[object]:
    return value if is_list(value) else [] if value is None else [value]


# The form of a configuration: all that differs from it is reported at once.


def _literal(value: object) -> object:
    if is_list(value) or is_object(value) or (isinstance(value, str) and _NO_TEXT.search(value)):
        raise ValueError("must be text, and not a template or a file")
    return value


def _template(text: str) -> str:
    if _NO_TEXT.search(_VARIABLE.sub("", text)):
        raise ValueError("must be text with {{NAME}} only, and not a file")
    return text


def _judge(provider: object) -> Mapping[str, object] | None:
    """Return the fields of the plan that a grading provider sets; None for the default judge."""
    remember(provider)
    if provider == "text":  # promptfoo's LLM
        return {"judge": LLM} if os.environ.get(LLM_KEY, "").strip() else None
    keys = provider if is_object(provider) else {"id": provider}
    config = keys.get("config", {})
    if not is_object(config) or keys.keys() - {"id", "config"} or config.keys() - CONFIG.keys():
        raise ValueError(
            f"must be provider:model, or its id with a config of {', '.join(CONFIG)}; set API "
            "keys in the environment, such as OPENAI_API_KEY"
        )
    name, *rest = str(keys.get("id")).split(":")
    model = ":".join(rest[1:] if rest and rest[0] in APIS else rest)
    if not model:
        raise ValueError("must be provider:model with a chat model, such as openai:gpt-4")
    settings = {field: config[key] for key, field in CONFIG.items() if key in config}
    return {"judge": f"{PROVIDERS.get(name, name)}:{model}", **settings}


_Template = Annotated[str, AfterValidator(_template)]
_Judge = Annotated[object, AfterValidator(_judge)]


class _Form(FrozenModel, strict=True, alias_generator=to_camel):
    pass


def _given(form: _Form | None) -> dict[str, object]:
    return {name: value for name, value in form or () if value is not None}


class _Grading(_Form):
    """A `grading` or `ragas` block; None is what it does not set."""

    use_ragas: bool | None = None
    strict_json: bool | None = None
    retries: int | None = Field(None, alias="maxRetries", ge=0)
    batch_size: int | None = Field(None, ge=1)
    provider: _Judge = None


class _Assertion(_Form):
    type: Literal["context-faithfulness", "context-recall", "context-relevance", "answer-relevance"]
    value: _Template | None = None
    threshold: FiniteFloat | None = None
    grading: _Grading | None = None
    provider: _Judge = None
    metric: object = None  # a display name: it affects no score


class _Options(_Form):
    provider: _Judge = None


class _Test(_Form):
    assertions: list[_Assertion] = Field([], alias="assert")
    variables: dict[str, Annotated[object, AfterValidator(_literal)]] = Field({}, alias="vars")
    options: _Options = _Options()
    output: object = Field(None, alias="providerOutput")
    description: object = None
    metadata: object = None

    def over(self, default: "_Test") -> "_Test":
        return self.model_copy(
            update={
                "assertions": [*default.assertions, *self.assertions],
                "variables": {**default.variables, **self.variables},
                "options": self.options if self.options.provider else default.options,
                "output": default.output if self.output is None else self.output,
            }
        )

    @property
    def asserted(self) -> object:
        """What decides how the test is scored: all but expected answers and display names."""
        own = [(one.type, one.threshold, one.grading, one.provider) for one in self.assertions]
        return own, self.options.provider

    def record(self, prompt: str, providers: Sequence[str]) -> dict[str, object]:
        expected = {one.value for one in self.assertions if one.type == RECALL}
        if len(expected) > 1:
            raise UsageError(f"two {RECALL} assertions expect different answers")
        output, variables = self.output, self.variables
        answers = [value for name, value in variables.items() if field_of(name) == "response"]
        if output is None and not providers and len(answers) == 1:
            output = answers[0]
        if output is None and ([*providers] != [ECHO] or not prompt):
            raise UsageError(
                f"no response: it needs providerOutput, the provider {ECHO} with a prompt, or, "
                "without providers, one var such as answer"
            )
        asked = _filled(prompt, variables)
        record = record_of(variables, asked if output is None else output, asked)
        for value in filter(None, expected):
            record = {k: v for k, v in record.items() if field_of(k) != "reference"}
            record["reference"] = _filled(value, variables)
        return record


def _filled(template: str, variables: Mapping[str, object]) -> str:
    def written(match: re.Match[str]) -> str:
        value = variables.get(match[1])
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return "" if value is None else str(value)

    return _VARIABLE.sub(written, template)


class _File(_Form):
    tests: list[_Test]
    default_test: _Test
    prompts: Annotated[list[_Template], BeforeValidator(_listed)] = Field([])
    providers: Annotated[list[str], BeforeValidator(_listed)] = Field([])
    grading: _Grading | None = None
    ragas: _Grading | None = None


def _problem(fault: ErrorDetails) -> Problem:
    places = [place for place in fault["loc"] if isinstance(place, str)]
    if places[:1] == ["tests"] and len(fault["loc"]) > 1:
        places[0] = f"test {int(fault['loc'][1]) + 1}"
    why = "is not supported" if fault["type"] == "extra_forbidden" else describe_fault(fault)
    if not (is_list(fault["input"]) or is_object(fault["input"])):
        why += f", got {quoted(repr(fault['input']), 80)}"
    return Problem(": ".join((*places, why)))


def _read(parsed: object, name: str) -> Configuration:
    if is_object(parsed):
        kept = {key: value for key, value in parsed.items() if key not in NO_EFFECT}
        parsed = {"defaultTest": {}, **kept}
    try:
        file = _File.model_validate(parsed)
    except ValidationError as error:
        raise InputError(
            name, [*map(_problem, error.errors(include_url=False))], INSTEAD
        ) from error
    tests = [test.over(file.default_test) for test in file.tests]
    if not any(test.assertions for test in tests):
        raise UsageError(f"no test has an assertion; supported types: {', '.join(METRICS)}")
    for number, test in enumerate(tests, 1):
        if test.asserted != tests[0].asserted:
            raise UsageError(
                f"test {number} does not assert the same as test 1, but a run scores all tests in "
                "one way, with one judge; put the assertions with their thresholds and grading "
                "into defaultTest"
            )
    requirements = _requirements(tests[0], file)
    records: list[dict[str, object]] = []
    problems: dict[Problem, None] = {}
    for place, test in enumerate(tests, 1):
        for prompt in file.prompts or [""]:  # in promptfoo's order
            try:
                row = test.record(prompt, file.providers)
                records.append({**row, "id": str(len(records) + 1)})
            except UsageError as error:
                problems[Problem(f"test {place}: {error}")] = None
    if problems:
        raise InputError(name, [*problems], INSTEAD)
    return Configuration(samples_of(records, name=name), requirements)


# What the assertions require.


def _requirements(test: _Test, file: _File) -> AssertRequirements:
    metrics: dict[str, None] = {}
    thresholds: dict[str, float] = {}
    for one in test.assertions:
        name = METRICS[one.type]
        if one.threshold is not None and one.type in WITH_THRESHOLD:
            name += f",threshold={one.threshold!r}"
        elif one.threshold is not None:
            thresholds[name] = max(one.threshold, thresholds.get(name, one.threshold))
        metrics[name] = None
    settings, ragas, notes = _settings(test, file)
    types = dict.fromkeys(one.type for one in test.assertions if one.type != FAITHFULNESS)
    notes += [
        f"{kind} is scored by ragstone's {METRICS[kind]}, not by promptfoo's own rule"
        for kind in types
    ]
    return AssertRequirements(
        tuple(metrics), MappingProxyType(thresholds), settings, ragas, tuple(notes)
    )


def _settings(test: _Test, file: _File) -> tuple[Mapping[str, object], bool, list[str]]:
    """Return the settings of the judge, whether RAGAS mode is on, and notes."""
    chosen = _given(test.options) | _given(file.ragas) | _given(file.grading)
    usual = {"use_ragas": bool(chosen.get("use_ragas"))}
    own: dict[str, object] = {}
    for one in test.assertions:
        block = usual if one.type == FAITHFULNESS else {}
        beside = {"provider": one.provider} if one.provider else {}
        for name, value in (block | beside | _given(one.grading)).items():
            if own.setdefault(name, value) != value:
                key = _Grading.model_fields[name].alias
                raise UsageError(
                    f"assertions have different {key}, but a run scores all tests with one judge; "
                    f"remove {key} from them and set it in the top-level grading"
                )
    chosen |= own
    judge = cast("Mapping[str, object]", chosen.pop("provider", {}))
    if chosen.pop("use_ragas", False) or ragas_in_environment():
        return {"preset": RAGAS, "retries": RETRIES, **chosen, **judge}, True, []
    keys = ", ".join(sorted(str(_Grading.model_fields[name].alias) for name in chosen))
    notes = [f"without useRagas: true, these have no effect: {keys}"] if keys else []
    return {"policy": LEGACY, **judge}, False, notes


# How they are evaluated.


def asks_in_text(plan: Plan) -> bool:
    metrics = select(plan.metrics, **plan.parameters)
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    return plan.policy == LEGACY and not kinds.isdisjoint(PROMPTS)


def evaluate_tests(
    samples: Dataset,
    plan: Plan,
    /,
    *,
    finish: Callable[[Row], Row] | None = None,
    **options: Unpack[Options],
) -> Run:
    """Evaluate samples by a plan; under the policy `promptfoo`, claims are read as it does."""
    if asks_in_text(plan):
        budget = Budget(plan.max_calls, plan.max_cost)
        text = legacy_judge(plan, budget)
        text = CachedJudge(text, plan.reply_cache or REPLIES) if plan.cache else text
        asked = [metric.question_kinds for metric in select(plan.metrics, **plan.parameters)]
        others = make_judge(plan, asked=asked, budget=budget)
        judge = RouterJudge(dict.fromkeys(PROMPTS, text), others)
        unlimited = plan.model_copy(update={"max_calls": None, "max_cost": None})
        options |= {"plan": unlimited, "judge": judge}
        made = Evaluation(samples, **options)
        made.budget = budget  # of the judge, which counts
    else:
        options |= {"plan": plan}
        made = Evaluation(samples, **options)
    made.finish = finish
    return made.run_in_thread()


def limit_tests(tests: Configuration, plan: Plan) -> tuple[Configuration, Plan]:
    """Return the tests that the plan's `limit` and `sample` choose, and the plan without those."""
    dataset = tests.dataset
    chosen = samples_of(dataset.samples, **plan.selection)
    notes = tuple(dict.fromkeys((*dataset.source.notes, *chosen.source.notes)))
    source = dataset.source.model_copy(update={"rows": len(chosen.samples), "notes": notes})
    dataset = replace(dataset, samples=chosen.samples, source=source)
    return replace(tests, dataset=dataset), plan.model_copy(update={"limit": None, "sample": None})


def with_failed_tests(run: Run, tests: Configuration) -> Run:
    failing = [
        f"{row.sample.id} ({', '.join(names)})"
        for row in run.rows
        if (names := tests.requirements.failing(row.scores))
    ]
    if not failing:
        return run
    more = f" and {len(failing) - 20} more" if len(failing) > 20 else ""
    words = f"{len(failing):,} of {len(run.rows):,} tests failed: {', '.join(failing[:20])}{more}"
    return replace(run, failed_tests=words)
