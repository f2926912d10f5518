"""What a run may be told of claims is what a claim metric may be told, and so on outwards."""

from dataclasses import fields

from pydantic import TypeAdapter

from ragstone.evaluation.runner import Options
from ragstone.integrations.pytest.plugin import SETTINGS as PYTEST
from ragstone.metrics.claim_checks import ClaimMetric
from ragstone.metrics.claims import Faithfulness
from ragstone.types.config import SETTINGS, ClaimPlan, Plan

MARKS = {"threshold"}
"""What a metric alone says: marks of a run are its gates."""

BY_OTHER_NAMES = {"gates", "fallback_target"}
"""Fields of the plan that `fail_under` and `fail_over` say, and that the command sets itself."""


def test_the_plan_says_what_a_claim_metric_takes_with_the_same_defaults() -> None:
    metric = {field.name: field.default for field in fields(ClaimMetric)}
    plan = {name: field.default for name, field in ClaimPlan.model_fields.items()}
    assert plan == {name: value for name, value in metric.items() if name not in MARKS}


def test_and_of_the_same_types_and_ranges() -> None:
    metric = TypeAdapter(Faithfulness).json_schema()["properties"]
    plan = ClaimPlan.model_json_schema()["properties"]
    for field in plan.values():
        del field["setting"]
        field.pop("description", None)  # most are texts below the field
    assert plan == {name: value for name, value in metric.items() if name not in MARKS}


def test_pytest_has_options_for_settings_alone() -> None:
    assert {name.replace("-", "_") for name, *_ in PYTEST} - {"config"} <= SETTINGS.keys()


def test_evaluate_takes_every_field_of_the_plan() -> None:
    arguments = {name for name in Plan.model_fields.keys() & SETTINGS if SETTINGS[name].option}
    assert arguments <= Options.__annotations__.keys()
    assert Plan.model_fields.keys() - SETTINGS.keys() == BY_OTHER_NAMES
