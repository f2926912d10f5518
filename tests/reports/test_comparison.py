import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console
from tests.cases import each_case

from ragstone.reports.comparison import as_markdown, print_comparison
from ragstone.results.comparison import Comparison, compare
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Source
from ragstone.types.score import Score

MakeRun = Callable[..., Run]

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
AT_40 = """\
Too few to tell: faithfulness 0.500 →
0.750, +0.250; of 2 questions, 1 better
and 1 worse
The judge or its settings changed, so
differences may come from the judge, not
from your system.
Judge: openai:gpt-4o-mini (word
overlap); this judge is untested
What changed from A (qr.xlsx) to B
(new.xlsx)
The judge or its settings changed, so
differences may come from the judge, not
from your system.
setting      in A     in B
────────────────────────────────────────
judge        offline  openai:gpt-4o-mini
temperature  0.0      0.5
data set     qr.xlsx  new.xlsx

Samples
4 pairs: 4 by id, 0 by query

Differences
faithfulness
  A 0.500 | B 0.750 | B - A +0.250 |
  interval – | finding too few to tell
A and B are means over the pairs that
both runs scored

Significance
faithfulness
  pairs 2 | p 1.0000 | Holm 1.0000 |
  effect +0.24 | better 1 | worse 1 |
  same 0 | MDE –
p: probability of a difference at least
this large by chance; Holm: p corrected
for several metrics, significant below
0.05; MDE: minimum detectable effect,
the smallest true difference that this
many pairs detect with 80% power
missing scores of faithfulness: A 1
undefined, 1 failed; B 1 undefined, 0
failed; scored only in A 0, only in B 1

Largest drops
faithfulness
  query How long does battery 1 last?
  sample q1 | A 1.0000 | B 0.5000

Largest gains
faithfulness
  query How long does battery 2 last?
  sample q2 | A 0.0000 | B 1.0000

Claims
faithfulness: 1 no longer supported, 1
now supported, 0 appeared, 0 vanished, 1
unchanged
no longer supported
  claim It sings.
  reason why
  sample q1 | verdict supported, now
  contradicted
now supported
  claim It flies.
  reason why
  sample q2 | verdict contradicted, now
  supported

"""


def judged(value: float, **labels: Label) -> Score:
    claims = [
        JudgedClaim(
            text=f"It {text}.", span=None, label=label, reason="why", confidence=None, evidence=()
        )
        for text, label in labels.items()
    ]
    return Score.scored(value, claims=claims)


def two_runs(make_run: MakeRun) -> Comparison:
    """A, and B with another judge, one worse row, and one that failed in A only."""
    yes, no = Label.SUPPORTED, Label.CONTRADICTED
    before = (judged(1.0, floats=yes, sings=yes), judged(0.0, flies=no))
    after = (judged(0.5, floats=yes, sings=no), judged(1.0, flies=yes), None, judged(1.0))
    a, b = (
        make_run(names=("faithfulness",)),
        make_run(
            names=("faithfulness",),
            manifest={"judge": "openai:gpt-4o-mini", "source": Source(name="new.xlsx", rows=4)},
            temperature=0.5,
        ),
    )
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
    assert shown(two_runs(make_run), 40) == AT_40


def test_at_80_columns_the_figures_of_a_long_name_stand_in_tables(make_run: MakeRun) -> None:
    name, row = "faithfulness:ragas", make_run().rows[0]

    def run(values: tuple[float, ...], run_id: str) -> Run:
        rows = [
            replace(
                row,
                sample=row.sample.model_copy(update={"id": f"question-{i:04}"}),
                scores={name: Score.scored(values[i % 3])},
            )
            for i in range(60)
        ]
        return make_run(rows, names=(name,), manifest={"run_id": run_id})

    text = shown(compare(run((1.0, 1.0, 1.0), "a"), run((0.0, 0.25, 0.5), "b")), 80)
    assert not re.search("^  A ", text, re.MULTILINE), "no list"
    assert re.search("^faithfulness:ragas .* worse$", text, re.MULTILINE)
    assert re.search("^faithfulness:ragas +60 +0.0001 +0.0001 ", text, re.MULTILINE)
    assert re.search("^faithfulness:ragas +question-0000 ", text, re.MULTILINE)


def test_where_no_claim_has_a_reason_no_room_is_left_for_one(make_run: MakeRun) -> None:
    def run(*claims: JudgedClaim) -> Run:
        row = replace(make_run().rows[0], scores={"faithfulness": Score.scored(1.0, claims=claims)})
        return make_run([row], names=("faithfulness",))

    (claim,) = judged(1.0, floats=Label.SUPPORTED).claims
    other = claim.model_copy(update={"text": "It sings."})
    bare = [each.model_copy(update={"reason": None}) for each in (claim, other)]
    assert "reason" not in shown(compare(run(), run(*bare)), 40)
    text = shown(compare(run(), run(claim, bare[1])), 40)
    assert text.count("reason") == 1


