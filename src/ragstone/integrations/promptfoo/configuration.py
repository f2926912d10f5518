"""promptfoo's configurations, such as promptfooconfig.yaml, as samples and settings of a run.

A run scores all samples with the same metrics and one judge, so all tests must assert the same.
What is not supported is refused, with the advice to run promptfoo and pass its results.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Unpack, cast

import yaml

from ragstone._internal.fields import split_threshold
from ragstone._internal.rate_limit import Budget
from ragstone._internal.secrets import remember
from ragstone._internal.text import count
from ragstone._internal.yaml import Loader, yaml_errors
from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.responses import field_of, record_of
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UsageError, nearest
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.integrations.promptfoo import RAGAS, RETRIES, ragas_in_environment
from ragstone.integrations.promptfoo.legacy import PROMPTS, UNSUPPORTED, legacy_judge
from ragstone.judges.base import RouterJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.judges.llm.model import UNTRACED
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
KEYS = (  # those in the second line affect no score
    *("prompts", "providers", "defaultTest", "tests", "grading", "ragas"),
    *("description", "$schema", "outputPath", "sharing", "evaluateOptions", "commandLineOptions"),
)
TEST = ("vars", "assert", "options", "providerOutput", "description", "metadata")
OPTIONS = ("provider", "disableDefaultAsserts")
ASSERTION = ("type", "value", "threshold", "grading", "provider", "metric")  # the last is a name
GRADING = ("useRagas", "strictJson", "maxRetries", "batchSize", "provider")  # of `ragas` too
MISSPELLED = 0.85  # similarity from which a type is one that we know; others are skipped
APIS = ("chat", "responses", "messages", "embedding", "embeddings")  # in `openai:responses:gpt-4o`
OTHER_APIS = ("completion", "assistant", "realtime", "moderation", "image", "agents")
ECHO = "echo"
NO_MODELS = ("file", "python", "exec", "http", "https", "package", ECHO)  # cannot be called
PROVIDERS = {"azureopenai": "azure", "togetherai": "together"}  # promptfoo's name -> ours
LEGACY = "promptfoo"  # prompts and parses like promptfoo 0.121.20 without RAGAS mode
IN_ENVIRONMENT = "set API keys in the environment, such as OPENAI_API_KEY"
INSTEAD = "run `promptfoo eval -o results.json` and pass results.json to ragstone"
NAMES = ("promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json")

_MEANT = {  # type, type without its prefix, or our metric -> the type that is meant
    name: kind
    for kind, metric in METRICS.items()
    for name in (metric, kind.removeprefix("context-"), kind)
}
_SUFFIXES = (".yaml", ".yml", ".json")
_KEYS = re.compile(r"""\b(prompts|tests|defaultTest)["']?\s*:""")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")

Thing = Mapping[str, object]
NOTHING: Thing = MappingProxyType({})
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
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    if path.name in NAMES:
        return True
    try:
        file = File.at(path)
        whole = _parse(file) if _KEYS.search(file.text()) else None
    except RagstoneError:
        return False
    keys = cast("Thing", whole) if isinstance(whole, Mapping) else NOTHING
    tests = [
        cast("Thing", each) for each in _listed(keys.get("tests")) if isinstance(each, Mapping)
    ]
    return (
        "defaultTest" in keys
        or ("prompts" in keys and ("tests" in keys or "providers" in keys))
        or any("vars" in test or "assert" in test for test in tests)
    )


def read_configuration(path: str | Path) -> Configuration:
    """Read a configuration that contains its responses.

    These are echoed prompts, `providerOutput`, or, without providers, a var such as `answer`. As in
    promptfoo, each test and prompt is one sample, and a var that is a list becomes one test per
    item.
    """
    file = File.at(Path(path))
    try:
        return _read(_object(_parse(file), file.name), file.name)
    except InputError:
        raise
    except UsageError as error:
        raise InputError(file.name, [Problem(str(error))]) from error


