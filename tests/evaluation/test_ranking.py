import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from ragstone.datasets.rankings import trec
from ragstone.errors import InputError, UsageError
from ragstone.evaluation.ranking import Missing, RankingEvaluation, score_rankings
from ragstone.metrics.registry import load_plugin
from ragstone.metrics.retrieval import RankingMetric
from ragstone.results.ranking_run import NOT_JUDGED, NOT_RANKED
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.rankings import Rankings
from ragstone.types.score import State

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 b 1 2.0 x\nq1 Q0 a 2 1.0 x\nq2 Q0 c 1 0.5 x\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


def evaluated(
    folder: Path,
    qrels: str = QRELS,
    run: str = RUN,
    *,
    metrics: Sequence[str] = ("mrr",),
    missing: Missing = "zero",
) -> Run:
    plan = Plan(metrics=tuple(metrics), k=5)
    known = written(folder, "qrels", qrels)
    return RankingEvaluation.of(known, plan, missing=missing).run(written(folder, "run", run))


def values(run: Run, metric: str = "mrr@5") -> dict[str, float | None]:
    return {row.sample.id: row.scores[metric].value for row in run.rows}


def test_an_example_computed_by_hand(tmp_path: Path) -> None:
    """q1 finds its document at 2, q2 at 1: the mean of 1/2 and 1."""
    run = evaluated(tmp_path)
    assert values(run) == {"q1": 0.5, "q2": 1.0}
    summary = run.summary()["mrr@5"]
    assert (summary.mean, summary.n, summary.scored) == (0.75, 2, 2)
    assert run.manifest.source.name == "run"


def test_scores_rank_and_of_equal_ones_the_greater_id(tmp_path: Path) -> None:
    tied = "q1 Q0 a 1 1.0 x\nq1 Q0 b 2 1.0 x\nq2 Q0 a 1 -1 x\nq2 Q0 c 9 3e2 x\n"
    assert values(evaluated(tmp_path, run=tied)) == {"q1": 0.5, "q2": 1.0}


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("q1 Q0 a 1 1 x\nq1 Q0 b 2 1 x\n", 1.0),
        ("q1 Q0 b 1 1 x\nq1 Q0 a 2 1 x\n", 0.5),
        ("q1 Q0 a 1 1 x\nq1 Q0 b 2 1 x\nq1 Q0 z 3 2 x\n", 0.5),
        ("q1 Q0 b 1 1 x\nq2 Q0 c 1 1 x\nq1 Q0 a 2 1 x\n", 0.5),
    ],
)
def test_equal_scores_may_stay_in_the_order_of_the_file(
    lines: str, value: float, tmp_path: Path
) -> None:
    known = written(tmp_path, "qrels", "q1 0 a 1\n")
    evaluation = RankingEvaluation.of(known, Plan(metrics=("mrr",)), ties="given")
    assert values(evaluation.run(written(tmp_path, "run", lines)))["q1"] == value


def test_scores_that_differ_in_no_single_precision_are_equal(tmp_path: Path) -> None:
    near = "q1 Q0 a 1 1.00000001 x\nq1 Q0 b 2 1.0 x\nq2 Q0 c 1 0 x\n"
    assert values(evaluated(tmp_path, run=near))["q1"] == 0.5


@pytest.mark.parametrize(("missing", "value", "mean"), [("zero", 0.0, 0.25), ("skip", None, 0.5)])
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
    assert "judged but not ranked: 1" in notes
    assert ("counted as 0" if missing == "zero" else "left out") in notes


def test_a_query_that_nobody_judged_has_no_number(tmp_path: Path) -> None:
    run = evaluated(tmp_path, run=RUN + "q9 Q0 a 1 1 x\n")
    assert values(run) == {"q1": 0.5, "q2": 1.0, "q9": None}
    score = run.rows[-1].scores["mrr@5"]
    assert (score.state, score.reason) == (State.UNDEFINED, NOT_JUDGED)
    assert run.summary()["mrr@5"].undefined == 1
    assert "ranked but not judged: 1, left out" in run.manifest.source.notes


