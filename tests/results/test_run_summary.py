from ragstone.errors import Cause
from ragstone.results.metric_summary import MOST, OTHERS
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.types.claim import ClaimIssue, DiagnosedClaim
from ragstone.types.reply import Exchange, Failure, Reply, Usage
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


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


def test_blame_and_notes_are_counted() -> None:
    wrong = DiagnosedClaim(claim="c", of="response", blame=ClaimIssue.NOT_FOUND)
    rows = [row(0, blamed=(wrong, wrong), notes=("odd", "odd")), row(1, notes=("odd",))]
    counts = RunSummaryBuilder.of(rows, ["hit@1"])
    assert counts.blame == {ClaimIssue.NOT_FOUND: 2}
    assert counts.notes == {"odd": 2}
    many = (row(n, notes=(f"note {n}",)) for n in range(MOST + 3))
    assert RunSummaryBuilder.of(many, ["hit@1"]).notes[OTHERS] == 3
