import math
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each_case

from ragstone import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.registry import load_plugin
from ragstone.types.claim import Grade, Rating
from ragstone.types.questions import TextSimilarity

pytest.importorskip("sacrebleu", reason="the extra `text` is not installed")

UNSURE = "I don't know."
OTHER, RIGHT = "Nothing else.", "What is right."  # the response of `checks` is "What it says."
USED = "accepted answer 2 of 2: 'What is right.'"
ROWS = {
    "in_contexts": "S1 N",
    "in_reference": "S1 N",
    "in_response": "S1 N",
    "reference_in_contexts": "S2 N",
}


# bleu and chrf as in their worked examples; rouge_l: 2 common words of 3 and of 2
@each_case(
    ("metric", "response", "answers", "value"),
    [
        ("bleu", "the cat sat", ("a dog ran off", "the cat sat on the mat"), math.exp(-1)),
        ("chrf", "ab", ("xyz", "abc"), 7 / 11),
        ("rouge_l", "the cat sat", ("a dog ran", "the cat"), 0.8),
        ("rouge_l", "the cat sat", ("...", "the cat"), 0.8),
        ("exact_match", "IBSEN", ("Henrik Ibsen", "Ibsen"), 1.0),
        ("contains", "It was Ibsen.", ("Strindberg", "Ibsen"), 1.0),
    ],
)
async def test_the_best_of_the_accepted_answers_counts(
    checks: Any, metric: str, response: str, answers: tuple[str, str], value: float
) -> None:
    score = await checks().score(get(metric), response=response, reference=answers)
    assert score.value == pytest.approx(value)
    assert score.detail["note"] == f"accepted answer 2 of 2: {answers[1]!r}"
    alone = await checks().score(get(metric), response=response, reference=answers[1])
    assert "note" not in alone.detail
    assert alone.value == score.value


async def test_listed_claims_come_before_accepted_answers(checks: Any) -> None:
    fields = {"reference": ("Ibsen", "Henrik"), "reference_claims": ("xx", "yy")}
    score = await checks().score(get("contains"), response="xx, Ibsen", **fields)
    assert (score.value, dict(score.detail)) == (0.5, {"expected": 2, "found": 1})


def test_the_highest_similarity_counts() -> None:
    judge = ScriptedJudge({"text_similarity": (0.2, 0.9)})
    row = {"query": "q", "response": "x", "reference": ["a", "b"]}
    run = evaluate([row], metrics=["answer_similarity"], judge=judge)
    score = run.rows[0].scores["answer_similarity"]
    assert (score.value, score.detail["note"]) == (0.9, "accepted answer 2 of 2: 'b'")
    assert judge.asked == [TextSimilarity(text="x", others=("a", "b"))]


@each_case(
    "metric",
    [
        *("claim_recall", "claim_precision", "context_recall", "hallucinated_claims"),
        *("answer_correctness", "answer_correctness,semantic=0.5", "context_precision"),
        "noise_sensitivity,contexts=relevant",
    ],
)
async def test_claims_are_checked_against_the_answer_that_fits_the_response(
    checks: Any, metric: str
) -> None:
    def made() -> Any:
        others = {"grade_contexts": lambda q: [Grade(relevant=q.answer == RIGHT)] * 3}
        return checks(**ROWS, others={**others, "text_similarity": (0.5,)})

    several, one = made(), made()
    score = await several.score(get(metric), reference=(OTHER, RIGHT))
    alone = await one.score(get(metric), reference=RIGHT)
    assert score.value == alone.value is not None
    assert score.claims == alone.claims
    assert several.judge.asked == one.judge.asked
    assert USED in str(score.detail["note"])
    assert USED not in str(alone.detail.get("note"))


@each_case(
    ("metric", "note"),
    [("claim_recall", None), ("context_recall", None), ("claim_precision", USED)],
)
async def test_only_the_answer_that_was_read_is_named(
    checks: Any, metric: str, note: str | None
) -> None:
    fields = {"reference": (OTHER, RIGHT), "reference_claims": ("right 1", "right 2")}
    score = await checks(**ROWS).score(get(metric), **fields)
    assert score.detail.get("note") == note


@each_case(
    ("response", "answers", "relevance", "value", "number"),
    [
        ("It is blue.", (UNSURE, "It is blue."), None, 1.0, 2),
        (UNSURE, ("It is blue.", UNSURE), None, 1.0, 2),
        (UNSURE, ("It is blue.", "I don't think so."), {"1": 1}, 0.0, None),
    ],
)
async def test_one_accepted_answer_decides_whether_to_abstain(
    checks: Any, response: str, answers: Any, relevance: Any, value: float, number: int | None
) -> None:
    made = checks(others={"detect_abstention": lambda q: "know" in q.response})
    score = await made.score(
        get("abstention"), response=response, reference=answers, relevance=relevance
    )
    assert score.value == value
    note = number and f"accepted answer {number} of 2: {answers[number - 1]!r}"
    assert score.detail.get("note") == note


@pytest.mark.usefixtures("own_registry")
def test_a_rubric_shows_the_answer_that_fits(tmp_path: Path) -> None:
    file = tmp_path / "agreement.yaml"
    file.write_text(
        "name: agreement\ncriteria: x\nlevels: {0: a, 1: b}\nreads: [query, response, reference]\n",
        encoding="utf-8",
    )
    load_plugin(str(file))
    judge = ScriptedJudge({"rate_response": Rating(level=1)})
    row = {"query": "q", "response": "a guild", "reference": ["a king", "the guild"]}
    run = evaluate([row], metrics=["agreement"], judge=judge)
    assert [getattr(question, "reference", None) for question in judge.asked] == ["the guild"]
    detail = run.rows[0].scores["agreement"].detail
    assert detail["note"] == "accepted answer 2 of 2: 'the guild'"