def test_nothing_relevant_is_0(tmp_path: Path) -> None:
    assert values(evaluated(tmp_path, qrels="q1 0 a 0\n", run="q1 Q0 a 1 1 x\n")) == {"q1": 0.0}


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (RUN + "q2 Q0 c 2 0.1 x\n", "line 4: document c of query q2 is already at line 3"),
        ("q1 Q0 a 1 nan x\n", "line 1: the score nan is not a number"),
        (RUN + "\nq1 Q0 z 1 high x\n", "line 5: the score high is not a number"),
        (RUN + "q1 Q0 a 1 0.5\n", "line 4: 'q1 Q0 a 1 0.5' is not QUERY Q0 DOCUMENT RANK SCORE"),
        ("q1 Q0 a 1 0.5\n", "line 1: 'q1 Q0 a 1 0.5' has an unknown form; write QUERY Q0"),
        ("q1 a 0.5\n" + RUN, "line 1: 'q1 a 0.5' has an unknown form"),
        ("# scores\n" + RUN, "line 1: '# scores' has an unknown form"),
        ("q1 a 19\nq1 b 7\n", "line 1: 'q1 a 19' has an unknown form"),
        ("q1 a 1\n" + RUN, "line 2: 'q1 Q0 b 1 2.0 x' is not QUERY DOCUMENT RANK"),
        ("q1,a,1\n", "or a header such as query_id,document_id,rank or score (--map adds names)"),
        ("qid,docno,score\nq1,a\n", "line 2: there are 2 cells, but 3 names in the header"),
        ("qid,docno,score\nq1,a,\n", "line 2: the score  is not a number"),
        ('qid,docno,score\nq1,"a,1\n', "line 2: this is not CSV: unexpected end of data"),
        ("qid,docno,score\nq1,\ud83d,1\n", "this is not UTF-8 text"),
        ("qid,docno,score\n", "there is no ranking"),
        ('{"q1": {"a": "high"}}', "query 1: the score high of document a is not a finite number"),
        ('{"q1": {"a": NaN}}', "query 1: the score nan of document a is not a finite number"),
        ('{"q1": {"a": 1}, "q1": {"b": 1}}', "invalid JSON: duplicate name q1"),
        ('{\n"q1": {"a": 1', "invalid JSON"),
        ('[\n{"qid": "q1", "docno": "a"}]', "this is not an object, but a list; write {query:"),
        ("", "there is no ranking"),
        ("\n \n", "there is no ranking"),
    ],
)
def test_what_is_wrong_with_a_ranking_is_told_with_its_line(
    run: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        evaluated(tmp_path, run=run)
    assert raised.value.file == "run"
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        (QRELS + "q1 0 a 1\n", "line 4: document a of query q1 is already judged at line 1"),
        ("q1 0 a yes\n", "line 1: the grade yes is not a number"),
        ("q1 0 a inf\n", "line 1: the grade inf is not a number"),
        ("q1 0 a\n", "line 1: 'q1 0 a' has an unknown form"),
        ("q1 0 7\n", "line 1: 'q1 0 7' has an unknown form"),
        ("q1 a 0 0 0.5\n", "line 1: 'q1 a 0 0 0.5' has an unknown form; write QUERY 0 DOCUMENT"),
        ("q1 a 1 0.5\n", "line 1: 'q1 a 1 0.5' has an unknown form"),
        (
            "query 0 doc rel\n" + QRELS,
            "use whole numbers, usually 0, 1 or 2; if this is a header, --map adds names",
        ),
        (QRELS + "q3 a 1\n", "line 4: 'q3 a 1' is not QUERY 0 DOCUMENT GRADE"),
        ("qid,docno,rel,rel\nq1,a,1,2\n", "there are two columns rel; rename one"),
        ("qid\tdocno\nq1\ta\n", "no column found for grade among 'qid', 'docno'"),
        ("", "there are no judgments"),
    ],
)
def test_what_is_wrong_with_judgments_is_told_with_its_line(
    qrels: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        evaluated(tmp_path, qrels=qrels)
    assert "qrels: " in str(raised.value)
    assert told in str(raised.value)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "qrels",
    [
        QRELS,
        QRELS.replace(" ", "\t"),
        "q1 a 1\nq1 b 0\nq2 c 2\n",
        "q1\ta\t1\tann\nq1\tb\t0\tby bob\nq2\tc\t2\tann\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tb\t0\nq2\tc\t2\n",
        "Query_ID,iter,Relevance,doc id\nq1,0,1,a\n\nq1,0,0,b\nq2,0,2,c\n",
        "topic 0 docno label\nq1 0 a 1\nq1 0 b 0\nq2 0 c 2\n",
        'qid;pid;note;rel\n"q1"; a ;"x;\ny";1\nq1;b;;0\nq2;c;;2\n',
        '{"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}',
        '{\n "q1": {\n  "a": 1, "b": 0},\n "q2": {"c": 2}\n}\n',
        '{"query_id": "q1", "relevance": {"a": 1, "b": 0}}\n{"qid": "q2", "qrels": {"c": 2}}',
    ],
)
def test_judgments_of_any_form_are_the_same(qrels: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_bytes(qrels.replace("\n", end).encode())
    judgments = RankingEvaluation.of(path, Plan(metrics=("mrr",))).judgments
    found = {name: judgments.relevance(place) for name, place in judgments.queries.items()}
    assert found == {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}


@pytest.mark.parametrize(
    "run",
    [
        RUN,
        "q1 b 1\nq1 a 2\nq2 c 1\n",
        "q1\tb\t0\nq1\ta\t1\nq2\tc\t0\n",
        'qid,docid,docno,rank,score,query\nq1,7,a,1,1.5,w\nq1,8,b,0,2.5,"x, y"\nq2,9,c,0,1,z\n',
        "rank\tquery_id\tdoc_id\n2\tq1\ta\n1\tq1\tb\n1\tq2\tc\n",
        "query_id,doc_id\nq1,b\nq1,a\nq2,c\n",
        '{"q1": {"a": 1.5, "b": 2.5}, "q2": {"c": -1}}',
        '{"q1": ["b", "a"], "q2": {"c": -1}}',
        '{"query_id": "q1", "ranking": {"a": 1, "b": 2}}\n{"query_id": "q2", "ranking": ["c"]}',
    ],
)
@pytest.mark.parametrize("name", ["run.txt", "run.tsv", "run.json"])
def test_rankings_of_any_form_are_the_same(run: str, name: str, tmp_path: Path) -> None:
    evaluation = RankingEvaluation.of(written(tmp_path, "q.csv", QRELS), Plan(metrics=("mrr",)))
    found = evaluation.run(written(tmp_path, name, run))
    assert values(found) == {"q1": 0.5, "q2": 1.0}
    noted = any("the order of the rows is the ranking" in n for n in found.manifest.source.notes)
    assert noted == run.startswith("query_id,doc_id\n")


def test_columns_are_mapped_where_they_have_that_name(tmp_path: Path) -> None:
    qrels = "question\tpassage\tuseful\nq1\ta\t1\nq2\tc\t1\n"
    known, ranked = written(tmp_path, "qrels", qrels), written(tmp_path, "run", RUN)
    columns = {"query_id": "question", "document_id": "passage", "grade": "useful"}
    plan = Plan(metrics=("mrr",), columns=columns)
    for run in (RUN, "qid,docno,score\nq1,b,2\nq1,a,1\nq2,c,1\n"):
        ranked = written(tmp_path, "run", run)
        assert values(RankingEvaluation.of(known, plan).run(ranked)) == {"q1": 0.5, "q2": 1.0}
    named = '{"query_id": "q1", "relevance": ["a"]}'
    for qrels in (QRELS, '{"q1": {"a": 1}}', named, "qid,docno,grade\nq1,a,1\n"):
        plan = Plan(metrics=("mrr",), columns={"query_id": "x"})
        with pytest.raises(UsageError, match="map query_id=x has no effect: neither qrels nor run"):
            RankingEvaluation.of(written(tmp_path, "qrels", qrels), plan).run(ranked)


def test_ids_may_begin_with_a_hash(tmp_path: Path) -> None:
    qrels, run = "#1 0 a#0 1\nq2 0 #b 1\n", "#1 Q0 a#1 1 2 x\n#1 Q0 a#0 2 1 x\nq2 Q0 #b 1 1 x\n"
    assert values(evaluated(tmp_path, qrels, run)) == {"#1": 0.5, "q2": 1.0}


@pytest.mark.parametrize("scattered", [False, True])
def test_documents_with_their_querys_id_are_noted_or_left_out(
    scattered: bool, tmp_path: Path
) -> None:
    lines = ["a Q0 a 1 9 x\n", "a Q0 b 2 8 x\n", "c Q0 d 1 1 x\n", "e Q0 e 1 1 x\n"]
    ranked = written(tmp_path, "run", "".join(lines[:1] + lines[2:] + lines[1:2] * scattered))
    ranked = ranked if scattered else written(tmp_path, "run", "".join(lines))
    known, plan = written(tmp_path, "qrels", "a 0 b 1\nc 0 d 1\ne 0 z 1\n"), Plan(metrics=("mrr",))
    run = RankingEvaluation.of(known, plan).run(ranked)
    assert values(run) == {"a": 0.5, "c": 1.0, "e": 0.0}
    note = "ranked documents with their query's own id: 2; "
    assert f"{note}--ignore-identical-ids leaves them out" in run.manifest.source.notes
    run = RankingEvaluation.of(known, plan, ignore_identical=True).run(ranked)
    assert values(run) == {"a": 1.0, "c": 1.0, "e": 0.0}
    assert f"{note}left out" in run.manifest.source.notes


@pytest.mark.parametrize(
    ("run", "warned"),
    [
        ("q1 Q0 A.txt 1 1 x\n", "nearly equal: retrieved A.txt, relevant a); check that both use"),
        ("q1 Q0 z 1 1 x\nq2 Q0 y 1 1 x\n", "any of 2 rankings (first: retrieved z, relevant a);"),
        ("q1 Q0 a 1 1 x\nq2 Q0 c_1 1 1 x\n", "in 1 of 2 rankings (nearly equal: retrieved c_1"),
        ("q1 Q0 a 1 1 x\nq2 Q0 y 1 1 x\n", ""),
        ("q1 Q0 b 1 1 x\nq2 Q0 y 1 1 x\n", ""),
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


def test_queries_are_whole_wherever_a_part_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"q{q} Q0 d{d} 1 {100 - d} x\n" for q in range(30) for d in range(q % 7 * 9 + 1)]
    qrels = "".join(f"q{q} 0 d{q % 5 * 3} 1\nq{q} 0 d0 0\n" for q in range(30) if q % 5)
    whole = values(evaluated(tmp_path, qrels, "".join(lines), metrics=["mrr", "ndcg"]))
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(trec, "AT_ONCE", size)
        run = evaluated(tmp_path, qrels, "\n\n" + "".join(lines), metrics=["mrr", "ndcg"])
        assert values(run) == whole
    monkeypatch.setattr(trec, "ROWS_AT_ONCE", 3)
    rows = (line.split() for line in lines)
    table = "".join(f"{q},{d},{score}\n" for q, _, d, _, score, _ in rows)
    run = evaluated(tmp_path, qrels, f"qid,docno,score\n{table}", metrics=["mrr", "ndcg"])
    assert values(run) == whole
    with pytest.raises(InputError, match="line 3: document d0 of query q0 is already at line 1"):
        evaluated(tmp_path, qrels, lines[0] + "\n" + "".join(lines))


@pytest.mark.parametrize("at_once", [1, 40, 1 << 20])
def test_scattered_lines_come_to_the_same(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trec, "AT_ONCE", at_once)
    scattered = "q2 Q0 c 1 0.5 x\nq1 Q0 a 2 1.0 x\nq3 Q0 a 1 1 x\nq2 Q0 z 1 9 x\nq1 Q0 b 1 2.0 x\n"
    assert values(evaluated(tmp_path, run=scattered)) == {"q1": 0.5, "q2": 0.5, "q3": None}
    with pytest.raises(InputError, match="line 6: document c of query q2 is already at line 1"):
        evaluated(tmp_path, run=scattered + "q2 Q0 c 1 1 x\n")


def test_packed_files_are_read_by_their_first_bytes(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels.jsonl", '{"query_id": "q1", "relevance": ["a"]}\n')
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"query_id": "q1", "ranking": ["b", "a"]}\n'))
    evaluation = RankingEvaluation.of(known, Plan(metrics=("mrr",)))
    assert values(evaluation.run(path)) == {"q1": 0.5}
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "run.jsonl.zst"
    path.write_bytes(zstandard.compress(b'{"query_id": "q1", "ranking": ["b", "a"]}\n'))
    assert values(evaluation.run(path)) == {"q1": 0.5}
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError):
        evaluation.run(path)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(RUN.encode() * 100)[:-20])
    known = written(tmp_path, "qrels", QRELS)
    with pytest.raises(InputError, match="the file is damaged"):
        RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(path)


