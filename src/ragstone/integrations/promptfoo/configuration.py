"""promptfoo's configurations, such as promptfooconfig.yaml, as samples and settings of a run.

A run scores all samples with the same metrics and one judge, so all tests must assert the same.
What is not supported is refused, with the advice to run promptfoo and pass its results.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Unpack, cast

from pydantic import AfterValidator, Field, FiniteFloat, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ragstone._internal.fields import FrozenModel, is_list, is_object, split_threshold
from ragstone._internal.rate_limit import Budget
from ragstone._internal.secrets import HIDDEN, remember
from ragstone._internal.text import count, describe_fault, quoted
from ragstone._internal.yaml import load_yaml
from ragstone.datasets import Dataset, samples_of
from ragstone.datasets.responses import field_of, record_of
from ragstone.datasets.table import File
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
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
MISSPELLED = 0.85  # similarity from which a type or key is one that we know; others are skipped
APIS = ("chat", "responses", "messages", "embedding", "embeddings")  # in `openai:responses:gpt-4o`
OTHER_APIS = ("completion", "assistant", "realtime", "moderation", "image", "agents")
ECHO = "echo"
NO_MODELS = ("file", "python", "exec", "http", "https", "package", ECHO)  # cannot be called
PROVIDERS = {"azureopenai": "azure", "togetherai": "together"}  # promptfoo's name -> ours
LEGACY = "promptfoo"  # prompts and parses like promptfoo 0.121.20 without RAGAS mode
IN_ENVIRONMENT = "set API keys in the environment, such as OPENAI_API_KEY"
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

Thing = Mapping[str, object]
EMPTY: Thing = MappingProxyType({})
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
        keys = _object(_parse(file) if _KEYS.search(file.text()) else None)
    except RagstoneError:
        return False
    tests = map(_object, _listed(keys.get("tests")))
    return (
        "defaultTest" in keys
        or ("prompts" in keys and ("tests" in keys or "providers" in keys))
        or any("vars" in test or "assert" in test for test in tests)
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


def _object(value: object) -> Thing:
    return value if is_object(value) else EMPTY


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


def _model(name: object) -> str:
    provider, *rest = str(name).split(":")
    model = ":".join(rest[1:] if rest and rest[0] in APIS else rest)
    if provider in NO_MODELS or (rest and rest[0] in OTHER_APIS) or not model:
        raise ValueError("must be provider:model with a chat model, such as openai:gpt-4")
    return f"{PROVIDERS.get(provider, provider)}:{model}"


def _judge(provider: object) -> Thing:
    """Return the fields of the plan that a grading provider sets; none if it is the default."""
    remember(provider)
    if provider is None or provider == "text":
        return {}
    keys = {"id": provider} if isinstance(provider, str) else _object(provider)
    if "text" in keys or "embedding" in keys:
        embedding = _judge(keys.get("embedding"))
        names = {"judge": "embedding_model", "apiKey": "apiKey"}
        settings = {ours: embedding[name] for name, ours in names.items() if name in embedding}
        return {**settings, **_judge(keys.get("text"))}
    config = EMPTY if keys.get("config") is None else keys["config"]
    if not is_object(config) or config.keys() - {*CONFIG, "apiKey"}:
        raise ValueError(f"its config must be a mapping of {', '.join(CONFIG)}")
    settings = {field: config[key] for key, field in CONFIG.items() if key in config}
    hidden = {"apiKey": HIDDEN} if "apiKey" in config else {}
    return {"judge": _model(keys.get("id")), **settings, **hidden}


_Template = Annotated[str, AfterValidator(_template)]
_Judge = Annotated[object, AfterValidator(_judge)]


class _Form(FrozenModel, strict=True, alias_generator=to_camel):
    pass


def _given(form: _Form | None) -> dict[str, object]:
    """Return field -> value for what a file sets."""
    given = form.model_fields_set if form else ()
    return {name: value for name, value in form or () if name in given and value is not None}


class _Grading(_Form):
    """A `grading` or `ragas` block."""

    use_ragas: bool = False
    strict_json: bool = False
    retries: int = Field(RETRIES, alias="maxRetries", ge=0)
    batch_size: int = Field(1, ge=1)
    provider: _Judge = None


class _Assertion(_Form):
    type: str
    value: _Template | None = None
    threshold: FiniteFloat | None = None
    grading: _Grading | None = None
    provider: _Judge = None
    metric: object = None  # a display name: it affects no score

    @model_validator(mode="before")
    @classmethod
    def _of_known_type(cls, value: object) -> object:
        kind = _object(value).get("type")
        if not isinstance(kind, str) or kind in METRICS:
            return value
        if near := _nearest(kind):
            raise ValueError(f"{kind!r:.80} is not an assertion type{near}")
        return {"type": kind}  # the assertion is skipped


class _Options(_Form):
    provider: _Judge = None
    disable_default_asserts: bool | None = None


class _Test(_Form):
    """A test, merged with the default test."""

    assertions: list[_Assertion] = Field(alias="assert")
    variables: dict[str, Annotated[object, AfterValidator(_literal)]] = Field({}, alias="vars")
    options: _Options = _Options()
    output: object = Field(None, alias="providerOutput")
    description: object = None
    metadata: object = None

    @property
    def supported(self) -> list[_Assertion]:
        return [one for one in self.assertions if one.type in METRICS]

    @property
    def asserted(self) -> object:
        """What decides how the test is scored: all but expected answers and display names."""
        # only what the file sets: a value left out means that of the top-level block
        parts = [
            (one.type, one.threshold, _given(one.grading), one.provider) for one in self.supported
        ]
        return parts, self.options.provider

    def record(self, prompt: str, providers: Sequence[str]) -> dict[str, object]:
        expected = [one.value for one in self.supported if one.type == RECALL]
        if other := [value for value in expected if value != expected[0]]:
            raise UsageError(
                f"two {RECALL} assertions expect different answers ({expected[0]!r:.60} and "
                f"{other[0]!r:.60}); write one test for each"
            )
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
        if expected and expected[0] is not None:
            record = {k: v for k, v in record.items() if field_of(k) != "reference"}
            record["reference"] = _filled(expected[0], variables)
        return record


def _filled(template: str, variables: Thing) -> str:
    def written(match: re.Match[str]) -> str:
        value = variables.get(match[1])
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return "" if value is None else str(value)

    return _VARIABLE.sub(written, template)


class _File(_Form):
    default_test: _Test
    tests: list[_Test]
    prompts: list[_Template]
    providers: list[str]
    grading: _Grading | None = None
    ragas: _Grading | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_merged_tests(cls, value: object) -> object:
        if not is_object(value):
            return value
        keys = {key: item for key, item in value.items() if key not in NO_EFFECT}
        written, tests = keys.get("defaultTest"), keys.get("tests")
        default = _merged({} if written is None else written, {})
        if tests is None or is_list(tests):
            tests = [_merged(each, _object(default)) for each in tests or [{}]]
        systems = keys["providers"] if "providers" in keys else keys.pop("targets", None)
        plain = {"id", "label"}  # other keys may change what a provider returns
        providers = [
            each["id"] if is_object(each) and {"id"} <= each.keys() <= plain else each
            for each in _listed(systems)
        ]
        texts = {"prompts": _listed(keys.get("prompts")), "providers": providers}
        return {**keys, **texts, "defaultTest": default, "tests": tests}


def _merged(test: object, default: Thing) -> object:
    """Return a test with the default test; only its assertions if it is not scored."""
    if not is_object(test):
        return test
    merged = {**default, **test}
    for key in ("vars", "options"):
        if is_object(merged.get(key, {})) or merged[key] is None:
            merged[key] = {**_object(default.get(key)), **_object(test.get(key))}
    own = _listed(test.get("assert"))
    without = _object(merged["options"]).get("disableDefaultAsserts")
    merged["assert"] = [*(() if without else _listed(default.get("assert"))), *own]
    kinds = {
        str(_object(one).get("type")).removeprefix("not-") for one in _listed(merged["assert"])
    }
    return {"assert": merged["assert"]} if default and kinds.isdisjoint(METRICS) else merged


_MEANT = {
    name: kind
    for kind, metric in METRICS.items()
    for name in (metric, kind.removeprefix("context-"), kind)
} | {
    key.casefold(): key
    for form in (_File, _Test, _Options, _Assertion, _Grading)
    for key in (field.alias or to_camel(name) for name, field in form.model_fields.items())
}
"""A type, its name without the prefix, our metric, or a key, in lower case -> what is meant."""


def _nearest(name: str) -> str:
    near = get_close_matches(name.removeprefix("not-").casefold(), _MEANT, n=1, cutoff=MISSPELLED)
    return f"; did you mean {_MEANT[near[0]]}?" if near and _MEANT[near[0]] != name else ""


def _problems(error: ValidationError) -> list[Problem]:
    """Return what is wrong; a problem of the default test is not repeated for each test."""
    problems: dict[str, None] = {}
    for fault in error.errors(include_url=False):
        places = [place for place in fault["loc"] if isinstance(place, str)]
        if places[:1] == ["tests"] and len(fault["loc"]) > 1:
            places[0] = f"test {int(fault['loc'][1]) + 1}"
        if fault["type"] == "extra_forbidden":
            why = f"is not supported{_nearest(places[-1])}"
        else:
            why = describe_fault(fault)
            if not (is_list(fault["input"]) or is_object(fault["input"])):
                why += f", got {quoted(repr(fault['input']), 80)}"
        if ": ".join(("defaultTest", *places[1:], why)) not in problems:
            problems[": ".join((*places, why))] = None
    return [*map(Problem, problems)]


def _read(parsed: object, name: str) -> Configuration:
    try:
        file = _File.model_validate(parsed)
    except ValidationError as error:
        raise InputError(name, _problems(error), INSTEAD) from error
    scored = [(number, test) for number, test in enumerate(file.tests, 1) if test.supported]
    if not scored:
        names = ", ".join(METRICS)
        raise UsageError(f"none of the assertions can be scored; supported types: {names}")
    place, first = scored[0]
    for number, test in scored[1:]:
        if test.asserted != first.asserted:
            raise UsageError(
                f"test {number} does not assert the same as test {place}, but a run scores all "
                "tests in one way, with one judge; put the assertions with their thresholds and "
                "grading into defaultTest"
            )
    notes: list[str] = []
    if skipped := len(file.tests) - len(scored):
        of = count(len(file.tests), "test")
        notes.append(f"{skipped} of {of} have no supported assertion and were skipped")
    types = {one.type for _, test in scored for one in test.assertions}
    notes += [
        f"assertions of type {kind} are not supported and were skipped"
        for kind in sorted(types - METRICS.keys())
    ]
    requirements = _requirements(first, file, notes)
    records: list[dict[str, object]] = []
    problems: dict[Problem, None] = {}
    prompts = file.prompts or [""]
    for place, test in scored:
        for number, prompt in enumerate(prompts, 1 + (place - 1) * len(prompts)):  # as promptfoo's
            try:
                records.append({**test.record(prompt, file.providers), "id": str(number)})
            except UsageError as error:
                problems[Problem(f"test {place}: {error}")] = None
    if problems:
        raise InputError(name, [*problems], INSTEAD)
    return Configuration(samples_of(records, name=name), requirements)


# What the assertions require.


def _requirements(test: _Test, file: _File, notes: Sequence[str]) -> AssertRequirements:
    metrics: dict[str, None] = {}
    thresholds: dict[str, float] = {}
    for one in test.supported:
        name = METRICS[one.type]
        if one.threshold is not None and one.type in WITH_THRESHOLD:
            name += f",threshold={one.threshold!r}"
        elif one.threshold is not None:
            thresholds[name] = max(one.threshold, thresholds.get(name, one.threshold))
        metrics[name] = None
    settings, ragas, more = _settings(test, file)
    types = {one.type for one in test.supported} - {FAITHFULNESS}
    more += [
        f"{kind} is scored by ragstone's {metric}, not by promptfoo's own rule"
        for kind, metric in METRICS.items()
        if kind in types
    ]
    return AssertRequirements(
        tuple(metrics), MappingProxyType(thresholds), settings, ragas, (*notes, *more)
    )


def _settings(test: _Test, file: _File) -> tuple[Mapping[str, object], bool, list[str]]:
    """Return the settings of the judge, whether RAGAS mode is on, and notes."""
    options, base = _given(test.options), _given(file.ragas) | _given(file.grading)
    blocks = [_given(one) | _given(one.grading) for one in test.supported]
    modes = {
        bool(block.get("use_ragas", base.get("use_ragas")))
        for block in blocks
        if block["type"] == FAITHFULNESS
    }
    ragas = ragas_in_environment() or modes == {True}
    if len(modes) > 1 and not ragas:
        raise UsageError(
            "context-faithfulness has useRagas: true in some assertions only, but a run scores all "
            "tests the same way; set useRagas in the top-level grading"
        )
    chosen: dict[str, object] = {}
    notes: list[str] = []
    keys = {"strict_json": "strictJson", "retries": "maxRetries", "batch_size": "batchSize"}
    for name, key in {**keys, "provider": "provider"}.items():
        values = [block[name] for block in blocks if block.get(name) not in (None, EMPTY)]
        if 0 < len(values) < len(blocks):
            notes.append(f"{key} is set in some assertions, but applies to all of them")
        if not values:
            values = [one[name] for one in (base, options) if one.get(name) not in (None, EMPTY)][
                :1
            ]
        if other := [value for value in values if value != values[0]]:
            raise UsageError(
                f"assertions have different {key} ({values[0]!r:.60} and {other[0]!r:.60}), but a "
                f"run has one judge; remove {key} from them and set it in the top-level grading"
            )
        if values:
            chosen[name] = values[0]
    judge = {**_object(chosen.pop("provider", {}))}
    if judge.pop("apiKey", None):
        notes.append(f"apiKey in the grading provider's config is ignored; {IN_ENVIRONMENT}")
    if ragas:
        settings = {"preset": RAGAS, "retries": RETRIES, **chosen}
    else:
        settings = {"policy": LEGACY}
        if chosen:
            without = ", ".join(sorted(keys[name] for name in chosen))
            notes.append(f"without useRagas: true, these have no effect: {without}")
    return MappingProxyType({**settings, **judge}), ragas, notes


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
