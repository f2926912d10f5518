"""The code in the README and the docs runs, against the demo where it names an API."""

import re
from pathlib import Path

import pytest

from ragstone.demo.dataset import DATASET
from ragstone.metrics import registry

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/metrics.md", "docs/judge.md", "docs/coming-from.md")
BLOCKS = [
    pytest.param(block, id=f"{page}-{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(
            r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
    )
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_runs(
    block: str, demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_metrics", dict(registry._metrics))
    code = block.replace("http://localhost:8000", demo_url)
    code = code.replace("path/to/test_data.xlsx", str(DATASET))
    exec(compile(code, "page", "exec"), {"__name__": "page"})