def _parse(file: File) -> object:
    if file.suffix not in _SUFFIXES:
        raise UsageError(f"{file.name}: a configuration must be YAML or JSON; {INSTEAD}")
    text, is_json = file.text(), file.suffix == ".json"
    try:
        if is_json:
            return cast("object", json.loads(text))
        with yaml_errors(file.name):
            return cast("object", yaml.load(text, Loader=Loader))  # noqa: S506 - a SafeLoader
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "YAML"
        raise InputError(file.name, [Problem(f"invalid {kind}: {error}")]) from error


def _read(whole: Thing, name: str) -> Configuration:
    prompts, providers = _texts(whole, "prompts"), _texts(whole, "providers")
    tests = _tests(whole, name)
    scored = [test for test in tests if test.supported]
    if not scored:
        names = ", ".join(METRICS)
        raise UsageError(f"none of the assertions can be scored; supported types: {names}")
    first = scored[0]
    for test in scored[1:]:
        if test.asserted != first.asserted:
            raise UsageError(
                f"{test.at} does not assert the same as {first.at}, but a run scores all tests "
                "in one way, with one judge; put the assertions with their thresholds and grading "
                f"into defaultTest, or {INSTEAD}"
            )
    notes: list[str] = []
    if skipped := len(tests) - len(scored):
        of = count(len(tests), "test")
        notes.append(f"{skipped} of {of} have no supported assertion and were skipped")
    types = {str(one.get("type")) for test in scored for one in test.assertions} - METRICS.keys()
    notes += [
        f"assertions of type {one} are not supported and were skipped" for one in sorted(types)
    ]
    requirements = _requirements(first, whole, notes)
    records: list[dict[str, object]] = []
    number = 0
    for test in tests:
        for variables, prompt in product(test.expanded(), prompts or ("",)):
            number += 1  # as promptfoo numbers them
            if test.supported:
                records.append({**test.record(variables, prompt, providers), "id": str(number)})
    return Configuration(samples_of(records, name=name), requirements)


def _tests(whole: Thing, name: str) -> "list[_Test]":
    default, listed = _part(whole, "defaultTest"), whole.get("tests")
    problems = [
        *unknown_keys(whole, KEYS, "the configuration"),
        *grading_problems(whole, "ragas"),
        *grading_problems(whole, "grading"),
        *_test_problems(default, "defaultTest"),
    ]
    if listed is not None and not isinstance(listed, list):
        raise UsageError(f"tests in a separate file are not supported; {INSTEAD}")
    tests: list[_Test] = []
    for number, item in enumerate(cast("list[object]", listed or [{}]), 1):
        at = f"test {number}"
        try:
            written = _object(item, at)
            tests.append(test := _Test.merged(at, written, default))
        except UsageError as error:
            problems.append(f"{at}: {error}")
            continue
        kinds = {str(one.get("type")).removeprefix("not-") for one in test.assertions}
        problems += _test_problems(written, at, only_types=kinds.isdisjoint(METRICS))
    if problems:
        raise InputError(name, [Problem(problem) for problem in dict.fromkeys(problems)])
    return tests


