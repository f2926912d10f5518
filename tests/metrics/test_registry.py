import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError, is_dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import Field
from tests.asking import asker
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import Metric, catalogue, registry, select
from ragstone.metrics.claim_checks import ClaimMetric
from ragstone.metrics.registry import get, load_plugin, origin, register, registered
from ragstone.metrics.retrieval import F1, Hit, Precision, RankingMetric
from ragstone.types.rankings import Rankings
from ragstone.types.sample import Context, Sample

# Query 1 returns x a b, of which a and b are relevant; query 2 returns nothing.
RANKINGS = Rankings.of([["x", "a", "b"], []], [{"a": 1, "b": 2}, {"a": 1}])


def stranger(name: str = "mine", *, replace: bool = False) -> type[RankingMetric]:
    @register(name, replace=replace)
    class Mine(RankingMetric):
        """The share of the first k that is relevant, by a stranger."""

        label: ClassVar[str] = "Mine@K"

        k: Annotated[int, Field(ge=1)] = 3

        def value(
            self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
        ) -> tuple[float, dict[str, int | str]]:
            hits = sum(relevance.get(document, 0) > 0 for document in retrieved_ids)
            return hits / self.k, {"hits": hits, "seen": " ".join(retrieved_ids)}

    return Mine


def test_a_registered_class_is_a_frozen_dataclass_that_is_found_by_its_name() -> None:
    cls = stranger()
    assert is_dataclass(cls)
    assert registered()["mine"] is cls
    metric = get("mine@2")
    assert (metric, str(metric), hash(metric)) == (cls(k=2), "mine@2", hash(cls(k=2)))
    with pytest.raises(FrozenInstanceError):
        metric.k = 3  # type: ignore[attr-defined]
    assert catalogue()["mine"] == cls.info()
    assert cls.info().description == "The share of the first k that is relevant, by a stranger."
    assert origin("mine").endswith("test_registry.py")
    again = stranger()  # as when its file is loaded again
    assert registered()["mine"] is again


def test_value_or_values_are_enough_with_or_without_details_k_and_label() -> None:
    @register("depth")
    class Depth(RankingMetric):
        def value(self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]) -> float:
            return len(retrieved_ids) - len(relevance)

    @register("gain")
    class Gain(RankingMetric):
        def values(self, rankings: Rankings) -> NDArray[np.float64]:
            return rankings.gains.sum(axis=1)

    for metric, values in ((Depth(), [1, -1]), (Gain(), [3, 0]), (stranger()(), [2 / 3, 0])):
        scores = metric.scores(RANKINGS)
        assert [score.value for score in scores] == values
        assert [score.detail["first_hit_rank"] for score in scores] == [2, None]
    assert scores[0].detail.items() >= {"hits": 2, "seen": "x a b", "relevant": 2}.items()
    assert stranger()(k=2).scores(RANKINGS)[0].detail["seen"] == "x a"
    assert catalogue()["depth"].label == "depth"


async def test_one_sample_alone_is_scored_as_among_many() -> None:
    metric = stranger()()
    ranking = tuple(Context(id=id_) for id_ in "xab")
    sample = Sample(id="1", query="q", ranking=ranking, relevance={"a": 1, "b": 2})
    assert await metric.score(sample, asker(ScriptedJudge({}))) == metric.scores(RANKINGS)[0]


@each_case("name", ["", "Mine", "1st", "my-metric", "my metric", "mine@5", "ä", "_x"])
def test_a_bad_name_is_refused(name: str) -> None:
    told = "invalid metric name .*; use lower case letters, digits and _"
    with pytest.raises(UsageError, match=told):
        stranger(name)


def test_a_taken_name_is_refused_unless_it_is_to_be_replaced() -> None:
    taken = r"'hit' already exists \(ragstone\.metrics\.retrieval\.Hit\)"
    with pytest.raises(UsageError, match=taken):
        stranger("hit")
    assert registered()["hit"] is Hit
    cls = stranger("hit", replace=True)
    assert registered()["hit"] is cls


def test_a_class_that_is_not_whole_is_refused() -> None:
    with pytest.raises(UsageError, match="family 'ranking'; it must be retrieval or generation"):

        @register("odd")
        class Odd(RankingMetric):
            family: ClassVar[str] = "ranking"

    with pytest.raises(UsageError, match="the class Half does not define check"):

        @register("half")
        class Half(ClaimMetric):
            """Half a metric."""

    assert not {"odd", "half"} & registered().keys()

    @register("neither")
    class Neither(RankingMetric):
        pass

    with pytest.raises(NotImplementedError, match="Neither must define values or value"):
        Neither().scores(RANKINGS)


@each_case(
    ("spec", "metric"),
    [
        ("hit", Hit(k=9)),
        ("hit,k=3", Hit(k=3)),
        ("hit@007", Hit(k=7)),
        ("precision@3,denominator=retrieved", Precision(k=3, denominator="retrieved")),
        ("f1, denominator = retrieved , k = 2", F1(k=2, denominator="retrieved")),
    ],
)
def test_a_name_with_parameters_is_read_and_defaults_fill_it(spec: str, metric: Metric) -> None:
    assert get(spec, k=9) == metric
    assert str(get("faithfulness", k=9, policy="strict")) == "faithfulness"


