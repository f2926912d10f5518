"""Export: the weights as the package reads them."""

import json
from dataclasses import asdict

from training.offline_judge.fitting import Weights


def written(weights: Weights, accuracy: float) -> str:
    """Return weights, and the mean balanced accuracy that the judge shows, as their file's text."""
    found = asdict(weights)
    fitted = {"offset": weights.offset, **found["features"], **found["factors"]}
    return json.dumps({**fitted, "balanced_accuracy": round(accuracy, 3)}) + "\n"
