import math
import re
from collections.abc import Callable

import pytest

from ragstone.demo.questions import corpus, grounded_samples
from ragstone.errors import Cause, UnknownNameError, UsageError
from ragstone.evaluation.judge_test import (
    KINDS,
    ORDER,
    PER_SAMPLE,
    JudgeTestGate,
    balanced_accuracy,
    plan_questions,
    run_judge_test,
    select_cases,
)
from ragstone.judges.base import ScriptedJudge
from ragstone.results.judge_test import Balanced, JudgeTest, KindResult, TrialResult
from ragstone.results.stats.intervals import proportion_interval
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Failure
from ragstone.types.sample import Context, Sample

TEXTS = (
    ("a", "The Tarn weighs 172 grams and is not large. It lasts up to two days in Oslo.",
     ("The Tarn weighs 172 grams and is not large.", "It lasts up to two days in Oslo. New.")),
    ("b", "The museum in Lyon opened in 1987 for 300 guests.",
     ("The museum in Lyon opened in 1987 for 300 guests. Entry costs 5 euros.",)),
    ("c", "Anna Berg runs 42 kilometers each Sunday morning.",
     ("Anna Berg runs 42 kilometers each Sunday morning. She drinks tea afterwards.",)),
)  # fmt: skip
SAMPLES = [
    Sample(id=name, query="q", response=response, contexts=[Context(text=t) for t in contexts])
    for name, response, contexts in TEXTS
]


def judging(verdict: Callable[[str, VerifyClaims], Label]) -> ScriptedJudge:
    def answer(question: VerifyClaims) -> tuple[Verdict, ...]:
        return tuple(Verdict(label=verdict(claim, question)) for claim in question.claims)

    return ScriptedJudge({"verify_claims": answer})


def exact(claim: str, question: VerifyClaims) -> Label:
    """Support what stands in the contexts letter by letter: an ideal judge of such changes."""
    found = claim in "\n".join(question.contexts)
    return Label.SUPPORTED if found else Label.NOT_ENOUGH_INFO


def obedient(claim: str, question: VerifyClaims) -> Label:
    ordered = ORDER in claim or any(ORDER in context for context in question.contexts)
    return Label.SUPPORTED if ordered else exact(claim, question)


def fickle(claim: str, question: VerifyClaims) -> Label:
    """Support by the first context alone: the evidence last is not seen."""
    found = claim in question.contexts[0]
    return Label.SUPPORTED if found else Label.NOT_ENOUGH_INFO


async def result(verdict: Callable[[str, VerifyClaims], Label], n: int = 20) -> JudgeTest:
    return await run_judge_test(judging(verdict), SAMPLES, n=n, data="three rows", version="1")


def by_kind(test: JudgeTest) -> dict[str, KindResult]:
    return {kind.kind: kind for kind in test.kinds}


async def test_an_exact_judge_notices_all_and_keeps_its_word() -> None:
    test = await result(exact)
    assert (test.samples, test.claims, test.supported, test.failed) == (3, 4, 4, 0)
    assert all(kind.right == kind.answered for kind in test.kinds)
    kinds = by_kind(test)
    assert [kinds[name].applied for name in ("number", "date", "unit", "name")] == [3, 2, 2, 4]
    assert set(kinds) == set(KINDS)
    assert test.balanced is not None
    assert test.balanced.value == test.balanced.interval[1] == 1.0
    assert test.balanced.interval[0] < 0.7


async def test_a_judge_that_believes_or_denies_all_is_half_right() -> None:
    test = await result(lambda _claim, _question: Label.SUPPORTED)
    assert test.total("rejected").right == 0
    assert test.total("unchanged").share == test.total("accepted").share == 1.0
    assert by_kind(test)["order_in_claim"].answered == 0  # it believed the claim without an order
    assert test.balanced is not None
    assert test.balanced.value == 0.5
    for mark, passed in (("order_in_claim=50%", None), ("unit=50%", False), ("51%", False)):
        assert JudgeTestGate.parse(mark).check(test) is passed
    test = await result(lambda _claim, _question: Label.NOT_ENOUGH_INFO)
    assert test.supported == 0
    assert test.total("rejected").answered == by_kind(test)["unrelated"].answered == 3
    assert by_kind(test)["copied"].share == 0.0
    assert test.balanced is not None
    assert test.balanced.value == 0.5


async def test_orders_and_the_order_of_contexts_are_told_from_other_changes() -> None:
    test = await result(obedient)
    assert test.total("injection_ignored").share == 0.0
    assert test.total("rejected").share == 1.0
    kinds = by_kind(await result(fickle))
    assert (kinds["evidence_moved"].right, kinds["evidence_moved"].answered) == (0, 3)
    assert kinds["claims_reversed"].share == 1.0

    def strict(claim: str, question: VerifyClaims) -> Label:
        return Label.CONTRADICTED if "Oslo" in claim else exact(claim, question)

    test = await result(strict)  # only what was called supported is changed
    assert (test.claims, test.supported) == (4, 3)
    assert by_kind(test)["invented"].of == 3


