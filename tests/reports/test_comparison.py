import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from tests.cases import each_case
from tests.reports.conftest import MakeRun, claim, tokens
from tests.results.conftest import Runs

from ragstone.reports.comparison import as_markdown, print_comparison
from ragstone.results.comparison import Comparison, compare
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Source
from ragstone.types.score import Score

AT_100 = """\
Too few to tell: faithfulness 0.500 → 0.750, +0.250; of 2 questions, 1 better and 1 worse
The judge or its settings changed, so differences may come from the judge, not from your system.
Judge: openai:gpt-4o-mini (word overlap); this judge is untested
What changed from A (qr.xlsx) to B (new.xlsx)
The judge or its settings changed, so differences may come from the judge, not from your system.
setting      in A     in B
────────────────────────────────────────
judge        offline  openai:gpt-4o-mini
temperature  0.0      0.5
data set     qr.xlsx  new.xlsx

Samples
4 pairs: 4 by id, 0 by query

Differences
metric            A      B   B - A  interval  finding
─────────────────────────────────────────────────────────────
faithfulness  0.500  0.750  +0.250         –  too few to tell
A and B are means over the pairs that both runs scored

Significance
metric        pairs       p    Holm  effect  better  worse  same  MDE
─────────────────────────────────────────────────────────────────────
faithfulness      2  1.0000  1.0000   +0.24       1      1     0    –
p: probability of a difference at least this large by chance; Holm: p corrected for several metrics,
significant below 0.05; MDE: minimum detectable effect, the smallest true difference that this many
pairs detect with 80% power
missing scores of faithfulness: A 1 undefined, 1 failed; B 1 undefined, 0 failed; scored only in A
0, only in B 1

Largest drops
metric        sample       A       B  query
───────────────────────────────────────────────────────────────────
faithfulness  q1      1.0000  0.5000  How long does battery 1 last?

Largest gains
metric        sample       A       B  query
───────────────────────────────────────────────────────────────────
faithfulness  q2      0.0000  1.0000  How long does battery 2 last?

Claims
faithfulness: 1 no longer supported, 1 now supported, 0 appeared, 0 vanished, 1 unchanged
change               sample  verdict                      claim      reason
───────────────────────────────────────────────────────────────────────────
no longer supported  q1      supported, now contradicted  It sings.  why
now supported        q2      contradicted, now supported  It flies.  why

"""


def two_runs(make_run: MakeRun) -> Comparison:
    """A, and B with another judge, one worse row, and one that failed in A only."""

    def judged(value: float, **labels: Label) -> Score:
        claims = [claim(label, f"It {text}.", "why") for text, label in labels.items()]
        return Score.scored(value, claims=claims)

    yes, no = Label.SUPPORTED, Label.CONTRADICTED
    before = (judged(1.0, floats=yes, sings=yes), judged(0.0, flies=no))
    after = (judged(0.5, floats=yes, sings=no), judged(1.0, flies=yes), None, judged(1.0))
    source = Source(name="new.xlsx", rows=4)
    changed = {"judge": "openai:gpt-4o-mini", "source": source}
    a = make_run(names=("faithfulness",))
    b = make_run(names=("faithfulness",), manifest=changed, temperature=0.5)
    rows_a, rows_b = list(a.rows), list(b.rows)
    for rows, scores in ((rows_a, before), (rows_b, after)):
        for place, score in enumerate(scores):
            if score:
                rows[place] = replace(rows[place], scores={"faithfulness": score})
    return compare(replace(a, rows=rows_a), replace(b, rows=rows_b))


def shown(
    comparison: Comparison, width: int = 100, *, verbose: bool = True, **options: object
) -> str:
    console = Console(file=io.StringIO(), width=width, **options)  # type: ignore[arg-type]
    print_comparison(comparison, console, verbose=verbose)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines()), default=0) <= width or not text.isascii()
    return re.sub(" +$", "", text, flags=re.MULTILINE)


def test_a_wide_terminal_gets_tables(make_run: MakeRun) -> None:
    assert shown(two_runs(make_run)) == AT_100


