import pickle
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from tests.evaluation.test_workers import METRICS, bare, samples

from ragstone import Scorer, evaluate, load, shards
from ragstone.errors import Cause, InputError, JudgeError, UsageError
from ragstone.evaluation.scorer import ScoringStoppedError
from ragstone.judges.offline.judge import OfflineJudge
from ragstone.store import Store

OPTIONS = {"metrics": METRICS, "k": 2}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of 60 rows, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ragstone.datasets.table.IN_MEMORY", 1000)
    path = tmp_path / "data.jsonl"
    pl.DataFrame(samples(60)).write_ndjson(path)
    return path


@pytest.fixture
def scorer() -> Iterator[Scorer]:
    scorer = Scorer(**OPTIONS)
    yield scorer
    scorer.close()


def test_a_line_for_each_row_of_a_table_of_any_library(scorer: Scorer) -> None:
    rows = samples(9)
    run = evaluate(rows, **OPTIONS)
    frame = pl.DataFrame(rows)
    tables = [frame]
    if find_spec("pyarrow") and find_spec("pandas"):
        tables += [frame.to_arrow(), frame.to_pandas()]
    for table in tables:
        scores = scorer(table)
        assert type(scores) is type(table)
        lines = pl.DataFrame(scores).to_dicts()
        assert [line["id"] for line in lines] == [row.sample.id for row in run.rows]
        for line, row in zip(lines, run.rows, strict=True):
            for name, score in row.scores.items():
                parts = [line[f"scores.{name}.{part}"] for part in ("value", "state", "reason")]
                assert parts == [score.value, score.state.value, score.reason], name
        one, none = scorer(table[:1]), scorer(table[:0])
        assert (len(one), len(none)) == (1, 0)
        assert pl.DataFrame(none).columns == list(scorer.columns)
        if not hasattr(table, "to_dict"):
            assert none.schema == scores.schema


def test_rows_without_values_are_undefined_and_wrong_ones_are_named(scorer: Scorer) -> None:
    nulls = {"id": ["a"], "query": ["Why?"], "response": [None], "contexts": [None]}
    (line,) = scorer(pl.DataFrame(nulls)).to_dicts()
    assert line["scores.faithfulness.value"] is None
    assert line["scores.faithfulness.state"] == "undefined"
    good = {"id": ["a", "b"], "query": ["Why?", "How?"]}
    for table, message in (
        ({**good, "contexts": [1.5, None]}, r"row 1, column contexts, sample a: this is 1\.5"),
        ({**good, "id": ["a", None]}, r"row 2: there is no id; give each row"),
        ({"id": ["a"]}, "no query column found"),
    ):
        with pytest.raises(InputError, match=message):
            scorer(pl.DataFrame(table))
    with pytest.raises(UsageError, match="got a dict; with map_batches of Ray Data, set batch_for"):
        scorer(good)
    mapped = Scorer(metrics="hit", columns={"id": "number"})
    assert mapped(pl.DataFrame({"number": [7], "query": ["Why?"]}))["id"].to_list() == ["7"]
    mapped.close()


def test_files_of_shards_make_the_run_of_a_single_process(data: Path, scorer: Scorer) -> None:
    alone = evaluate(data, **OPTIONS)
    dataset = load(data)
    for rows in (7, 60):
        cut = list(shards(dataset, rows=rows))
        for shard in reversed(cut):
            path = pickle.loads(pickle.dumps(scorer)).write(pickle.loads(pickle.dumps(shard)), "s")
        before = path.stat().st_mtime_ns
        assert scorer.write(cut[0], "s") == path
        assert path.stat().st_mtime_ns == before
        assert bare(evaluate(data, scored="s", **OPTIONS)) == bare(alone)  # and repeated ones
    Path("s/_temporary").mkdir()
    Path("s/_temporary/0.parquet").write_text("not complete")
    Path("s/.ragstone-1.parquet").write_text("not complete")
    run = evaluate(data, scored="s", store="runs.db", **OPTIONS)
    assert bare(run) == bare(alone)
    with Store.open("runs.db") as store:
        assert store.info(run.manifest.run_id).rows == 60


