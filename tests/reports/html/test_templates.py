import math
import re
from collections.abc import Callable
from dataclasses import replace

from tests.cases import each_case
from tests.results.conftest import Runs

from ragstone.evaluation.runner import evaluate
from ragstone.reports.html.page import (
    SCRIPTS,
    STYLES,
    curves,
    figure,
    level,
    minus,
    page_context,
    render,
)
from ragstone.reports.view import scale
from ragstone.results.run import Run
from ragstone.types.gate import Gate, Of
from ragstone.types.score import Correction

RANKED = [
    {"query": "Why?", "response": "a", "reference": "a", "ranking": ["a"], "relevance": ["a"]}
] * 2


def page_of(run: Run) -> str:
    return render("run.html", **page_context(run))


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


@each_case(
    ("metric", "mark", "of", "tone", "kind", "words"),
    [
        ("hit@5", 0.5, "mean", "good", "good", "passed"),
        ("faithfulness", 0.9, "mean", "bad", "bad", "failed"),
        ("hit@5", 0.5, "interval", "warning", "part", "undecided"),
    ],
)
def test_a_gate_is_told_by_a_word(
    metric: str, mark: float, of: Of, tone: str, kind: str, words: str, judged: Run
) -> None:
    gates = (Gate(metric=metric, op=">=", threshold=mark, of=of),)
    run = judged.with_plan(judged.manifest.plan.model_copy(update={"gates": gates}))
    page = page_of(run)
    assert re.search(rf'<p class="status {tone}">. 1 (of 1 )?gate {words}', page)
    assert re.search(rf'<span class="badge {kind}"><.*> {words}</span>', page)
    stopped = page_of(replace(run, stopped="the budget is spent"))
    assert "</span> passed</span>" not in stopped
    assert words != "passed" or "</span> inconclusive</span>" in stopped


def test_a_served_page_names_its_scripts_and_styles(judged: Run) -> None:
    page = render("stored_run.html", **page_context(judged), tag=None, running=False)
    for name in SCRIPTS:
        assert f'<script src="/assets/{name}" defer></script>' in page
    links = [f'<link rel="stylesheet" href="/assets/{name}">' for name in STYLES]
    assert "\n".join(links) in page


def test_markup_of_our_own_stays_and_texts_are_escaped(judged: Run) -> None:
    manifest = judged.manifest.model_copy(update={"run_id": "<b>&\x07"})
    page = page_of(replace(judged, manifest=manifest))
    assert "&lt;b&gt;&amp;\N{REPLACEMENT CHARACTER}" in page
    assert '<svg class="gauge"' in page


def test_figures_have_few_digits_and_all_of_them_on_hover() -> None:
    assert figure(0.66666) == '<span title="0.6667">0.67</span>'
    assert figure(-0.125, sign=True) == '<span title="−0.1250">−0.12</span>'
    assert figure("0.5000", sign=True) == '<span title="0.5000">+0.50</span>'
    assert figure(0.9996) == '<span title="0.9996">0.9996</span>', "it is not 1"
    assert figure(None) == figure("–") == "–"
    assert minus("-.5 – -0.25; gpt-4 2026-03-01") == "−.5 – −0.25; gpt-4 2026-03-01"


@each_case(
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
    value: float | None, ends: tuple[float, float], higher: bool, found: str
) -> None:
    changed = {"low": ends[0], "high": ends[1], "higher_is_better": higher}
    run = Runs.of({"faithfulness": [value]})
    info = run.metrics["faithfulness"].model_copy(update=changed)
    run = replace(run, metrics={"faithfulness": info})
    assert level(value, run, "faithfulness") == found
    assert (page_of(run).count('<svg class="gauge"') == 1) == bool(found)
    assert found == "" or scale(run, "faithfulness") == ends


def test_metrics_at_several_ranks_have_a_curve_and_what_cannot_be_1_no_colour() -> None:
    gain = ",gain=exponential"
    names = ("hit@1", "hit@10", "hit@3", f"ndcg@1{gain}", f"ndcg@3{gain}", "precision@5")
    run = evaluate(RANKED, metrics=names)
    found = dict(curves(run))
    assert list(found) == ["hit", f"ndcg{gain}"]
    assert "<desc>1: 1.0000 (" in found["hit"]
    assert (level(0.2, run, "precision@5"), level(0.2, run, "hit@3")) == ("", "level-1")
