"""The assertions of a configuration, as metrics and settings, and how they are evaluated."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from types import MappingProxyType
from typing import TypedDict, Unpack, cast

from ragstone._internal.fields import split_threshold
from ragstone._internal.rate_limit import Budget
from ragstone._internal.secrets import remember
from ragstone.datasets import Dataset
from ragstone.errors import UsageError, nearest
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.runner import Evaluation
from ragstone.integrations.promptfoo.assertion import RAGAS, RETRIES, ragas_in_environment
from ragstone.integrations.promptfoo.legacy import PROMPTS, UNSUPPORTED, legacy_judge
from ragstone.judges.base import RouterJudge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import REPLIES, make_judge
from ragstone.judges.llm.model import UNTRACED, Tracing
from ragstone.metrics import select
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.gate import reaches
from ragstone.types.policy import preset
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import NOT_ASSERTED, Score

FAITHFULNESS, RECALL = "context-faithfulness", "context-recall"
"""Assertion types; the value of the second is the expected answer."""
METRICS: Mapping[str, str] = MappingProxyType(
    {
        FAITHFULNESS: "faithfulness",
        RECALL: "context_recall",
        "context-relevance": "context_relevance",
        "answer-relevance": "response_relevancy",
    }
)
"""Assertion type -> our equivalent metric."""
WITH_THRESHOLD = (FAITHFULNESS, RECALL)
"""Types whose metric has a threshold parameter; other thresholds are compared separately."""
ASSERTION = ("type", "value", "threshold", "grading", "provider", "metric")
"""Keys of an assertion. `metric` is a display name and affects no score."""
GRADING: Mapping[str, type] = MappingProxyType(
    {"useRagas": bool, "strictJson": bool, "maxRetries": int, "batchSize": int, "provider": object}
)
"""Keys of a `grading` or `ragas` block -> their types."""
MISSPELLED = 0.85
"""Similarity from which a type is one that we know, misspelled; others are skipped."""
APIS = ("chat", "responses", "messages", "embedding", "embeddings")
"""Parts of a provider id that name an API: `openai:responses:gpt-4o`."""
OTHER_APIS = ("completion", "assistant", "realtime", "moderation", "image", "agents")
"""The same for APIs that cannot judge."""
NO_MODELS = ("file", "python", "exec", "http", "https", "package", "echo")
"""Providers of promptfoo that ragstone cannot call."""
PROVIDERS: Mapping[str, str] = MappingProxyType({"azureopenai": "azure", "togetherai": "together"})
"""Provider of promptfoo -> ragstone's name, if they differ."""
LEGACY = "promptfoo"
"""The policy that prompts and parses like promptfoo 0.121.20 without RAGAS mode."""
KEYS = "set API keys in the environment, such as OPENAI_API_KEY"
INSTEAD = "run `promptfoo eval -o results.json` and pass results.json to ragstone"
_OURS = frozenset(METRICS.values())
_MEANT = {
    name: kind
    for kind, metric in METRICS.items()
    for name in (metric, kind.removeprefix("context-"), kind)
}
"""Type, type without its prefix, or our metric -> the type that is meant."""

Thing = Mapping[str, object]
NOTHING: Thing = MappingProxyType({})
NO_CONFIG = Config()


@dataclass(frozen=True)
class AssertRequirements:
    """What the assertions of a configuration measure, and how.

    Attributes:
        metrics: names as `--metric` takes them, with their thresholds.
        thresholds: metric without a threshold parameter -> the score it must reach.
        settings: fields of the plan, and `preset`.
        ragas: whether RAGAS mode is on; otherwise faithfulness is promptfoo's own.
        notes: differences from promptfoo, and settings without effect.
    """

    metrics: tuple[str, ...]
    thresholds: Mapping[str, float]
    settings: Mapping[str, object]
    ragas: bool
    notes: tuple[str, ...]

    def over(self, config: Config = NO_CONFIG) -> Config:
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

    def without_other_scores(self, row: Row, own: "AssertRequirements") -> Row:
        none = dict.fromkeys(self._only_of_others(row.scores, own), Score.undefined(NOT_ASSERTED))
        return replace(row, scores={**row.scores, **none})

    def failing(self, scores: Mapping[str, Score], own: "AssertRequirements") -> list[str]:
        """Return the metrics that fail a test; in promptfoo, one is enough.

        Thresholds of other tests do not count: `own` is this test's. Undefined, failed and imputed
        scores never pass.
        """
        others = self._only_of_others(scores, own)
        found: list[str] = []
        for full, score in scores.items():
            bare, mark = split_threshold(full)
            least = own.thresholds.get(bare) if mark is None else mark
            if (bare in _OURS and full not in others) and (
                score.value is None
                or score.fallback
                or score.passed is False
                or (least is not None and not reaches(score.value, least))
            ):
                found.append(full)
        return found

    def _only_of_others(self, names: Iterable[str], own: "AssertRequirements") -> set[str]:
        mine = set(map(split_threshold, own.metrics))
        every = set(map(split_threshold, self.metrics))
        found = {name: split_threshold(name) for name in names}
        replaced = mine.isdisjoint(found.values())
        return set() if replaced else {name for name, key in found.items() if key in every - mine}