def test_ids_of_json_may_be_numbers_and_are_the_same_as_their_texts(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels.jsonl", '{"query_id": 7, "relevance": {"5": 1}}\n')
    lines = '{"query_id": "7", "ranking": [6, 5]}\n'
    run = RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(
        written(tmp_path, "run.jsonl", lines)
    )
    assert values(run) == {"7": 0.5}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"query_id": "1", "ranking": ["a", "a"]}', "document a of query 1 is already at line 1"),
        ('{"query_id": "1", "ranking": ["a", 1.5]}', "contains 1.5"),
        ('{"query_id": "1", "ranking": ["a", null]}', "contains None"),
        ('{"query_id": "1", "ranking": "a"}', "is not a list"),
        ('{"query_id": true, "ranking": []}', "the query's id is not text or"),
        ('{"id": "1", "ranking": []}', "query_id not found"),
        ('{"query_id": "1"}', "there is no ranking"),
        (
            '{"query_id": "0", "ranking": []}\n{"query_id": "0", "ranking": []}',
            "is already on line 1",
        ),
        ("[1]", "this is not an object"),
        ("[" * 100_000, "invalid JSON"),
        ('{"query_id": ', "invalid JSON"),
        ("", "there is no ranking"),
    ],
)
def test_what_is_wrong_with_lines_of_json_is_told(line: str, told: str, tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    with pytest.raises(InputError) as raised:
        RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(
            written(tmp_path, "run.jsonl", line)
        )
    assert told in str(raised.value)


@pytest.mark.parametrize("grade", ["1", "1.0"])
def test_a_document_that_is_judged_twice_in_a_line_of_json_is_told(
    grade: str, tmp_path: Path
) -> None:
    line = f'{{"query_id": "q1", "relevance": {{"a": {grade}, "b": 1, "a": 0}}}}'
    with pytest.raises(InputError, match=r"line 1: .*(\ba\b.*already|duplicate name a\b)"):
        RankingEvaluation.of(written(tmp_path, "qrels.jsonl", line), Plan(metrics=("mrr",)))


def test_columns_may_have_names_of_their_own_and_queries_may_be_cut_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.datasets.rankings.files.ROWS_AT_ONCE", 2)
    frame = pl.DataFrame(
        {"q": [1, 1, 1, 2], "passage": ["b", "z", "a", "c"], "points": [2.0, 1.5, 1.0, 1.0]}
    )
    frame.write_parquet(tmp_path / "run.parquet")
    known = written(tmp_path, "qrels", QRELS.replace("q", ""))
    plan = Plan(
        metrics=("mrr",), columns={"query_id": "q", "document_id": "passage", "score": "points"}
    )
    run = RankingEvaluation.of(known, plan).run(tmp_path / "run.parquet")
    assert values(run) == {"1": 1 / 3, "2": 1.0}
    with pytest.raises(
        UsageError, match="no column found for document_id among 'q', 'passage', 'points'"
    ):
        RankingEvaluation.of(known, Plan(columns={"query_id": "q"}, metrics=("mrr",))).run(
            tmp_path / "run.parquet"
        )
    message = "map query_id=no: there is no column 'no'; the columns are 'q', 'passage', 'points'"
    with pytest.raises(UsageError, match=message):
        RankingEvaluation.of(known, Plan(columns={"query_id": "no"}, metrics=("mrr",))).run(
            tmp_path / "run.parquet"
        )
    with pytest.raises(UsageError, match="the fields are query_id"):
        RankingEvaluation.of(known, Plan(columns={"doc": "pid"}, metrics=("mrr",)))


@pytest.mark.parametrize("name", ["run.PARQUET", "run.Arrow"])
def test_the_case_of_a_suffix_does_not_matter(name: str, tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    frame = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["z", "a"]})
    write = frame.write_parquet if name == "run.PARQUET" else frame.write_ipc
    write(tmp_path / name)
    assert values(RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(tmp_path / name)) == {
        "q1": 0.5,
        "q2": 0.0,
    }


