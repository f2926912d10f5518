import gzip
import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from tests.cases import each_case
from tests.reports.conftest import claim
from tests.results.conftest import Runs

from ragstone.errors import Cause
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import (
    SCRIPTS,
    STYLES,
    claim_sources,
    curves,
    embed_samples,
    figure,
    level,
    minus,
    page_context,
    read_asset,
    render,
    sample_document,
    sample_summary,
)
from ragstone.reports.view import scale
from ragstone.results.outcomes import Found, Outcome
from ragstone.results.run import Run
from ragstone.types.claim import Label, Texts
from ragstone.types.gate import Gate, Of
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.score import Correction, Score

Unpacked = Callable[[str], tuple[list[dict], list[dict]]]
PageOf = Callable[[Run], str]
HOSTILE = [
    *("</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u202egnp.exe", "a\x00b"),
    *("half \ud83d a character", "\x1b[31mred", "\"'><img src=x onerror=alert(1)>"),
    "{{ 7 * 7 }}{% raw %}",
]


class Elements(HTMLParser):
    """The start tags of a page with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_the_file_holds_all_samples(judged: Run, page_of: PageOf, unpacked: Unpacked) -> None:
    (row,) = judged.rows
    places = [2 * number for number in range(120)]
    run = replace(judged, rows=[replace(row, index=n) for n in places], known_counts=None)
    page = page_of(run)
    listed, samples = unpacked(page)
    assert [each["place"] for each in listed] == [each["place"] for each in samples] == places
    assert len(re.findall(r'data-rows="\d+"', page)) == 3
    assert listed[0]["id"] == "q1"
    assert listed[0]["scores"]["faithfulness"]["value"] == pytest.approx(1 / 3)
    sample = samples[0]
    assert sample["response"] == row.sample.response
    assert sample["contexts"][0]["text"] == row.sample.contexts[0].text
    assert [each["kind"] for each in sample["transcript"]] == ["extract_claims", "verify_claims"]
    page = page_of(replace(judged, rows=(), known_counts=None))
    assert unpacked(page) == ([], [])
    assert "no scores" in page


@each_case("text", HOSTILE)
def test_texts_from_outside_come_back_as_they_were_and_are_never_markup(
    text: str, hostile_run: Callable[[str], Run], page_of: PageOf, unpacked: Unpacked
) -> None:
    page = page_of(hostile_run(text))
    listed, samples = unpacked(page)
    assert {each["id"] for each in listed} == {text}
    assert {each["response"] for each in samples} == {text}
    assert samples[0]["scores"]["faithfulness"]["claims"][0]["reason"] == text
    elements, plain = Elements(page), Elements(page_of(hostile_run("plain")))
    assert [tag for tag, _ in elements.found] == [tag for tag, _ in plain.found]
    for _, attributes in elements.found:
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert not re.search("[\x00\x1b\u202e]", page), "it becomes a visible mark"


def test_the_policy_allows_the_files_own_script_and_style_alone(
    judged: Run, page_of: PageOf
) -> None:
    page = page_of(judged)
    (policy,) = (
        each["content"] or ""
        for each in Elements(page).of("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    for tag, attributes in Elements(page).found:
        assert not {"src", "srcset", "action"} & attributes.keys(), tag
        assert tag not in ("link", "iframe", "img", "object", "embed")
    for name in STYLES:
        assert not re.search(r"url\(|@import", read_asset(name))


@each_case("name", SCRIPTS)
def test_scripts_can_stand_in_a_page_and_make_no_markup(name: str) -> None:
    text = read_asset(name)
    assert text.startswith('"use strict";')
    for banned in ("</script", "<!--", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval("):
        assert banned not in text
    assert len(text.splitlines()) <= 400


def test_a_long_response_is_whole(page_of: PageOf, unpacked: Unpacked) -> None:
    long = "x" * 1_000_000
    judge = ScriptedJudge({"extract_claims": (), "verify_claims": ()})
    sample = {"query": long, "response": long, "contexts": [long]}
    page = page_of(evaluate([sample], metrics="faithfulness", judge=judge))
    listed, samples = unpacked(page)
    assert len(listed[0]["query"]) <= 1000
    assert [len(samples[0][name]) for name in ("query", "response")] == [1_000_000] * 2
    assert len(page) < 200_000


def test_a_list_tells_a_samples_place_query_tags_scores_and_outcome(judged: Run) -> None:
    row = judged.rows[0]
    told = sample_summary(row)
    assert (told["place"], told["id"], told["query"]) == (0, "q1", "How long does it last?")
    assert told["tags"] == {"difficulty": "easy"}
    assert told["scores"]["hit@5"] == {"state": "scored", "value": 1.0}  # type: ignore[index]
    sample = row.sample.model_copy(update={"tags": {"page": 3, "new": True, "by": None}})
    missed = Score.scored(0.0).model_copy(update={"passed": False, "fallback": True})
    told = sample_summary(replace(row, sample=sample, scores={"hit@5": missed}))
    assert told["tags"] == {"page": "3", "new": "true"}
    expected = {"state": "scored", "value": 0.0, "passed": False, "fallback": True}
    assert told["scores"] == {"hit@5": expected}
    run = replace(judged, rows=[replace(row, index=n) for n in (3, 8)], known_counts=None)
    *_, (_, packed) = embed_samples(run, run.verdict)
    listed = json.loads(gzip.decompress(b64decode(packed)))
    found = [(each["place"], each["outcome"], each["found"]) for each in listed]
    assert found == [(3, "wrong", "found"), (8, "wrong", "found")]
    assert run.verdict.cell(Found.FOUND, Outcome.WRONG).rows == (3, 8)


def test_a_whole_sample_is_plain_data_with_its_texts(judged: Run) -> None:
    (row,) = judged.rows
    told = sample_document(row)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["response"] == row.sample.response
    assert told["ranking"] == ["3"]
    assert told["relevance"] == {"3": 1.0, "77": 1.0}
    assert told["contexts"][0]["score"] == 0.123457  # type: ignore[index]
    assert sample_summary(row).items() <= {**told, "scores": sample_summary(row)["scores"]}.items()
    sample = row.sample.model_copy(update={"reference": ("never", "20 hours")})
    told = sample_document(replace(row, sample=sample))
    assert (told["reference"], told["accepted_answers"]) == ("20 hours", ["never", "20 hours"])


def test_a_failed_question_tells_its_cause(judged: Run) -> None:
    (row,) = judged.rows
    exchange = row.exchanges[0]
    late = Failure(Cause.TIMEOUT, "no answer within 30 s")
    written = replace(exchange.outcome, raw="{}")  # type: ignore[type-var]
    failed, told = sample_document(
        replace(row, exchanges=[replace(exchange, outcome=each) for each in (late, written)])
    )["transcript"]  # type: ignore[misc]
    assert failed["failure"] == {"cause": "timed out", "message": "no answer within 30 s"}
    assert failed["value"] is None
    assert (told["raw"], told["value"]) == ("{}", None)


def test_a_sample_that_lacks_everything_is_data(judged: Run) -> None:
    sample = judged.rows[0].sample.model_validate({"id": "bare", "query": "Why?"})
    told = sample_document(Row(7, sample, failures={"response": Failure(Cause.TIMEOUT, "late")}))
    assert (told["place"], told["response"], told["contexts"]) == (7, None, None)
    assert told["failures"] == {"response": "timed out: late"}


@each_case(
    ("metric", "against", "of"),
    [
        ("faithfulness", ["contexts", "contexts"], ["response", "response"]),
        ("context_recall", ["contexts"], ["reference"]),
        ("claim_recall", ["response"], ["reference"]),
        ("answer_correctness", ["reference", "response"], ["response", "reference"]),
        (
            "noise_sensitivity,contexts=relevant",
            ["contexts", "reference", "contexts"],
            ["response", "response", "reference"],
        ),
        ("a_metric_that_is_not_loaded", ["response", "contexts"], ["reference", "response"]),
        ("hit@5", [], []),
    ],
)
def test_a_claim_is_of_the_text_its_check_reads(
    metric: str, against: list[Texts], of: list[str]
) -> None:
    one = claim(Label.SUPPORTED, "It.")
    claims = [one.model_copy(update={"against": texts}) for texts in against]
    assert claim_sources(metric, claims) == of


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
