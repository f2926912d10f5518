import re
from collections.abc import Callable
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.cases import each_case

from ragstone.reports.comparison import as_markdown
from ragstone.results.compare import compare
from ragstone.results.run import Run
from ragstone.types.score import Score

MakeRun = Callable[..., Run]

REPORT = """\
## What changed from A (20260301-123005-abc123) to B (b_2)

no recorded change: same data, judge, target and settings

## Samples

4 pairs: 4 by id, 0 by query

## Differences

| metric | A | B | B - A | 95 % interval | finding |
| --- | ---: | ---: | ---: | ---: | --- |
| f1@5 | 1.0000 | 0.5000 | -0.5000 | – | no difference shown |

A and B are means over the pairs that both runs scored

## Significance

| metric | pairs | p | Holm | t-test | effect | better | worse | same | least |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| f1@5 | 4 | 0.1250 | 0.1250 | – | – | 0 | 4 | 0 | – |
"""


def run_of(make_run: MakeRun, value: float, **manifest: object) -> Run:
    rows = [replace(row, scores={"f1@5": Score.scored(value)}) for row in make_run().rows]
    return make_run(rows, names=("f1@5",), manifest=manifest)


def test_the_report_is_tables_under_headings(make_run: MakeRun) -> None:
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
    kinds = {each.type for each in tokens(markdown)}
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
