import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.cases import each_case

from ragstone._internal.text import one_line
from ragstone.errors import UsageError
from ragstone.reports.markdown import (
    COMMENT,
    escape,
    folded,
    join_blocks,
    markdown_table,
    paragraph,
    run_as_markdown,
    write_markdown,
)
from ragstone.reports.tables import STDOUT
from ragstone.results.run import Run
from ragstone.types.gate import Gate

MakeRun = Callable[..., Run]
PASSED = Gate(metric="hit@5", op=">=", threshold=0.5)
MISSED = Gate(metric="hit@5", op="<=", threshold=0.5)
FAILED = Gate(metric="faithfulness", op=">=", threshold=0.8)

REPORT = """\
## ✗ 1 of 2 gates failed: 2 of 2 answers make a claim that the contexts do not support \
(100%, 16% to 100%). 2 answers were not judged, for example because the judge gave no answer \
(timeout).

**Whether they are right, answer_correctness would show.**

- passed: hit@5 0.6667 is &gt;= 0.5 (3 of 4 scored)
- **FAILED: faithfulness 0.2500 is not &gt;= 0.8 (2 of 4 scored)**

|  | not supported |
| --- | ---: |
| found | 1 (50%, 1% to 99%) |
| not found | 1 (50%, 1% to 99%) |

| metric | mean | 95% interval | notes |
| --- | ---: | --- | --- |
| hit@5 | 0.67 | 0.09 to 0.99 | 3 of 4 rows |
| f1@5 | 0.19 | 0.03 to 0.76 | 3 of 4 rows |
| faithfulness | 0.25 | 0.01 to 0.89 | **2 of 4 rows, 1 failed** |

Judge: offline (word overlap); this judge is untested

### Failed scores

| metric | cause | samples | first |
| --- | --- | ---: | --- |
| faithfulness | timed out | 1 | q4: no answer within 30 s |

### Worst samples

| metric | sample | score | query | why |
| --- | --- | ---: | --- | --- |
| hit@5 | q2 | 0.0000 | How long does battery 2 last? | – |
| faithfulness | q2 | 0.0000 | How long does battery 2 last? | \
contradicted: It charges in 60 minutes. (The context says 75 minutes.) |
| faithfulness | q1 | 0.5000 | How long does battery 1 last? | \
contradicted: It charges in 60 minutes. (The context says 75 minutes.) |

<details>
<summary>All counts</summary>

| metric | mean | 95% interval | n | scored | undefined | failed |
"""


def test_the_verdict_comes_first_and_what_was_not_judged_has_no_number(make_run: MakeRun) -> None:
    text = run_as_markdown(make_run(gates=[PASSED, FAILED]))
    assert text.startswith(REPORT)
    assert "| Judge | offline: word overlap; no language model |" in text


@pytest.mark.parametrize(
    ("gates", "rows", "expected"),
    [
        ([], slice(None), "## 2 of 2 answers make"),
        ([PASSED], slice(None), "## ✓ 1 gate passed: 2 of 2 answers"),
        ([FAILED], slice(2, None), "## ? 1 of 1 gate undecided: Whether the answers are right"),
        ([MISSED, FAILED], slice(3, None), "## ✗ 1 of 2 gates failed: Whether the answers"),
    ],
)
def test_the_verdict(make_run: MakeRun, gates: list[Gate], rows: slice, expected: str) -> None:
    text = run_as_markdown(make_run(make_run().rows[rows], gates=gates))
    assert text.startswith(expected)


def test_slices_are_folded(make_run: MakeRun) -> None:
    rows = [
        replace(row, sample=row.sample.model_copy(update={"tags": {"level": f"{row.index < 2}"}}))
        for row in make_run().rows
    ]
    text = run_as_markdown(make_run(rows, gates=[FAILED]))
    folded = text[text.index("<summary>By level</summary>") :]
    assert folded.splitlines()[2:6] == [
        "| level | metric | mean | 95% interval | scored | undefined | failed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| False (2) | faithfulness | – | – | 0 | 1 | 1 |",
        "| True (2) | faithfulness | 0.2500 | 0.0059 – 0.8873 | 2 | 0 | 0 |",
    ]


def test_made_up_numbers_are_counted_and_told(make_run: MakeRun) -> None:
    row = make_run().rows[0]
    made_up = row.scores["faithfulness"].model_copy(update={"fallback": True})
    run = make_run([replace(row, scores={"faithfulness": made_up})], names=("faithfulness",))
    text = run_as_markdown(run)
    assert "| failed | imputed |" in text
    assert "| 0.5000 (imputed) |" in text


def test_a_run_that_was_stopped_says_so_at_once(make_run: MakeRun) -> None:
    assert run_as_markdown(make_run(partial=True)).startswith("## ✗ the run stopped early; 4 of 4")


def test_a_run_without_metrics(make_run: MakeRun) -> None:
    assert "No metrics were run." in run_as_markdown(make_run([], names=()))


