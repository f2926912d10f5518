from ragstone.reports.html.templates import families, gaps


def test_families_stand_in_the_order_of_the_run() -> None:
    metrics = {
        "hit@5": {"family": "retrieval"},
        "faithfulness": {"family": "generation"},
        "mrr@5": {"family": "retrieval"},
    }
    told = [(family.name, [name for name, _ in family.metrics]) for family in families(metrics)]
    assert told == [("retrieval", ["hit@5", "mrr@5"]), ("generation", ["faithfulness"])]


def test_metrics_with_the_same_gap_stand_in_one_line_and_failures_come_first() -> None:
    metrics = {
        "a": {"reasons": {"no relevance": 6}},
        "b": {"reasons": {"no relevance": 6, "no claims": 9}},
        "c": {"failures": [{"cause": "timeout", "count": 1, "first": "q4: late"}]},
    }
    told = [(gap.cause, gap.why, gap.samples, gap.titles) for gap in gaps(metrics, {"a": "A"})]
    assert told == [
        ("timeout", "first q4: late", 1, ("c",)),
        (None, "no claims", 9, ("b",)),
        (None, "no relevance", 6, ("A", "b")),
    ]


def test_an_older_summary_tells_of_no_gaps() -> None:
    assert gaps({"a": {"mean": 1.0}}, {}) == []
