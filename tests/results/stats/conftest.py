import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """What scipy and statsmodels say; the file's `made` tells how they were asked."""
    return json.loads((Path(__file__).parents[2] / "golden/stats.json").read_text("utf-8"))
