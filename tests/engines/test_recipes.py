"""The recipes of docs/many-machines.md, as they are there; one process is killed in each."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.evaluation.test_workers import bare, samples

from ragstone import evaluate
from ragstone.results.run import Run

pytestmark = pytest.mark.filterwarnings("ignore")  # the engines warn about themselves
PAGE = Path(__file__).parents[2] / "docs/many-machines.md"
JUDGE = """
import os, signal
from ragstone.judges.offline.judge import OfflineJudge

class Mortal(OfflineJudge):
    '''Kills its process when it is first asked about a row.'''

    async def answer(self, question):
        if "model 57 " in repr(question):
            try:
                os.close(os.open({marker!r}, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return await super().answer(question)
"""


@pytest.fixture
def recipe(modules: Path, tmp_path: Path) -> Callable[[str], Run]:
    """Run the recipe under a heading with a judge that kills one process; return its run."""

    def run(heading: str) -> Run:
        marker = tmp_path / "killed"
        name = "mortal_" + re.sub(r"\W+", "_", heading.lower())
        (modules / f"{name}.py").write_text(JUDGE.format(marker=str(marker)), encoding="utf-8")
        frame = pl.DataFrame(samples(200))
        frame.write_parquet(tmp_path / "answers.parquet")
        frame.write_ndjson(tmp_path / "answers.jsonl")
        text = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2]
        found = re.search(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        assert found
        code = found[1].replace("/shared", str(tmp_path))
        assert '"judge": "offline"' in code
        code = f"from {name} import Mortal\n" + code.replace('"offline"', "Mortal()")
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(code, PAGE, "exec"), names)
        assert marker.exists()
        return names["run"]

    return run


@pytest.fixture(scope="module")
def alone() -> str:
    """Return the rows and summary of a single process."""
    return plain(evaluate(samples(200), metrics="faithfulness"))


def plain(run: Run) -> str:
    """Return rows and summary as text, without the name of the file."""
    return re.sub(r'"dataset": \{.*?\}, ', "", bare(run), count=1)


@pytest.mark.xdist_group("ray")
def test_ray_data(ray, recipe, alone) -> None:
    assert plain(recipe("Ray Data")) == alone


@pytest.mark.xdist_group("dask")
def test_dask(recipe, alone) -> None:
    assert plain(recipe("Dask, and engines without tables")) == alone


@pytest.mark.xdist_group("dask")
def test_an_executor_of_dask(recipe, alone) -> None:
    assert plain(recipe("Other executors")) == alone


@pytest.mark.xdist_group("spark")
def test_spark(spark, recipe, alone) -> None:
    assert plain(recipe("Spark")) == alone