@each_case(
    ("spec", "told"),
    [
        ("hit@0", r"'hit@0': k: must be at least 1, got '0'"),
        ("hit@99999999999999999999", r"k: must be at most 2147483647"),
        ("hit,k=five", r"k: must be a whole number.*got 'five'"),
        ("hit@5:strict", r"hit has no parameter policy; it has: k"),
        ("faithfulness@5", r"faithfulness has no parameter k; it has: .*policy"),
        ("precision@5,denominator=x", r"denominator: must be 'k' or 'retrieved', got 'x'"),
        ("precision@5,denominator", r"'denominator' is not PARAMETER=VALUE"),
        ("precision@5,", r"'' is not PARAMETER=VALUE"),
        ("hit@5,k=3", r"'hit@5,k=3' sets k twice"),
        ("recal@5", "no metric named 'recal'; did you mean 'recall'"),
        ("Hit-5", "no metric named 'hit-5'"),
        ("hit@", "no metric named 'hit@'; did you mean 'hit'"),
        ("hit@-1", "no metric named 'hit@-1'"),
        ("", "no metric named ''; known: "),
        ("faithfulness:strickt", "no policy named 'strickt'; did you mean 'strict'"),
        ("success@5", "use hit@k"),
        ("unsupported_claims", "use faithfulness"),
    ],
)
def test_names_and_parameters_that_stand_for_nothing_are_refused(spec: str, told: str) -> None:
    for find in (get, lambda name: select([name])):
        with pytest.raises(UsageError, match=told):
            find(spec)


def test_what_a_stranger_itself_refuses_is_told_as_well() -> None:
    @register("even")
    class Even(stranger("base")):  # type: ignore[misc]
        def __post_init__(self) -> None:
            if self.k % 2:
                raise ValueError("k must be even")

    assert str(get("even@4")) == "even@4"
    with pytest.raises(UsageError, match="'even@3': k must be even"):
        get("even@3")


Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a package where Python looks for installed ones, and forget what was found before."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def put(package: str, text: str, *points: str) -> None:
        monkeypatch.setattr(registry, "_loaded", set())
        monkeypatch.setattr(registry, "_packages", {})
        module = package.replace("-", "_")
        sys.modules.pop(module, None)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)  # same size, same second
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        info = tmp_path / f"{module}-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Name: {package}\nVersion: 1.2\n", encoding="utf-8")
        named = "\n".join(["[ragstone.metrics]", *(points or [f"it = {module}"])])
        (info / "entry_points.txt").write_text(named, encoding="utf-8")
        importlib.invalidate_caches()
        registry._installed.cache_clear()

    yield put
    registry._installed.cache_clear()
    for name in set(sys.modules) - before:
        del sys.modules[name]


METRIC = """
from ragstone import RankingMetric, register

@register("depth")
class Depth(RankingMetric):
    'How many came.'
    def value(self, retrieved_ids, relevance):
        return float(len(retrieved_ids))
"""
HIT = METRIC.replace('"depth"', '"hit", replace=True')


@pytest.mark.parametrize("point", ["it = some_metrics", "depth = some_metrics:Depth"])
def test_an_installed_package_brings_metrics(install: Install, point: str) -> None:
    install("some-metrics", METRIC, point)
    assert "some_metrics" not in sys.modules
    assert catalogue()["depth"].description == "How many came."
    assert str(get("depth")) == "depth"
    assert (origin("depth"), origin("hit")) == ("some-metrics 1.2", "ragstone")


def test_a_package_is_loaded_once_and_may_look_at_the_metrics_meanwhile(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "from ragstone.metrics import catalogue\nassert 'hit' in catalogue()\nprint('loaded')\n"
    install("some-metrics", more + METRIC, "a = some_metrics", "b = some_metrics")
    assert str(get("depth")) == "depth"
    assert "depth" in registered()
    assert capsys.readouterr().out == "loaded\n"


@each_case(
    ("text", "point", "said"),
    [
        ("1 / 0", "it = some_metrics", "ZeroDivisionError: division by zero"),
        ("Depth = [1]", "it = some_metrics:Depth", "neither a module nor a class with @register"),
        (METRIC.replace("depth", "Bad"), "it = some_metrics", "invalid metric name 'Bad'"),
        (METRIC.replace("depth", "hit"), "it = some_metrics", "'hit' already exists .ragstone"),
    ],
)
def test_a_broken_package_is_named_with_what_to_do(
    install: Install, text: str, point: str, said: str
) -> None:
    install("some-metrics", text, point)
    start = "^the installed package some-metrics 1.2 registers .* as ragstone.metrics 'it', "
    for _ in range(2):
        with pytest.raises(UsageError, match=f"{start}.*{said}") as refused:
            registered()
    assert str(refused.value).endswith("fix it, or remove it: pip uninstall some-metrics")


def test_a_plugin_or_package_may_take_over_a_name_and_then_it_is_told(
    install: Install, tmp_path: Path
) -> None:
    install("some-metrics", HIT)
    assert catalogue()["hit"].description == "How many came."
    assert origin("hit") == "some-metrics 1.2"
    file = tmp_path / "mine.py"
    file.write_text(HIT, encoding="utf-8")
    load_plugin(str(file))
    assert origin("hit") == str(file)


def test_importing_ragstone_loads_no_package(install: Install, tmp_path: Path) -> None:
    install("some-metrics", "print('loaded')")
    code = "import ragstone, ragstone.cli, ragstone.metrics\nprint('imported')\n"
    code += "from ragstone.metrics import catalogue\ncatalogue()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == ["imported", "loaded"]


def test_a_group_leaves_out_what_has_to_be_given_parameters() -> None:
    @register("needy")
    class Needy(RankingMetric):
        level: int

    assert "needy" not in {metric.name for metric in select(["all"])}
    assert str(get("needy,level=3")) == "needy,level=3"
