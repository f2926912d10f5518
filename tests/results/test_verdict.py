"""The verdict of a run: outcomes partition the rows, and the sentence says what the table says."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.results.conftest import manifest_of

from ragstone.errors import Cause
from ragstone.evaluation.runner import evaluate
from ragstone.metrics import get
from ragstone.results.outcomes import FOUND, Found, Outcome, found_by_ids, is_right
from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store.codec import decode_counts, encode_counts
from ragstone.types.config import Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

METRICS = ("answer_correctness", "abstention")
NOT_JUDGED = Score.failed(Cause.TIMEOUT, "late")


def row(index: int, right: bool | None, found: bool | None, declined: bool = False) -> Row:
    """Return a row with these outcomes; None is a failed judge, or no relevant documents."""
    sample = Sample(
        id=f"q{index}",
        query=f"Query {index}?",
        response="An answer.",
        reference="Another answer.",
        contexts=(Context(id="d1" if found else "d2", text="A text."),),
        relevance=None if found is None else {"d1": 1},
        tags={"group": f"g{index % 3}"},
    )
    score = NOT_JUDGED if right is None else Score.scored(right, detail={"recall": float(right)})
    abstained = Score.scored(1, detail={"abstained": declined, "answerable": True})
    return Row(index, sample, scores={METRICS[0]: score, METRICS[1]: abstained})


def run_of(rows: Sequence[Row], metrics: Sequence[str] = METRICS) -> Run:
    source = Source(name="data.jsonl", rows=len(rows))
    manifest = manifest_of(run_id="r1", plan=Plan(cluster="id"), source=source)
    return Run(manifest, {name: get(name).info() for name in metrics}, rows)


def of_cells(wrong_missed: int, declined_missed: int, wrong_found: int, right: int) -> Run:
    kinds = [(False, False, False)] * wrong_missed + [(False, False, True)] * declined_missed
    kinds += [(False, True, False)] * wrong_found + [(True, True, False)] * right
    return run_of([row(n, *kind) for n, kind in enumerate(kinds)])


KINDS = st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))


@given(st.lists(st.tuples(KINDS, st.booleans()), min_size=1, max_size=40), st.randoms())
def test_outcomes_partition_the_rows_in_any_order(kinds: Any, random: Random) -> None:
    rows = [row(n, *kind, declined) for n, (kind, declined) in enumerate(kinds)]
    run = run_of(rows)
    found = run.verdict
    listed = [place for cell in found.cells for place in cell.rows]
    assert sorted(listed) == sorted(set(listed))  # no row has two outcomes
    assert len(listed) == found.judged == sum(cell.count for cell in found.cells)
    by_row = {each.index: found.outcome_of(each) for each in rows}
    for cell in found.cells:
        assert all(by_row[place] == (cell.outcome, cell.found) for place in cell.rows)
        assert cell.count == len(cell.rows)
    left = [each for each in by_row.values() if each and each[0] is Outcome.NOT_JUDGED]
    assert found.judged + len(left) == len(rows)

    random.shuffle(rows)
    half = RunSummaryBuilder.of(rows[: len(rows) // 2], METRICS, cluster="id")
    half.merge(RunSummaryBuilder.of(rows[len(rows) // 2 :], METRICS, cluster="id"))
    encoded = encode_counts(half)
    assert encoded is not None
    assert replace(run, known_counts=decode_counts(encoded)).verdict == found


@given(*[st.integers(0, 20)] * 3, st.integers(1, 20))
def test_the_sentence_has_the_numbers_of_the_table(a: int, b: int, c: int, right: int) -> None:
    found = of_cells(a, b, c, right).verdict
    numbers = list(map(int, re.findall(r"\d+(?![\d%])", found.sentence)))
    if not a + b + c:
        assert "right" in found.sentence
        return
    assert numbers[:2] == [a + b + c, a + b + c + right]
    for number, words in ((a + b, "no relevant document"), (c, "retrieved.")):
        assert not number or f"{number}: " in found.sentence
        assert (words in found.sentence) is bool(number) or words == "retrieved."
    if a and b:
        assert f"({a} invented, {b} declined)" in found.sentence


def test_one_cause_is_rarely_named_if_both_are_equal() -> None:
    named = [
        missed
        for missed in range(41)
        if "first" in of_cells(missed, 0, 40 - missed, 1).verdict.advice
    ]
    assert 0 < sum(math.comb(40, missed) for missed in named) / 2**40 < 0.08


def test_unjudged_answers_are_said_with_the_cause() -> None:
    found = run_of([row(0, True, True), row(1, None, True), row(2, None, False)]).verdict
    assert "2 answers were not judged: the judge gave no answer (timeout)." in found.sentence
    nothing = run_of([row(0, None, True)]).verdict
    assert nothing.sentence.startswith("Whether the answers are right is unknown: 1 answer was")
    assert nothing.judged == 0
    one = row(0, right=False, found=True)  # it may have declined
    rows = [replace(one, scores={**one.scores, "abstention": NOT_JUDGED}), row(1, True, True)]
    found = run_of(rows).verdict
    assert (found.judged, found.bad) == (1, 0)
    assert "1 answer was not judged: whether it abstains is unknown" in found.sentence


def test_ids_that_never_match_do_not_blame_retrieval() -> None:
    rows = [
        replace(each, sample=each.sample.model_copy(update={"relevance": {f"doc-{n}.pdf": 1}}))
        for n, each in enumerate(row(n, n < 5, found=True) for n in range(30))
    ]
    found = run_of(rows).verdict
    assert "no relevant document" not in found.sentence
    assert found.sentence.startswith("No retrieved id is among the relevant ids in any of 30 rows")
    assert "check that both use the same ids. 25 of 30 answers are wrong" in found.sentence
    assert found.advice == ""


def test_what_was_retrieved_is_read_from_ids_then_claims() -> None:
    sample = Sample(id="1", query="Q?", response="R", relevance={"a": 1, "b": 0})
    contexts = [((), Found.NOT_FOUND), ((Context(id="b"),), Found.NOT_FOUND)]
    contexts += [((Context(id="a"),), Found.FOUND), ((Context(text="t"),), Found.UNKNOWN)]
    for given_contexts, expected in contexts:
        assert found_by_ids(sample.model_copy(update={"contexts": given_contexts})) is expected
    ranked = tuple(Context(id=name) for name in "xya")
    deep = sample.model_copy(update={"ranking": ranked})
    assert found_by_ids(deep, 2) is Found.NOT_FOUND
    assert found_by_ids(deep, 3) is Found.FOUND
    rows = [row(n, right=False, found=None) for n in range(20)]
    judged = [
        replace(each, scores={**each.scores, "context_recall": Score.scored(n < 18)})
        for n, each in enumerate(rows)
    ]
    words = str(run_of(judged, (*METRICS, "context_recall")).verdict)
    assert "2: the contexts do not have the answer (all invented). 18: they have it." in words
    assert FOUND.index(Found.FOUND) == 0


def test_a_threshold_or_a_contradiction_decides_what_is_right() -> None:
    half = Score.scored(0.4, detail={"recall": 0.5})
    assert is_right("answer_correctness", half)
    assert not is_right("answer_correctness", half.model_copy(update={"passed": False}))
    assert is_right("faithfulness", Score.scored(1)) is True
    assert is_right("faithfulness:ragaliq", Score.scored(0.9)) is False
    assert is_right("faithfulness", Score.undefined("no claims")) is None
    assert is_right("exact_match", Score.scored(1).model_copy(update={"fallback": True})) is None


def test_a_query_without_an_answer_is_right_if_it_is_declined() -> None:
    for declined, expected in ((True, Outcome.RIGHT), (False, Outcome.WRONG)):
        detail = {"abstained": declined, "answerable": False}
        one = row(0, right=False, found=None)
        scores = {**one.scores, "abstention": Score.scored(1, detail=detail)}
        known = run_of([one]).verdict.outcome_of(replace(one, scores=scores))
        assert known == (expected, Found.UNKNOWN)


# ---- ten synthetic systems: the sentence of a manager who knows the truth


def texts(n: int, *, missed: int, broken: int, declined: int = 0, swapped: int = 0) -> list[Any]:
    """Return answers about n lamps: `missed` without their manual, `broken` in spite of it."""
    rows: list[Any] = []
    for lamp in range(n):
        hours, name = 1000 + 37 * lamp, f"Lamp {lamp} of the hall"
        truth = f"{name} lasts {hours} hours."
        good, lost = lamp >= missed + broken, lamp < missed
        answer = truth if good else f"{name} lasts {hours + 11} minutes."
        if not good and lamp % max(1, missed + broken) < declined:
            answer = "I don't know the answer to that."
        reference = f"{name} is {hours + 5} cm high." if good and lamp >= n - swapped else truth
        shown = f"Printer {lamp} prints {hours} pages." if lost else truth
        contexts = [{"id": f"x{lamp}" if lost else f"m{lamp}", "text": shown}]
        row = {"query": f"How long does {name} last?", "response": answer, "reference": reference}
        rows.append({**row, "id": str(lamp), "contexts": contexts, "relevance": {f"m{lamp}": 1}})
    return rows


UNCLEAR = "The larger cause, retrieval or answers, is unclear from"
MISSED, GIVEN = "no relevant document was retrieved", "it was retrieved."


@each_case(
    ("system", "sentence", "advice"),
    [
        (texts(60, missed=20, broken=2), "22 of 60 answers are wrong", "Fix retrieval first."),
        (
            texts(60, missed=2, broken=20),
            f"2: {MISSED} (all invented). 20: {GIVEN}",
            "Fix the answers first, not retrieval.",
        ),
        (
            texts(60, missed=12, broken=12),
            f"12: {MISSED} (all invented). 12: {GIVEN}",
            f"{UNCLEAR} 24 answers.",
        ),
        (
            texts(60, missed=20, broken=0, declined=20),
            f"20: {MISSED} (all declined).",
            "Fix retrieval first.",
        ),
        (  # the references are wrong, not the answers
            texts(60, missed=0, broken=0, swapped=20),
            "20 of 60 answers are wrong",
            "Check the references first: 20 of 20 of these answers are supported by the contexts.",
        ),
        (
            texts(5, missed=1, broken=1),
            "2 of 5 answers are wrong (40%, 5% to 85%).",
            f"{UNCLEAR} 2 answers.",
        ),
        (texts(60, missed=0, broken=0), "All 60 answers are right (100%, 95% to 100%).", ""),
    ],
)
def test_the_verdict_is_what_a_manager_would_say(system: Any, sentence: str, advice: str) -> None:
    found = evaluate(system).verdict
    assert sentence in found.sentence
    assert found.advice == advice


def test_without_references_the_words_say_what_was_compared() -> None:
    rows = texts(60, missed=0, broken=9, declined=2)
    bare = [{k: v for k, v in each.items() if k != "reference"} for each in rows]
    found = evaluate(bare, metrics=["faithfulness", "abstention"]).verdict
    words = "7 of 60 answers make a claim that the contexts do not support (12%,"
    assert found.sentence.startswith(words)
    assert "2 answers declined." in found.sentence
    assert "right" not in str(found)
    assert "Measure answer_correctness" in str(evaluate(rows, metrics="faithfulness").verdict)


def test_rankings_count_queries_without_a_relevant_document() -> None:
    rows = [
        {"id": str(n), "query": f"q{n}", "ranking": [f"d{n}" if n else "x"], "relevance": [f"d{n}"]}
        for n in range(5)
    ]
    found = evaluate(rows, metrics=["hit", "mrr"], k=[1, 10]).verdict
    words = "For 1 of 5 queries no relevant document is in the top 10 (20%, 1% to 72%)."
    assert (found.sentence, found.metric, found.bad, found.judged) == (words, "hit@10", 1, 5)
    nothing = {"query": "q", "ranking": ["a"], "relevance": []}
    found = evaluate([*rows, nothing], metrics="hit", k=10).verdict
    assert found.sentence.startswith("For 2 of 6 queries no relevant document is in the top 10")


def test_the_weakest_group_is_named_only_if_it_is_worse_than_the_rest() -> None:
    rows = texts(60, missed=20, broken=0)
    for number, each in enumerate(rows):
        each["difficulty"] = "hard" if number < 24 else "easy"
        each["colour"] = "red" if number % 2 else "blue"
    assert "weakest group: difficulty = hard, 20 of 24" in evaluate(rows).verdict.advice
    assert Counter(type(each) for each in rows) == {dict: 60}
