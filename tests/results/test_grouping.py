from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.cases import each_case
from tests.results.conftest import Runs

from ragstone.reports.view import grouping_lines
from ragstone.results.comparison import compare
from ragstone.results.grouping import Grouping
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.results.stats.intervals import mean_interval
from ragstone.types.row import Row
from ragstone.types.sample import Context

RUNS = Any
RNG = np.random.default_rng(12)


def rows(
    n: int,
    *,
    queries: Sequence[object] | None = None,
    contexts: Sequence[Sequence[object]] | None = None,
    tags: Sequence[Mapping[str, object]] | None = None,
    values: Sequence[float] | None = None,
) -> list[Row]:
    """Make rows that share nothing except what is given."""
    texts = contexts or [["everywhere", f"only in {i}"] for i in range(n)]
    made = Runs.of(
        {"hit@1": values or RNG.random(n).tolist()},
        queries=[f"Why {each}?" for each in queries] if queries else None,
        tags=tags or [{"n": i} for i in range(n)],
    )
    found = [tuple(Context(text=str(text)) for text in each) for each in texts]
    return [
        replace(row, sample=row.sample.model_copy(update={"contexts": found[row.index]}))
        for row in made.rows
    ]


def grouping(given: Sequence[Row], cluster: str | None = None) -> Grouping:
    return RunSummaryBuilder.of(given, ["hit@1"], cluster=cluster).grouping


