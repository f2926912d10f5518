import json
from math import exp

import pytest

from ragstone.judges.offline.features import Traits
from ragstone.judges.offline.judge import Weights, read_weights

NOUGHT = Traits(*(0.0 for _ in Traits._fields))


def test_the_probability_is_the_logistic_function_of_the_weighed_sum():
    counted = dict.fromkeys(Traits._fields, 0.0) | {"held": 2.0, "pieces": 0.5}
    weights = Weights(counted, -1.0, 0.5, {})
    assert weights.probability(NOUGHT) == pytest.approx(1 / (1 + exp(1)))
    traits = NOUGHT._replace(held=0.75, pieces=1.0)  # -1 + 1.5 + 0.5
    assert weights.probability(traits) == pytest.approx(1 / (1 + exp(-1)))


def test_weights_of_other_traits_are_refused():
    stored = {"traits": {"held": 1.0}, "offset": 0.0, "mark": 0.5, "ceilings": {}}
    with pytest.raises(ValueError, match="train it anew"):
        Weights.of(json.dumps(stored))


def test_whatever_is_seen_to_conflict_is_below_the_mark():
    weights = read_weights()
    assert 0 < weights.mark < 1
    assert all(0 < most < weights.mark for most in weights.ceilings.values())
