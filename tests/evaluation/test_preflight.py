"""Settings that would mislead if they were ignored are refused or reported."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.evaluation.preflight import (
    LIMITS,
    LLM_SETTINGS,
    Preflight,
    check_judge_settings,
    idle_settings,
    offline_notices,
)
from ragstone.evaluation.runner import Evaluation, evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get, select
from ragstone.targets.base import Answer, Target
from ragstone.types.config import SETTINGS, Plan, Source
from ragstone.types.gate import FLAGS, gate
from ragstone.types.sample import Context, Sample

JUDGE = ScriptedJudge({"extract_claims": [], "verify_claims": []})
HIT, FAITHFULNESS = get("hit@5"), get("faithfulness")
CONTEXTS = (Context(id="1", text="a"),)


class Gives(Target):
    """A target that is not asked here; it only says what it could give."""

    name = "gives"

    def __init__(self, *fields: str) -> None:
        self.gives = frozenset(fields)

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        raise AssertionError(f"readiness asks nobody about {sample.id} and {needed}")


def ready(
    *samples: dict[str, Any],
    judge: ScriptedJudge = JUDGE,
    target: Target | None = None,
    every: bool = False,
) -> Preflight:
    made = [Sample(id=str(i), query="q", **fields) for i, fields in enumerate(samples)]
    whole = Dataset(tuple(made), Source(name="samples"))
    return Preflight.compare([HIT, FAITHFULNESS], whole, judge=judge, target=target, every=every)


NO_RELEVANCE = "no row has relevance (column point_ids)"
NO_RESPONSE = "no row has response, and no target provides it"
NO_CONTEXTS = "no row has contexts, and no target provides it"


def test_metrics_need_what_a_row_holds_or_a_target_gives() -> None:
    found = ready({"response": "r", "contexts": CONTEXTS, "relevance": {"1": 1}})
    assert found == Preflight((HIT, FAITHFULNESS), {}, frozenset())
    assert ready({}, {"response": "", "contexts": (), "relevance": {}}).refused == {}
    found = ready({"response": "r", "ranking": CONTEXTS, "relevance": {"1": 1}})
    assert (found.metrics, found.refused) == ((HIT,), {"faithfulness": NO_CONTEXTS})
    found = ready({"contexts": CONTEXTS})
    assert found.refused == {"hit@5": NO_RELEVANCE, "faithfulness": NO_RESPONSE}
    found = ready({}, target=Gives("response", "contexts", "ranking"), every=True)
    assert (found.metrics, found.refused) == ((FAITHFULNESS,), {"hit@5": NO_RELEVANCE})
    judge = ScriptedJudge({"extract_claims": []})
    found = ready({"relevance": {}, "contexts": CONTEXTS}, judge=judge)
    told = {"faithfulness": "the judge scripted does not support verify_claims"}
    assert (found.metrics, found.refused) == ((HIT,), told)


def test_what_the_whole_has_counts_as_held_by_a_part_of_it() -> None:
    part = Dataset(
        (Sample(id="1", query="q"),),
        Source(name="samples"),
        known=frozenset(("response", "contexts")),
    )
    found = Preflight.compare([HIT, FAITHFULNESS], part, judge=JUDGE, target=None, every=False)
    assert found.metrics == (FAITHFULNESS,)
    assert found.refused == {"hit@5": "no row has relevance (column point_ids)"}


@each_case(
    ("held", "gives", "every", "wanted"),
    [
        ({}, "response contexts ranking", False, "response contexts ranking"),
        ({}, "response contexts", False, "response contexts"),  # in the place of a ranking
        ({"contexts": CONTEXTS}, "response contexts ranking", False, "response"),
        ({"ranking": CONTEXTS}, "response contexts ranking", False, "response contexts"),
        ({"response": "r", "contexts": CONTEXTS}, "response contexts ranking", False, ""),
        ({"response": "r", "contexts": CONTEXTS}, "ranking", True, "ranking"),
    ],
)
def test_a_target_is_asked_for_what_no_row_holds_or_for_all(
    held: dict[str, Any], gives: str, every: bool, wanted: str
) -> None:
    found = ready({**held, "relevance": {}}, target=Gives(*gives.split()), every=every)
    assert found.wanted == frozenset(wanted.split())
    assert found.refused == {}


def test_a_misspelt_column_is_not_replaced_by_calls_of_the_default_target() -> None:
    fields: dict[str, Any] = {"contexts": CONTEXTS, "tags": {"Respnse": "It is blue."}}
    target = Gives("response", "contexts")
    message = "no row has response; did you mean column 'Respnse'? Use map response=Respnse"
    assert ready(fields).refused["faithfulness"] == message
    with pytest.raises(UsageError, match=re.escape(f"{message}, or set target to the system to")):
        ready(fields, target=target).check((), Plan())
    found = ready(fields, target=target, every=True)
    assert found.wanted == {"response", "contexts"}
    assert "faithfulness" not in found.refused


LLM = "openai:gpt-4o-mini"
ROW = {"query": "q", "ranking": ["a"], "relevance": ["a"], "response": "A.", "contexts": ["A."]}


def test_settings_of_another_kind_of_judge_are_refused() -> None:
    assert SETTINGS.keys() >= LLM_SETTINGS | LIMITS
    check_judge_settings(SETTINGS.keys() - LLM_SETTINGS, Plan())
    check_judge_settings(LLM_SETTINGS, Plan(judge=f"offline,{LLM}"))
    for name in LLM_SETTINGS:
        with pytest.raises(UsageError, match=f"{name}: only for "):
            check_judge_settings([name], Plan())


@each_case(
    ("metric", "judge", "reason"),
    [
        ("faithfulness", "offline", "no metric uses an LLM"),
        ("hit", LLM, "no metric uses a judge"),
        ("faithfulness", f"offline,{LLM}", ""),
    ],
)
def test_limits_without_a_paid_judge_are_reported(metric: str, judge: str, reason: str) -> None:
    plan = Plan(judge=judge)
    metrics = select([metric], **plan.parameters)
    for name in LIMITS:
        notices = idle_settings([name], plan, metrics=metrics, target=None)
        assert notices == ([f"{name} has no effect: {reason}"] if reason else [])


WARNING = (
    "faithfulness: a gate rests on the offline judge, which compares words; label rows of this run "
    "(`ragstone labels start`), or use an LLM as judge"
)


@each_case(
    ("metric", "options", "warns"),
    [
        ("faithfulness", {}, True),
        ("faithfulness", {"judge": "offline,threshold=0.7"}, True),
        ("faithfulness", {"judge": f"offline,{LLM}"}, False),
        ("faithfulness", {"calibration": "mine"}, False),
        ("faithfulness", {"gates": [gate("faithfulness=0.9", *FLAGS["min_coverage"])]}, False),
        ("hit", {"gates": [gate("hit=0.9", ">=")]}, False),
    ],
)
def test_a_gate_that_only_words_support_is_reported(
    metric: str, options: dict[str, object], warns: bool
) -> None:
    gates = {"gates": [gate("faithfulness=0.9", ">=")]}
    plan = Plan.model_validate(gates | options)
    assert offline_notices(select([metric]), plan) == [WARNING] * warns


def test_a_policy_or_gates_that_change_nothing_are_reported() -> None:
    (notice,) = offline_notices(select(["faithfulness"], policy="deepeval"), Plan())
    assert "counts only contradicted claims, which the offline judge never finds" in notice
    assert not offline_notices(select(["faithfulness"], policy="deepeval"), Plan(judge=LLM))
    plan = Plan.model_validate({"gates_on": "corrected"})
    found = idle_settings([], plan, metrics=select(["hit"], **plan.parameters), target=None)
    assert found == ["gates_on=corrected has no effect: no gate is set"]


def test_in_python_options_are_reported_by_their_name(tmp_path: Path) -> None:
    for target in (None, lambda query: {"ranking": [query]}):  # a function is not told of it
        with pytest.warns(UserWarning, match="min_similarity has no effect"):
            evaluate([ROW], metrics="hit", min_similarity=0.8, target=target)
    told: list[str] = []
    Evaluation.estimate([ROW], metrics="hit", max_calls=3, on_notice=told.append)
    assert told[1:] == ["max_calls has no effect: no metric uses a judge"]
    (tmp_path / "ragstone.yaml").write_text("max_calls: 1\nmin_similarity: 0.5\n")
    evaluate([ROW], metrics="hit", config=tmp_path / "ragstone.yaml")
    evaluate([ROW], metrics="hit", plan=Plan(min_similarity=0.5), concurrency=8)


def test_settings_do_not_configure_a_judge_object() -> None:
    told: list[str] = []
    options = {"judge": JUDGE, "config": {"temperature": 0.5}, "on_notice": told.append}
    evaluate([ROW], metrics="faithfulness", **options)  # type: ignore[arg-type]
    assert told[1:] == ["temperature has no effect: the judge object has its own settings"]
    evaluate([ROW], metrics="hit", judge=JUDGE)  # several evaluations may share it