def test_a_narrow_terminal_gets_lists(make_run: MakeRun) -> None:
    text = shown(two_runs(make_run), 40)
    assert text.startswith("Too few to tell: faithfulness 0.500 →\n0.750, +0.250; of 2 questions,")
    for part in (
        "faithfulness\n  A 0.500 | B 0.750 | B - A +0.250 |\n  interval – | finding too few",
        "faithfulness\n  query How long does battery 1 last?\n  sample q1 | A 1.0000 | B 0.5000\n",
        "  claim It sings.\n  reason why\n  sample q1 | verdict supported, now\n  contradicted\n",
    ):
        assert part in text


def test_at_80_columns_the_figures_of_a_long_name_stand_in_tables() -> None:
    name, ids = "faithfulness:ragas", [f"question-{i:04}" for i in range(60)]
    a = Runs.of({name: [1.0] * 60}, ids=ids)
    b = Runs.of({name: [0.0, 0.25, 0.5] * 20}, ids=ids, run_id="b")
    text = shown(compare(a, b), 80)
    assert not re.search("^  A ", text, re.MULTILINE), "no list"
    assert re.search("^faithfulness:ragas .* worse$", text, re.MULTILINE)
    assert re.search("^faithfulness:ragas +60 +0.0001 +0.0001 ", text, re.MULTILINE)
    assert re.search("^faithfulness:ragas +question-0000 ", text, re.MULTILINE)


def test_where_no_claim_has_a_reason_no_room_is_left_for_one() -> None:
    def run(*claims: JudgedClaim) -> Run:
        return Runs.of({"faithfulness": [Runs.claimed(1.0, *claims)]})

    bare, told = claim(Label.SUPPORTED, "It floats."), claim(Label.SUPPORTED, "It sings.", "why")
    assert "reason" not in shown(compare(run(), run(bare)), 40)
    assert shown(compare(run(), run(told, bare)), 40).count("reason") == 1


def test_the_table_states_its_confidence_and_which_metrics_are_one() -> None:
    ones, less = [1.0] * 12, [0.0] * 3 + [1.0] * 9
    a = Runs.of({"hit@5": ones, "recall@5": ones, "mrr@5": ones})
    b = Runs.of({"hit@5": less, "recall@5": less, "mrr@5": [0.5, 0.5, *ones[2:]]}, run_id="b")
    output = shown(compare(a, b), 200)
    assert "metrics with the same scores count as one: hit@5, recall@5" in output
    assert "exclude 0 exactly when the finding is better or worse; 97.5% confidence" in output
    assert "because several metrics are compared (Holm)" in output


def test_better_and_worse_are_told_by_word_and_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    a = Runs.of({"hit@5": [1.0] * 9, "f1@5": [0.0] * 9})
    comparison = compare(a, Runs.of({"hit@5": [0.0] * 9, "f1@5": [0.5] * 9}, run_id="b"))
    plain = shown(comparison)
    assert re.search(r"hit@5 .* -1.000 +– +worse\n", plain)
    assert re.search(r"f1@5 .* \+0.500 +– +better\n", plain)
    colour = re.compile(r"\x1b\[(\d+;)*3[12]m(worse|better)")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = {"force_terminal": True, "color_system": "standard"}
    assert len(colour.findall(shown(comparison, **terminal))) == 2
    assert "\x1b[1;31mWorse: hit@5 1.000 → 0.000" in shown(comparison, **terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(shown(comparison, **terminal))


def test_metrics_that_only_one_run_has_are_named() -> None:
    text = shown(compare(Runs.of({"hit@5": [1]}), Runs.of({"f1@5": [1]})))
    for words in ("no metrics in common", "metrics only in A: hit@5", "metrics only in B: f1@5"):
        assert words in text
    assert "no recorded change" not in text
    text = shown(compare(Runs.of({"faithfulness": [1]}), Runs.of({"faithfulness:ragas": [1]})))
    line = "faithfulness:ragas in B is compared with faithfulness in A"
    assert text.index(line) < text.index("What changed from A")
    assert "judge or its settings" not in text
    assert "no recorded change" not in text


def test_what_pairs_nothing_is_told(make_run: MakeRun) -> None:
    rows = list(make_run().rows)
    renamed = [
        replace(row, sample=row.sample.model_copy(update={"query": "Another?"})) for row in rows
    ]
    text = shown(compare(make_run(rows), make_run(renamed, partial=True)))
    assert "0 pairs" in text
    assert "unpaired: 4 in A, 4 in B" in text
    assert "not paired because the same id has different queries: q1, q2, q3 and 1 more" in text
    assert "no recorded change" not in text
    assert "left out because the query is not unique: 4 rows" in text
    assert "stopped early" in text
    assert "too few to tell" in text


@example("[red]x[/red][/]", 100)
@example("\x1b[2J\x1b]0;title\x07", 100)
@example("\u202egnp.exe", 40)
@example("x" * 5000, 40)
@given(st.text(st.characters(), min_size=1), st.sampled_from([20, 40, 100]))
def test_any_text_is_shown_and_never_obeyed(
    hostile_run: Callable[[str], Run], text: str, width: int
) -> None:
    def halved(score: Score) -> Score:
        claims = tuple(each.model_copy(update={"label": Label.SUPPORTED}) for each in score.claims)
        value = None if score.value is None else score.value / 2
        return score.model_copy(update={"value": value, "claims": claims})

    run = hostile_run(text)
    rows = [
        replace(row, scores={name: halved(score) for name, score in row.scores.items()})
        for row in run.rows
    ]
    other = replace(run, rows=rows, manifest=run.manifest.model_copy(update={"judge": "other"}))
    *_, tag = run.rows[0].sample.tags  # the text, as far as it is text
    output = shown(compare(run, other, cluster=tag), width)
    output.encode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output)


