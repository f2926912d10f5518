from ragstone.errors import Cause
from ragstone.reports.view import grouping_lines
from ragstone.results.metric_summary import MOST, OTHERS
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.types.claim import ClaimIssue, DiagnosedClaim
from ragstone.types.reply import Exchange, Failure, Reply, Usage
from ragstone.types.row import Row, TargetCall
from ragstone.types.sample import Sample
from ragstone.types.score import Score

LATE = Failure(Cause.TIMEOUT, "late", usage=Usage(calls=1))


def row(index: int, *, exchanges: tuple[Exchange, ...] = (), **fields: object) -> Row:
    tags = {"source": f"file {index % 2}"}
    return Row(
        index,
        Sample(id=f"s{index}", query="q", tags=tags),
        scores={"hit@1": Score.scored(index % 2)},
        exchanges=exchanges,
        **fields,  # type: ignore[arg-type]
    )


def asked(latency: float, *, askers: int = 1, cached: bool = False) -> Exchange:
    usage = Usage(cached=1) if cached else Usage(calls=2, prompt_tokens=10)
    return Exchange("key", "extract_claims", Reply((), usage), latency, askers=askers)


def test_rows_are_counted_and_none_is_kept() -> None:
    counts = RunSummaryBuilder.of(map(row, range(4)), ["hit@1"])
    assert counts.rows == 4
    assert list(counts.scores["hit@1"].values) == [0, 1, 0, 1]
    assert list(counts.tags) == ["source"]


def test_what_the_judge_cost_and_what_sharing_saved() -> None:
    exchanges = (asked(10, askers=3), asked(30), asked(99, cached=True))
    counts = RunSummaryBuilder.of(
        [row(0, exchanges=exchanges), row(1, exchanges=(asked(20),))], ["hit@1"]
    )
    assert (counts.usage.calls, counts.usage.cached, counts.usage.prompt_tokens) == (6, 1, 30)
    assert counts.calls_saved == 2 * 2
    assert counts.judge_latencies.percentiles() == {"p50_ms": 20.0, "p95_ms": 29.0}


def test_a_question_that_the_budget_did_not_allow_is_seen() -> None:
    over = Exchange("key", "extract_claims", Failure(Cause.BUDGET, "spent"), 0)
    assert not RunSummaryBuilder.of([row(0, exchanges=(asked(1),))], ["hit@1"]).over_budget
    assert RunSummaryBuilder.of([row(0, exchanges=(over,))], ["hit@1"]).over_budget


def test_the_targets_calls_by_name() -> None:
    calls = (TargetCall("chat", 10.0), TargetCall("search", 5.0, LATE))
    health = RunSummaryBuilder.of([row(0, calls=calls)], ["hit@1"]).health()
    assert health is not None
    assert (health.asked, health.failed) == ({"chat": 1, "search": 1}, {"search": 1})
    assert (health.error_rate, health.p50_ms) == (0.5, 10.0)
    assert RunSummaryBuilder.of([row(0)], ["hit@1"]).health() is None


def test_blame_and_notes_are_counted() -> None:
    wrong = DiagnosedClaim(claim="c", of="response", blame=ClaimIssue.NOT_FOUND)
    rows = [row(0, blamed=(wrong, wrong), notes=("odd", "odd")), row(1, notes=("odd",))]
    counts = RunSummaryBuilder.of(rows, ["hit@1"])
    assert counts.blame == {ClaimIssue.NOT_FOUND: 2}
    assert counts.notes == {"odd": 2}


def test_notes_without_end_are_counted_together() -> None:
    counts = RunSummaryBuilder.of(
        (row(n, notes=(f"note {n}",)) for n in range(MOST + 3)), ["hit@1"]
    )
    assert counts.notes[OTHERS] == 3


def test_rows_of_one_tag_are_a_cluster() -> None:
    counts = RunSummaryBuilder.of(map(row, range(40)), ["hit@1"], cluster="source")
    assert list(grouping_lines(counts.grouping)) == ["40 rows grouped into 2 by source"]
    scores = counts.scores["hit@1"]
    assert scores.summary().interval != scores.summary(groups=counts.grouping.labels).interval