def test_tables_in_any_order_make_it_too_and_missing_rows_are_scored(data: Path, scorer) -> None:
    alone = evaluate(data, **OPTIONS)
    frame = pl.read_ndjson(data).sample(fraction=1, shuffle=True, seed=1)
    Path("s/part=1").mkdir(parents=True)
    scorer(frame[:20]).write_parquet("s/part=1/one.parquet")
    scorer(frame[10:30]).write_parquet("s/two.parquet")
    scored: list[int] = []
    run = evaluate(data, scored="s", on_row=lambda row, _: scored.append(row.index), **OPTIONS)
    assert bare(run) == bare(alone)
    assert sorted(scored) == list(range(60))


def test_scored_rows_of_other_settings_or_data_are_refused(data: Path, scorer: Scorer) -> None:
    scorer(pl.DataFrame(samples(60))).write_parquet("scored.parquet")
    with pytest.raises(UsageError, match=r"scored\.parquet was scored with other settings"):
        evaluate(data, scored="scored.parquet", metrics="faithfulness")
    changed = samples(60, r7="It lasts a day.")
    with pytest.raises(UsageError, match="row 'r7' differs from the data; name the data that was"):
        evaluate(changed, scored="scored.parquet", **OPTIONS)
    with pytest.raises(UsageError, match="row 'r30' is not in the data"):
        evaluate(samples(30), scored="scored.parquet", **OPTIONS)
    Path("folder").mkdir()
    pl.DataFrame({"id": ["a"]}).write_parquet("folder/a.parquet")
    with pytest.raises(UsageError, match="has no column ragstone_row"):
        evaluate(data, scored="folder", **OPTIONS)
    Path("folder/a.parquet").write_text("torn")
    with pytest.raises(InputError, match=r"a\.parquet: 1 problem"):
        evaluate(data, scored="folder", **OPTIONS)
    broken = scorer(pl.DataFrame(samples(1))).with_columns(pl.lit("{}").alias("ragstone_row"))
    broken.write_parquet("folder/a.parquet")
    with pytest.raises(UsageError, match="contains a row that cannot be read"):
        evaluate(data, scored="folder", **OPTIONS)


def test_options_of_a_whole_run_are_refused() -> None:
    for options, message in (
        ({"limit": 3}, r"limit is for a whole run; pass it to evaluate\(\.\.\., scored=FOLDER\)"),
        ({"metrics": "response_relevancy"}, "the judge offline does not support generate_queries"),
    ):
        with pytest.raises(UsageError, match=message):
            Scorer(**options)
    assert "response_relevancy" not in Scorer(metrics=["all"]).columns


class Down(OfflineJudge):
    opened = 0

    async def __aenter__(self) -> "Down":
        Down.opened += 1
        return await super().__aenter__()

    async def answer(self, question: object) -> object:
        if "outage" in repr(question):
            raise JudgeError(Cause.UNREACHABLE, "no connection")
        return await super().answer(question)


def test_the_judge_is_opened_once_and_an_outage_stops_the_table() -> None:
    scorer = Scorer(judge=Down(), metrics="faithfulness")
    for _ in range(2):
        scorer(pl.DataFrame(samples(3)))
        pickle.loads(pickle.dumps(scorer))(pl.DataFrame(samples(3)))
    assert Down.opened == 1
    down = {f"r{number}": "An outage." for number in range(60)}
    with pytest.raises(ScoringStoppedError, match=r"none of rows 1 to 60 \(ids r0 to r59\) are sc"):
        scorer(pl.DataFrame(samples(60, **down)))
    scorer.close()
    scorer(pl.DataFrame(samples(3)))
    assert Down.opened == 2
    scorer.close()
