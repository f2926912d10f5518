"""What the values of a stored run are written as is what they were before."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.reports.ranked import ranked_run

from ragstone._internal.text import MARK
from ragstone.reports.tables import write_claims, write_rows
from ragstone.results import ranking_run as ranked_values
from ragstone.results.ranking_run import RankingScores
from ragstone.store import Store, save_ranking


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_stored_runs_values_are_written_alike(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked_values, "BLOCK", 4)
    run = ranked_run(10)
    with Store.open(tmp_path / "runs.db") as store:
        save_ranking(store, run)
        write_rows(run, tmp_path / f"a.{ending}")
        write_rows(store.load("r1"), tmp_path / f"b.{ending}")
    assert (tmp_path / f"a.{ending}").read_text() == (tmp_path / f"b.{ending}").read_text()


def test_a_failed_value_is_null_and_says_why(tmp_path: Path) -> None:
    run = ranked_run(10)
    write_rows(run, tmp_path / "rows.jsonl")
    first, second, *_ = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert json.loads(first)["scores"]["ndcg@5"]["state"] == "undefined"
    assert json.loads(second)["scores"] == {
        "hit@5": {"value": 0.0, "state": "scored", "reason": None},
        "ndcg@5": {
            "value": None,
            "state": "failed",
            "reason": "it raised",
            "cause": "metric_error",
        },
    }
    write_rows(run, tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame["scores.ndcg@5.value"].to_list() == [None, None, *(n / 10 for n in range(2, 10))]
    assert frame["scores.hit@5.value"].null_count() == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_half_a_character_is_no_hindrance(ending: str, tmp_path: Path) -> None:
    run = ranked_run(3)
    assert isinstance(run.rows, RankingScores)
    rows = replace(run.rows, ids=["q0", "half \ud83d", "q2"], texts={"q2": "what \ud83d?"})
    write_rows(replace(run, rows=rows), tmp_path / f"rows.{ending}")
    if ending == "parquet":
        frame = pl.read_parquet(tmp_path / "rows.parquet")
        assert frame["id"].to_list() == ["q0", f"half {MARK}", "q2"]
        assert frame["query"].to_list()[2] == f"what {MARK}?"


def test_there_are_no_claims(tmp_path: Path) -> None:
    write_claims(ranked_run(10), tmp_path / "claims.csv")
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == 1