def part(of: Thing, name: str) -> Thing:
    found = of.get(name)
    if found is not None and not isinstance(found, Mapping):
        raise UsageError(f"{name}: expected a mapping, got {found!r:.40}; {INSTEAD}")
    return NOTHING if found is None else cast("Thing", found)


def unknown_keys(
    given: Iterable[str], known: Iterable[str], name: str, fix: str = INSTEAD
) -> Iterator[str]:
    known = tuple(known)
    near = {str(key): nearest(str(key), known) for key in given if key not in known}
    if near:
        names = [f"{key} (did you mean {near[key]}?)" if near[key] else key for key in near]
        advice = "" if all(near.values()) else f"; {fix}"
        yield f"{name}: unsupported: {', '.join(names)}{advice}"


def grading_problems(of: Thing, block: str, at: str = "") -> Iterator[str]:
    name, given = f"{at}: {block}" if at else block, of.get(block)
    if not isinstance(given, Mapping | None):
        yield f"{name}: expected a mapping such as {{useRagas: true}}, got {given!r:.40}"
        return
    settings = cast("Thing", given or {})
    yield from unknown_keys(settings, GRADING, name, f"supported: {', '.join(GRADING)}")
    for key, value in settings.items():
        kind, least = GRADING.get(key), 1 if key == "batchSize" else 0
        if kind is bool and not isinstance(value, bool):
            quotes = "; remove the quotes" if str(value).lower() in ("true", "false") else ""
            yield f"{name}: {key} must be true or false, not {value!r:.40}{quotes}"
        if kind is int and (type(value) is not int or value < least):
            yield f"{name}: {key} must be a whole number of at least {least}, not {value!r:.40}"


def assertion_problems(assertion: Thing, at: str) -> Iterator[str]:
    kind = str(assertion.get("type"))
    plain = kind.removeprefix("not-")
    if plain not in METRICS:
        if near := get_close_matches(plain.lower(), _MEANT, n=1, cutoff=MISSPELLED):
            fix = f"did you mean {_MEANT[near[0]]}?"
            seen = f"{kind!r:.80} is not an assertion type of promptfoo; {fix}"
            yield f"{at}: {seen}"
        elif "$ref" in assertion:
            yield f"{at}: $ref is not supported; write the assertion out, or {INSTEAD}"
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
    mark = assertion.get("threshold")
    if mark is not None and (isinstance(mark, bool) or not isinstance(mark, int | float)):
        yield f"{at}: the threshold must be a number, got {mark!r:.40}"
    if kind == RECALL and not isinstance(assertion.get("value"), str | None):
        yield f"{at}: the value must be a string, got {assertion['value']!r:.40}"


def supported(assertions: Iterable[Thing]) -> list[Thing]:
    return [one for one in assertions if str(one.get("type")) in METRICS]


