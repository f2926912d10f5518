"""Which claims are labelled, in which order, and what is stored with an answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.evaluation.labelling import (
    Item,
    LabelPlan,
    LabelSession,
    plan_labels,
    read_claims,
)
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.store import Store
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.questions import ExtractClaims, VerifyClaims

METRIC = "faithfulness"


def claims_of(question: ExtractClaims) -> tuple[Claim, ...]:
    words = question.response.split()
    return tuple(Claim(text=word) for word in words)


def verdicts_of(question: VerifyClaims) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(
            label=Label.NOT_ENOUGH_INFO if claim.startswith("bad") else Label.SUPPORTED,
            confidence=0.5 + int(claim[-2:]) / 200 if claim[-1].isdigit() else None,
        )
        for claim in question.claims
    )


def sample(n: int, response: str) -> dict[str, object]:
    return {"id": f"q{n}", "query": "?", "response": response, "contexts": ["It is so."]}


def stored(store: Store, responses: list[str]) -> str:
    judge = ScriptedJudge({"extract_claims": claims_of, "verify_claims": verdicts_of})
    given = [sample(n, response) for n, response in enumerate(responses)]
    run = evaluate(given, metrics=(METRIC, "hallucination"), judge=judge, store=store)
    return run.manifest.run_id


RESPONSES = [
    *(f"good{n:02} good{n + 30:02}" for n in range(30)),
    *(f"bad{n:02}" for n in range(12)),
    "",
]


def test_the_number_is_claims_and_from_20_on_enough_rows_for_a_gate(store: Store) -> None:
    run_id = stored(store, [f"good{n:02} good{n + 20:02} good{n + 40:02}" for n in range(30)])
    claims = read_claims(store, run_id)
    for labels, found in ((40, (20, 60)), (61, (21, 63)), (9, (3, 9))):
        plan = plan_labels(claims, METRIC, labels=labels)
        assert (len(plan.rows), plan.claims) == found


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "runs.db") as store:
        yield store


@pytest.fixture
def run_id(store: Store) -> str:
    return stored(store, RESPONSES)


@pytest.fixture
def session(store: Store, run_id: str) -> Callable[..., LabelSession]:
    def made(annotator: str = "ana", labels: int = 40) -> LabelSession:
        plan = plan_of(store, run_id, labels)
        return LabelSession(store, run_id, annotator, plan)

    return made


def plan_of(store: Store, run_id: str, labels: int) -> LabelPlan:
    return plan_labels(read_claims(store, run_id), METRIC, labels=labels)


def test_rows_are_drawn_at_random_and_a_larger_draw_begins_like_a_smaller_one(
    store: Store, run_id: str
) -> None:
    few, many = plan_of(store, run_id, 10), plan_of(store, run_id, 60)
    positions = [row.position for row in many.rows]
    assert positions[: len(few.rows)] == [row.position for row in few.rows]
    assert positions != sorted(positions)
    assert {*range(42)} == {row.position for row in many.every}, "the last answer has no claims"
    other = plan_of(store, stored(store, [f"{each} again" for each in RESPONSES]), 60)
    drawn = [row.position for row in other.every if row.position != 42]
    assert drawn == [row.position for row in many.every], "other answers, the same questions"


def test_the_expected_interval_follows_from_the_spread_of_the_judge(store: Store, run_id) -> None:
    plan = plan_of(store, run_id, 40)
    # 30 rows of 2 supported claims, 12 of a rejected one: on average 72 / 42 claims
    errors = 0.16 * (1 + 30 / 42 * 0.3) / (72 / 42)
    spread = 30 / 42 * 12 / 42
    assert plan.half_width(20) == pytest.approx(1.96 * (errors / 20 + spread / 42) ** 0.5)
    assert plan.half_width(30) < plan.half_width(20)
    assert plan.half_width(99) == plan.half_width(42)


def test_every_answer_is_stored_at_once(session: Callable[..., LabelSession]) -> None:
    ana, ben = session(), session("ben")
    first = ana.next()
    assert first == Item(ana.plan.rows[0].position, 0) == ana.items[0]
    ana.answer(first, None)
    assert ana.next() == ana.items[1]
    (label,) = ana.store.labels(ana.run_id)
    assert (label.value, label.annotator, label.blind) == (None, "ana", True)
    assert label.sample_id == ana.plan.rows[0].sample_id
    assert session().next() == ana.items[1], "another process continues"
    assert ana.items == ben.items
    assert ben.next() == first
    assert ben.undo() is None, "not Ana's answer"
    for item in ana.items[1:3]:
        ana.answer(item, True)
    assert [session().undo(), ana.undo()] == ana.items[2:0:-1]
    assert ana.next() == ana.items[1]
    ana.undo()
    assert ana.undo() is None
    assert ana.store.labels(ana.run_id) == []
    for item in (Item(9999, 0), Item(first.position, 7)):
        with pytest.raises(UsageError, match="no claim"):
            ana.answer(item, True)


def test_skipped_claims_come_last(session: Callable[..., LabelSession]) -> None:
    ana = session(labels=9)
    one, two, *rest = ana.items
    ana.skip(one)
    ana.skip(two)
    for item in rest:
        assert ana.next() == item
        ana.answer(item, True)
    assert ana.next() == one
    ana.skip(one)
    assert ana.next() == two
    ana.answer(two, True)
    ana.answer(one, True)
    assert ana.next() is None
    assert len(ana.labels) == len(ana.items)


def test_an_answer_after_the_verdict_is_not_blind(session: Callable[..., LabelSession]) -> None:
    ana, ben = session(), session("ben")
    item = ana.items[0]
    assert ana.verdict(item) is None, "not before the answer"
    ana.answer(item, True)
    ben.answer(item, True)
    verdict = ana.verdict(item)
    assert verdict is not None
    assert verdict.label in (Label.SUPPORTED, Label.NOT_ENOUGH_INFO)
    assert session().labels[item].blind is False
    ana.undo()
    assert (ana.next(), ana.labels) == (item, {})
    restarted = session()
    assert list(restarted.labels) == [item], "an answer after the verdict is not lost"
    assert restarted.undo() == restarted.next() == item
    restarted.answer(item, False)
    restarted.answer(ana.items[1], True)
    found = restarted.labels.values()
    assert [(label.value, label.blind) for label in found] == [(False, False), (True, True)]
    assert session("ben").labels[item].blind is True
