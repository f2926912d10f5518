import numpy as np
import pytest
from tests.cases import each_case

from ragstone.judges.local.model import Head, LocalSettings
from ragstone.types.claim import Label

YES, NO, NEI = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO


@each_case(
    ("labels", "means"),
    [
        (["contradiction", "entailment", "neutral"], (NO, YES, NEI)),
        (["ENTAILMENT", "Neutral", "CONTRADICTION"], (YES, NEI, NO)),
        (["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], (YES, NO, NEI)),
        (["entailment", "not_entailment"], (YES, NEI)),
        (["hallucinated", "consistent"], (NEI, YES)),
        (["not_hallucinated", "hallucinated"], (YES, NEI)),
        *((["supported"], (YES,)), (["hallucination"], (NEI,))),
    ],
)
def test_words_of_models_are_known_in_any_order_and_case(labels, means) -> None:
    named = {str(n): label for n, label in enumerate(labels, 9)}  # "10" comes after "9"
    config = {"id2label": dict(sorted(named.items()))}
    assert Head.of(config, LocalSettings(), "m").labels == means
    assert Head.of({}, LocalSettings(labels="/".join(labels)), "m").labels == means


def test_chances_add_up_what_means_the_same() -> None:
    logits = np.array([[0.0], [1000.0], [-1000.0]], dtype=np.float32)
    assert Head((YES,)).probabilities(logits)[0].tolist() == pytest.approx([0.5, 1.0, 0.0])
    assert Head((NEI,)).probabilities(logits)[0].tolist() == pytest.approx([0.5, 0.0, 1.0])
    chances = np.array([[0.3, 0.5, 0.2]], dtype=np.float32)
    for head, given in (((YES, YES, NEI), np.log(chances)), ((YES, YES, NO), chances)):
        yes, no = Head(head, is_probability=given is chances).probabilities(given)
        assert (yes[0], no[0]) == pytest.approx((0.8, 0.2 if given is chances else 0.0))
