import pytest
from tests.cases import each_case

from ragstone.errors import UnknownNameError
from ragstone.types.claim import Label
from ragstone.types.config import Plan
from ragstone.types.policy import POLICIES, PRESETS, STRICT, PolicyOutcome, get_policy, preset
from ragstone.types.score import State

YES, PART, NO, IDK = (
    Label.SUPPORTED,
    Label.PARTIALLY_SUPPORTED,
    Label.CONTRADICTED,
    Label.NOT_ENOUGH_INFO,
)


@each_case("name", POLICIES)
def test_every_policy_is_known_by_its_name_and_weighs_every_label(name: str) -> None:
    policy = get_policy(name)
    assert policy.name == name
    assert set(policy.weights) == set(Label)


@each_case(
    ("labels", "number"),
    [
        ([YES], 1.0),
        ([PART], 0.0),
        ([NO], 0.0),
        ([IDK], 0.0),
        ([YES, YES, YES, NO], 0.75),
        ([YES, PART, NO, IDK], 0.25),
        ([YES, YES, IDK], 2 / 3),
    ],
)
def test_strict_counts_what_is_supported(labels: list[Label], number: float) -> None:
    assert STRICT.number(labels) == number


def test_an_unknown_policy_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="no policy named 'strickt'; did you mean 'strict'"):
        get_policy("strickt")


def test_weights_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        STRICT.weights[PART] = 1.0  # type: ignore[index]


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match="no preset named 'deepevil'; did you mean 'deepeval'"
    ):
        preset("deepevil")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_settings_of_a_plan_with_the_policy_of_its_name(name: str) -> None:
    settings = preset(name)
    assert settings["policy"] == name
    plan = Plan.of(settings)
    assert {key: getattr(plan, key) for key in settings} == settings
    assert all(plan.parameters[key] == value for key, value in settings.items())
    with pytest.raises(TypeError):
        settings["policy"] = "strict"  # type: ignore[index]


@each_case("name", POLICIES)
def test_no_policy_makes_a_number_of_what_it_calls_failed_or_undefined(name: str) -> None:
    policy = get_policy(name)
    rulings = [value for value in vars(policy).values() if isinstance(value, PolicyOutcome)]
    for ruling in [*rulings, *([policy.miscounted.nothing] if policy.miscounted else [])]:
        assert (ruling.value is not None) == (ruling.state is State.SCORED)
        if ruling.value is not None:
            assert policy.low <= ruling.value <= 1
    assert policy.threshold is None or policy.low <= policy.threshold <= 1


@pytest.mark.parametrize(
    ("ruling", "told"),
    [
        (PolicyOutcome(State.UNDEFINED), "undefined"),
        (PolicyOutcome(State.SCORED, 0.5), "0.5"),
        (PolicyOutcome(State.SCORED, 0.0, flagged=True), "0.0, flagged"),
    ],
)
def test_a_ruling_is_told_in_a_word(ruling: PolicyOutcome, told: str) -> None:
    assert str(ruling) == told
