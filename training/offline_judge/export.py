"""Export: the weights as the package reads them."""

import json
from dataclasses import asdict

from training.offline_judge.fitting import Weights


def written(weights: Weights) -> str:
    """Return weights as the text of their file."""
    found = asdict(weights)
    return json.dumps({"offset": weights.offset, **found["features"], **found["factors"]}) + "\n"