def demands_of(
    tests: Mapping[str, Sequence[Thing]], *, whole: Thing, graders: Sequence[object]
) -> tuple[AssertRequirements, Mapping[str, AssertRequirements]]:
    """Return what the assertions of all tests require together, and what each test requires.

    Each test has a supported assertion; `graders` are the tests' own providers.
    """
    ours = {at: supported(assertions) for at, assertions in tests.items()}
    kinds = {
        at: [kind for kind in METRICS if any(one["type"] == kind for one in given)]
        for at, given in ours.items()
    }
    first, *others = kinds.items()
    if other := next((each for each in others if each[1] != first[1]), None):
        pairs = [f"{at} asserts {' and '.join(kinds)}" for at, kinds in (first, other)]
        raise UsageError(
            f"{pairs[0]}, but {pairs[1]}; a run scores all tests with the same metrics; assert the "
            f"same types in all tests, for example in defaultTest, or {INSTEAD}"
        )
    every = [one for given in ours.values() for one in given]
    settings, ragas, notes = _settings(every, whole, graders)
    types = {str(one.get("type")) for given in tests.values() for one in given} - METRICS.keys()
    notes += [
        f"assertions of type {name} are not supported and were skipped" for name in sorted(types)
    ]
    notes += [
        f"{kind} is scored by ragstone's {METRICS[kind]}, not by promptfoo's own rule"
        for kind in first[1]
        if kind != FAITHFULNESS
    ]
    metrics = {at: tuple(dict.fromkeys(map(_metric, given))) for at, given in ours.items()}
    union = tuple(dict.fromkeys(chain.from_iterable(metrics.values())))
    if any(set(names) != set(union) for names in metrics.values()):
        notes.append(
            "tests have different thresholds: each threshold is a separate metric, undefined for "
            "samples whose test does not assert it"
        )
    each = {
        at: AssertRequirements(metrics[at], _thresholds(given), settings, ragas, ())
        for at, given in ours.items()
    }
    return AssertRequirements(union, _thresholds(every), settings, ragas, tuple(notes)), each


def _settings(
    ours: Sequence[Thing], whole: Thing, graders: Sequence[object]
) -> tuple[Mapping[str, object], bool, list[str]]:
    """Return the settings of the judge, whether RAGAS mode is on, and notes.

    An assertion's `grading` overrides the file's `grading`, and that the `ragas` block.
    """
    base = {**part(whole, "ragas"), **part(whole, "grading")}
    given = [{"provider": one.get("provider"), **part(one, "grading")} for one in ours]
    remember([base, *given])
    asked = [one for one, each in zip(given, ours, strict=True) if each["type"] == FAITHFULNESS]
    modes = {bool(one.get("useRagas", base.get("useRagas"))) for one in asked}
    ragas = ragas_in_environment() or modes == {True}
    if len(modes) > 1 and not ragas:
        raise UsageError(
            "context-faithfulness has useRagas: true in some assertions only, but a run scores all "
            "tests the same way; set useRagas in the top-level grading"
        )
    chosen: dict[str, object] = {}
    notes: list[str] = []
    for key in GRADING:
        values = [one[key] for one in given if one.get(key) not in (None, "text")]
        if key == "provider" and not values and base.get(key) in (None, "text"):
            values = [grader for grader in graders if grader not in (None, "text")]
        bare = [_without_keys(value) for value in values]
        if any(value != bare[0] for value in bare) and key != "useRagas":
            raise UsageError(
                f"assertions have different {key} ({_both(bare)}), but a run has one judge; "
                f"remove {key} from them and set it in the top-level grading"
            )
        if 0 < len(values) < len(given) and key != "useRagas":
            notes.append(f"{key} is set in some assertions, but applies to all of them")
        if values or key in base:
            written = values or [base[key]]
            chosen[key] = _without_keys(written[0])
            if any(_without_keys(value) != value for value in written):
                notes.append(f"apiKey in the grading provider's config is ignored; {KEYS}")
    without = sorted(chosen.keys() - {"provider", "useRagas"})
    if without and not ragas:
        notes.append(f"without useRagas: true, these have no effect: {', '.join(without)}")
    mode: dict[str, object] = {"policy": LEGACY}
    if ragas:
        mode = {"preset": RAGAS, "retries": chosen.get("maxRetries", RETRIES)}
        names = {"strictJson": "strict_json", "batchSize": "batch_size"}
        mode |= {ours: chosen[theirs] for theirs, ours in names.items() if theirs in chosen}
    return MappingProxyType({**mode, **_judge(chosen.get("provider"))}), ragas, notes


