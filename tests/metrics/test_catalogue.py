import importlib
import pkgutil

import pytest

import ragstone.metrics
from ragstone.errors import UnknownName, UsageError
from ragstone.metrics import GROUPS, RankingMetric, catalogue, get, select
from ragstone.metrics.planned import NOT_YET, PLANNED
from ragstone.metrics.registry import register, registered

RETRIEVAL = ["hit@5", "recall@5", "precision@5", "f1@5", "mrr@5"]
BY_NAME = ["map@5", "ndcg@5", "r_precision", "bpref"]


def chosen(*names: str, k: int = 5) -> list[str]:
    return [str(metric) for metric in select(names, k=k, policy="strict").metrics]


def test_every_file_is_a_metric_and_every_metric_a_file() -> None:
    rooms = {"base", "ranking_metric", "claim_metric", "rulings", "registry", "planned"}
    files = {module.name for module in pkgutil.iter_modules(ragstone.metrics.__path__)} - rooms
    assert files == set(registered())
    for name in files:
        module = importlib.import_module(f"ragstone.metrics.{name}")
        assert registered()[name].__module__ == module.__name__


def test_ranking_metrics_come_first_and_then_the_others() -> None:
    families = [info.family for info in catalogue().values()]
    assert families == sorted(families, key=["retrieval", "generation"].index)
    assert set(catalogue()) == {*registered(), *PLANNED}


@pytest.mark.parametrize("name", catalogue())
def test_a_metric_says_what_it_is(name: str) -> None:
    info = catalogue()[name]
    assert info.name == name
    assert info.label
    assert info.description.endswith(".")
    assert info.needs
    assert info.low < info.high


@pytest.mark.parametrize("name", registered())
def test_a_docstring_gives_formula_range_meaning_and_source(name: str) -> None:
    text = registered()[name].__doc__ or ""
    for word in ("Formula: ", "Range ", "1.0: ", "0.0: ", "Undefined: ", "Source: "):
        assert word in " ".join(text.split()), f"{name} does not say {word}"


@pytest.mark.parametrize(
    ("group", "metrics", "not_run"),
    [
        ("all", [*RETRIEVAL, "faithfulness"], ["response_relevancy", "context_precision"]),
        ("all_retrieval", RETRIEVAL, []),
        ("all_generation", ["faithfulness"], ["response_relevancy", "context_precision"]),
    ],
)
def test_a_group_is_its_families(group: str, metrics: list[str], not_run: list[str]) -> None:
    selection = select([group], k=5, policy="strict")
    assert [str(metric) for metric in selection.metrics] == metrics
    assert selection.not_run == dict.fromkeys(not_run, NOT_YET)


def test_some_run_by_name_only_beside_a_group() -> None:
    names = [spec.partition("@")[0] for spec in BY_NAME]
    assert list(catalogue())[5:9] == names
    assert chosen(*names) == BY_NAME
    assert chosen("all_retrieval", *names) == [*RETRIEVAL, *BY_NAME]


def test_k_is_5_unless_said() -> None:
    assert [str(get(name)) for name in ("hit", "recall", "precision", "f1", "mrr")] == RETRIEVAL


def test_k_fills_what_a_name_does_not_say() -> None:
    assert chosen("hit", "recall@10", k=3) == ["hit@3", "recall@10"]


def test_what_is_named_twice_is_there_once_at_its_first_place() -> None:
    assert chosen("hit@5", "recall", "hit", "hit@3") == ["hit@5", "recall@5", "hit@3"]
    assert chosen("recall", "all_retrieval")[0] == "recall@5"
    assert sorted(chosen("recall", "all_retrieval")) == sorted(RETRIEVAL)


def test_one_metric_twice_with_other_parameters_is_two() -> None:
    names = ["precision@5", "precision@5,denominator=retrieved"]
    assert chosen(*names) == names


@pytest.mark.parametrize(
    "name", ["response_relevancy", "context_precision@5", "response_relevancy:strict"]
)
def test_a_planned_metric_by_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is not in this version"):
        chosen("hit", name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hitt@5", "'hitt'; did you mean 'hit'"),
        ("precison@10,denominator=retrieved", "'precison'; did you mean 'precision'"),
        ("all_retreival", "did you mean 'all_retrieval'"),
        ("faithfullness", "did you mean 'faithfulness'"),
        ("bleu", "known: all, all_generation, all_retrieval, bpref, context_precision, f1"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, told: str) -> None:
    with pytest.raises(UnknownName, match=told):
        chosen(name)


def test_a_group_takes_no_parameters() -> None:
    with pytest.raises(UnknownName):
        chosen("all@5")


def test_no_names_are_no_metrics() -> None:
    assert chosen() == []


def test_a_planned_metric_that_somebody_built_is_planned_no_more() -> None:
    @register("context_precision")
    class ContextPrecision(RankingMetric):
        """Built by a stranger."""

    assert catalogue()["context_precision"].description == "Built by a stranger."
    assert chosen("context_precision") == ["context_precision"]
    selection = select(["all"], k=5, policy="strict")
    assert "context_precision" in map(str, selection.metrics)
    assert set(selection.not_run) == {"response_relevancy"}


def test_groups_are_the_three_of_the_document() -> None:
    assert set(GROUPS) == {"all", "all_retrieval", "all_generation"}
