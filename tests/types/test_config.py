import json
import math

import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.types.config import Plan


@each_case(
    ("field", "value"),
    [
        *(("k", value) for value in (0, (), (1, 0), (3, 3), "1,,3", "1,x", 2.5, None, {5: 1})),
        *(("k", value) for value in (True, (3, True), "1_0", "+5", "\u0665", "5\n", ["1_0"])),
        *((name, 0) for name in ("limit", "concurrency", "timeout", "votes", "rpm", "batch_size")),
        *((name, -0.1) for name in ("delay", "temperature", "max_failure_rate", "max_cost")),
        *((name, -1) for name in ("retries", "max_calls", "truths_limit")),
        *(("concurrency", 1001), ("retries", 21), ("temperature", 2.1), ("max_failure_rate", 1.1)),
        *(("max_tokens", 15), ("context_window", 999), ("tpm", math.inf), ("max_cost", math.nan)),
        *((name, math.nan) for name in ("min_similarity", "timeout", "delay")),
        *((name, math.inf) for name in ("min_similarity", "timeout", "delay")),
        *(("verify", "some"), ("claim_source", "none")),
        ("thresold", 0.5),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError) as raised:
        Plan.model_validate({field: value})
    assert raised.value.errors()[0]["loc"] == (field,)


@each_case(
    ("said", "k", "cutoffs"),
    [
        ("10, 3,1", (10, 3, 1), (10, 3, 1)),
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


def test_what_a_person_said_wrong_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="max_failure_rate"):
        Plan.of({"max_failure_rate": 2})
    with pytest.raises(UsageError, match="kk"):
        Plan.of({"kk": 1})
