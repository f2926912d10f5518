import gzip
import json
import re
from base64 import b64decode
from pathlib import Path

import pytest
from junitparser import JUnitXml
from lxml import etree
from tests.reports.ranked import ranked_run

from ragstone.reports.html import write_html
from ragstone.reports.insights import EXCERPT, excerpt
from ragstone.reports.junit import write_junit
from ragstone.types.config import Plan
from ragstone.types.gate import Gate

LIST = re.compile(r'<script type="application/gzip" id="rows"[^>]*>(.*?)</script>', re.DOTALL)


def test_a_few_queries_are_all_told() -> None:
    run = ranked_run(EXCERPT)
    assert excerpt(run) == (run, None)


def test_of_many_those_are_told_that_did_worst_by_any_metric() -> None:
    """By hit@5 these are 1, 2, 4, 6 ..., by ndcg@5 1 (failed), 2, 3, 4, 5 ..."""
    run = ranked_run(100)
    some, said = excerpt(run, 6)
    assert [row.index for row in some.rows] == [1, 2, 3, 4, 5, 6]
    assert some.rows[1] == run.rows[2]
    assert some.tally is run.tally
    assert said is not None
    assert said.startswith("6 of 100 queries (failed or worst by a metric)")


def test_a_page_of_many_queries_stays_small_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    sizes = []
    for queries in (2000, 20_000):
        write_html(ranked_run(queries), tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert f"Below are 1,000 of {queries:,} queries" in page
        assert f"{queries:,} rows" in page
        (packed,) = LIST.findall(page)
        assert len(json.loads(gzip.decompress(b64decode(packed)))) == EXCERPT
        sizes.append(len(page))
    assert sizes[1] < 1.1 * sizes[0]


def test_a_page_of_few_queries_has_all(tmp_path: Path) -> None:
    write_html(ranked_run(20), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Below are" not in page
    (packed,) = LIST.findall(page)
    told = json.loads(gzip.decompress(b64decode(packed)))
    assert [row["scores"]["ndcg@5"]["state"] for row in told[:3]] == [
        "undefined",
        "failed",
        "scored",
    ]


@pytest.mark.parametrize("queries", [20, 3000])
def test_tests_are_of_the_gated_metric_and_say_of_which_queries(
    queries: int, tmp_path: Path
) -> None:
    gates = (Gate(metric="ndcg@5", op=">=", threshold=0.25),)
    write_junit(ranked_run(queries, Plan(gates=gates)), tmp_path / "junit.xml")
    schema = etree.XMLSchema(file=str(Path(__file__).with_name("junit.xsd")))
    schema.assertValid(etree.parse(str(tmp_path / "junit.xml")))
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(tmp_path / "junit.xml"))}
    told = {each.name: each.value for each in suites["ndcg@5"].properties()}
    assert suites["ndcg@5"].tests == min(queries, EXCERPT) + 1  # and the gate
    if queries == 20:
        assert (suites["ndcg@5"].failures, suites["ndcg@5"].errors) == (3, 1)
        assert "excerpt" not in told
    else:
        assert told["excerpt"].startswith("1,000 of 3,000 queries")
