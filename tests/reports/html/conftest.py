import gzip
import json
import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import write_html
from ragstone.results.run import Run
from ragstone.types.claim import Claim, Evidence, Label, Verdict

RESPONSE = "\U0001f600 It lasts 20 hours. It charges in 60 minutes."
CONTEXT = "The battery lasts up to 20 hours. Charging takes 75 minutes."
SAMPLE = {
    "id": "q1",
    "query": "How long does it last?",
    "response": RESPONSE,
    "contexts": [{"id": "3", "text": CONTEXT, "score": 0.123456789}],
    "reference": "20 hours",
    "relevance": {"3": 1, "77": 1},
    "difficulty": "easy",
}
BLOCK = re.compile(r'<script type="application/gzip" ([^>]*)>(.*?)</script>', re.DOTALL)


def claim(text: str) -> Claim:
    start = RESPONSE.index(text)
    return Claim(text=text, span=(start, start + len(text)))


def quote(text: str) -> Evidence:
    start = CONTEXT.index(text)
    return Evidence(context=0, start=start, end=start + len(text), quote=text, verified=True)


CLAIMS = (
    claim("It lasts 20 hours."),
    claim("It charges in 60 minutes."),
    Claim(text="It is light."),
)
VERDICTS = (
    Verdict(label=Label.SUPPORTED, evidence=(quote("lasts up to 20 hours"),), confidence=0.9),
    Verdict(label=Label.CONTRADICTED, reason="75, not 60", evidence=(quote("75 minutes"),)),
    Verdict(label=Label.NOT_ENOUGH_INFO),
)


@pytest.fixture
def judged() -> Run:
    """A run of one sample with three claims."""
    judge = ScriptedJudge({"extract_claims": CLAIMS, "verify_claims": VERDICTS})
    return evaluate([SAMPLE], metrics=("hit@5", "faithfulness"), judge=judge)


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[Run], str]:
    """Write a run as an HTML file and read it."""

    def written(run: Run) -> str:
        path = tmp_path / "report.html"
        write_html(run, path)
        return path.read_text(encoding="utf-8")

    return written


def _unpacked(page: str) -> tuple[list[dict], list[dict]]:
    found = {
        head: json.loads(gzip.decompress(b64decode(text))) for head, text in BLOCK.findall(page)
    }
    listed = next(rows for head, rows in found.items() if 'id="rows"' in head)
    return listed, [row for head, rows in found.items() if "data-rows" in head for row in rows]


@pytest.fixture
def unpacked() -> Callable[[str], tuple[list[dict], list[dict]]]:
    """Return the list of samples, and the samples, that a page holds."""
    return _unpacked
