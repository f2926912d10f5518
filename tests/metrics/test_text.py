import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.asking import asker
from tests.cases import each_case

from ragstone import evaluate
from ragstone.datasets import samples_of
from ragstone.evaluation.preflight import Preflight
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import Metric, get
from ragstone.metrics.text import Bleu, ChrF, Contains, ExactMatch, RougeL, TextMetric
from ragstone.types.sample import Sample
from ragstone.types.score import Score

pytest.importorskip("sacrebleu", reason="the extra `text` is not installed")
pytest.importorskip("rapidfuzz", reason="the extra `text` is not installed")

GOLDEN = Path(__file__).parents[1] / "golden/rouge_l.json"


@each_case(
    ("response", "value"),
    [
        ("the cat sat on a mat", (1 / 12) ** (1 / 4)),
        ("the cat sat", math.exp(-1)),
        ("the cat x y", (1 / 96) ** (1 / 4) * math.exp(-1 / 2)),
        ("the the the", (2 / 3 * 1 / 4 * 1 / 4) ** (1 / 3) * math.exp(-1)),
        ("The Cat", 0.0),
    ],
)
def test_the_worked_example(response: str, value: float) -> None:
    found = Bleu().compare(response, "the cat sat on the mat").value
    assert found == pytest.approx(value, abs=1e-12)


def test_a_tokenizer_of_characters_finds_words_where_no_spaces_stand() -> None:
    response, reference = "电池可用二十小时", "电池可用三十小时"
    assert Bleu().compare(response, reference).value == 0
    # 7/8 characters, 5/7 pairs, 3/6 threes, 1/5 fours
    found = get("bleu,tokenizer=zh")
    assert isinstance(found, Bleu)
    value = found.compare(response, reference).value
    assert value == pytest.approx((7 / 8 * 5 / 7 * 3 / 6 * 1 / 5) ** (1 / 4))


# ab, abc:  2/2 and 1/1 of the response's characters and pairs, 2/3 and 1/2 of the reference's:
#           P = 1, R = 7/12, 5PR / (4P + R) = 7/11
# abc, ab:  P = 7/12, R = 1: 7/8. Spaces are left out. A single word is no match for chrF++:
#           P = (1 + 1 + 0) / 3, R = (2/3 + 1/2 + 0) / 3
@each_case(
    ("response", "reference", "words", "value"),
    [
        ("ab", "abc", 0, 7 / 11),
        ("abc", "ab", 0, 7 / 8),
        ("a b", "a bc", 0, 7 / 11),
        ("AB", "abc", 0, 0),
        ("ab", "abc", 1, 5 * 2 / 3 * 7 / 18 / (4 * 2 / 3 + 7 / 18)),
        ("电池", "电池可", 0, 7 / 11),
    ],
)
def test_the_worked_example_of_chrf(
    response: str, reference: str, words: int, value: float
) -> None:
    found = ChrF(word_order=words).compare(response, reference).value
    assert found == pytest.approx(value, abs=1e-12)


# in common, in order: police the gunman = 3 words; P = 3/4, R = 3/4
# turned round ("the gunman kill police"): the gunman = 2 words; 2/4
# of another length: 3 words of 3, of 4: P = 1, R = 3/4, 2PR/(P+R) = 6/7
@each_case(
    ("response", "reference", "value"),
    [
        ("Police killed the gunman.", "police kill the gunman", 3 / 4),
        ("the gunman kill police", "police kill the gunman", 2 / 4),
        ("police: the gunman", "police kill the gunman", 6 / 7),
        ("?!", "police kill the gunman", 0),
        ("Die STRASSE ist lang", "die Straße: sehr lang", 3 / 4),
        ("बैटरी बीस घंटे", "बैटरी दस घंटे, चलती", 4 / 7),
        ("Батарея 20 часов", "«Батарея» - 30 часов да", 4 / 7),
    ],
)
def test_the_worked_example_of_rouge_l(response: str, reference: str, value: float) -> None:
    assert RougeL().compare(response, reference).value == pytest.approx(value)


