import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause
from ragstone.judges.scripted import ScriptedJudge
from ragstone.metrics.correctness import AnswerSimilarity
from ragstone.types.questions import TextSimilarity
from ragstone.types.reply import Failure
from ragstone.types.score import Score

ROW = {"query": "How long?", "response": "20 hours.", "reference": "Twenty hours."}


def scored(cosine: object, **changed: str) -> tuple[Score, ScriptedJudge]:
    judge = ScriptedJudge({"text_similarity": cosine})
    run = ragstone.evaluate([ROW | changed], metrics=AnswerSimilarity(), judge=judge)
    return run.rows[0].scores["answer_similarity"], judge


@each_case(("cosine", "value"), [(1.0, 1.0), (0.83, 0.83), (0.0, 0.0), (-0.2, 0.0), (-1.0, 0.0)])
def test_it_is_the_cosine_not_less_than_0(cosine: float, value: float) -> None:
    judged, judge = scored((cosine,))
    assert judged.value == value
    assert judge.asked == [TextSimilarity(text="20 hours.", others=("Twenty hours.",))]


@pytest.mark.parametrize("field", ["response", "reference"])
@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_text_is_undefined_and_nobody_is_asked(field: str, blank: str) -> None:
    judged, judge = scored((1.0,), **{field: blank})
    assert (judged.state, judged.reason) == ("undefined", f"the {field} is empty")
    assert judge.asked == []


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (Failure(Cause.TIMEOUT, "late"), Cause.TIMEOUT),
        ((0.5, 0.5), Cause.COUNT_MISMATCH),
        ((2.0,), Cause.MALFORMED),
    ],
)
def test_no_cosine_is_no_number(answer: object, cause: Cause) -> None:
    judged, _ = scored(answer)
    assert (judged.state, judged.value, judged.cause) == ("failed", None, cause)