@dataclass(frozen=True)
class _Test:
    """One test, merged with the default test."""

    at: str
    variables: Thing
    grader: object
    assertions: Sequence[Thing]
    output: object

    @classmethod
    def merged(cls, at: str, test: Thing, default: Thing) -> "_Test":
        options = {**_part(default, "options"), **_part(test, "options")}
        shared = [] if options.get("disableDefaultAsserts") else _assertions(default)
        return cls(
            at=at,
            variables={**_part(default, "vars"), **_part(test, "vars")},
            grader=options.get("provider"),
            assertions=[*shared, *_assertions(test)],
            output=test.get("providerOutput", default.get("providerOutput")),
        )

    @property
    def supported(self) -> list[Thing]:
        return [one for one in self.assertions if str(one.get("type")) in METRICS]

    @property
    def asserted(self) -> object:
        """What decides how the test is scored: all but expected answers and display names."""
        keys = ("type", "threshold", "grading", "provider")
        return [[one.get(key) for key in keys] for one in self.supported], self.grader

    def expanded(self) -> list[Thing]:
        choices: list[list[object]] = []
        for value in self.variables.values():
            items = _listed(value)
            plain = items and not any(isinstance(item, list | Mapping) for item in items)
            choices.append(items if plain else [value])
        return [dict(zip(self.variables, chosen, strict=True)) for chosen in product(*choices)]

    def record(self, variables: Thing, prompt: str, providers: Sequence[str]) -> dict[str, object]:
        expected = [one.get("value") for one in self.supported if one["type"] == RECALL]
        if any(value != expected[0] for value in expected):
            raise UsageError(
                f"{self.at}: two {RECALL} assertions expect different answers ({_both(expected)}), "
                "but a sample has one reference; write one test for each"
            )
        record = record_of(variables, *self._answered(prompt, variables, providers))
        if expected and expected[0] is not None:
            record = {k: v for k, v in record.items() if field_of(k) != "reference"}
            record["reference"] = _filled(str(expected[0]), variables)
        return record

    def _answered(
        self, prompt: str, variables: Thing, providers: Sequence[str]
    ) -> tuple[object, str]:
        """Return the response, and the prompt if it is the query."""
        output = self.output
        if output is None and not providers:
            answers = [name for name in variables if field_of(name) == "response"]
            if len(answers) != 1:
                raise UsageError(
                    f"{self.at} has no response: add providerOutput, or one var such as answer; or "
                    f"{INSTEAD}"
                )
            output = variables[answers[0]]
        if output is None and providers != [ECHO]:
            raise UsageError(
                f"{self.at}: only provider {ECHO} and providerOutput are supported; {INSTEAD}"
            )
        if output is None and not prompt:
            raise UsageError(f"{self.at}: provider {ECHO} repeats the prompt, but prompts is empty")
        if output is not None and "query" in map(field_of, variables):
            return output, ""
        asked = _filled(prompt, variables)
        return asked if output is None else output, asked


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

    filled = _VARIABLE.sub(written, template)
    if _TEMPLATE.search(_VARIABLE.sub("", template)):
        raise UsageError(f"{template!r:.60}: only {{{{NAME}}}} is supported; {INSTEAD}")
    return filled


def _object(value: object, name: str) -> Thing:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name}: expected a mapping, got a {type(value).__name__}")
    return cast("Thing", value)


def _part(of: Thing, name: str) -> Thing:
    value = of.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name}: expected a mapping, got {value!r:.40}; {INSTEAD}")
    return NOTHING if value is None else cast("Thing", value)


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _assertions(test: Thing) -> list[Thing]:
    return [_object(item, "an assertion") for item in _listed(test.get("assert") or [])]


def _texts(whole: Thing, name: str) -> list[str]:
    items = _listed(whole[name]) if whole.get(name) is not None else []
    if not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}: expected a string or a list of strings; {INSTEAD}")
    texts = [str(item) for item in items]
    if odd := [text for text in texts if name == "prompts" and text.startswith("file://")]:
        raise UsageError(f"the prompt {odd[0]} is a file, which is not supported; {INSTEAD}")
    return texts


# What is wrong with a configuration: all of it is reported at once.


def unknown_keys(
    keys: Iterable[str], known: Iterable[str], name: str, fix: str = INSTEAD
) -> Iterator[str]:
    known = tuple(known)
    near = {str(key): nearest(str(key), known) for key in keys if key not in known}
    if near:
        names = [f"{key} (did you mean {near[key]}?)" if near[key] else key for key in near]
        advice = "" if all(near.values()) else f"; {fix}"
        yield f"{name}: unsupported: {', '.join(names)}{advice}"


