"""Settings that would mislead if they were ignored are refused or reported."""

from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.evaluation.preflight import (
    LIMITS,
    LLM_SETTINGS,
    check_judge_settings,
    idle_settings,
    offline_notices,
)
from ragstone.evaluation.runner import Evaluation, evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import select
from ragstone.targets.factory import get_target
from ragstone.types.config import SETTINGS, Plan
from ragstone.types.gate import FLAGS, gate

LLM = "openai:gpt-4o-mini"
ROW = {"query": "q", "ranking": ["a"], "relevance": ["a"], "response": "A.", "contexts": ["A."]}


def test_settings_of_another_kind_of_judge_are_refused() -> None:
    assert SETTINGS.keys() >= LLM_SETTINGS | LIMITS
    for name in SETTINGS:
        if name in LLM_SETTINGS:
            with pytest.raises(UsageError, match=f"{name}: only for "):
                check_judge_settings([name], Plan())
        else:
            check_judge_settings([name], Plan())
    for name in LLM_SETTINGS:
        check_judge_settings([name], Plan(judge=LLM))
        check_judge_settings([name], Plan(judge=f"offline,{LLM}"))


@each_case("name", sorted(LIMITS))
@each_case(
    ("metric", "judge", "reason"),
    [
        ("faithfulness", "offline", "no metric uses an LLM"),
        ("hit", LLM, "no metric uses a judge"),
        ("faithfulness", LLM, ""),
        ("faithfulness", f"offline,{LLM}", ""),
    ],
)
def test_limits_without_a_paid_judge_are_reported(
    name: str, metric: str, judge: str, reason: str
) -> None:
    plan = Plan.model_validate({"judge": judge, name: 9})
    metrics = select([metric], **plan.parameters)
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
        ("faithfulness", {"judge": LLM}, False),
        ("faithfulness", {"calibration": "mine"}, False),
        ("faithfulness", {"gates": [gate("faithfulness=0.9", *FLAGS["min_coverage"])]}, False),
        ("faithfulness", {"gates": ()}, False),
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


def test_a_run_notes_a_gate_on_the_offline_judge_and_passes() -> None:
    told: list[str] = []
    options = {"fail_under": {"faithfulness": 0.5}, "on_notice": told.append}
    row = ROW | {"response": "The tower is tall.", "contexts": ["The tower is tall."]}
    run = evaluate([row], metrics="faithfulness", **options)  # type: ignore[arg-type]
    assert told.count(WARNING) == 1
    assert (run.gates()[0].passed, run.troubles) == (True, ())


def test_a_threshold_that_no_system_obeys_is_reported() -> None:
    plan = Plan(min_similarity=0.8)
    metrics = select(["hit"], **plan.parameters)
    explicit = ["min_similarity"]

    def notices(target: object) -> list[str]:
        made = get_target(target, plan, k=5) if target else None  # type: ignore[arg-type]
        return idle_settings(explicit, plan, metrics=metrics, target=made)

    def ask(query: str, k: int) -> str:
        return query * k

    [notice] = notices(None)
    assert notice.startswith("min_similarity has no effect: no RAG system is called")
    assert notice.endswith("for a pass mark, use fail_under (--fail-under)")  # S2.6
    assert notices("http://127.0.0.1:9") == []
    assert "min_similarity has no effect" in notices(ask)[0]


def test_in_python_options_are_reported_by_their_name(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="min_similarity has no effect: no RAG system is"):
        evaluate([ROW], metrics="hit", min_similarity=0.8)
    told: list[str] = []
    Evaluation.estimate([ROW], metrics="hit", max_calls=3, on_notice=told.append)
    assert told[1:] == ["max_calls has no effect: no metric uses a judge"]
    (tmp_path / "ragstone.yaml").write_text("max_calls: 1\nmin_similarity: 0.5\n")
    evaluate([ROW], metrics="hit", config=tmp_path / "ragstone.yaml")
    evaluate([ROW], metrics="hit", plan=Plan(min_similarity=0.5), concurrency=8)


def test_settings_do_not_configure_a_judge_object() -> None:
    own = ScriptedJudge(
        {"extract_claims": [{"text": "c"}], "verify_claims": [{"label": "SUPPORTED"}]}
    )
    told: list[str] = []
    evaluate(
        [ROW], metrics="faithfulness", judge=own, config={"temperature": 0.5}, on_notice=told.append
    )
    assert told[1:] == ["temperature has no effect: the judge object has its own settings"]
    evaluate([ROW], metrics="hit", judge=own)  # several evaluations may share it