def test_a_reference_without_words_is_undefined() -> None:
    for metric, reference in ((Bleu(), "<skipped>"), (RougeL(), "?!")):
        assert metric.compare("yes", reference).reason == "the reference has no words"


@each_case("row", json.loads(GOLDEN.read_text("utf-8"))["rows"])
def test_it_is_rouge_scores_number_on_ascii(row: dict[str, Any]) -> None:
    found = RougeL().compare(row["response"], row["reference"])
    assert found.value == pytest.approx(row["f"], abs=1e-12)
    both = {name: pytest.approx(row[name]) for name in ("precision", "recall")}
    assert found.detail == both


@each_case(
    ("response", "value", "strict"),
    [
        ("20 hours", 1, 1),
        ("  20  Hours ", 1, 0),
        ("２０ hours", 1, 0),
        ("20 hours.", 0, 0),
        ("21 hours", 0, 0),
    ],
)
def test_the_worked_example_of_exact_match(response: str, value: float, strict: float) -> None:
    assert ExactMatch().compare(response, "20 hours").value == value
    assert get("exact_match,strict=true").compare(response, "20 hours").value == strict  # type: ignore[attr-defined]


def score(**held: Any) -> Score:
    row = {"query": "q", "response": "The battery lasts 20  hours.\nIt charges in 75 minutes."}
    return evaluate([row | held], metrics=Contains()).rows[0].scores["contains"]


# "20 HOURS" and "charges" stand there, "blue" and "60 minutes" do not: 2 of 4 = 0.5
def test_the_worked_example_of_contains() -> None:
    judged = score(reference_claims=("20 HOURS", "charges", "blue", "60 minutes"))
    assert (judged.value, judged.detail) == (0.5, {"expected": 4, "found": 2})


@each_case(
    ("held", "value"),
    [
        ({"reference": "battery LASTS"}, 1.0),
        ({"reference": "battery died"}, 0.0),
        ({"reference": "battery died", "reference_claims": ("75 min",)}, 1.0),
        ({"reference": "5 minutes"}, 1.0),  # any place will do
        ({"reference": "battery", "reference_claims": ()}, None),
    ],
)
def test_claims_go_before_the_reference(held: dict[str, Any], value: float | None) -> None:
    assert score(**held).value == value


METRICS = (ExactMatch(), Contains(), RougeL(), Bleu(), ChrF())
JUDGE = ScriptedJudge({})


async def score_of(metric: Metric, response: str, reference: str) -> Score:
    sample = Sample(id="1", query="q", response=response, reference=reference)
    return await metric.score(sample, asker(JUDGE))


@each_case("metric", METRICS)
@each_case("blank", ["", " \n\t", "\u3000"])
async def test_a_blank_response_is_0_and_a_blank_reference_undefined(
    metric: Metric, blank: str
) -> None:
    assert (await score_of(metric, blank, "Yes.")).value == 0.0
    undefined = [await score_of(metric, given, blank) for given in ("Yes.", blank)]
    assert {(s.state, s.reason) for s in undefined} == {("undefined", "the reference is empty")}


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


words = st.lists(st.sampled_from("the The cat sat. on mat, 电池 5.4 - &lt; <skipped>".split()))
texts = st.one_of(words.map(" ".join), st.text(st.characters(), max_size=40)).filter(str.strip)
metrics = st.sampled_from([ExactMatch(), RougeL(), Bleu(), ChrF(), ChrF(word_order=2)])


@given(metrics, texts, texts)
@example(Bleu(), "<skipped>", "a")
def test_a_score_lies_between_0_and_1_and_of_equal_texts_is_1_or_they_have_no_words(
    metric: TextMetric, one: str, other: str
) -> None:
    value, back = metric.compare(one, other).value, metric.compare(other, one).value
    assert value is None or 0 <= value <= 1
    assert metric.compare(one, one).value in (1, None)
    if isinstance(metric, ExactMatch | RougeL):
        assert value == back or None in (value, back)
