import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.cases import each_case

from ragstone.datasets.rankings import trec
from ragstone.errors import InputError, UsageError
from ragstone.evaluation.ranking import Missing, RankingEvaluation, score_rankings
from ragstone.metrics.retrieval import RankingMetric
from ragstone.results.ranking_run import NOT_JUDGED, NOT_RANKED
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.rankings import Rankings
from ragstone.types.score import State

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\nq2 Q0 c 1 0.5 x\n"
Content = str | bytes | dict[str, list[object]]


def written(folder: Path, name: str, content: Content) -> Path:
    path = folder / name
    if isinstance(content, dict):
        frame, suffix = pl.DataFrame(content, strict=False), path.suffix.lower()
        write = {".parquet": frame.write_parquet, ".arrow": frame.write_ipc}
        write.get(suffix, frame.write_csv)(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8", errors="surrogatepass")
    return path


def known(
    folder: Path,
    qrels: Content = QRELS,
    *,
    judged: str = "qrels",
    metrics: Sequence[str] = ("mrr",),
    columns: Mapping[str, str] | None = None,
    missing: Missing = "zero",
    **options: object,
) -> RankingEvaluation:
    plan = Plan(metrics=tuple(metrics), k=5, columns=columns or {})
    path = written(folder, judged, qrels)
    return RankingEvaluation.of(path, plan, missing=missing, **options)  # type: ignore[arg-type]


def evaluated(
    folder: Path,
    qrels: Content = QRELS,
    run: Content = RUN,
    *,
    name: str = "run",
    **options: object,
) -> Run:
    evaluation = known(folder, qrels, **options)  # type: ignore[arg-type]
    return evaluation.run(written(folder, name, run))


def values(run: Run, metric: str = "mrr@5") -> dict[str, float | None]:
    return {row.sample.id: row.scores[metric].value for row in run.rows}


def test_an_example_computed_by_hand(tmp_path: Path) -> None:
    """q1 finds its document at 2, q2 at 1: the mean of 1/2 and 1."""
    run = evaluated(tmp_path)
    assert values(run) == {"q1": 0.5, "q2": 1.0}
    summary = run.summary()["mrr@5"]
    assert (summary.mean, summary.n, summary.scored) == (0.75, 2, 2)
    counts = run.counts.scores["mrr@5"]
    assert [one.sample_id for one in counts.worst(higher_is_better=True)] == ["q1", "q2"]


@each_case(
    "run",
    [
        "q1 Q0 a 1 1.0 x\nq1 Q0 b 2 1.0 x\nq2 Q0 a 1 -1 x\nq2 Q0 c 9 3e2 x\n",
        "q1 Q0 a 1 1.00000001 x\nq1 Q0 b 2 1.0 x\nq2 Q0 c 1 0 x\n",  # equal in single precision
        "\ufeff" + RUN,
    ],
)
def test_scores_rank_and_of_equal_ones_the_greater_id(run: str, tmp_path: Path) -> None:
    assert values(evaluated(tmp_path, "\ufeff" + QRELS, run)) == {"q1": 0.5, "q2": 1.0}


def test_equal_scores_may_stay_in_the_order_of_the_file(tmp_path: Path) -> None:
    for lines in (
        "q1 Q0 a 1 1 x\nq1 Q0 b 2 1 x\nq1 Q0 z 3 2 x\n",
        "q1 Q0 b 1 1 x\nq2 Q0 c 1 1 x\nq1 Q0 a 2 1 x\n",
    ):
        assert values(evaluated(tmp_path, "q1 0 a 1\n", lines, ties="given"))["q1"] == 0.5


@each_case(("missing", "value", "mean"), [("zero", 0.0, 0.25), ("skip", None, 0.5)])
def test_a_judged_query_that_is_not_ranked_is_0_or_left_out(
    missing: Missing, value: float | None, mean: float, tmp_path: Path
) -> None:
    run = evaluated(tmp_path, run="".join(RUN.splitlines(keepends=True)[:2]), missing=missing)
    assert values(run) == {"q1": 0.5, "q2": value}
    summary = run.summary()["mrr@5"]
    assert (summary.mean, summary.n) == (mean, 2)
    if missing == "skip":
        assert run.rows[1].scores["mrr@5"].reason == NOT_RANKED
    notes = " ".join(run.manifest.source.notes)
    assert "queries judged in qrels: 2; ranked: 1; both: 1" in notes
    assert ("counted as 0" if missing == "zero" else "left out") in notes


def test_a_query_that_nobody_judged_has_no_number(tmp_path: Path) -> None:
    run = evaluated(tmp_path, run=RUN + "q9 Q0 a 1 1 x\n")
    assert values(run) == {"q1": 0.5, "q2": 1.0, "q9": None}
    score = run.rows[-1].scores["mrr@5"]
    assert (score.state, score.reason) == (State.UNDEFINED, NOT_JUDGED)
    assert run.summary()["mrr@5"].undefined == 1
    assert "ranked but not judged: 1, left out" in run.manifest.source.notes
    assert values(evaluated(tmp_path, qrels="q1 0 a 0\n", run="q1 Q0 a 1 1 x\n")) == {"q1": 0.0}


TWICE = '{"query_id": "0", "ranking": []}\n{"query_id": "0", "ranking": []}'


@each_case(
    ("run", "told"),
    [
        (RUN + "q2 Q0 c 2 0.1 x\n", "line 4: document c of query q2 is already at line 3"),
        ("q1 Q0 a 1 nan x\n", "line 1: the score nan is not a number"),
        (RUN + "q1 Q0 a 1 0.5\n", "line 4: 'q1 Q0 a 1 0.5' is not QUERY Q0 DOCUMENT RANK SCORE"),
        ("q1\tb\t1\nq1\ta\t0.9\n", "the rank 0.9 is not a whole number; scores need a header"),
        ("qid,docno,score\nq1,a\n", "line 2: there are 2 cells, but 3 names in the header"),
        ("qid,docno,score\nq1,\ud83d,1\n", "this is not UTF-8 text"),
        ('{"q1": {"a": 1}, "q1": {"b": 1}}', "invalid JSON: duplicate name q1"),
        ('[\n{"qid": "q1", "docno": "a"}]', "this is not an object, but a list; write {query:"),
        ("", "there is no ranking"),
        ('{"query_id": "1", "ranking": ["a", "a"]}', "document a of query 1 is already at line 1"),
        ('{"query_id": "1", "ranking": ["a", 1.5]}', "contains 1.5"),
        ('{"query_id": true, "ranking": []}', "the query's id is not text or"),
        (TWICE, "is already on line 1"),
        ("[" * 100_000, "invalid JSON"),
        ('{"query_id": "2", "ranking": ["a", ""]}', "line 1: there is no document_id"),
        (RUN.encode("utf-16"), "this is UTF-16 text"),
        (gzip.compress(RUN.encode() * 100)[:-20], "the file is damaged"),
    ],
)
def test_what_is_wrong_with_a_ranking_is_told_with_its_line(
    run: str | bytes, told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        evaluated(tmp_path, run=run)
    assert raised.value.file == "run"
    assert told in str(raised.value)


LARGE = '{"query_id": "q1", "relevance": {"a": 1' + "0" * 400 + "}}"


@each_case(
    ("qrels", "told"),
    [
        (QRELS + "q1 0 a 1\n", "line 4: document a of query q1 is already judged at line 1"),
        ("qid,docno,rel,rel\nq1,a,1,2\n", "there are two columns rel; rename one"),
        ("", "there are no judgments"),
        ('{"query_id": "q", "relevance": {"a": 1, "b": 1, "a": 0}}', "a of query q is already"),
        (LARGE, "… of document a is not a finite"),
        (b"q1 0 a 1\rq2 0 a 1\r", "line 1: there is a carriage return inside the line"),
    ],
)
def test_what_is_wrong_with_judgments_is_told_with_its_line(
    qrels: str | bytes, told: str, tmp_path: Path
) -> None:
    judged = "qrels.jsonl" if qrels[:9] == '{"query_i' else "qrels"
    with pytest.raises(UsageError) as raised:
        evaluated(tmp_path, qrels, judged=judged)
    assert f"{judged}: " in str(raised.value)
    assert told in str(raised.value)


@each_case("end", ["\n", "\r\n"])
@each_case(
    "qrels",
    [
        QRELS,
        "q1 a 1\nq1 b 0\nq2 c 2\n",
        "q1\ta\t1\tann\nq1\tb\t0\tby bob\nq2\tc\t2\tann\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\tc\t2\n",
        "Query_ID,iter,Relevance,doc id\nq1,0,1,a\n\nq1,0,0,b\nq2,0,2,c\n",
        'qid;pid;note;rel\n"q1"; a ;"x;\ny";1\nq1;b;;0\nq2;c;;2\n',
        '{"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}',
        '{"query_id": "q1", "relevance": {"a": 1, "b": 0}}\n{"qid": "q2", "qrels": {"c": 2}}',
    ],
)
def test_judgments_of_any_form_are_the_same(qrels: str, end: str, tmp_path: Path) -> None:
    content = qrels.replace("\n", end).encode()
    judgments = known(tmp_path, content, judged="qrels.txt").judgments
    found = {name: judgments.relevance(place) for name, place in judgments.queries.items()}
    assert found == {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}


@each_case("name", ["run.txt", "run.tsv", "run.json"])
@each_case(
    "run",
    [
        RUN,
        "q1 b 1\nq1 a 2\nq2 c 1\n",
        "q1\tb\t0\nq1\ta\t1\nq2\tc\t0\n",
        'qid,docid,docno,rank,score,query\nq1,7,a,1,1.5,w\nq1,8,b,0,2.5,"x, y"\nq2,9,c,0,1,z\n',
        "query_id,doc_id\nq1,b\nq1,a\nq2,c\n",
        '{"q1": {"a": 1.5, "b": 2.5}, "q2": {"c": -1}}',
        '{"q1": ["b", "a"], "q2": {"c": -1}}',
        '{"query_id": "q1", "ranking": {"a": 1, "b": 2}}\n{"query_id": "q2", "ranking": ["c"]}',
    ],
)
def test_rankings_of_any_form_are_the_same(run: str, name: str, tmp_path: Path) -> None:
    found = evaluated(tmp_path, run=run, judged="q.csv", name=name)
    assert values(found) == {"q1": 0.5, "q2": 1.0}
    noted = any("the order of the rows is the ranking" in n for n in found.manifest.source.notes)
    assert noted == run.startswith("query_id,doc_id\n")


def test_columns_are_mapped_where_they_have_that_name(tmp_path: Path) -> None:
    qrels = "question\tpassage\tuseful\nq1\ta\t1\nq2\tc\t1\n"
    columns = {"query_id": "question", "document_id": "passage", "grade": "useful"}
    for run in (RUN, "qid,docno,score\nq1,b,2\nq1,a,1\nq2,c,1\n"):
        assert values(evaluated(tmp_path, qrels, run, columns=columns)) == {"q1": 0.5, "q2": 1.0}
    evaluation = known(tmp_path, columns={"score": "s"})  # it may be for one of several rankings
    assert len(evaluation.run(tmp_path / "run", several=True).rows) == 2


def test_documents_with_their_querys_id_are_noted_or_left_out(tmp_path: Path) -> None:
    lines = ["a Q0 a 1 9 x\n", "a Q0 b 2 8 x\n", "c Q0 d 1 1 x\n", "e Q0 e 1 1 x\n"]
    for order in (lines, [lines[0], *lines[2:], lines[1]]):
        of = partial(evaluated, tmp_path, "a 0 b 1\nc 0 d 1\ne 0 z 1\n", "".join(order))
        assert values(of()) == {"a": 0.5, "c": 1.0, "e": 0.0}
        run = of(ignore_identical=True)
        assert values(run) == {"a": 1.0, "c": 1.0, "e": 0.0}
        assert "query's own id: 2; left out" in " ".join(run.manifest.source.notes)


@each_case(
    ("run", "warned"),
    [
        ("q1 Q0 A.txt 1 1 x\n", "nearly equal: retrieved A.txt, relevant a); check that both use"),
        ("q1 Q0 z 1 1 x\nq2 Q0 y 1 1 x\n", "any of 2 rankings (first: retrieved z, relevant a);"),
        ("q1 Q0 a 1 1 x\nq2 Q0 c_1 1 1 x\n", "in 1 of 2 rankings (nearly equal: retrieved c_1"),
        ("q1 Q0 a 1 1 x\nq2 Q0 y 1 1 x\n", ""),
    ],
)
def test_ids_that_do_not_match_are_noted(run: str, warned: str, tmp_path: Path) -> None:
    notes = evaluated(tmp_path, run=run).manifest.source.notes
    assert bool(warned) == ("check that both use the same ids" in "".join(notes))
    assert warned in "".join(notes)


def test_problems_are_told_together_up_to_a_bound(tmp_path: Path) -> None:
    some = "".join(f"q1 Q0 d{n} 1 x x\n" for n in range(3))
    with pytest.raises(InputError) as raised:
        evaluated(tmp_path, run=some + RUN + "q2 Q0 c 1 1 x\n")
    assert len(raised.value.problems) == 4
    with pytest.raises(InputError, match="the rest was not checked"):
        evaluated(tmp_path, run="".join(f"q1 Q0 d{n} 1 x x\n" for n in range(1000)))


def test_queries_are_whole_wherever_a_part_ends(tmp_path: Path, monkeypatch) -> None:
    lines = [f"q{q} Q0 d{d} 1 {100 - d} x\n" for q in range(30) for d in range(q % 7 * 9 + 1)]
    qrels = "".join(f"q{q} 0 d{q % 5 * 3} 1\nq{q} 0 d0 0\n" for q in range(30) if q % 5)
    of = partial(evaluated, tmp_path, qrels, metrics=["mrr", "ndcg"])
    whole = values(of("".join(lines)))
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(trec, "AT_ONCE", size)
        assert values(of("\n\n" + "".join(lines))) == whole
    monkeypatch.setattr(trec, "ROWS_AT_ONCE", 3)
    rows = (line.split() for line in lines)
    table = "".join(f"{q},{d},{score}\n" for q, _, d, _, score, _ in rows)
    assert values(of(f"qid,docno,score\n{table}")) == whole
    scattered = "q2 Q0 c 1 0.5 x\nq1 Q0 a 2 1.0 x\nq3 Q0 a 1 1 x\nq2 Q0 z 1 9 x\nq1 Q0 b 1 2.0 x\n"
    for size in (1, 40, 1 << 20):
        monkeypatch.setattr(trec, "AT_ONCE", size)
        assert values(evaluated(tmp_path, run=scattered)) == {"q1": 0.5, "q2": 0.5, "q3": None}
        with pytest.raises(InputError, match="line 6: document c of query q2 is already at line 1"):
            evaluated(tmp_path, run=scattered + "q2 Q0 c 1 1 x\n")


def test_packed_files_are_read_by_their_first_bytes(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    evaluation = known(tmp_path, '{"query_id": 7, "relevance": {"5": 1}}\n', judged="qrels.jsonl")
    lines = b'{"query_id": "7", "ranking": [6, 5]}\n'  # ids may be numbers or their texts
    for name, pack in (("run.jsonl.gz", gzip.compress), ("run.jsonl.zst", zstandard.compress)):
        path = written(tmp_path, name, pack(lines))
        assert values(evaluation.run(path)) == {"7": 0.5}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError):
        evaluation.run(path)


def test_columns_may_have_names_of_their_own_and_queries_may_be_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.datasets.rankings.files.ROWS_AT_ONCE", 2)
    frame = {"q": [1, 1, 1, 2], "passage": ["b", "z", "a", "c"], "points": [2.0, 1.5, 1.0, 1.0]}
    of = partial(evaluated, tmp_path, QRELS.replace("q", ""), frame, name="run.parquet")
    run = of(columns={"query_id": "q", "document_id": "passage", "score": "points"})
    assert values(run) == {"1": 1 / 3, "2": 1.0}
    with pytest.raises(UsageError, match="there is no column 'no'; the columns are 'q', 'passage'"):
        of(columns={"query_id": "no"})


def test_a_null_or_nan_in_columns_is_told_with_its_row(tmp_path: Path) -> None:
    frame = {"qid": ["q1", None], "docno": ["a", "b"], "score": [None, 1.0]}
    with pytest.raises(InputError) as raised:
        evaluated(tmp_path, run=frame, name="run.parquet")
    assert "row 1: the score nan is not a number" in str(raised.value)
    assert "row 2: there is no query_id" in str(raised.value)


def test_ids_that_pandas_made_floats_are_whole_numbers(tmp_path: Path) -> None:
    judged = {"qid": [1, 1], "docno": [5, 6], "rel": [1, 0]}
    found = {"qid": [1.0, 1.0], "docno": [6.0, 5.0], "score": [2.0, 1.0]}
    run = evaluated(tmp_path, judged, found, judged="qrels.parquet", name="run.parquet")
    assert values(run) == {"1": 0.5}


@each_case("name", ["run.PARQUET", "run.Arrow"])
def test_columns_without_a_known_score_are_noted(name: str, tmp_path: Path) -> None:
    frame = {"qid": ["q1", "q1", "q2"], "docno": ["z", "a", "c"], "cosine": [0.1, 1.0, 1.0]}
    run = evaluated(tmp_path, run=frame, name=name)
    assert values(run) == {"q1": 0.5, "q2": 1.0}  # the rows are the ranking
    assert [note for note in run.manifest.source.notes if "map score=COLUMN" in note]
    run = evaluated(tmp_path, run=frame, name=name, columns={"score": "cosine"})
    assert [note for note in run.manifest.source.notes if "score" in note] == []
    assert values(run)["q1"] == 1.0


def test_a_beir_folder_gives_judgments_and_the_queries_texts(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    head = "query-id\tcorpus-id\tscore\n"
    written(tmp_path, "qrels/dev.tsv", head + "q1\tz\t1\n")
    written(tmp_path, "qrels/test.tsv", head + "q1\ta b\t1\nq2\tc\t1\n")
    written(tmp_path, "queries.jsonl", json.dumps({"_id": "q1", "text": "what?"}) + "\n")
    lines = [{"query_id": "q1", "ranking": ["x", "a b"]}, {"query_id": "q2", "ranking": ["c"]}]
    ranking = written(tmp_path, "run.jsonl", "\n".join(map(json.dumps, lines)))
    run = RankingEvaluation.of(tmp_path, Plan(metrics=("mrr",))).run(ranking)
    assert values(run) == {"q1": 0.5, "q2": 1.0}
    assert [row.sample.query for row in run.rows] == ["what?", "q2"]
    run = RankingEvaluation.of(tmp_path / "qrels" / "dev.tsv", Plan(metrics=("mrr",))).run(ranking)
    assert values(run)["q1"] == 0.0


def test_numbers_are_the_same_without_the_extra(tmp_path: Path, monkeypatch) -> None:
    metrics = ("mrr", "ndcg", "bpref")
    judgments = '{"query_id": "q1", "relevance": {"a": 1, "b": 0}}\n'
    lines = known(tmp_path, judgments, judged="q.jsonl", metrics=metrics)
    ranked = written(tmp_path, "r.jsonl", '{"query_id": "q1", "ranking": ["b", "a"]}\n')
    pairs = [(known(tmp_path, metrics=metrics), written(tmp_path, "run", RUN)), (lines, ranked)]
    with_it = [evaluation.run(path) for evaluation, path in pairs]
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    for (evaluation, path), before in zip(pairs, with_it, strict=True):
        without = evaluation.run(path)
        assert [row.scores for row in before.rows] == [row.scores for row in without.rows]
    with pytest.raises(UsageError, match=r"pip install 'ragstone\[scale\]'"):
        evaluated(tmp_path, run=b"PAR1", name="run.parquet")


class First(RankingMetric):
    """The grade of the first document; it raises where there is none."""

    name, label = "first", "First"

    def value(self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]) -> float:
        return relevance.get(retrieved_ids[0], 0.0)


class Own(RankingMetric):
    """Reckons all at once."""

    name, label = "own", "Own"

    def __init__(self, reckon: Callable[[Rankings], NDArray[np.float64]]) -> None:
        self.values = reckon


@pytest.mark.filterwarnings("ignore:divide by zero")
@each_case(
    ("metric", "values", "failed"),
    [
        (First(), [1.0, 0.0, 0.0], {1: "the metric raised IndexError at test_ranking.py:"}),
        (Own(lambda all_: 1 / all_.n_retrieved), [1.0, 0.0, 0.5], {1: "not a finite number"}),
        (
            Own(lambda all_: np.ones(len(all_) - 1)),
            [0.0] * 3,
            dict.fromkeys(range(3), "shape (0,)"),
        ),
    ],
)
def test_a_strangers_metric_fails_where_it_raises_and_counts_elsewhere(
    metric: RankingMetric, values: list[float], failed: dict[int, str]
) -> None:
    rankings = Rankings.of([["a"], [], ["b", "a"]], [{"a": 1}, {"a": 1}, {"a": 1}])
    found, why = score_rankings(metric, rankings)
    assert found.tolist() == values
    assert why.keys() == failed.keys()
    assert all(words in why[place] for place, words in failed.items())


def test_the_queries_that_it_fails_on_are_those_of_the_files(tmp_path: Path) -> None:
    judged = known(tmp_path, "q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    evaluation = RankingEvaluation(
        judged.plan, judged.source, judged.judgments, {}, (First(),), "zero"
    )
    run = evaluation.run(written(tmp_path, "run", "q3 Q0 a 1 1 x\nq1 Q0 a 1 1 x\n"))
    states = {row.sample.id: row.scores["first"].state.value for row in run.rows}
    assert states == {"q1": "scored", "q3": "scored", "q2": "failed"}
    assert "q2: the metric raised IndexError" in str(run.to_dict()["metrics"])


def test_a_ranking_is_not_read_as_judgments(tmp_path: Path) -> None:
    ranks = "q1\ta\t1\nq1\tb\t2\nq1\tc\t3\nq1\td\t4\nq1\te\t5\n"
    with pytest.raises(InputError, match="of each query are 1, 2, 3 and so on, as ranks"):
        evaluated(tmp_path, ranks, ranks)
    judged = "".join(f"q1 0 {name} {grade}\n" for grade, name in enumerate("abcde", 1))
    assert values(evaluated(tmp_path, judged, ranks)) == {"q1": 1.0}


@each_case("name", ["a.csv", "a.parquet"])
def test_a_score_goes_before_a_rank(tmp_path: Path, name: str) -> None:
    columns = {"query_id": ["q1"] * 2, "document_id": ["b", "a"]}
    columns |= {"rank": [1, 2], "score": [0.1, 0.9]}
    of = partial(evaluated, tmp_path, run=columns, name=name, missing="skip")
    run = of()
    assert values(run)["q1"] == 1.0
    note = "read: query q1, document a, grade 1; ranked: query q1, document b"
    assert run.manifest.source.notes[0] == note
    used = f"{name}: column score is used, not rank; map rank=rank to use that"
    assert used in run.manifest.source.notes
    assert values(of(columns={"rank": "rank"}))["q1"] == 0.5
