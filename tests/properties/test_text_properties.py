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
@example(Bleu(), "<skipped>", "a")
def test_a_score_lies_between_0_and_1_and_of_equal_texts_is_1_or_they_have_no_words(
    metric: TextMetric, one: str, other: str
) -> None:
    value, back = metric.compare(one, other).value, metric.compare(other, one).value
    assert value is None or 0 <= value <= 1
    assert metric.compare(one, one).value in (1, None)
    if isinstance(metric, ExactMatch | RougeL):
        assert value == back or None in (value, back)
