import importlib
import pkgutil

import pytest
from tests.cases import each_case

import ragstone.metrics
from ragstone.errors import UnknownNameError
from ragstone.metrics import GROUPS, catalogue, select
from ragstone.metrics.registry import BUILT_IN, register, registered
from ragstone.metrics.retrieval import RankingMetric

RETRIEVAL = ["hit@5", "recall@5", "precision@5", "f1@5", "mrr@5"]
GENERATION = ["faithfulness", "response_relevancy", "context_precision"]


def chosen(*names: str, k: int = 5) -> list[str]:
    return [str(metric) for metric in select(names, k=k, policy="strict")]


def test_every_metric_of_the_package_is_registered() -> None:
    found, homes = {}, {}
    for info in pkgutil.iter_modules(ragstone.metrics.__path__):
        module = importlib.import_module(f"ragstone.metrics.{info.name}")
        for thing in vars(module).values():
            own = isinstance(thing, type) and thing.__module__ == module.__name__
            if own and isinstance(getattr(thing, "name", None), str):
                found[thing.name] = thing
                homes.setdefault(info.name, set()).add(thing.name)
    assert found == dict(registered())
    assert homes == {module: set(names) for module, names in BUILT_IN.items()}


@each_case("name", registered())
def test_a_docstring_gives_formula_range_meaning_and_source(name: str) -> None:
    text = registered()[name].__doc__ or ""
    for word in ("Formula: ", "Range ", "1.0: ", "0.0: ", "Undefined: ", "Source: "):
        assert word in " ".join(text.split()), f"{name} does not define {word}"
    info = catalogue()[name]
    assert info.label
    assert info.needs
    assert info.description.endswith(".")


def test_a_group_is_the_documents_metrics_of_its_families() -> None:
    assert chosen("all") == [*RETRIEVAL, *GENERATION]
    assert chosen("all_generation") == GENERATION
    assert set(GROUPS) == {"all", "all_retrieval", "all_generation", "all_judged"}

    @register("own")
    class Own(RankingMetric):
        """Built by a stranger."""

    assert chosen("all_retrieval") == [*RETRIEVAL, "own"]
    families = [info.family for info in catalogue().values()]
    assert families == sorted(families, key=["retrieval", "generation"].index)


def test_the_judged_are_all_that_ask() -> None:
    judged = {name for name, cls in registered().items() if cls.asks}
    assert set(chosen("all_judged")) == judged
    assert "hit" not in judged
    assert chosen("hit", "recall@10", k=3) == ["hit@3", "recall@10"]


def test_what_is_named_twice_is_there_once_at_its_first_place() -> None:
    assert chosen("hit@5", "recall", "hit", "hit@3") == ["hit@5", "recall@5", "hit@3"]
    assert chosen("recall", "all_retrieval")[0] == "recall@5"
    assert sorted(chosen("recall", "all_retrieval")) == sorted(RETRIEVAL)
    names = ["precision@5", "precision@5,denominator=retrieved"]
    assert chosen(*names) == names


@each_case(
    ("name", "told"),
    [
        ("precison@10,denominator=retrieved", "'precison'; did you mean 'precision'"),
        ("all_retreival", "did you mean 'all_retrieval'"),
        ("all@5", "named 'all'"),
        ("xyz", "known: "),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, told: str) -> None:
    with pytest.raises(UnknownNameError, match=told):
        chosen(name)
