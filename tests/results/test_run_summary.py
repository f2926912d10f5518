from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.results import metric_summary
from ragstone.results.metric_summary import OTHERS
from ragstone.results.run_summary import (
    LONGEST,
    MOST,
    TAGS,
    RunSummaryBuilder,
    Slices,
    TagBreakdown,
)
from ragstone.results.stats.intervals import mean_interval
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
    many = (row(n, notes=(f"note {n}",)) for n in range(metric_summary.MOST + 3))
    assert RunSummaryBuilder.of(many, ["hit@1"]).notes[OTHERS] == 3


HIT = {"hit@1": get("hit@1").described}


def sliced(rows: list[tuple[dict[str, object], Score]], cluster: str | None = None) -> list[Slices]:
    counts = RunSummaryBuilder(HIT, cluster=cluster)
    for place, (tags, score) in enumerate(rows):
        sample = Sample(id=str(place), query="q", tags=tags)
        counts.add(Row(place, sample, scores={"hit@1": score}))
    return counts.slices(HIT)


def test_each_value_of_a_tag_has_its_mean_interval_and_counts() -> None:
    easy = [1.0, 1.0, 0.0, 1.0]
    rows = [({"difficulty": "easy"}, Score.scored(value)) for value in easy]
    rows += [({"difficulty": "hard"}, Score.scored(0.0)), ({"difficulty": "hard"}, FAILED)]
    rows += [({}, Score.scored(1.0)), ({"difficulty": "easy"}, Score.undefined("no relevance"))]
    (slices,) = sliced(rows)
    assert slices["tag"] == "difficulty"
    first, second = slices["values"]
    assert (first["value"], first["n"], second["value"], second["n"]) == ("easy", 5, "hard", 2)
    assert first["metrics"]["hit@1"] == {
        "mean": 0.75, "interval": mean_interval(easy), "scored": 4, "undefined": 1, "failed": 0,
    }  # fmt: skip
    assert second["metrics"]["hit@1"] == {
        "mean": 0.0, "interval": None, "scored": 1, "undefined": 0, "failed": 1,
    }  # fmt: skip


def test_tags_that_tell_no_kinds_apart_have_no_slices() -> None:
    one = [({"language": "en"}, Score.scored(1.0))] * 4
    each = [({"key": str(n)}, Score.scored(1.0)) for n in range(6)]
    many = [({"page": n}, Score.scored(1.0)) for n in range(MOST + 1)] * 2
    texts = [({"comment": "x" * (LONGEST + n)}, Score.scored(1.0)) for n in (0, 1)] * 2
    blank = [({"empty": value}, Score.scored(1.0)) for value in (None, "", " ")] * 2
    assert [sliced(rows) for rows in (one, each, many, texts, blank)] == [[]] * 5


def test_rows_of_one_cluster_are_drawn_together_in_a_slice_too() -> None:
    rows = [
        ({"kind": "ab"[n % 2], "source": str(n // 8)}, Score.scored(float(n % 8 > 3)))
        for n in range(48)
    ]
    alone, together = sliced(rows)[0], sliced(rows, cluster="source")[0]
    values = [float(n % 8 > 3) for n in range(0, 48, 2)]
    labels = [str(n // 8) for n in range(0, 48, 2)]
    assert alone["values"][0]["metrics"]["hit@1"]["interval"] == mean_interval(values)
    clustered = mean_interval(values, clusters=labels)
    assert together["values"][0]["metrics"]["hit@1"]["interval"] == clustered


FAILED = Score.failed(Cause.TIMEOUT, "late")


def test_rows_with_a_tag_of_their_own_each_cost_little() -> None:
    slicer = TagBreakdown()
    for number in range(TAGS + 50):
        slicer.add({f"tag {number}": "x", "kind": "ab"[number % 2]})
    assert len(slicer._rows_of) == TAGS
