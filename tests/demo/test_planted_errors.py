"""The offline judge finds the demo's planted errors, and does not cry wolf."""

import importlib.util
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "planted_errors.py"


def test_most_planted_errors_are_found_and_few_others() -> None:
    spec = importlib.util.spec_from_file_location("planted_errors", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    result = script.count()
    assert result.wrong >= 25
    assert result.precision >= 0.8
    assert result.recall >= 0.8
