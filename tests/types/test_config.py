import json
import math
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.types.config import NUMBERS_OR_NONE, Manifest, Plan, Source
from ragstone.types.gate import Gate

MANIFEST = Manifest(
    run_id="20260301-123005-abcdef",
    version="0.1.0",
    started_at=datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC),
    plan=Plan(metrics=("hit",), k=3, columns={"query": "Frage"}),
    source=Source(name="data.xlsx", rows=2),
    judge=None,
    judge_note=None,
    target=None,
    not_run={"faithfulness": "no row has contexts"},
)


def test_all_of_a_plan_has_a_default() -> None:
    plan = Plan()
    assert (plan.metrics, plan.k, plan.policy, plan.judge) == (("all",), 5, "strict", "offline")
    assert (plan.min_similarity, plan.target, plan.gates) == (0.0, None, ())
    assert plan.max_failure_rate == 0.1


@each_case(
    ("field", "value"),
    [
        *(("k", value) for value in (0, (), (1, 0), (3, 3), "1,,3", "1,x", 2.5, None, {5: 1})),
        *(("k", value) for value in (True, (3, True), "1_0", "+5", "\u0665", "5\n", ["1_0"])),
        ("limit", 0),
        ("concurrency", 0),
        ("concurrency", 1001),
        ("timeout", 0),
        ("retries", -1),
        ("retries", 21),
        ("delay", -0.1),
        ("votes", 0),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("max_tokens", 15),
        ("context_window", 999),
        ("rpm", 0),
        ("tpm", math.inf),
        ("max_calls", -1),
        ("max_cost", -0.01),
        ("max_cost", math.nan),
        ("verify", "some"),
        ("claim_source", "none"),
        ("batch_size", 0),
        ("truths_limit", 0),
        ("max_failure_rate", 1.1),
        ("max_failure_rate", -0.1),
        *(("min_similarity", value) for value in (math.nan, math.inf)),
        *(("timeout", value) for value in (math.nan, math.inf)),
        *(("delay", value) for value in (math.nan, math.inf)),
        ("thresold", 0.5),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as raised:
        Plan.model_validate({field: value})
    assert raised.value.errors()[0]["loc"] == (field,)


def test_options_are_the_settings_in_force() -> None:
    options = MANIFEST.options
    assert options["metrics"] == ["hit"]
    assert (options["k"], options["columns"]) == (3, {"query": "Frage"})
    assert (options["timeout"], options["min_similarity"]) == (60.0, 0.0)
    assert "target" not in options


@each_case(
    ("said", "k", "cutoffs"),
    [
        (7, 7, (7,)),
        ("7", 7, (7,)),
        ([7], 7, (7,)),
        ("10, 3,1", (10, 3, 1), (10, 3, 1)),
        (["1", 3], (1, 3), (1, 3)),
        (range(1, 4), (1, 2, 3), (1, 2, 3)),
    ],
)
def test_a_cut_off_is_a_number_and_several_are_in_the_order_said(
    said: object, k: object, cutoffs: tuple[int, ...]
) -> None:
    plan = Plan.of({"k": said})
    assert (plan.k, plan.cutoffs) == (k, cutoffs)
    text = json.dumps(plan.model_dump(mode="json"), allow_nan=False)
    assert json.loads(text)["k"] == (list(cutoffs) if len(cutoffs) > 1 else k)
    assert Plan.model_validate_json(text) == plan


def test_numbers_that_may_be_left_out_are_known() -> None:
    assert {
        "limit", "sample", "temperature", "truths_limit", "rpm", "tpm", "max_calls", "max_cost",
        "max_age", "header_row",
    } == NUMBERS_OR_NONE  # fmt: skip
    plan = Plan.of(dict.fromkeys(NUMBERS_OR_NONE))
    assert {getattr(plan, name) for name in NUMBERS_OR_NONE} == {None}


@pytest.mark.parametrize("fields", [{"max_failure_rate": 2}, {"timeout": float("inf")}, {"kk": 1}])
def test_what_a_person_said_wrong_is_a_usage_error(fields: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(fields))):
        Plan.of(fields)


def test_a_plan_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        MANIFEST.plan.k = 3  # type: ignore[misc]
    for columns in (MANIFEST.plan.columns, Plan().columns):
        with pytest.raises(TypeError):
            columns["id"] = "Nr"  # type: ignore[index]


def test_a_manifest_is_json_and_back() -> None:
    plan = Plan(gates=(Gate(metric="hit", op=">=", threshold=0.8),), limit=3)
    manifest = MANIFEST.model_copy(update={"plan": plan})
    text = json.dumps(manifest.model_dump(mode="json"), allow_nan=False)
    assert Manifest.model_validate(json.loads(text)) == manifest
