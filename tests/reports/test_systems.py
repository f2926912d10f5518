import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from rich.console import Console
from tests.results.conftest import Runs

from ragstone.reports.comparison import print_comparison
from ragstone.reports.system_files import write_html, write_rows, write_workbook
from ragstone.reports.systems import latex, print_systems, write_latex, write_markdown
from ragstone.results.run import Run
from ragstone.results.systems import Systems, side_by_side

NAMES = tuple(f"{name}@{k}" for name in ("ndcg", "mrr", "recall") for k in (5, 10, 20, 100))


def systems_of(*names: str, metrics: tuple[str, ...] = NAMES, n: int = 12) -> Systems:
    """Return systems of which each is better than those before it, by every metric."""
    rng = np.random.default_rng(5)
    queries = [f"{'Why ' * 40}{i}?" for i in range(n)]
    runs: list[Run] = []
    for place, name in enumerate(names):
        scores = {m: (rng.choice([0.2, 0.3], n) + 0.2 * place).tolist() for m in metrics}
        runs.append(Runs.of(scores, run_id=name, queries=queries))
    with pytest.MonkeyPatch.context() as patched:
        slow = "ragstone.results.stats.paired_tests.smallest_difference"
        patched.setattr(slow, lambda *_, **__: None)  # no table of systems shows it
        return side_by_side(runs, names=names)


def shown(systems: Systems, **options: object) -> str:
    console = Console(file=io.StringIO(), width=80, **options)  # type: ignore[arg-type]
    if len(systems.runs) == 2:
        print_comparison(systems.comparisons[0, 1], console)
    else:
        print_systems(systems, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def three() -> Systems:
    return systems_of("a_1", "b&c", "=x<y>")


def test_three_systems_are_one_table_of_at_most_20_lines(three: Systems) -> None:
    text = shown(three)
    lines = text.splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert re.search(r"^c  =x<y> +0\.\d{3}\*ᵃᵇ  ", text, re.MULTILINE)
    assert "test, p < 0.05 after Holm for 36 tests); n = 12 of 12" in " ".join(text.split())
    assert all(name in text for name in NAMES)


def test_the_best_is_bold_on_a_terminal(three: Systems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = shown(three, force_terminal=True, color_system="standard")
    assert re.search(r"\x1b\[1m0\.\d{3}\*ᵃᵇ", text)


def test_many_systems_have_a_line_each() -> None:
    names = [f"system {n} with a very long name indeed" for n in range(8)]
    lines = shown(systems_of(*names, metrics=NAMES[:8], n=4)).splitlines()
    assert len(lines) <= 20 + 8 - 3
    assert any(re.fullmatch(r"\d+ more metrics: -v", line) for line in lines)


def test_a_comparison_of_seven_metrics_has_at_most_20_lines() -> None:
    metrics = (
        *("faithfulness", "context_precision,weighting=mean", "answer_correctness"),
        *("context_recall", "response_relevancy", "hallucination", "citation_precision"),
    )
    a, b = systems_of("before", "after", metrics=metrics).runs
    changed = b.manifest.model_copy(update={"judge": "openai:gpt-4o-mini", "target": "x" * 300})
    lines = shown(side_by_side([a, replace(b, manifest=changed, partial=True)])).splitlines()
    assert len(lines) <= 20
    assert max(map(len, lines)) <= 80
    assert "The judge or its settings changed" in "".join(lines)


def test_all_files_have_all_systems(three: Systems, tmp_path: Path) -> None:
    for write, name in (
        (write_html, "x.html"),
        (write_workbook, "x.xlsx"),
        (write_rows, "x.csv"),
        (write_markdown, "x.md"),
        (write_latex, "x.tex"),
    ):
        write(three, tmp_path / name)
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert re.search(r'<th scope="row">=x&lt;y&gt;</th>', page)
    assert re.search(r"<strong>0\.\d{3}</strong><sup>ab</sup>", page)
    assert page.count('<polyline class="curve c2"') == 3
    assert "20: 0." in page
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    top, *rows = book["Systems"].iter_rows(values_only=True)
    assert top[1:4] == ("system", "ndcg@5", "ndcg@5: worse systems")
    mean = three.table["ndcg@5"][1][2].mean
    assert rows[2][1:4] == ("=x<y>", pytest.approx(mean), "ab")
    assert book["Per-Query Results"].max_row == 13
    head, first, *_ = (tmp_path / "x.csv").read_text(encoding="utf-8-sig").splitlines()
    cells = dict(zip(head.split(","), first.split(","), strict=True))
    difference = float(cells["scores.mrr@10.b&c"]) - float(cells["scores.mrr@10.a_1"])
    assert float(cells["differences.mrr@10.b&c"]) == pytest.approx(difference)
    text = (tmp_path / "x.md").read_text(encoding="utf-8")
    assert text.startswith("## =x&lt;y&gt; is significantly best by all 12 metrics\n")
    assert re.search(r"\| c \| =x&lt;y&gt; \| \*\*0\.\d{3}\*\*<sup>ab</sup> \|", text)
    text = (tmp_path / "x.tex").read_text(encoding="utf-8")
    assert "\nb & b\\&c & 0." in text
    assert re.search(r"c & =x<y> & \\textbf{0\.\d{3}}\\textsuperscript{ab} &", text)


def test_latex_has_no_commands_from_outside() -> None:
    assert latex(r"a_b\x{y}%~^#&$") == (
        r"a\_b\textbackslash{}x\{y\}\%\textasciitilde{}\textasciicircum{}\#\&\$"
    )
