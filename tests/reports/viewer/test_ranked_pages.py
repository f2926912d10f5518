"""The pages of a ranking's run."""

from pathlib import Path

import pytest
from tests.reports.ranked import ranked_run

from ragstone.store import Store, save_ranking


@pytest.fixture(params=[30, 1500])
def queries(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def place(queries: int, tmp_path: Path) -> Path:
    with Store.open(tmp_path / "runs.db") as store:
        run = ranked_run(queries)
        save_ranking(store, run)
        manifest = run.manifest.model_copy(update={"run_id": "r2"})
        save_ranking(store, type(run)(manifest=manifest, metrics=run.metrics, rows=run.rows))
    return tmp_path / "runs.db"


def test_a_run_is_listed_shown_paged_and_compared(view, place: Path, queries: int) -> None:
    with view(place) as served:
        first = served.get("/").text
        assert f"{queries:,} rows" in first
        assert first.count("finished") == 2
        page = served.get("/runs/r1")
        assert page.status == 200
        assert "it raised" in page.text
        assert "Not shown" not in page.text
        found = served.get("/runs/r1/rows.json?sort=ndcg@5&limit=3&offset=2").data
        assert (found["total"], found["matched"]) == (queries, queries)
        assert [row["id"] for row in found["rows"]] == ["q4", "q5", "q6"]
        failed = served.get("/runs/r1/rows.json?state=failed").data
        assert [row["id"] for row in failed["rows"]] == ["q1"]
        whole = served.get("/runs/r1/rows/2.json").data
        assert (whole["query"], whole["response"]) == ("what?", None)
        assert served.get(f"/runs/r1/rows/{queries}.json").status == 404
        assert served.get("/runs/r1/live.json").data["rows"] == queries
        compared = served.get("/compare?a=r1&b=r2")
        assert compared.status == 200
        assert "no difference shown" in compared.text
