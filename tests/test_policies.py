import pytest

from ragstone.claims import Label
from ragstone.errors import UnknownName
from ragstone.policies import POLICIES, STRICT, get_policy

YES, PART, NO, IDK = (
    Label.SUPPORTED,
    Label.PARTIALLY_SUPPORTED,
    Label.CONTRADICTED,
    Label.NOT_ENOUGH_INFO,
)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_known_by_its_name_and_weighs_every_label(name: str) -> None:
    policy = get_policy(name)
    assert policy.name == name
    assert set(policy.weights) == set(Label)


@pytest.mark.parametrize(
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
    with pytest.raises(UnknownName, match="no policy named 'strickt'; did you mean 'strict'"):
        get_policy("strickt")


def test_weights_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        STRICT.weights[PART] = 1.0  # type: ignore[index]
