import json
from math import exp

import pytest

from ragstone.judges.offline.features import Features
from ragstone.judges.offline.judge import Weights, read_weights

NOUGHT = Features(*(0.0 for _ in Features._fields))


def test_the_probability_is_the_logistic_function_of_the_weighed_sum():
    counted = dict.fromkeys(Features._fields, 0.0) | {"coverage": 2.0, "pieces": 0.5}
    weights = Weights(counted, -1.0, 0.5, {})
    assert weights.probability(NOUGHT) == pytest.approx(1 / (1 + exp(1)))
    features = NOUGHT._replace(coverage=0.75, pieces=1.0)  # -1 + 1.5 + 0.5
    assert weights.probability(features) == pytest.approx(1 / (1 + exp(-1)))


def test_weights_of_other_features_are_refused():
    stored = {"features": {"held": 1.0}, "offset": 0.0, "threshold": 0.5, "probability_caps": {}}
    with pytest.raises(ValueError, match="train it again"):
        Weights.of(json.dumps(stored))


def test_whatever_is_seen_to_conflict_is_below_the_threshold():
    weights = read_weights()
    assert 0 < weights.threshold < 1
    assert all(0 < most < weights.threshold for most in weights.probability_caps.values())
