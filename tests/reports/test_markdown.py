from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.reports.conftest import MakeRun, tokens
from tests.results.conftest import Runs

from ragstone._internal.text import one_line
from ragstone.errors import UsageError
from ragstone.reports.markdown import (
    COMMENT,
    escape,
    folded,
    join_blocks,
    run_as_markdown,
    write_markdown,
)
from ragstone.reports.tables import STDOUT
from ragstone.types.gate import Gate
from ragstone.types.score import Score

PASSED = Gate(metric="hit@5", op=">=", threshold=0.5)
MISSED = Gate(metric="hit@5", op="<=", threshold=0.5)
FAILED = Gate(metric="faithfulness", op=">=", threshold=0.8)

REPORT = """\
## ✗ 1 of 2 gates failed: 2 of 2 answers make a claim that the contexts do not support \
(100%, 16% to 100%). 2 answers were not judged, for example because the judge gave no answer \
(timeout).

**Measure answer_correctness to see whether they are right.**

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


LOW = Gate(metric="faithfulness", op=">=", threshold=0.1)


@each_case(
    ("gates", "rows", "options", "expected"),
    [
        ([], slice(None), {}, "## 2 of 2 answers make"),
        ([PASSED], slice(None), {}, "## ✓ 1 gate passed: 2 of 2 answers"),
        ([FAILED], slice(2, None), {}, "## ? 1 of 1 gate undecided: Whether the answers are right"),
        ([MISSED, FAILED], slice(3, None), {}, "## ✗ 1 of 2 gates failed: Whether the answers"),
        ([], slice(None), {"partial": True}, "## ✗ the run stopped early; 4 of 4"),
        ([LOW], slice(None), {}, "## ✓"),
        ([LOW], slice(None), {"max_failure_rate": 0.1}, "## ✗ too many failures"),
    ],
)
def test_the_verdict(
    make_run: MakeRun, gates: list[Gate], rows: slice, options: dict[str, Any], expected: str
) -> None:
    text = run_as_markdown(make_run(make_run().rows[rows], gates=gates, **options))
    assert text.startswith(expected)
    inconclusive = "max_failure_rate" in options
    assert ("1 of 3 scores of faithfulness failed" in text) is inconclusive
    assert ("INCONCLUSIVE: faithfulness" in text) is inconclusive
    assert "No metrics were run." in run_as_markdown(make_run([], names=()))


def test_slices_are_folded_and_imputed_numbers_are_told() -> None:
    made_up = Score.scored(0.5).model_copy(update={"fallback": True})
    tags = [{"level": "ab"[n // 2]} for n in range(4)]
    text = run_as_markdown(Runs.of({"hit@5": [made_up, 1, 0, 1]}, tags=tags))
    assert "| failed | imputed |" in text
    assert "| 0.5000 (imputed) |" in text
    folded = text[text.index("<summary>By level</summary>") :]
    assert folded.splitlines()[2:5] == [
        "| level | metric | mean | 95% interval | scored | undefined | failed |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| a (2) | hit@5 | 0.7500 | 0.1109 – 0.9937 | 2 | 0 | 0 |",
    ]


def test_a_long_report_fits_in_a_comment() -> None:
    tags = [{f"tag {tag}": f"{'é' * 70} {n % 20}" for tag in range(20)} for n in range(60)]
    scores = [n % 2 for n in range(60)]
    text = run_as_markdown(Runs.of({"hit@5": scores, "f1@5": scores}, tags=tags))
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


MARKUP = {"html_inline", "html_block", "link_open", "image", "code_inline", "em_open", "s_open"}
ZERO = "\N{ZERO WIDTH SPACE}"


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
        *((text, text) for text in ("hit@5", "f1@10, ndcg@10", "a: b", "C# and F#", "wow!")),
    ],
)
def test_nobody_is_called_and_nothing_is_linked(text: str, apart: str) -> None:
    assert apart.replace("|", "&#8203;") in escape(text)
    assert apart.replace("|", "&#8203;") in folded(text, "x")
    assert apart != text or escape(text) == text


def test_what_does_not_fit_is_left_out_from_the_end_and_counted() -> None:
    blocks = ["first", "é" * 100, "third" * 10]
    assert join_blocks(blocks, limit=1000) == "\n\n".join(blocks) + "\n"
    short = join_blocks(blocks, limit=100)
    assert short == "first\n\n**2 parts of this report did not fit**\n"
    assert len(join_blocks(blocks, limit=257).encode()) <= 257
    assert join_blocks(blocks, limit=10) == ""
    title = folded("</summary><script>\n\nx", "**b**").splitlines()[1]
    assert title == "<summary>&lt;/summary&gt;&lt;script&gt; x</summary>"