def test_a_long_report_fits_in_a_comment(make_run: MakeRun) -> None:
    rows = [
        replace(
            row,
            index=number,
            sample=row.sample.model_copy(
                update={
                    "id": f"{number}",
                    "tags": {f"tag {tag}": f"{'é' * 70} {number % 20}" for tag in range(20)},
                }
            ),
        )
        for number in range(60)
        for row in [make_run().rows[number % 4]]
    ]
    text = run_as_markdown(make_run(rows))
    assert len(text.encode()) <= COMMENT
    assert text.endswith(" parts of this report did not fit**\n")
    assert text.count("<details>") == text.count("</details>")


def test_it_goes_to_a_file_or_standard_output(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = run_as_markdown(make_run())
    write_markdown(make_run(), tmp_path / "run.md")
    assert (tmp_path / "run.md").read_bytes() == text.encode()
    write_markdown(make_run(), STDOUT)
    assert capsys.readouterr().out == text
    with pytest.raises(UsageError, match="cannot be written"):
        write_markdown(make_run(), tmp_path)


def test_without_gates_and_marks_the_worst_are_of_one_metric(make_run: MakeRun) -> None:
    run = make_run()
    worst = run_as_markdown(run).partition("### Worst samples")[2].partition("<details>")[0]
    rows = [line for line in worst.splitlines() if line.startswith("| ")][2:]
    assert rows
    assert {line.split(" | ")[0] for line in rows} == {"| faithfulness"}


def test_that_too_much_failed_goes_before_gates_that_passed(make_run: MakeRun) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.1)
    text = run_as_markdown(make_run(gates=[gate], max_failure_rate=0.1))
    assert text.startswith("## ✗ too many failures")
    assert "1 of 3 scores of faithfulness failed" in text
    assert "INCONCLUSIVE: faithfulness" in text
    assert "passed: faithfulness" not in text
    assert run_as_markdown(make_run(gates=[gate])).startswith("## ✓")


MARKUP = {"html_inline", "html_block", "link_open", "image", "code_inline", "em_open", "s_open"}
ZERO = "\N{ZERO WIDTH SPACE}"


def tokens(text: str) -> list[Token]:
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    return [each for token in found for each in [token, *(token.children or [])]]


@given(st.text("ab@w |\\`*_[]()<>~$&;:/!#+-.1\n", min_size=1).filter(lambda text: text.strip()))
@example("a | b")
@example("a\\|b")
def test_a_cell_shows_what_it_was_given(text: str) -> None:
    found = tokens(f"| x |\n| --- |\n| {escape(text)} |\n")
    assert not {each.type for each in found} & MARKUP
    cells = [each for each in found if each.type == "inline"]
    assert len(cells) == 2
    shown = "".join(child.content for child in cells[1].children or [])
    assert " ".join(shown.replace(ZERO, "").split()) == one_line(text)


@each_case(
    ("text", "apart"),
    [
        ("ask @octocat", "@|octocat"),
        ("@org/team!", "@|org"),
        ("(@a)", "(@|a"),
        ("é@a", "@|a"),
        ("_@a", "@|a"),
        ("me@example.com", "me@|example"),
        ("#12", "#|12"),
        ("o/r#12", "r#|12"),
        ("!12", "!|12"),
        ("GH-12", "GH-|12"),
        ("https://github.com/o/r/issues/1", "https:|//"),
        ("www.example.com", "www|."),
    ],
)
def test_nobody_is_called_and_nothing_is_linked(text: str, apart: str) -> None:
    assert apart.replace("|", "&#8203;") in escape(text)
    assert apart.replace("|", "&#8203;") in folded(text, "x")


@each_case("text", ["hit@5", "f1@10, ndcg@10", "a: b", "C# and F#", "wow!"])
def test_what_calls_nobody_is_left_as_it_is(text: str) -> None:
    assert escape(text) == text


@each_case("words", ["# x", "1. x", "- x", "+ x", "1) x", "= x"])
def test_a_sentence_makes_no_heading_and_no_list(words: str) -> None:
    kinds = {each.type for each in tokens(f"a\n\n{paragraph(words)}\n")}
    assert kinds == {"paragraph_open", "paragraph_close", "inline", "text"}


def test_a_table_has_its_figures_to_the_right() -> None:
    assert (
        markdown_table(("a", "b"), [("1", "2")], figures={"b"})
        == "| a | b |\n| --- | ---: |\n| 1 | 2 |"
    )


def test_the_title_of_a_folded_part_is_no_html() -> None:
    text = folded("</summary><script>\n\nx", "**b**")
    assert text.splitlines()[1] == "<summary>&lt;/summary&gt;&lt;script&gt; x</summary>"
    assert [each.type for each in tokens(text)].count("html_block") == 2


def test_what_does_not_fit_is_left_out_from_the_end_and_counted() -> None:
    blocks = ["first", "é" * 100, "third" * 10]
    assert join_blocks(blocks, limit=1000) == "\n\n".join(blocks) + "\n"
    short = join_blocks(blocks, limit=100)
    assert short == "first\n\n**2 parts of this report did not fit**\n"
    assert len(join_blocks(blocks, limit=257).encode()) <= 257
    assert join_blocks(blocks, limit=10) == ""


def test_control_characters_become_marks() -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\ud800]", escape("\x1b[2J\x00\u202e\ud800\n"))
