import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragstone.metrics.text import Bleu, ChrF, ExactMatch, RougeL, TextMetric

pytest.importorskip("sacrebleu", reason="the extra `text` is not installed")
pytest.importorskip("rapidfuzz", reason="the extra `text` is not installed")

words = st.lists(st.sampled_from("the The cat sat. on mat, 电池 5.4 - &lt; <skipped>".split()))
texts = st.one_of(words.map(" ".join), st.text(st.characters(), max_size=40)).filter(str.strip)
metrics = st.sampled_from([ExactMatch(), RougeL(), Bleu(), ChrF(), ChrF(word_order=2)])


@given(metrics, texts, texts)
def test_a_score_lies_between_0_and_1(metric: TextMetric, response: str, reference: str) -> None:
    value = metric.compare(response, reference).value
    assert value is None or 0 <= value <= 1


@given(metrics, texts)
@example(Bleu(), "<skipped>")
def test_equal_texts_are_1_or_have_no_words(metric: TextMetric, text: str) -> None:
    assert metric.compare(text, text).value in (1, None)


@given(st.sampled_from([ExactMatch(), ExactMatch(strict=True), RougeL()]), texts, texts)
def test_these_do_not_say_which_text_came_first(metric: TextMetric, one: str, other: str) -> None:
    there, back = metric.compare(one, other).value, metric.compare(other, one).value
    assert there == back or None in (there, back)
