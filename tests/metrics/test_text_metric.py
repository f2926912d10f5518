import subprocess
import sys
from typing import Any

import pytest
from tests.asking import asker
from tests.cases import each_case

from ragstone.datasets import samples_of
from ragstone.evaluation.preflight import Preflight
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import Metric, get
from ragstone.metrics.text import Bleu, ChrF, Contains, ExactMatch, RougeL, plain
from ragstone.types.sample import Sample
from ragstone.types.score import Score

pytest.importorskip("sacrebleu")
pytest.importorskip("rapidfuzz")

METRICS = (ExactMatch(), Contains(), RougeL(), Bleu(), ChrF())
JUDGE = ScriptedJudge({})


async def score(metric: Metric, response: str, reference: str) -> Score:
    sample = Sample(id="1", query="q", response=response, reference=reference)
    return await metric.score(sample, asker(JUDGE))


@each_case("metric", METRICS)
@each_case("blank", ["", " \n\t", "\u3000"])
async def test_a_blank_response_is_0_and_a_blank_reference_undefined(
    metric: Metric, blank: str
) -> None:
    assert (await score(metric, blank, "Yes.")).value == 0.0
    undefined = [await score(metric, given, blank) for given in ("Yes.", blank)]
    assert {(s.state, s.reason) for s in undefined} == {("undefined", "the reference is empty")}


@each_case("metric", METRICS)
@each_case(
    "text", ["half \ud800 character", "nul \x00 here", "电池可用二十小时。", "ไทย", "word " * 3_000]
)
async def test_any_text_is_scored_and_equal_texts_are_1(metric: Metric, text: str) -> None:
    assert (await score(metric, text, text)).value == pytest.approx(1.0, abs=0)
    assert 0 <= ((await score(metric, text, "other words")).value or 0.0) < 1


@each_case(
    ("text", "same"),
    [
        ("  The\tBATTERY\n lasts ", "the battery lasts"),
        ("ＡＢＣ １２３", "abc 123"),
        ("eﬃcient", "efficient"),
        ("STRASSE", "straße"),
        ("cafe\u0301", "café"),
        ("５\u00a0g", "5 g"),
    ],
)
def test_plain_texts_differ_in_words_only(text: str, same: str) -> None:
    assert plain(text) == plain(same)


@each_case("metric", METRICS[2:])
def test_a_missing_library_is_told_before_the_run(metric: Metric) -> None:
    held: dict[str, Any] = {"response": "a", "reference": "a"}
    samples = samples_of([Sample(id="1", query="q", **held)])

    def ready() -> Preflight:
        metrics = [metric, get("exact_match")]
        return Preflight.compare(metrics, samples, judge=JUDGE, target=None, every=False)

    assert ready().refused == {}
    with pytest.MonkeyPatch.context() as patched:
        for name in metric.packages:
            patched.setitem(sys.modules, name, None)
        assert ready().refused == {str(metric): "needs an extra: pip install 'ragstone[text]'"}
        assert ready().metrics == (ExactMatch(),)


def test_no_library_is_imported_before_it_is_needed() -> None:
    code = "import sys, ragstone.metrics.text; print({'sacrebleu', 'rapidfuzz'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