REPORT = """\
## Too few to tell: f1@5 1.000 → 0.500, -0.500; of 4 questions, 0 better and 4 worse

A: data.xlsx (a); B: data.xlsx (b_2); 4 pairs

| metric | A | B | B - A | interval | finding |
| --- | ---: | ---: | ---: | ---: | --- |
| f1@5 | 1.000 | 0.500 | -0.500 | – | too few to tell |

<details>
<summary>What changed from A (data.xlsx (a)) to B (data.xlsx (b_2))</summary>

no recorded change: same data, judge, target and settings

</details>
"""


def test_the_report_is_the_finding_and_folded_tables() -> None:
    a, b = Runs.of({"f1@5": [1.0] * 4}), Runs.of({"f1@5": [0.5] * 4}, run_id="b_2")
    text = as_markdown(compare(a, b, top=1))
    assert text.startswith(REPORT)
    assert "| f1@5 | q0 | 1.0000 | 0.5000 | What is q0? |" in text


HOSTILE = (
    *("a | b", "<script>alert(1)</script>", "![x](http://x/y.png)", "[x](javascript:alert)"),
    *("**bold** _it_ ~~no~~ `code`", "a\\|b", "&lt;b&gt;", "\x1b[2J", "x\n# title"),
)


@each_case("text", HOSTILE)
def test_nothing_from_outside_is_markup(hostile_run: Callable[[str], Run], text: str) -> None:
    run = hostile_run(text)
    other = replace(run, manifest=run.manifest.model_copy(update={"judge": text, "target": None}))
    markdown = as_markdown(compare(run, other, cluster=text))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", markdown)
    ours = re.compile("^(</?details>|<summary>.*</summary>)$", re.MULTILINE)
    kinds = {each.type for each in tokens(ours.sub("", markdown))}
    assert not kinds & {"html_inline", "html_block", "link_open", "image", "code_inline", "s_open"}
    assert [each.tag for each in tokens(markdown) if each.type == "heading_open"] == ["h2"] * len(
        re.findall("^## ", markdown, re.MULTILINE)
    )


@each_case("words", ["# x", "1. x", "- x", "+ x", "1) x", "= x"])
def test_a_line_makes_no_heading_and_no_list(words: str) -> None:
    run = Runs.of({"f1@5": [1.0]})
    named = type(run)(run.manifest, {words: run.metrics["f1@5"]}, run.rows)
    markdown = as_markdown(compare(named, replace(named, metrics={}, rows=[])))
    assert words.partition(" ")[0] in markdown.replace("\\", "")
    assert "list_item_open" not in [each.type for each in tokens(markdown)]