def _without_keys(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    items = cast("Thing", value).items()
    return {name: _without_keys(item) for name, item in items if name != "apiKey"}


def _both(values: Sequence[object]) -> str:
    other = next(value for value in values if value != values[0])
    return f"{values[0]!r:.60} and {other!r:.60}"


def expected_by(assertions: Sequence[Thing], at: str) -> str | None:
    found = [one.get("value") for one in assertions if one.get("type") == RECALL]
    if any(value != found[0] for value in found):
        raise UsageError(
            f"{at}: two {RECALL} assertions expect different answers ({_both(found)}), but a "
            "sample has one reference; write one test for each"
        )
    return cast("str | None", found[0]) if found else None


def _metric(assertion: Thing) -> str:
    kind, mark = str(assertion["type"]), assertion.get("threshold")
    if mark is None or kind not in WITH_THRESHOLD:
        return METRICS[kind]
    return f"{METRICS[kind]},threshold={float(cast('float', mark))!r}"


def _thresholds(ours: Iterable[Thing]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for one in ours:
        mark, name = one.get("threshold"), METRICS[str(one["type"])]
        if mark is not None and one["type"] not in WITH_THRESHOLD:
            value = float(cast("float", mark))
            found[name] = max(value, found.get(name, value))
    return MappingProxyType(found)


def _judge(said: object) -> dict[str, object]:
    if said is None or said == "text":
        return {}
    if not isinstance(said, Mapping):
        return {"judge": _model(str(said))}
    given = cast("Thing", said)
    if "text" in given or "embedding" in given:
        embedding = _judge(given.get("embedding")).get("judge")
        return _judge(given.get("text")) | ({"embedding_model": embedding} if embedding else {})
    config = part(given, "config")
    names = {"apiBaseUrl": "base_url", "temperature": "temperature", "max_tokens": "max_tokens"}
    keys = f"supported: {', '.join(names)}; {KEYS}"
    for problem in unknown_keys(config, names, "the grading provider's config", keys):
        raise UsageError(problem)
    settings = {ours: config[theirs] for theirs, ours in names.items() if theirs in config}
    return {"judge": _model(str(given.get("id"))), **settings}


def _model(said: str) -> str:
    provider, *rest = said.split(":")
    model = ":".join(rest[1:] if rest and rest[0] in APIS else rest)
    if provider in NO_MODELS or (rest and rest[0] in OTHER_APIS) or not model:
        raise UsageError(
            f"the grading provider {said!r:.80} must be provider:model with a chat model, such as "
            "openai:gpt-4"
        )
    return f"{PROVIDERS.get(provider, provider)}:{model}"


def asks_in_text(plan: Plan) -> bool:
    metrics = select(plan.metrics, **plan.parameters)
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    return plan.policy == LEGACY and not kinds.isdisjoint(PROMPTS)


class ProgressOptions(TypedDict, total=False):
    """The options of `evaluate` that watch a run."""

    on_progress: Callable[[bool, int], None]
    on_notice: Callable[[str], None]
    explicit: Mapping[str, str]
    reports: Mapping[str, str]
    tracing: Tracing


def evaluate_tests(
    samples: Dataset | Sequence[Sample],
    plan: Plan,
    watched: ProgressOptions | None = None,
    *,
    finish: Callable[[Row], Row] | None = None,
    **keeping: Unpack[StoreOptions],
) -> Run:
    """Evaluate samples by a plan, as `ragstone.evaluate` does.

    Under the policy `promptfoo`, claims use the plain-text prompts and parsing of promptfoo
    0.121.20; all other questions go to the plan's judge.
    """
    progress: ProgressOptions = watched or {}
    if asks_in_text(plan):
        budget = Budget(plan.max_calls, plan.max_cost)
        tracing = progress.get("tracing", UNTRACED)
        text = legacy_judge(plan, budget, tracing)
        text = CachedJudge(text, plan.reply_cache or REPLIES) if plan.cache else text
        asked = [metric.question_kinds for metric in select(plan.metrics, **plan.parameters)]
        others = make_judge(plan, asked=asked, budget=budget, tracing=tracing)
        judge = RouterJudge(dict.fromkeys(PROMPTS, text), others)
        unlimited = plan.model_copy(update={"max_calls": None, "max_cost": None})
        made = Evaluation.prepare(samples, plan=unlimited, judge=judge, **progress, **keeping)
        made = replace(made, budget=budget)  # the judge counts
    else:
        made = Evaluation.prepare(samples, plan=plan, **progress, **keeping)
    return replace(made, finish=finish).run_in_thread()