def test_a_null_or_nan_in_columns_is_told_with_its_row(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    frame = pl.DataFrame({"qid": ["q1", None], "docno": ["a", "b"], "score": [None, 1.0]})
    frame.write_parquet(tmp_path / "run.parquet")
    with pytest.raises(InputError) as raised:
        RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(tmp_path / "run.parquet")
    assert "row 1: the score nan is not a number" in str(raised.value)
    assert "row 2: there is no query_id" in str(raised.value)


def test_ids_that_pandas_made_floats_are_whole_numbers(tmp_path: Path) -> None:
    judged = pl.DataFrame({"qid": [1, 1], "docno": [5, 6], "rel": [1, 0]})
    judged.write_parquet(tmp_path / "qrels.parquet")
    found = pl.DataFrame({"qid": [1.0, 1.0], "docno": [6.0, 5.0], "score": [2.0, 1.0]})
    found.write_parquet(tmp_path / "run.parquet")
    evaluation = RankingEvaluation.of(tmp_path / "qrels.parquet", Plan(metrics=("mrr",)))
    assert values(evaluation.run(tmp_path / "run.parquet")) == {"1": 0.5}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"query_id": "", "ranking": ["a"]}', "line 2: there is no query_id"),
        ('{"query_id": " ", "ranking": ["a"]}', "line 2: there is no query_id"),
        ('{"query_id": "", "ranking": []}', "there is no query_id"),
        ('{"query_id": "q2", "ranking": ["a", ""]}', "line 2: there is no document_id"),
        (
            '{"query_id": "q2", "ranking": ["a"], "ranking": ["b"]}',
            "line 2: invalid JSON: duplicate name ranking",
        ),
    ],
)
def test_a_line_with_a_blank_id_or_two_lists_is_refused(
    line: str, problem: str, tmp_path: Path
) -> None:
    known = written(tmp_path, "qrels", QRELS)
    run = written(tmp_path, "run.jsonl", f'{{"query_id": "q1", "ranking": ["z", "a"]}}\n{line}\n')
    with pytest.raises(InputError) as raised:
        RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(run)
    assert problem in str(raised.value)


