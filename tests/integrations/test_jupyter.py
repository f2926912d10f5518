"""A notebook in a real kernel: frames in, the display of runs and comparisons, frames out."""

import os
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/notebooks.md"
NEEDED = ("pandas", "polars", "pyarrow", "ipykernel", "nbformat", "nbclient")

CELLS = (
    """
import pandas as pd
import ragstone
from ragstone._internal import notebook as progress

progress.SECONDS_BETWEEN_UPDATES = 0.0
frame = pd.DataFrame({
    "query": [f"How fast does phone {n} charge?" for n in range(6)],
    "response": ["It charges in 22 minutes."] * 3 + ["It charges in 35 minutes."] * 2 + [""],
    "contexts": [["It charges in 22 minutes."]] * 6,
    "reference": ["It charges in 22 minutes."] * 5 + [None],
    "price": [1.5, None, 2.5, 1.0, 2.0, 3.0],
})
run = ragstone.evaluate(frame, metrics="faithfulness", store=True)
run
""",
    """
frame["response"] = "It charges in 22 minutes."
fixed = ragstone.evaluate(frame, metrics="faithfulness", store=True)
ragstone.compare(run.manifest.run_id, "last")
""",
    """
table = run.to_pandas()
scores = table["faithfulness"]
assert scores.isna().tolist() == [False] * 5 + [True]
assert str(scores.dtype) == "Float64" and scores.mean() == 0.6
assert table["price"].isna().sum() == 1
assert run.to_arrow().column("faithfulness").null_count == 1
assert run.to_polars()["faithfulness"].to_list() == [1, 1, 1, 0, 0, None]
assert len(run.to_pandas(claims=True)) == 5
for again in (run.to_polars(), run.to_arrow(), table):
    once_more = ragstone.evaluate(again, metrics="exact_match").to_polars()
    assert once_more["exact_match"].to_list() == [1, 1, 1, 0, 0, None]
""",
    "run.show()",
)


def test_a_notebook_evaluates_displays_and_converts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NEEDED if "CI" not in os.environ else ():
        pytest.importorskip(name)
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.chdir(tmp_path)
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    examples = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    cells += [nbformat.v4.new_code_cell(example) for example in examples]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=200, resources={"metadata": {"path": str(tmp_path)}}).execute()

    first, second, _, last, *shown = (cell.outputs for cell in book.cells)
    *shown, worst, compared = shown
    assert worst[0].text.startswith("How fast does it charge? 0.0\n   NOT_ENOUGH_INFO It charges")
    assert len(shown) == 3
    assert all(outputs[-1].data["text/html"] for outputs in (shown[0], shown[2], compared))
    assert (tmp_path / "report.xlsx").exists()
    bar, run = first
    assert bar.data["text/plain"].startswith("6 of 6 rows evaluated")
    assert "gate" not in run.data["text/html"]
    assert "It charges in 35 minutes." in run.data["text/html"]
    assert run.data["text/plain"].endswith("6 rows, faithfulness=0.6000>")
    assert "+0.4000" in second[-1].data["text/html"]
    assert second[-1].data["text/plain"].startswith("<Comparison ")
    assert last[-1].data["text/html"].startswith("<iframe sandbox")