def _test_problems(test: Thing, at: str, *, only_types: bool = False) -> Iterator[str]:
    if not only_types:
        yield from unknown_keys(test, TEST, at)
        yield from unknown_keys(_part(test, "options"), OPTIONS, f"options of {at}")
    for assertion in _assertions(test):
        yield from assertion_problems(assertion, at)
    if only_types:  # nothing of this test is scored
        return
    for name, value in _part(test, "vars").items():
        texts = [text for text in _listed(value) if isinstance(text, str)]
        if any(_TEMPLATE.search(text) or text.startswith("file://") for text in texts):
            yield f"{at}: the var {name} is a template or a file, which is not supported; {INSTEAD}"


def assertion_problems(assertion: Thing, at: str) -> Iterator[str]:
    kind = str(assertion.get("type"))
    plain = kind.removeprefix("not-")
    if plain not in METRICS:
        if near := get_close_matches(plain.lower(), _MEANT, n=1, cutoff=MISSPELLED):
            fix = f"did you mean {_MEANT[near[0]]}?"
            yield f"{at}: {kind!r:.80} is not an assertion type of promptfoo; {fix}"
        elif assertion.get("type") is None:
            yield f"{at}: the assertion has no type; supported: {', '.join(METRICS)}"
        return
    at = f"{at}: {kind}"
    if kind != plain:
        yield (
            f"{at}: promptfoo 0.121.20 does not negate this type; scores above the threshold "
            f"pass; write {plain}"
        )
    yield from unknown_keys(assertion, ASSERTION, at)
    yield from grading_problems(assertion, "grading", at)
    threshold = assertion.get("threshold")
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, int | float)
    ):
        yield f"{at}: the threshold must be a number, got {threshold!r:.40}"
    if kind == RECALL and not isinstance(assertion.get("value"), str | None):
        yield f"{at}: the value must be a string, got {assertion['value']!r:.40}"


def grading_problems(of: Thing, block: str, at: str = "") -> Iterator[str]:
    name, written = f"{at}: {block}" if at else block, of.get(block)
    if not isinstance(written, Mapping | None):
        yield f"{name}: expected a mapping such as {{useRagas: true}}, got {written!r:.40}"
        return
    settings = cast("Thing", written or {})
    yield from unknown_keys(settings, GRADING, name, f"supported: {', '.join(GRADING)}")
    for key, value in settings.items():
        if key in ("useRagas", "strictJson") and not isinstance(value, bool):
            quotes = "; remove the quotes" if str(value).lower() in ("true", "false") else ""
            yield f"{name}: {key} must be true or false, not {value!r:.40}{quotes}"
        least = {"maxRetries": 0, "batchSize": 1}.get(key)
        if least is not None and (type(value) is not int or value < least):
            yield f"{name}: {key} must be a whole number of at least {least}, not {value!r:.40}"


# What the assertions require.


def _requirements(test: _Test, whole: Thing, notes: Sequence[str]) -> AssertRequirements:
    metrics: dict[str, None] = {}
    thresholds: dict[str, float] = {}
    for assertion in test.supported:
        kind, threshold = str(assertion["type"]), cast("float | None", assertion.get("threshold"))
        name = METRICS[kind]
        if threshold is not None and kind not in WITH_THRESHOLD:
            thresholds[name] = max(float(threshold), thresholds.get(name, float(threshold)))
        elif threshold is not None:
            name += f",threshold={float(threshold)!r}"
        metrics[name] = None
    settings, ragas, more = _settings(test, whole)
    others = {str(assertion["type"]) for assertion in test.supported} - {FAITHFULNESS}
    more += [
        f"{kind} is scored by ragstone's {METRICS[kind]}, not by promptfoo's own rule"
        for kind in METRICS
        if kind in others
    ]
    return AssertRequirements(
        tuple(metrics), MappingProxyType(thresholds), settings, ragas, (*notes, *more)
    )