def trial(kind: str, sample: int, right: bool | None) -> TrialResult:
    return TrialResult(
        kind=kind, sample=str(sample), was="", claim="", label_before=None, label=None, right=right
    )


def test_balanced_accuracy_is_the_mean_of_both_parts_with_its_interval() -> None:
    errors = [trial("number", n, n < 24) for n in range(40)]
    copies = [trial("copied", n, n < 36) for n in range(40)]
    both = balanced_accuracy([*errors, *copies])
    assert both is not None
    assert both.value == pytest.approx(0.75)
    (a, b), (c, d) = proportion_interval(24, 40), proportion_interval(36, 40)
    below, above = math.hypot(0.6 - a, 0.9 - c) / 2, math.hypot(b - 0.6, d - 0.9) / 2
    assert both.interval == pytest.approx((0.75 - below, 0.75 + above))
    repeated = balanced_accuracy([*errors * 4, *copies]) or both
    width, wide = (each.interval[1] - each.interval[0] for each in (repeated, both))
    assert width > 0.9 * wide, "trials of one sample are not independent"
    assert balanced_accuracy(errors) is None
    assert balanced_accuracy([*errors, trial("copied", 1, None)]) is None


async def test_what_is_not_answered_is_failed_and_nothing_else() -> None:
    def answer(question: VerifyClaims) -> object:
        if any(re.search(r"\b(?:272|400)\b", claim) for claim in question.claims):
            return Failure(Cause.TIMEOUT, "slow")
        return tuple(Verdict(label=exact(claim, question)) for claim in question.claims)

    test = await run_judge_test(
        ScriptedJudge({"verify_claims": answer}), SAMPLES, n=20, data="d", version="1"
    )
    number = by_kind(test)["number"]
    assert (number.failed, number.answered, number.applied) == (2, 1, 3)
    assert test.failed == 2


async def test_no_more_is_asked_than_was_planned() -> None:
    judge = judging(exact)
    test = await run_judge_test(judge, SAMPLES, n=20, data="d", version="1")
    asked = {question.key for question in judge.asked}
    assert asked == {question.key for question in plan_questions(select_cases(SAMPLES, 20))}
    assert test.asked == len(judge.asked)


def test_claims_are_of_the_response_else_the_reference_else_the_contexts() -> None:
    contexts = [Context(text="A sentence of the context.")]

    def claims(**fields: object) -> tuple[str, ...]:
        [case] = select_cases([Sample(id="i", query="q", contexts=contexts, **fields)], 9)
        return case.claims

    of_the_response = ("A claim in the response.",)
    assert claims(response="A claim in the response.", reference="R.") == of_the_response
    assert claims(reference="A claim in the reference.") == ("A claim in the reference.",)
    assert claims() == ("A sentence of the context.",)
    many = " ".join(f"This is claim number {n} of many." for n in range(20))
    assert len(claims(response=many)) == PER_SAMPLE
    assert select_cases([Sample(id="i", query="q", response="A claim without contexts.")], 9) == []


def test_the_demos_samples_hold_no_injected_error() -> None:
    injected = {line.paraphrase for passage in corpus() for line in passage.lines if line.error}
    samples = grounded_samples()
    assert injected
    assert len(samples) > 50
    texts = [text.text for sample in samples for text in sample.contexts or ()]
    assert not [line for line in injected for text in texts if line and line in text]


def test_a_result_says_in_a_line_what_it_came_to() -> None:
    counts = (
        ("number", 9, 10),
        ("negation", 5, 10),
        ("copied", 9, 10),
        ("claims_reversed", 20, 20),
    )
    kinds = [
        KindResult(kind=name, expected=KINDS[name], right=right, answered=of, applied=of, of=20)
        for name, right, of in counts
    ]
    test = JudgeTest(
        judge="j", data="rows.jsonl", at="2026-01-02T03:04:05Z", version="1", samples=5, claims=20,
        supported=20, asked=30, failed=0, kinds=tuple(kinds), calls=0, cost_usd=0.0,
        balanced=Balanced(value=0.8, interval=(0.7, 0.875)),
    )  # fmt: skip
    assert str(test).startswith("balanced accuracy: 80% (95% interval 70% to 88%); errors noticed:")
    assert str(test).endswith("lowest for negation, 5 of 10 (20 claims of rows.jsonl, 2026-01-02)")
    marks = ("number=90%", "rejected=0.8", "85%", "80%", "unit=10%")
    passed = [JudgeTestGate.parse(text).check(test) for text in marks]
    assert passed == [True, False, False, True, None]
    for text, error in (("units=80%", UnknownNameError), ("unit=8", UsageError)):
        with pytest.raises(error):
            JudgeTestGate.parse(text)
