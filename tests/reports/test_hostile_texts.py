"""Texts from outside in every report that a machine or a pull request reads."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from junitparser import JUnitXml
from lxml import etree
from tests.reports.conftest import tokens

from ragstone._internal.text import one_line, strip_controls
from ragstone.reports.junit import write_junit
from ragstone.reports.markdown import COMMENT, report_to_github, run_as_markdown
from ragstone.reports.tables import csv_safe, write_claims, write_rows
from ragstone.results.run import Run
from ragstone.types.gate import Gate

HOSTILE = [
    *("<script>alert(1)</script>", "]]>", "<!-- -->&lt;!DOCTYPE x [<!ENTITY a 'b'>]>"),
    *("\x1b[31mred\x1b]8;;http://x\x07", "\u202egnp.exe\u2066", "\x00a\x00", "\ud800 half \udfff"),
    *("\ufffe\uffff\x85\x0b\x0c\x1c", "=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "\t=1"),
    *("\r\n::error::from outside", "%0A::set-env name=a::b", "##[error]x"),
    *("| a | b |\n| --- | --- |", "</details><img src=x onerror=alert(1)>"),
    *("@octocat fixes #1, see https://github.com/o/r/issues/1", "_x000D_", "😀" * 10),
]
LONG = "a <b>\x00 | " * 20_000
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
Build = Callable[[str], Run]


@pytest.fixture(params=[*HOSTILE, LONG], ids=lambda text: ascii(text)[:30])
def text(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def run(hostile_run: Build, text: str) -> Run:
    """A run with the text wherever text can come from outside, and a gate that fails."""
    run = hostile_run(text)
    gates = (Gate(metric="faithfulness", op=">=", threshold=0.8),)
    plan = run.manifest.plan.model_copy(update={"gates": gates})
    manifest = run.manifest.model_copy(update={"plan": plan})
    return Run(manifest, run.metrics, run.rows, run.extras, partial=True)


def test_junit(run: Run, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    write_junit(run, path)
    assert not CONTROL.search(path.read_text(encoding="utf-8"))
    schema = etree.XMLSchema(file=str(Path(__file__).with_name("junit.xsd")))
    schema.assertValid(etree.parse(str(path), etree.XMLParser(resolve_entities=False)))
    verdict, suite = JUnitXml.fromfile(str(path))
    assert (suite.tests, suite.failures, suite.errors) == (3, 2, 1)
    assert verdict.tests == verdict.failures + verdict.errors == 1
    names = {case.name for case in suite}
    assert names == {one_line(run.rows[0].sample.id, 300), "gate: mean >= 0.8"}
    if len(text) < 1000:
        body = next(iter(suite)).result[0].text
        assert body.startswith(f"query: {strip_controls(run.rows[0].sample.query)}")


def test_markdown(run: Run) -> None:
    text = run_as_markdown(run)
    assert len(text.encode()) <= COMMENT
    assert not CONTROL.search(text.replace("\n", ""))
    found = tokens(text)
    inline = {each.type for token in found for each in token.children or []}
    assert inline <= {"text", "strong_open", "strong_close", "text_special"}
    html = [each.content for each in found if each.type == "html_block"]
    assert len(html) % 2 == 0
    assert set(html[1::2]) <= {"</details>\n", "</details>"}
    assert all(each.count("<") == each.count("</") + 2 == 3 for each in html[::2])
    assert not re.search(r"(?<!\w)@\w|#\d|https?://", text.replace("&#8203;", "\u200b"))


def test_annotations(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(path)}
    lines = report_to_github(run, environ)
    assert [line[: line.index("::", 2)] for line in lines] == [
        "::error title=run stopped early",
        "::error title=gate failed",
        *["::warning title=missing scores"] * 2,
    ]
    for line in lines:
        assert len(line) < 1100
        assert not CONTROL.search(line)
        assert len(line.splitlines()) == 1
        assert not re.search("%(?!25)", line)
    assert path.read_text(encoding="utf-8").startswith("## ")


def test_csv(run: Run, text: str, tmp_path: Path) -> None:
    limit = csv.field_size_limit(10_000_000)
    for write in (write_rows, write_claims):
        path = tmp_path / "x.csv"
        write(run, path)
        written = path.read_bytes().decode("utf-8-sig")
        assert not CONTROL.search(written.replace("\r\n", ""))
        lines = list(csv.reader(io.StringIO(written, newline=""), strict=True))
        assert {len(line) for line in lines} == {len(lines[0])}
        assert lines[1][0] == csv_safe(run.rows[0].sample.id)
        for cell in (cell for line in lines for cell in line):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    csv.field_size_limit(limit)


def test_parquet_and_json_lines(run: Run, text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    whole = re.sub("[\ud800-\udfff]", "\ufffd", text)
    write_rows(run, path)
    assert pl.read_parquet(path)["response"].to_list() == [whole, whole]
    write_claims(run, path)
    frame = pl.read_parquet(path)
    assert (frame["claim"].to_list(), frame["reason"].to_list()) == ([whole], [whole])
    write_claims(run, tmp_path / "x.jsonl")
    [line] = (tmp_path / "x.jsonl").read_bytes().decode("ascii").splitlines()
    assert json.loads(line)["claim"] == text