def _settings(test: _Test, whole: Thing) -> tuple[Mapping[str, object], bool, list[str]]:
    """Return the settings of the judge, whether RAGAS mode is on, and notes."""
    base = {**_part(whole, "ragas"), **_part(whole, "grading")}
    blocks = [{"provider": one.get("provider"), **_part(one, "grading")} for one in test.supported]
    remember([base, *blocks, test.grader])
    modes = {
        bool(block.get("useRagas", base.get("useRagas")))
        for block, one in zip(blocks, test.supported, strict=True)
        if one["type"] == FAITHFULNESS
    }
    ragas = ragas_in_environment() or modes == {True}
    if len(modes) > 1 and not ragas:
        raise UsageError(
            "context-faithfulness has useRagas: true in some assertions only, but a run scores all "
            "tests the same way; set useRagas in the top-level grading"
        )
    chosen: dict[str, object] = {}
    notes: list[str] = []
    for key in GRADING[1:]:
        values = [block[key] for block in blocks if block.get(key) not in (None, "text")]
        if 0 < len(values) < len(blocks):
            notes.append(f"{key} is set in some assertions, but applies to all of them")
        if key == "provider" and not values and base.get(key) in (None, "text"):
            values = [test.grader] if test.grader not in (None, "text") else []
        bare = [_without_keys(value) for value in values]
        if any(value != bare[0] for value in bare):
            raise UsageError(
                f"assertions have different {key} ({_both(bare)}), but a run has one judge; "
                f"remove {key} from them and set it in the top-level grading"
            )
        if values or key in base:
            written = values or [base[key]]
            chosen[key] = _without_keys(written[0])
            if any(_without_keys(value) != value for value in written):
                notes.append(
                    f"apiKey in the grading provider's config is ignored; {IN_ENVIRONMENT}"
                )
    judge = _judge(chosen.pop("provider", None))
    if ragas:
        names = {"maxRetries": "retries", "strictJson": "strict_json", "batchSize": "batch_size"}
        mode = {"preset": RAGAS, "retries": RETRIES}
        mode |= {names[key]: value for key, value in chosen.items()}
    else:
        mode = {"policy": LEGACY}
        if chosen:
            without = ", ".join(sorted(chosen))
            notes.append(f"without useRagas: true, these have no effect: {without}")
    return MappingProxyType({**mode, **judge}), ragas, notes


def _without_keys(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    items = cast("Thing", value).items()
    return {name: _without_keys(item) for name, item in items if name != "apiKey"}


def _both(values: Sequence[object]) -> str:
    other = next(value for value in values if value != values[0])
    return f"{values[0]!r:.60} and {other!r:.60}"


def _judge(provider: object) -> dict[str, object]:
    if provider is None or provider == "text":
        return {}
    if not isinstance(provider, Mapping):
        return {"judge": _model(str(provider))}
    keys = cast("Thing", provider)
    if "text" in keys or "embedding" in keys:
        embedding = _judge(keys.get("embedding")).get("judge")
        return _judge(keys.get("text")) | ({"embedding_model": embedding} if embedding else {})
    config = _part(keys, "config")
    names = {"apiBaseUrl": "base_url", "temperature": "temperature", "max_tokens": "max_tokens"}
    fix = f"supported: {', '.join(names)}; {IN_ENVIRONMENT}"
    for problem in unknown_keys(config, names, "the grading provider's config", fix):
        raise UsageError(problem)
    settings = {ours: config[theirs] for theirs, ours in names.items() if theirs in config}
    return {"judge": _model(str(keys.get("id"))), **settings}


def _model(name: str) -> str:
    provider, *rest = name.split(":")
    model = ":".join(rest[1:] if rest and rest[0] in APIS else rest)
    if provider in NO_MODELS or (rest and rest[0] in OTHER_APIS) or not model:
        raise UsageError(
            f"the grading provider {name!r:.80} must be provider:model with a chat model, such as "
            "openai:gpt-4"
        )
    return f"{PROVIDERS.get(provider, provider)}:{model}"


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
        tracing = options.get("tracing", UNTRACED)
        text = legacy_judge(plan, budget, tracing)
        text = CachedJudge(text, plan.reply_cache or REPLIES) if plan.cache else text
        asked = [metric.question_kinds for metric in select(plan.metrics, **plan.parameters)]
        others = make_judge(plan, asked=asked, budget=budget, tracing=tracing)
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
