"""Any split of the rows, and any order of counting and merging, gives the same bytes."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import Cause
from ragstone.evaluation.ranking import Missing, RankingEvaluation
from ragstone.metrics import get
from ragstone.reports.view import grouping_lines
from ragstone.reports.worst import worst_documents
from ragstone.results import metric_summary, ranking_run, run_summary
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.results.stats import intervals, sums
from ragstone.types.claim import ClaimIssue, DiagnosedClaim
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.gate import gate
from ragstone.types.reply import Exchange, Failure, Reply, Usage
from ragstone.types.row import Row, TargetCall
from ragstone.types.sample import Sample
from ragstone.types.score import ALL_SUPPORTED, Score

METRICS = ("hit@5", "faithfulness")
few = st.sampled_from("ab1")
fractions = st.sampled_from([0.0, 0.1, 1 / 3, 0.7, 1.0]) | st.floats(0, 1)
details = st.dictionaries(st.sampled_from(["note", "x", "y", ALL_SUPPORTED]), fractions)


@st.composite
def scores(draw: st.DrawFn) -> Score:
    match draw(st.integers(0, 5)):
        case 0:
            return Score.undefined(draw(st.text("ab1", max_size=2)))
        case 1:
            return Score.failed(draw(st.sampled_from(list(Cause)[:3])), draw(few))
        case _:
            score = Score.scored(draw(fractions), detail=draw(details))
            extra: dict[str, object] = {"threshold": draw(st.sampled_from([0.2, 0.5]))}
            extra |= {"passed": draw(st.booleans()), "fallback": draw(st.booleans())}
            return score.model_copy(update=extra | {"latency_ms": draw(fractions)})


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    usage = Usage(calls=draw(st.integers(0, 1)), cost_usd=draw(fractions | st.none()))
    failure = Failure(Cause.BUDGET, "spent", usage=usage)
    outcome = draw(st.sampled_from([failure, Reply(1, usage=usage)]))
    return Exchange("key", "kind", outcome, latency_ms=draw(fractions), askers=2)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    sample = Sample.model_validate({
        "id": draw(few),
        "query": draw(few),
        "contexts": draw(st.none() | st.lists(st.fixed_dictionaries({"text": few}), max_size=2)),
        "ranking": draw(st.none() | st.just([{"id": "d1"}])),
        "relevance": draw(st.none() | st.fixed_dictionaries({"d2": st.just(1.0)})),
        "tags": draw(st.dictionaries(st.sampled_from(["doc", "source", "b", "c", "a"]), few)),
    })  # fmt: skip
    failure = draw(st.none() | st.just(Failure(Cause.TIMEOUT, "late")))
    issue = DiagnosedClaim(claim="c", of="response", blame=draw(st.sampled_from(ClaimIssue)))
    return Row(
        0,
        sample,
        calls=tuple(TargetCall(draw(few), 1.5, failure) for _ in range(draw(st.integers(0, 2)))),
        scores={name: draw(scores()) for name in METRICS},
        exchanges=tuple(draw(st.lists(exchanges(), max_size=2))),
        blamed=(issue,) * draw(st.integers(0, 2)),
        notes=tuple(draw(st.lists(few, max_size=2))),
    )


def summary(counts: RunSummaryBuilder, rows: Sequence[Row] = ()) -> str:
    """Return the document of `--json`, and what else reports show of the counts."""
    manifest = Manifest(
        run_id="r",
        version="1",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        plan=Plan.of({"gates": [gate("faithfulness=0.5", ">=", of="interval")]}),
        source=Source(name="data", rows=counts.rows),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
    )
    described = {name: get(name).described for name in METRICS}
    run = Run(manifest, described, rows, known_counts=counts)
    others: list[object] = [
        vars(counts.ids),
        counts.notes,
        counts.tags,
        counts.over_budget,
        list(grouping_lines(counts.grouping)),
        *(each.undefined for each in counts.scores.values()),
        *(each.details for each in counts.scores.values()),
        *(str([each.note, each.imputed]) for each in counts.scores.values()),
        *(each.worst(higher_is_better=True) for each in counts.scores.values()),
        *(each.worst(higher_is_better=False) for each in counts.scores.values()),
    ]
    return json.dumps([run.to_dict(), worst_documents(run), *others])


@given(
    st.lists(rows(), max_size=12),
    st.sampled_from([None, "source", "id"]),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_any_split_and_any_order_give_the_same_summary(
    given_rows: list[Row], cluster: str | None, parts: int, shuffled: Random
) -> None:
    numbered = [replace(row, index=place) for place, row in enumerate(given_rows)]
    in_order = tuple(numbered)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(metric_summary, "MOST", 2)
        patched.setattr(run_summary, "MOST", 2)
        patched.setattr(run_summary, "TAGS", 3)
        patched.setattr(sums, "FEW", 5)
        expected = summary(RunSummaryBuilder.of(numbered, METRICS, cluster=cluster), in_order)
        shuffled.shuffle(numbered)
        split = [RunSummaryBuilder(METRICS, cluster=cluster) for _ in range(parts)]
        for row in numbered:
            shuffled.choice(split).add(row)
        while len(split) > 1:
            one, other = (split.pop(shuffled.randrange(len(split))) for _ in range(2))
            one.merge(pickle.loads(pickle.dumps(other)))
            split.append(one)
        assert summary(split[0], in_order) == expected


ranked = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1, max_size=5)


@given(
    st.lists(st.tuples(ranked, ranked), min_size=1, max_size=12), st.sampled_from(["zero", "skip"])
)
def test_rankings_that_are_only_summed_have_the_same_summary(
    queries: list[tuple[list[str], list[str]]], missing: Missing
) -> None:
    """Query 1 is not ranked, query 2 is not judged."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        qrels, run = Path(folder, "qrels"), Path(folder, "run")
        qrels.write_text(
            "q1 0 z 1\n"
            + "".join(
                f"q{q} 0 {d} 1\n" for q, (_, ids) in enumerate(queries) if q != 2 for d in ids
            )
        )
        run.write_text(
            "".join(
                f"q{q} Q0 {d} 0 {rank % 3} x\n"
                for q, (ids, _) in enumerate(queries)
                for rank, d in enumerate(ids)
                if q != 1
            )
        )
        patched.setattr(metric_summary, "LARGE", 4)
        patched.setattr(intervals, "LARGE", 4)
        patched.setattr(ranking_run, "BLOCK", 3)
        plan = Plan(metrics=("mrr", "bpref"))
        evaluation = RankingEvaluation.of(qrels, plan, missing=missing)
        expected = without_times(evaluation.run(run))
        assert without_times(evaluation.run(run, rows=False)) == expected


def without_times(run: Run) -> str:
    worst = [run.counts.scores[name].worst(higher_is_better=True) for name in run.metrics]
    return json.dumps([{**run.to_dict(), "run_id": "", "started_at": ""}, worst])