def test_judgments_with_a_blank_query_are_refused(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels.jsonl", '{"query_id": " ", "relevance": {"a": 1}}\n')
    with pytest.raises(InputError, match="line 1: there is no query_id"):
        RankingEvaluation.of(known, Plan(metrics=("mrr",)))


@pytest.mark.parametrize("end", ["\r", "\r\n", "\r\r\n"])
def test_lines_that_end_with_carriage_returns_alone_are_refused(end: str, tmp_path: Path) -> None:
    known = tmp_path / "qrels"
    known.write_bytes(f"q1 0 a 1{end}q2 0 a 1{end}".encode())
    if end != "\r":
        assert len(RankingEvaluation.of(known, Plan(metrics=("mrr",))).judgments) == 2
    else:
        with pytest.raises(InputError, match="line 1: there is a carriage return inside the line"):
            RankingEvaluation.of(known, Plan(metrics=("mrr",)))


def test_without_scores_the_rows_are_the_ranking(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    frame = pl.DataFrame({"qid": ["q1", "q1", "q2"], "docno": ["z", "a", "c"]})
    frame.write_ipc(tmp_path / "run.arrow")
    run = RankingEvaluation.of(known, Plan(metrics=("mrr",))).run(tmp_path / "run.arrow")
    assert values(run) == {"q1": 0.5, "q2": 1.0}


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


def test_columns_without_a_known_score_are_noted(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    frame = pl.DataFrame(
        {"qid": ["q1", "q1", "q2"], "docno": ["z", "a", "c"], "cosine": [0.1, 1, 1]}
    )
    frame.write_parquet(tmp_path / "run.parquet")
    plan = Plan(metrics=("mrr",))
    run = RankingEvaluation.of(known, plan).run(tmp_path / "run.parquet")
    assert [note for note in run.manifest.source.notes if "map score=COLUMN" in note]
    plan = Plan(metrics=("mrr",), columns={"score": "cosine"})
    run = RankingEvaluation.of(known, plan).run(tmp_path / "run.parquet")
    assert [note for note in run.manifest.source.notes if "score" in note] == []
    assert values(run)["q1"] == 1.0


def test_a_metric_of_more_than_ids_is_refused(tmp_path: Path) -> None:
    known = written(tmp_path, "qrels", QRELS)
    with pytest.raises(UsageError, match="faithfulness needs"):
        RankingEvaluation.of(known, Plan(metrics=("faithfulness",)))


@pytest.mark.parametrize("name", ["none", ""])
def test_a_file_that_is_not_there_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        RankingEvaluation.of(tmp_path / name, Plan(metrics=("mrr",)))


def test_rows_are_found_from_both_ends_and_counted(tmp_path: Path) -> None:
    run = evaluated(tmp_path)
    assert [row.sample.id for row in run.rows[:]] == ["q1", "q2"]
    assert run.rows[-1].index == 1
    with pytest.raises(IndexError):
        run.rows[2]
    counts = run.counts.scores["mrr@5"]
    assert [one.sample_id for one in counts.worst(higher_is_better=True)] == ["q1", "q2"]


@pytest.mark.parametrize("lines", [False, True])
def test_numbers_are_the_same_without_the_extra(
    lines: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, ranked = written(tmp_path, "qrels", QRELS), written(tmp_path, "run", RUN)
    if lines:
        known = written(tmp_path, "q.jsonl", '{"query_id": "q1", "relevance": {"a": 1, "b": 0}}\n')
        ranked = written(tmp_path, "r.jsonl", '{"query_id": "q1", "ranking": ["b", "a"]}\n')
    plan = Plan(metrics=("mrr", "ndcg", "bpref"))
    with_it = RankingEvaluation.of(known, plan).run(ranked)
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    without = RankingEvaluation.of(known, plan).run(ranked)
    assert [row.scores for row in with_it.rows] == [row.scores for row in without.rows]


@pytest.mark.parametrize(
    ("name", "content"), [("run.parquet", b"PAR1"), ("run.zst", b"\x28\xb5\x2f\xfd")]
)
def test_a_file_that_needs_the_extra_says_so(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / name).write_bytes(content)
    evaluation = RankingEvaluation.of(written(tmp_path, "qrels", QRELS), Plan(metrics=("mrr",)))
    with pytest.raises(UsageError, match=r"pip install 'ragstone\[scale\]'"):
        evaluation.run(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04", "this is a zip archive"),
        (RUN.encode("utf-16"), "this is UTF-16 text"),
        (b"PAR1", "this is Parquet"),
    ],
)
def test_what_is_no_text_is_told(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(content)
    evaluation = RankingEvaluation.of(written(tmp_path, "qrels", QRELS), Plan(metrics=("mrr",)))
    with pytest.raises(InputError, match=told):
        evaluation.run(tmp_path / "run")


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path: Path) -> None:
    assert values(evaluated(tmp_path, "\ufeff" + QRELS, "\ufeff" + RUN)) == {"q1": 0.5, "q2": 1.0}


def test_how_much_is_read_is_told(tmp_path: Path) -> None:
    told: list[int] = []
    evaluation = RankingEvaluation.of(written(tmp_path, "qrels", QRELS), Plan(metrics=("mrr",)))
    evaluation.run(written(tmp_path, "run", RUN), told.append)
    assert told[-1] == len(RUN)


def test_a_metric_of_ones_own_sees_ids_and_grades(tmp_path: Path) -> None:
    plugin = written(
        tmp_path,
        "seen_last.py",
        "from ragstone import RankingMetric, register\n"
        "@register('seen_last')\n"
        "class SeenLast(RankingMetric):\n"
        "    '''The grade of the last document.'''\n"
        "    def value(self, retrieved_ids, relevance):\n"
        "        return min(1.0, relevance.get(retrieved_ids[-1], 0.0))\n",
    )
    load_plugin(str(plugin))
    run = evaluated(tmp_path, metrics=["seen_last"])
    assert values(run, "seen_last") == {"q1": 1.0, "q2": 1.0}


RANKINGS = Rankings.of([["a"], [], ["b", "a"]], [{"a": 1}, {"a": 1}, {"a": 1}])


class First(RankingMetric):
    """The grade of the first document; it raises where there is none."""

    name, label = "first", "First"

    def value(self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]) -> float:
        return relevance.get(retrieved_ids[0], 0.0)


class Whole(RankingMetric):
    """Reckons all at once, and divides by what may be 0."""

    name, label = "whole", "Whole"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.ones(len(rankings)) / rankings.n_retrieved


class Short(RankingMetric):
    """Returns one value too few."""

    name, label = "short", "Short"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        return np.ones(len(rankings) - 1)


@pytest.mark.parametrize(
    ("metric", "values", "failed"),
    [
        (First(), [1.0, 0.0, 0.0], {1: "the metric raised IndexError at test_ranking.py:"}),
        (Whole(), [1.0, 0.0, 0.5], {1: "which is not a finite number"}),
        (Short(), [0.0] * 3, dict.fromkeys(range(3), "values of shape (0,) for 1 queries")),
    ],
)
def test_a_strangers_metric_fails_where_it_raises_and_counts_elsewhere(
    metric: RankingMetric, values: list[float], failed: dict[int, str]
) -> None:
    found, why = score_rankings(metric, RANKINGS)
    assert found.tolist() == values
    assert why.keys() == failed.keys()
    assert all(words in why[place] for place, words in failed.items())


class Ours(First):
    """As if it came with ragstone."""

    __module__ = "ragstone.metrics.ours"


def test_a_metric_of_ours_that_raises_ends_the_run() -> None:
    with pytest.raises(IndexError):
        score_rankings(Ours(), RANKINGS)


def test_the_queries_that_it_fails_on_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 a 1\n")
    (tmp_path / "run").write_text("q3 Q0 a 1 1 x\nq1 Q0 a 1 1 x\n")
    evaluation = RankingEvaluation.of(tmp_path / "qrels", Plan(metrics=("hit",)))
    metrics = (First(),)
    evaluation = RankingEvaluation(
        evaluation.plan, evaluation.source, evaluation.judgments, {}, metrics, "zero"
    )
    run = evaluation.run(tmp_path / "run")
    states = {row.sample.id: row.scores["first"].state.value for row in run.rows}
    assert states == {"q1": "scored", "q3": "scored", "q2": "failed"}
    summary = run.summary()["first"]
    assert (summary.mean, summary.failed, dict(summary.causes)) == (1.0, 1, {"metric_error": 1})
    assert "q2: the metric raised IndexError" in str(run.to_dict()["metrics"])
    assert run.troubles == ("1 of 3 scores of first failed, more than 10% (max_failure_rate)",)


@pytest.mark.parametrize("beside", ["", ', "b": 1.5', ', "b": 1'])
def test_a_grade_too_large_for_a_number_is_reported_with_its_document(
    beside: str, tmp_path: Path
) -> None:
    line = f'{{"query_id": "q1", "relevance": {{"a": 1{"0" * 400}{beside}}}}}\n'
    known = written(tmp_path, "qrels.jsonl", '{"query_id": "q0", "relevance": ["a"]}\n' + line)
    with pytest.raises(InputError, match=r"line 2: the grade 10+… of document a is not a finite"):
        RankingEvaluation.of(known, Plan(metrics=("mrr",)))


RANKS = "q1\ta\t1\nq1\tb\t2\nq1\tc\t3\nq1\td\t4\nq1\te\t5\n"


def test_a_ranking_is_not_read_as_judgments(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="the grades of each query are 1, 2, 3 and so on, as ranks"
    ):
        evaluated(tmp_path, RANKS, RANKS)
    judged = "".join(f"q1 0 {name} {grade}\n" for grade, name in enumerate("abcde", 1))
    assert values(evaluated(tmp_path, judged, RANKS)) == {"q1": 1.0}


def test_shares_are_not_read_as_ranks(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"the rank 0\.9 is not a whole number; scores need a header"
    ):
        evaluated(tmp_path, run="q1\tb\t1\nq1\ta\t0.9\n")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_score_goes_before_a_rank(tmp_path: Path, name: str) -> None:
    columns = {
        "query_id": ["q1"] * 2,
        "document_id": ["b", "a"],
        "rank": [1, 2],
        "score": [0.1, 0.9],
    }
    frame = pl.DataFrame(columns)
    frame.write_parquet(tmp_path / name) if name == "a.parquet" else frame.write_csv(
        tmp_path / name
    )
    evaluation = RankingEvaluation.of(
        written(tmp_path, "qrels", QRELS), Plan(metrics=("mrr",), k=5), missing="skip"
    )
    run = evaluation.run(tmp_path / name)
    assert values(run)["q1"] == 1.0
    note = "read: query q1, document a, grade 1; ranked: query q1, document b"
    assert run.manifest.source.notes[0] == note
    used = f"{name}: column score is used, not rank; map rank=rank to use that"
    assert used in run.manifest.source.notes
    by_rank = Plan(metrics=("mrr",), k=5, columns={"rank": "rank"})
    known = RankingEvaluation.of(tmp_path / "qrels", by_rank, missing="skip")
    assert values(known.run(tmp_path / name))["q1"] == 0.5


def test_a_mapping_may_be_for_one_of_several_rankings(tmp_path: Path) -> None:
    plan = Plan(metrics=("mrr",), k=5, columns={"score": "s"})
    evaluation = RankingEvaluation.of(written(tmp_path, "qrels", QRELS), plan, missing="zero")
    run = written(tmp_path, "run", RUN)
    assert len(evaluation.run(run, several=True).rows) == 2
    with pytest.raises(UsageError, match="map score=s has no effect"):
        evaluation.run(run)


def test_a_table_with_ranks_is_not_read_as_judgments(tmp_path: Path) -> None:
    table = "query_id,document_id,rank,score\nq1,a,1,0.2\n"
    with pytest.raises(UsageError, match="column rank is of a ranking, not of judgments"):
        evaluated(tmp_path, table)