THIRDS = [str(i // 3) for i in range(60)]
TURNED = [[third, "more"][:: (-1) ** i] for i, third in enumerate(THIRDS)]
TWELVE = {"queries": [*range(12)] * 20, "contexts": [[i // 12] for i in range(240)]}


@each_case(
    ("shared", "given"),
    [
        ("queries", {"queries": THIRDS}),
        ("sets of contexts", {"contexts": TURNED}),
        ("sources", {"tags": [{"Source file": f"{x}.pdf", "kind": "x"} for x in THIRDS]}),
    ],
)
def test_rows_that_share_something_are_grouped(shared: str, given: dict[str, Any]) -> None:
    found = grouping(rows(60, **given))
    assert (found.rows, found.groups) == (60, 20)
    (line,) = grouping_lines(found)
    assert line.startswith(f"60 rows grouped into 20 by shared {shared} (`cluster=id` ")


@each_case(
    ("n", "given", "groups", "by"),
    [
        (40, {}, 40, ()),  # one context of several in common
        (40, {"contexts": [[]] * 40}, 40, ()),
        (24, {"queries": [i % 6 for i in range(24)]}, 6, ("query",)),
        (8, {"queries": [i % 7 for i in range(8)]}, 7, ("query",)),
        (8, {"contexts": [[max(i, 1)] for i in range(8)]}, 7, ("contexts",)),
        (60, {"queries": ["what"] * 12 + [i // 2 for i in range(48)]}, 25, ("query",)),
        (60, {"contexts": [["a"]] * 40 + [[i // 2] for i in range(20)]}, 50, ("contexts",)),
        # twelve questions about each of 20 sources connect all rows, so one kind alone counts
        (240, TWELVE, 12, ("query",)),
    ],
)
def test_what_groups_rows(n: int, given: dict[str, Any], groups: int, by: tuple[str, ...]) -> None:
    found = grouping(rows(n, **given))
    assert (found.groups, found.by) == (groups, by)


def test_groups_are_the_clusters_of_the_interval(runs: RUNS) -> None:
    values = [None if i % 5 == 0 else float(i // 3 % 4 > 0) for i in range(60)]
    queries = [f"Why {i // 3}?" for i in range(60)]
    run = runs.of({"hit@5": values}, queries=queries)
    scored = [(value, i // 3) for i, value in enumerate(values) if value is not None]
    numbers, labels = zip(*scored, strict=True)
    assert run.summary()["hit@5"].interval == mean_interval(numbers, clusters=labels)
    expected = {"rows": 60, "groups": 20, "by": ["query"], "not_grouped": {}}
    assert run.to_dict()["grouping"] == expected
    alone = runs.of({"hit@5": values}, queries=queries, plan={"cluster": "id"})
    assert alone.summary()["hit@5"].interval == mean_interval(numbers)
    assert list(grouping_lines(alone.counts.grouping)) == []
    unlike = runs.of({"hit@5": values})
    assert unlike.summary()["hit@5"].interval == mean_interval(numbers)


def test_rows_are_connected_through_others() -> None:
    """Rows 0 and 1 share a query, and 1 and 2 contexts: so 0 and 2 are in one group."""
    queries = [0, 0, *range(2, 40)]
    contexts = [[0], [1], [1], *([i] for i in range(3, 40))]
    found = grouping(rows(40, queries=queries, contexts=contexts))
    assert found.by == ("query", "contexts")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 0, 0, *range(3, 40)]


@each_case(
    ("given", "line"),
    [
        ({"contexts": [["the handbook"]] * 60}, "60 rows share 1 set of contexts"),
        ({"queries": ["what"] * 60}, "60 rows share 1 query"),
        ({"contexts": [["a"]] * 45 + [[i] for i in range(15)]}, "45 rows share 1 set of contexts"),
        ({"contexts": [[i % 9] for i in range(60)]}, "60 rows share 9 sets of contexts"),
        ({"tags": [{"source": i % 4} for i in range(60)]}, "60 rows share 4 sources"),
        ({"tags": [{"source": "handbook.pdf"}] * 60}, None),  # not worth a line
    ],
)
def test_a_few_values_are_not_grouped_as_is_said(given: dict[str, Any], line: str | None) -> None:
    found = grouping(rows(60, **given))
    assert (found.groups, found.labels) == (60, None)
    words = list(grouping_lines(found))
    assert len(words) == (line is not None)
    why = "too few for grouping: intervals do not generalize to other "
    assert not line or words[0].startswith(f"{line}, {why}")


def test_each_tag_of_a_source_is_looked_at_by_itself() -> None:
    """An id of each row beside the source does not hide what rows share."""
    tags = [{"source": f"{i // 3}.pdf", "doc_id": i} for i in range(60)]
    assert grouping(rows(60, tags=tags)).groups == 20
    turned = [dict(reversed(each.items())) if i % 2 else each for i, each in enumerate(tags)]
    assert grouping(rows(60, tags=turned)).groups == 20
    late = [{} if i < 30 else each for i, each in enumerate(tags)]
    assert grouping(rows(60, tags=late)).groups == 40


def test_a_named_tag_wins() -> None:
    given = rows(60, queries=THIRDS, tags=[{"source": i % 4} for i in range(60)])
    by_source, alone = grouping(given, "source"), grouping(given, "id")
    assert (by_source.groups, alone.groups) == (4, 60)
    assert list(grouping_lines(by_source)) == ["60 rows grouped into 4 by source"]
    assert list(grouping_lines(alone)) == []


def paired(run_id: str, contexts: list[list[object]], values: list[float]) -> Run:
    run = Runs.of({"hit@1": values}, run_id=run_id)
    return replace(run, rows=rows(len(values), contexts=contexts, values=values))


def test_pairs_that_share_contexts_in_either_run_are_grouped() -> None:
    shared, own = [[i // 3] for i in range(60)], [[i] for i in range(60)]
    ones, others = [1.0] * 60, [float(i // 3 > 4) for i in range(60)]
    several = paired("a", shared, ones), paired("b", own, others)
    apart = paired("a", own, ones), paired("b", own, others)
    grouped = compare(*several)
    assert grouped.grouping.groups == 20
    assert grouped.metric_changes[0].p == 2 / 32  # five sources differ
    assert compare(*several[::-1]).metric_changes[0].p == 2 / 32
    assert compare(*apart).metric_changes[0].p < 0.001
    assert compare(*several, cluster="id").metric_changes == compare(*apart).metric_changes
    assert grouped.to_dict()["grouping"]["by"] == ["contexts"]


def test_contexts_that_chain_across_two_runs_do_not_merge_all_pairs() -> None:
    """Two retrievers over 40 documents: together, shared contexts connect every pair."""
    rng = np.random.default_rng(5)
    a, b = (
        paired(name, rng.integers(40, size=(120, 1)).tolist(), (rng.random(120) < mean).tolist())
        for name, mean in (("a", 0.9), ("b", 0.3))
    )
    found = compare(a, b)
    assert 30 <= found.grouping.groups <= 40
    assert found.metric_changes[0].p < 0.001
