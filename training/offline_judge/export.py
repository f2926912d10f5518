"""Export: the weights as the package reads them."""

import json
from dataclasses import asdict

from ragstone.judges.offline.judge import Weights


def written(weights: Weights) -> str:
    """Return weights as the text of their file."""
    text = json.dumps(asdict(weights), indent=1) + "\n"
    assert Weights.of(text) == weights, "the weights cannot be read back"
    return text
