from collections.abc import Callable

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from ragstone.reports.html.page import (
    SCRIPTS,
    STYLES,
    curves,
    families,
    figure,
    gaps,
    level,
    minus,
    page_context,
    read_asset,
    render,
)
from ragstone.reports.view import summarize_run
from ragstone.results.run import Run
from ragstone.types.gate import Gate

LATER = ("facts", "titles", "slices")
LATER_OF_METRICS = ("label", "family", "threshold", "histogram", "reasons", "failures")


def test_the_page_tells_what_was_asked_of_whom(judged: Run) -> None:
    page = render("run.html", run=summarize_run(judged))
    for words in ("1 row", "scripted", "prepared answers", "strict"):
        assert words in page


def test_the_page_tells_each_metrics_mean_and_how_many_it_is_over(judged: Run) -> None:
    page = render("run.html", run=summarize_run(judged))
    assert '<strong><span title="0.3333">0.33</span></strong>' in page
    assert "1 of 1 scored" in page


@pytest.mark.parametrize(
    ("metric", "mark", "words"),
    [("hit@5", 0.5, "passed"), ("faithfulness", 0.9, "failed"), ("mrr@5", 0.5, "undetermined")],
)
def test_a_gate_is_told_by_a_word(metric: str, mark: float, words: str, judged: Run) -> None:
    result = Gate(metric=metric, op=">=", threshold=mark).check(judged.summary())
    told = summarize_run(judged) | {"gates": [result.model_dump(mode="json")]}
    assert f"</span> {words}</span>" in render("run.html", run=told)


def test_a_gate_of_an_inconclusive_run_is_not_shown_as_passed(judged: Run) -> None:
    result = Gate(metric="hit@5", op=">=", threshold=0.5).check(judged.summary())
    summary = summarize_run(judged) | {"gates": [result.model_dump(mode="json")]}
    page = render("run.html", run=summary | {"troubles": ["rows are missing"]})
    assert "</span> inconclusive</span>" in page
    assert "</span> passed</span>" not in page


def test_failures_are_told_by_cause_with_the_first_sample(make_run: Callable[..., Run]) -> None:
    page = render("run.html", run=summarize_run(make_run()))
    assert "<strong>timed out</strong>, first q4: no answer within 30 s" in page
    assert "the response makes no claims" in page


def test_the_summary_of_an_older_run_is_a_page(make_run: Callable[..., Run]) -> None:
    told = {key: value for key, value in make_run().to_dict().items() if key not in LATER}
    metrics = {
        name: {key: value for key, value in figures.items() if key not in LATER_OF_METRICS}
        for name, figures in told["metrics"].items()  # type: ignore[union-attr]
    }
    page = render("run.html", run=told | {"metrics": metrics})
    assert "faithfulness" in page
    assert "2 blank rows were left out" in page


def test_a_served_page_names_its_scripts_and_styles(judged: Run) -> None:
    page = render("stored_run.html", **page_context(judged), tag=None, running=False)
    for name in SCRIPTS:
        assert f'<script src="/assets/{name}" defer></script>' in page
    links = [f'<link rel="stylesheet" href="/assets/{name}">' for name in STYLES]
    assert "\n".join(links) in page


def test_what_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("run.html")


def test_markup_of_our_own_stays_and_texts_are_escaped(judged: Run) -> None:
    told = summarize_run(judged) | {"run_id": "<b>&\x07", "policy": Markup("<i>ours</i>")}
    page = render("run.html", run=told)
    assert "&lt;b&gt;&amp;\N{REPLACEMENT CHARACTER}" in page
    assert "<i>ours</i>" in page


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-0.5000", "−0.5000"),
        ("-.5 – -0.25", "−.5 – −0.25"),
        ("gpt-4 2026-03-01", "gpt-4 2026-03-01"),
    ],
)
def test_a_minus_is_one_before_a_number_alone(text: str, written: str) -> None:
    assert minus(text) == written


@pytest.mark.parametrize("name", ["nothing.js", "../templates.py", "", "."])
def test_only_assets_are_assets(name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_asset(name)


def test_figures_have_few_digits_and_all_of_them_on_hover() -> None:
    assert figure(0.66666) == '<span title="0.6667">0.67</span>'
    assert figure(-0.125, sign=True) == '<span title="−0.1250">−0.12</span>'
    assert figure("0.5000", sign=True) == '<span title="0.5000">+0.50</span>'
    assert figure(0.9996) == '<span title="0.9996">0.9996</span>', "it is not 1"
    assert figure(None) == figure("–") == "–"


@pytest.mark.parametrize(
    ("value", "ends", "higher", "found"),
    [
        (0.0, (0, 1), True, "level-0"),
        (0.5, (0, 1), True, "level-2"),
        (1.0, (0, 1), True, "level-4"),
        (1.0, (0, 1), False, "level-0"),
        (-1.0, (-1, 1), True, "level-0"),
        (0.5, (0, None), True, ""),
        (0.5, (0, float("inf")), True, ""),
        (None, (0, 1), True, ""),
        (0.5, None, True, ""),
    ],
)
def test_scores_have_a_colour_by_their_place_in_the_range(
    value: float | None, ends: tuple[float | None, float | None], higher: bool, found: str
) -> None:
    assert level(value, {"range": ends, "higher_is_better": higher}) == found


def test_metrics_at_several_ranks_have_a_curve() -> None:
    names = ("hit@1", "hit@10", "hit@3", "mrr@5", "ndcg@1,gain=exp", "ndcg@3,gain=exp", "mrr@9")
    metrics = {name: {"mean": 0.5, "interval": None, "range": (0, 1)} for name in names[:-1]}
    found = curves(metrics | {"mrr@9": {"mean": None}})
    assert list(found) == ["hit@k", "ndcg@k,gain=exp"]
    assert "<desc>1: 0.5000 (–); 3: 0.5000 (–); 10: 0.5000 (–)</desc>" in found["hit@k"]


def test_families_stand_in_the_order_of_the_run() -> None:
    metrics = {
        "hit@5": {"family": "retrieval"},
        "faithfulness": {"family": "generation"},
        "mrr@5": {"family": "retrieval"},
    }
    told = [(family, list(found)) for family, found in families(metrics).items()]
    assert told == [("retrieval", ["hit@5", "mrr@5"]), ("generation", ["faithfulness"])]


def test_metrics_with_the_same_gap_stand_in_one_line_and_failures_come_first() -> None:
    metrics = {
        "a": {"reasons": {"no relevance": 6}},
        "b": {"reasons": {"no relevance": 6, "no claims": 9}},
        "c": {"failures": [{"cause": "malformed", "count": 1, "first": "q4: late"}]},
    }
    told = [(gap.cause, gap.why, gap.samples, gap.titles) for gap in gaps(metrics, {"a": "A"})]
    assert told == [
        ("unreadable reply", "first q4: late", 1, ("c",)),
        (None, "no claims", 9, ("b",)),
        (None, "no relevance", 6, ("A", "b")),
    ]


def test_an_older_summary_tells_of_no_gaps() -> None:
    assert gaps({"a": {"mean": 1.0}}, {}) == []
