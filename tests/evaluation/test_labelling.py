"""Which claims are labelled, in which order, and what is stored with an answer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.errors import UsageError
from ragstone.evaluation.labelling import (
    Item,
    LabelPlan,
    LabelSession,
    metric_of,
    plan_labels,
    read_claims,
)
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.results.stats.labels import MIN_CLAIMS
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


@pytest.mark.parametrize(("labels", "rows", "claims"), [(40, 20, 60), (61, 21, 63), (9, 3, 9)])
def test_the_number_is_claims_and_from_20_on_enough_rows_for_a_gate(
    store: Store, labels: int, rows: int, claims: int
) -> None:
    run_id = stored(store, [f"good{n:02} good{n + 20:02} good{n + 40:02}" for n in range(30)])
    plan = plan_labels(read_claims(store, run_id), METRIC, labels=labels, seed="")
    assert (len(plan.rows), plan.claims) == (max(rows, plan.sampling.minimum), max(claims, 12))
    assert plan.rows[0].probability == sum(r.stratum == plan.rows[0].stratum for r in plan.rows) / (
        next(each.rows for each in plan.sampling.strata if each.name == plan.rows[0].stratum)
    )


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
    return plan_labels(read_claims(store, run_id), METRIC, labels=labels, seed=run_id)


def test_strata_are_by_verdict_and_confidence(store: Store, run_id: str) -> None:
    plan = plan_of(store, run_id, 40)
    strata = plan.sampling.strata
    assert {each.name: (each.rows, each.claims) for each in strata} == {
        "not all supported, less sure": (6, 6),
        "not all supported, more sure": (6, 6),
        "all supported, less sure": (15, 30),
        "all supported, more sure": (15, 30),
    }
    drawn = [row.stratum for row in plan.rows]
    claims = [drawn.count(each.name) * each.claims / each.rows for each in strata]
    assert min(claims) >= MIN_CLAIMS
    assert 40 <= sum(claims) < 43
    rates = {each.name: each.rate for each in strata}
    assert rates["not all supported, less sure"] == pytest.approx(0.4875)
    chances = plan.sampling.inclusion_probabilities()
    names = dict(zip((each.name for each in strata), chances, strict=True))
    assert all(row.probability == names[row.stratum] for row in plan.rows)
    assert len({row.position for row in plan.rows}) == len(plan.rows)


def test_a_judge_without_confidence_has_two_strata(store: Store) -> None:
    run_id = stored(store, ["good fine", "bad", "good"])
    plan = plan_of(store, run_id, 60)
    rates = {each.name: each.rate for each in plan.sampling.strata}
    assert rates == {"not all supported": 0.3, "all supported": pytest.approx(0.9)}
    assert {row.probability for row in plan.rows} == {1.0}
    assert plan.claims == 4


def test_a_run_without_claims_has_nothing_to_label(store: Store, run_id: str) -> None:
    with pytest.raises(UsageError, match="no row has claims of faithfulness to label"):
        plan_of(store, stored(store, [""]), 60)
    info = store.info(run_id)
    assert metric_of(info) == metric_of(info, METRIC) == METRIC
    with pytest.raises(
        UsageError, match=r"no hallucination whose claims .*choose one of faithfulness"
    ):
        metric_of(info, "hallucination")


def test_every_answer_is_stored_with_its_chance(session: Callable[..., LabelSession]) -> None:
    ana = session()
    first = ana.next()
    assert first == Item(ana.plan.rows[0].position, 0) == ana.items[0]
    ana.answer(first, None)
    assert ana.next() == ana.items[1]
    (label,) = ana.store.labels(ana.run_id)
    row = ana.plan.rows[0]
    assert (label.value, label.annotator, label.blind) == (None, "ana", True)
    chance = ana.plan.inclusion_probabilities({row.position: 0})[row.position]
    assert (label.probability, label.sample_id) == (chance, row.sample_id)
    assert session().next() == ana.items[1], "another process continues"


def test_skipped_claims_come_last(session: Callable[..., LabelSession]) -> None:
    ana = session()
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


def test_undo_goes_back_one_by_one(session: Callable[..., LabelSession]) -> None:
    ana = session()
    for item in ana.items[:3]:
        ana.answer(item, True)
    assert [session().undo(), ana.undo()] == ana.items[2:0:-1]
    assert ana.next() == ana.items[1]
    ana.undo()
    assert ana.undo() is None
    assert ana.store.labels(ana.run_id) == []


def test_an_answer_after_the_verdict_is_not_blind(session: Callable[..., LabelSession]) -> None:
    ana = session()
    item = ana.items[0]
    assert ana.verdict(item) is None, "not before the answer"
    ana.answer(item, True)
    verdict = ana.verdict(item)
    assert verdict is not None
    assert verdict.label in (Label.SUPPORTED, Label.NOT_ENOUGH_INFO)
    ana.undo()
    assert (ana.next(), ana.labels) == (item, {})
    restarted = session()
    assert list(restarted.labels) == [item], "an answer after the verdict is not lost"
    assert restarted.undo() == restarted.next() == item
    restarted.answer(item, False)
    restarted.answer(ana.items[1], True)
    found = restarted.labels.values()
    assert [(label.value, label.blind) for label in found] == [(False, False), (True, True)]


def test_a_second_annotator_gets_the_same_claims(session: Callable[..., LabelSession]) -> None:
    ana, ben = session(), session("ben")
    assert ana.items == ben.items
    ana.answer(ana.items[0], True)
    assert ben.next() == ana.items[0]
    assert ben.undo() is None, "not Ana's answer"


def test_all_labels_have_the_chances_of_the_draw_so_far(
    session: Callable[..., LabelSession],
) -> None:
    few, many = session(labels=30), session(labels=60)
    assert few.items == many.items[: len(few.items)]
    strata = {row.position: row.stratum for row in many.plan.rows}
    for n, item in enumerate(many.items, 1):
        (few if n <= len(few.items) else many).answer(item, True)
        labels = many.labels.values()
        chances = many.plan.inclusion_probabilities({item.position: 0})
        assert [each.probability for each in labels] == [chances[each.position] for each in labels]
        assert len({(strata[each.position], each.probability) for each in labels}) <= 4
    last = {item: label.probability for item, label in many.labels.items()}
    few.undo()
    few.answer(few.items[-1], False)
    assert {item: label.probability for item, label in many.labels.items()} == last


def test_a_shown_verdict_is_noted_with_the_label(session: Callable[..., LabelSession]) -> None:
    ana, item = session(), session().items[0]
    ana.answer(item, True)
    session("ben").answer(item, True)
    ana.verdict(item)
    restarted = session()
    assert restarted.labels[item].blind is False
    restarted.answer(item, False)
    assert restarted.labels[item].blind is False
    restarted.undo()
    restarted.answer(item, True)
    assert restarted.labels[item].blind is False
    assert session("ben").labels[item].blind is True


def test_a_claim_outside_the_plan_is_refused(session: Callable[..., LabelSession]) -> None:
    ana = session()
    for item in (Item(9999, 0), Item(ana.items[0].position, 7)):
        with pytest.raises(UsageError, match="no claim"):
            ana.answer(item, True)
