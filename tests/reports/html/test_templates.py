import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from jinja2 import UndefinedError

from ragstone.evaluation.runner import evaluate
from ragstone.reports.html.page import (
    SCRIPTS,
    STYLES,
    curves,
    figure,
    level,
    minus,
    page_context,
    read_asset,
    render,
)
from ragstone.reports.view import scale
from ragstone.results.run import Run
from ragstone.types.gate import Gate
from ragstone.types.score import Correction, Score

RANKED = [
    {"query": "Why?", "response": "a", "reference": "a", "ranking": ["a"], "relevance": ["a"]}
] * 2


def page_of(run: Run) -> str:
    return render("run.html", **page_context(run))


def test_the_page_tells_what_was_asked_of_whom(judged: Run) -> None:
    page = page_of(judged)
    for words in ("1 row", "scripted", "prepared answers", "strict"):
        assert words in page


def test_the_page_begins_with_the_verdict_and_its_cells_lead_to_their_samples(judged: Run) -> None:
    page = page_of(judged)
    first = "1 of 1 answer makes a claim that the contexts do not support"
    assert page.index("<h1>" + first) < page.index("not supported</th>") < page.index("Metrics")
    assert '<a href="#outcome=wrong&amp;found=found">1</a>' in page
    assert "100%, 3% to 100%" in page


def test_metrics_are_rows_and_their_cutoffs_columns(make_run: Callable[..., Run]) -> None:
    page = page_of(evaluate(RANKED, metrics=("hit@1", "hit@3", "exact_match")))
    page = page[page.index("Metrics</h2>") :]
    assert re.findall(r'<th scope="row">(\w+)</th>', page) == ["hit", "exact_match"]
    assert '<th scope="col">@1</th><th scope="col">@3</th>' in page
    assert '<td colspan="2" class="level-4">' in page
    assert '<th scope="row">hit@5</th>' in page_of(make_run())


def test_the_mean_to_trust_is_shown_and_the_judges_beside_it(judged: Run) -> None:
    summary = judged.summary()["faithfulness"]
    found = Correction(calibration="c", mean=0.25, interval=(0.2, 0.3), judge=0.33, labels=9)
    corrected = summary.model_copy(update={"corrected": found})
    vars(judged)["_summary"] = {**judged.summary(), "faithfulness": corrected}
    page = page_of(judged)
    assert '<strong><span title="0.2500">0.25</span></strong>' in page
    assert "judge alone 0.33" in page


@pytest.mark.parametrize(
    ("metric", "mark", "kind", "words"),
    [
        ("hit@5", 0.5, "good", "passed"),
        ("faithfulness", 0.9, "bad", "failed"),
        ("hit@5", 0.5, "part", "undecided"),
    ],
)
def test_a_gate_is_told_by_a_word(
    metric: str, mark: float, kind: str, words: str, judged: Run
) -> None:
    gates = (
        Gate(metric=metric, op=">=", threshold=mark, of="interval" if kind == "part" else "mean"),
    )
    run = judged.with_plan(judged.manifest.plan.model_copy(update={"gates": gates}))
    page = page_of(run)
    tone = {"part": "warning"}.get(kind, kind)
    assert re.search(rf'<p class="status {tone}">. 1 (of 1 )?gate {words}', page)
    assert re.search(rf'<span class="badge {kind}"><.*> {words}</span>', page)


def test_a_gate_of_an_inconclusive_run_is_not_shown_as_passed(judged: Run) -> None:
    gates = (Gate(metric="hit@5", op=">=", threshold=0.5),)
    run = judged.with_plan(judged.manifest.plan.model_copy(update={"gates": gates}))
    page = page_of(replace(run, stopped="the budget is spent"))
    assert "</span> inconclusive</span>" in page
    assert "</span> passed</span>" not in page


def test_failures_are_told_by_cause_with_the_first_sample(make_run: Callable[..., Run]) -> None:
    page = page_of(make_run())
    assert "failed: timed out (1, first q4: no answer within 30 s)" in page
    assert "the response makes no claims" in page


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
    manifest = judged.manifest.model_copy(update={"run_id": "<b>&\x07"})
    page = page_of(replace(judged, manifest=manifest))
    assert "&lt;b&gt;&amp;\N{REPLACEMENT CHARACTER}" in page
    assert '<svg class="gauge"' in page


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
        (0.5, (0, math.inf), True, ""),
        (None, (0, 1), True, ""),
        (11.0, (0, 1), True, ""),  # nobody declared the range
    ],
)
def test_scores_have_a_colour_by_their_place_in_a_range_that_holds_them(
    value: float | None, ends: tuple[float, float], higher: bool, found: str, judged: Run
) -> None:
    changed = {"low": ends[0], "high": ends[1], "higher_is_better": higher}
    info = judged.metrics["faithfulness"].model_copy(update=changed)
    score = Score.undefined("none") if value is None else Score.scored(value)
    row = replace(judged.rows[0], scores={"faithfulness": score})
    run = replace(judged, metrics={"faithfulness": info}, rows=[row], known_counts=None)
    assert level(value, run, "faithfulness") == found
    assert (page_of(run).count('<svg class="gauge"') == 1) == bool(found)
    assert found == "" or scale(run, "faithfulness") == ends


def test_a_metric_that_cannot_reach_its_maximum_has_no_colour() -> None:
    run = evaluate(RANKED, metrics=("precision@5", "hit@5"))
    assert level(0.2, run, "precision@5") == ""
    assert level(0.2, run, "hit@5") == "level-1"


def test_metrics_at_several_ranks_have_a_curve() -> None:
    names = (
        "hit@1",
        "hit@10",
        "hit@3",
        "ndcg@1,gain=exponential",
        "ndcg@3,gain=exponential",
        "mrr@5",
    )
    run = evaluate(RANKED, metrics=names)
    found = dict(curves(run))
    assert list(found) == ["hit", "ndcg,gain=exponential"]
    assert "<desc>1: 1.0000 (" in found["hit"]
