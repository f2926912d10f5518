from pathlib import Path

import pytest

from ragstone.datasets import LOADERS, WORKBOOKS
from ragstone.datasets.columns import ALIASES, CONTEXT_ALIASES, CONVERSATIONS
from ragstone.datasets.jsons import ENVELOPES

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("table"), [ALIASES, CONTEXT_ALIASES], ids=["columns", "contexts"])
def test_the_page_has_a_line_for_each_field_with_all_its_aliases(table: dict[str, tuple[str, ...]]):
    for field, aliases in table.items():
        others = ", ".join(f"`{alias}`" for alias in aliases)
        lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{field}` |")]
        assert any(line.endswith(f"| {others} |" if others else "| |") for line in lines), field


@pytest.mark.parametrize("name", [*WORKBOOKS, *LOADERS, *ENVELOPES, *CONVERSATIONS])
def test_the_page_names_every_ending_and_envelope(name: str):
    assert f"`{name}`" in PAGE
