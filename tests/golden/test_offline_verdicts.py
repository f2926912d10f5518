"""The offline judge returns the same verdicts to the last bit, whatever the machine's libraries.

`python tests/golden/test_offline_verdicts.py` writes the file again after an intended change.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragstone.judges.offline.judge import verify_claims

FILE = Path(__file__).with_name("offline_verdicts.json")
CASES = json.loads(FILE.read_text("utf-8"))


def verdicts(case: dict[str, object]) -> list[dict[str, object]]:
    """Return the verdicts on a case's claims, as in the file."""
    claims, contexts = case["claims"], case["contexts"]
    assert isinstance(claims, list)
    assert isinstance(contexts, list)
    found = verify_claims(claims, contexts)
    return [verdict.model_dump(mode="json", exclude={"judge"}) for verdict in found]


def test_the_verdicts_are_those_of_the_file() -> None:
    assert {case["about"]: verdicts(case) for case in CASES} == {
        case["about"]: case["verdicts"] for case in CASES
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"OPENBLAS_CORETYPE": "Haswell"},
        {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
        {"PYTHONHASHSEED": "12345"},
    ],
    ids=lambda changed: next(iter(changed.values())),
)
def test_and_they_are_the_same_on_other_machines(changed: dict[str, str]) -> None:
    command = [sys.executable, "-W", "ignore", str(Path(__file__)), "--show"]
    run = subprocess.run(
        command,
        env={**os.environ, **changed},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    assert json.loads(run.stdout) == [case["verdicts"] for case in CASES]


if __name__ == "__main__":
    found = [verdicts(case) for case in CASES]
    if "--show" in sys.argv:
        sys.stdout.reconfigure(encoding="utf-8")
        print(json.dumps(found))  # noqa: T201
    else:
        new = [{**case, "verdicts": these} for case, these in zip(CASES, found, strict=True)]
        FILE.write_text(json.dumps(new, ensure_ascii=False, indent=1) + "\n", "utf-8")