def test_the_table_states_its_confidence_and_which_metrics_are_one(make_run: MakeRun) -> None:
    row = make_run().rows[0]

    def run(run_id: str, **values: list[float]) -> Run:
        rows = [
            replace(
                row,
                sample=row.sample.model_copy(update={"id": f"q{i}", "query": f"What is {i}?"}),
                scores={f"{name}@5": Score.scored(given[i]) for name, given in values.items()},
            )
            for i in range(12)
        ]
        names = tuple(f"{name}@5" for name in values)
        return make_run(rows, names=names, manifest={"run_id": run_id})

    ones, less = [1.0] * 12, [0.0] * 3 + [1.0] * 9
    a = run("a", hit=ones, recall=ones, mrr=ones)
    output = shown(compare(a, run("b", hit=less, recall=less, mrr=[0.5, 0.5, *ones[2:]])), 200)
    assert "metrics with the same scores count as one: hit@5, recall@5" in output
    assert "exclude 0 exactly when the finding is better or worse; 97.5% confidence" in output
    assert "because several metrics are compared (Holm)" in output


def test_a_better_and_a_worse_metric_are_told_by_word_and_colour(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = make_run().rows[0]

    def run(values: tuple[float, float], run_id: str) -> Run:
        names = ("hit@5", "f1@5")
        scores = {name: Score.scored(v) for name, v in zip(names, values, strict=True)}
        rows = [
            replace(row, sample=row.sample.model_copy(update={"id": f"q{i}"}), scores=scores)
            for i in range(9)
        ]
        return make_run(rows, names=names, manifest={"run_id": run_id})

    comparison = compare(run((1.0, 0.0), "a"), run((0.0, 0.5), "b"))
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


def test_runs_without_a_metric_in_common_say_so(make_run: MakeRun) -> None:
    comparison = compare(make_run(names=("hit@5",)), make_run(names=("f1@5",)))
    text = shown(comparison)
    assert "the runs have no metrics in common" in text
    assert "metrics only in A: hit@5" in text
    assert "metrics only in B: f1@5" in text
    assert "no recorded change" not in text


def test_a_metric_with_another_policy_is_named_before_anything_else(make_run: MakeRun) -> None:
    rows = [
        replace(row, scores={"faithfulness:ragas": row.scores["faithfulness"]})
        for row in make_run(names=("faithfulness",)).rows
    ]
    a, b = make_run(names=("faithfulness",)), make_run(rows, names=("faithfulness:ragas",))
    text = shown(compare(a, b))
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
    run = hostile_run(text)
    *_, tag = next(iter(run.rows)).sample.tags  # the text, as far as it is text
    output = shown(compare(run, moved(run), cluster=tag), width)
    output.encode("utf-8")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output)


def moved(run: Run) -> Run:
    """The same run with other scores, its claims supported, by another judge."""
    rows = [
        replace(
            row,
            scores={
                name: score
                if score.value is None
                else score.model_copy(
                    update={
                        "value": score.value / 2,
                        "claims": tuple(
                            claim.model_copy(update={"label": Label.SUPPORTED})
                            for claim in score.claims
                        ),
                    }
                )
                for name, score in row.scores.items()
            },
        )
        for row in run.rows
    ]
    manifest = run.manifest.model_copy(update={"judge": "other"})
    return replace(run, rows=rows, manifest=manifest)


REPORT = """\
## Too few to tell: f1@5 1.000 → 0.500, -0.500; of 4 questions, 0 better and 4 worse

A: qr.xlsx (20260301-123005-abc123); B: qr.xlsx (b_2); 4 pairs

| metric | A | B | B - A | interval | finding |
| --- | ---: | ---: | ---: | ---: | --- |
| f1@5 | 1.000 | 0.500 | -0.500 | – | too few to tell |

<details>
<summary>What changed from A (qr.xlsx (20260301-123005-abc123)) to B (qr.xlsx (b_2))</summary>

no recorded change: same data, judge, target and settings

</details>

<details>
<summary>Samples</summary>

4 pairs: 4 by id, 0 by query

</details>
"""


def run_of(make_run: MakeRun, value: float, **manifest: object) -> Run:
    rows = [replace(row, scores={"f1@5": Score.scored(value)}) for row in make_run().rows]
    return make_run(rows, names=("f1@5",), manifest=manifest)


def test_the_report_is_the_finding_and_folded_tables(make_run: MakeRun) -> None:
    comparison = compare(run_of(make_run, 1.0), run_of(make_run, 0.5, run_id="b_2"), top=1)
    text = as_markdown(comparison)
    assert text.startswith(REPORT)
    assert "| f1@5 | q1 | 1.0000 | 0.5000 | How long does battery 1 last? |" in text


def tokens(text: str) -> list[Token]:
    """All tokens of a text as GitHub reads it, but for links that it makes of bare addresses."""
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    return [each for token in found for each in [token, *(token.children or [])]]


HOSTILE = (
    "a | b",
    "<script>alert(1)</script>",
    "![x](http://x/y.png)",
    "[x](javascript:alert)",
    "**bold** _it_ ~~no~~ `code`",
    "a\\|b",
    "&lt;b&gt;",
    "\x1b[2J",
    "x\n# title",
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
def test_a_line_makes_no_heading_and_no_list(make_run: MakeRun, words: str) -> None:
    run = run_of(make_run, 1.0)
    named = type(run)(run.manifest, {words: run.metrics["f1@5"]}, run.rows)
    markdown = as_markdown(compare(named, replace(named, metrics={}, rows=[])))
    assert words.partition(" ")[0] in markdown.replace("\\", "")
    kinds = [each.type for each in tokens(markdown)]
    assert "list_item_open" not in kinds
