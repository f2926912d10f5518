"""Rankings from files come to what trec_eval says, as pytrec_eval computes it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import InputError
from ragstone.evaluation.ranking import Missing, RankingEvaluation
from ragstone.types.config import Plan
from ragstone.types.score import State

KS = (1, 2, 3, 5, 10)
DEEP = 1000
ASKED = ("hit", "recall", "precision", "map", "ndcg", f"mrr@{DEEP}", "r_precision", "bpref")
CUT = ("recall", "precision", "map", "ndcg", "mrr@3")
"""Metrics that look at the first ranks alone."""
THEIRS = {
    **{f"hit@{k}": f"success_{k}" for k in KS},
    **{f"recall@{k}": f"recall_{k}" for k in KS},
    **{f"precision@{k}": f"P_{k}" for k in KS},
    **{f"map@{k}": f"map_cut_{k}" for k in KS},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in KS},
    f"mrr@{DEEP}": "recip_rank",
    "r_precision": "Rprec",
    "bpref": "bpref",
}
MEASURES = {
    f"{name}.{','.join(map(str, KS))}" for name in ("success", "recall", "P", "map_cut", "ndcg_cut")
} | {"recip_rank", "Rprec", "bpref"}

Qrels = Mapping[str, Mapping[str, int]]
Ran = Mapping[str, Mapping[str, float]]

documents = st.sampled_from(
    [*"abcdefghijkl", "doc-10", "doc-100", "doc-9", "Straße7", "文書", "é", "e\u0301", "x" * 40]
)
queries = st.sampled_from(["1", "2", "10", "q-ü", "問い", "a-very-long-query-id"])
scores = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, 1.0000001, 16777216.0, 16777217.0, -3.5]),
    st.floats(-1e6, 1e6),
)
qrels = st.dictionaries(
    queries, st.dictionaries(documents, st.integers(-1, 3), min_size=1), min_size=1
)
rankings = st.dictionaries(queries, st.dictionaries(documents, scores, min_size=1), min_size=1)

Writer = Callable[[Path, Qrels, Ran], tuple[Path, Path]]


def ordered(ran: Mapping[str, float]) -> list[str]:
    """The documents by trec_eval's rule: score in single precision, then id, both falling."""
    return sorted(ran, key=lambda id_: (float(np.float32(ran[id_])), id_.encode()), reverse=True)


def as_trec(folder: Path, judged: Qrels, ran: Ran) -> tuple[Path, Path]:
    """Fields between blanks of all kinds, empty lines, and junk at the ends of a run's lines."""
    lines = [f"{q}\t0  {d} {g}  " for q, known in judged.items() for d, g in known.items()]
    (folder / "qrels").write_text("\n\n" + "\n".join(lines), encoding="utf-8")
    lines = [f" {q} Q0\t{d}   1 {s!r} tag more" for q, r in ran.items() for d, s in r.items()]
    (folder / "run").write_text("\n\n" + "\r\n".join(lines) + "\n", encoding="utf-8")
    return folder / "qrels", folder / "run"


def as_lines(folder: Path, judged: Qrels, ran: Ran) -> tuple[Path, Path]:
    texts = [json.dumps({"query_id": q, "relevance": known}) for q, known in judged.items()]
    (folder / "qrels.jsonl").write_text("\n".join(texts), encoding="utf-8")
    texts = [json.dumps({"query_id": q, "ranking": ordered(r)}) for q, r in ran.items()]
    (folder / "run.jsonl").write_text("\n".join(texts), encoding="utf-8")
    return folder / "qrels.jsonl", folder / "run.jsonl"


def as_columns(folder: Path, judged: Qrels, ran: Ran) -> tuple[Path, Path]:
    grades = [(q, d, g) for q, known in judged.items() for d, g in known.items()]
    frame = pl.DataFrame(grades, schema=["query_id", "doc_id", "relevance"], orient="row")
    frame.write_ipc(folder / "qrels.arrow")
    rows = [(q, d, s) for q, r in ran.items() for d, s in r.items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    frame.write_parquet(folder / "run.parquet")
    return folder / "qrels.arrow", folder / "run.parquet"


FORMATS: tuple[Writer, ...] = (as_trec, as_lines, as_columns)
"""Their other forms are read as the same in tests/evaluation/test_ranking.py."""


def values_of(
    write: Writer, judged: Qrels, ran: Ran, missing: Missing, asked: tuple[str, ...] = ASKED
) -> dict[str, dict[str, float]]:
    """Query -> metric -> value, of the queries that have values."""
    plan = Plan(metrics=asked, k=KS)
    with TemporaryDirectory() as folder:
        known, ranked = write(Path(folder), judged, ran)
        run = RankingEvaluation.of(known, plan, missing=missing).run(ranked)
    return {
        row.sample.id: {name: score.value or 0.0 for name, score in row.scores.items()}
        for row in run.rows
        if {score.state for score in row.scores.values()} == {State.SCORED}
    }


def check(
    ours: Mapping[str, Mapping[str, float]], theirs: Mapping[str, Mapping[str, float]]
) -> None:
    assert ours.keys() == theirs.keys()
    for query, values in theirs.items():
        for name, measure in THEIRS.items():
            assert ours[query][name] == pytest.approx(values[measure], rel=0, abs=1e-9), (
                query,
                name,
            )


@given(write=st.sampled_from(FORMATS), judged=qrels, ran=rankings)
def test_every_front_end_equals_trec_eval(write: Writer, judged: Qrels, ran: Ran) -> None:
    """What is missing is left out, or is 0 as with trec_eval's option -c."""
    if not judged.keys() & ran.keys():
        with pytest.raises(InputError, match="none of its queries is judged"):
            values_of(write, judged, ran, "skip")
        return
    theirs = pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(ran)
    found = values_of(write, judged, ran, "skip")
    check(found, theirs)
    for query, values in values_of(write, judged, ran, "skip", CUT).items():
        first = values.pop("mrr@3")
        assert first == (found[query][f"mrr@{DEEP}"] if first else 0)
        assert values == {name: found[query][name] for name in values}
    nothing = dict.fromkeys(THEIRS.values(), 0.0)
    expected = {query: theirs.get(query, nothing) for query in judged}
    check(values_of(write, judged, ran, "zero"), expected)
