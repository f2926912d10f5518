import re
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.evaluation.preflight import Preflight
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.targets.base import Answer, Target
from ragstone.types.config import Plan, Source
from ragstone.types.sample import Context, Sample

JUDGE = ScriptedJudge({"extract_claims": [], "verify_claims": []})
HIT, FAITHFULNESS = get("hit@5"), get("faithfulness")
CONTEXTS = (Context(id="1", text="a"),)


class Gives(Target):
    """A target that is not asked here; it only says what it could give."""

    name = "gives"

    def __init__(self, *fields: str) -> None:
        self.gives = frozenset(fields)

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        raise AssertionError(f"readiness asks nobody about {sample.id} and {needed}")


def ready(
    *samples: dict[str, Any],
    judge: ScriptedJudge = JUDGE,
    target: Target | None = None,
    every: bool = False,
) -> Preflight:
    made = [Sample(id=str(i), query="q", **fields) for i, fields in enumerate(samples)]
    whole = Dataset(tuple(made), Source(name="samples"))
    return Preflight.compare([HIT, FAITHFULNESS], whole, judge=judge, target=target, every=every)


NO_RELEVANCE = "no row has relevance (column point_ids)"
NO_RESPONSE = "no row has response, and no target provides it"
NO_CONTEXTS = "no row has contexts, and no target provides it"


def test_metrics_need_what_a_row_holds_or_a_target_gives() -> None:
    found = ready({"response": "r", "contexts": CONTEXTS, "relevance": {"1": 1}})
    assert found == Preflight((HIT, FAITHFULNESS), {}, frozenset())
    assert ready({}, {"response": "", "contexts": (), "relevance": {}}).refused == {}
    assert set(ready().refused) == {"hit@5", "faithfulness"}
    found = ready({"response": "r", "ranking": CONTEXTS, "relevance": {"1": 1}})
    assert (found.metrics, found.refused) == ((HIT,), {"faithfulness": NO_CONTEXTS})
    found = ready({"contexts": CONTEXTS})
    assert found.refused == {"hit@5": NO_RELEVANCE, "faithfulness": NO_RESPONSE}
    found = ready({}, target=Gives("response", "contexts", "ranking"), every=True)
    assert (found.metrics, found.refused) == ((FAITHFULNESS,), {"hit@5": NO_RELEVANCE})
    found = ready({"response": "r"}, target=Gives("ranking"), every=True)
    assert (found.metrics, found.wanted) == ((), frozenset())
    judge = ScriptedJudge({"extract_claims": []})
    found = ready({"relevance": {}, "contexts": CONTEXTS}, judge=judge)
    told = {"faithfulness": "the judge scripted does not support verify_claims"}
    assert (found.metrics, found.refused) == ((HIT,), told)


def test_what_the_whole_has_counts_as_held_by_a_part_of_it() -> None:
    part = Dataset(
        (Sample(id="1", query="q"),),
        Source(name="samples"),
        known=frozenset(("response", "contexts")),
    )
    found = Preflight.compare([HIT, FAITHFULNESS], part, judge=JUDGE, target=None, every=False)
    assert found.metrics == (FAITHFULNESS,)
    assert found.refused == {"hit@5": "no row has relevance (column point_ids)"}


@each_case(
    ("held", "gives", "every", "wanted"),
    [
        ({}, "response contexts ranking", False, "response contexts ranking"),
        ({}, "response contexts", False, "response contexts"),
        ({"contexts": CONTEXTS}, "response contexts ranking", False, "response"),
        ({"ranking": CONTEXTS}, "response contexts ranking", False, "response contexts"),
        ({"response": "r", "contexts": CONTEXTS}, "response contexts ranking", False, ""),
        (
            {"response": "r", "contexts": CONTEXTS},
            "response contexts ranking",
            True,
            "response contexts ranking",
        ),
        ({"response": "r", "contexts": CONTEXTS}, "ranking", True, "ranking"),
        ({"response": "r", "contexts": CONTEXTS}, "response", True, "response"),
        ({"response": "r"}, "response contexts", False, "contexts"),
    ],
)
def test_a_target_is_asked_for_what_no_row_holds_or_for_all(
    held: dict[str, Any], gives: str, every: bool, wanted: str
) -> None:
    found = ready({**held, "relevance": {}}, target=Gives(*gives.split()), every=every)
    assert found.wanted == frozenset(wanted.split())
    assert found.refused == {}


def test_a_target_without_a_ranking_is_asked_for_contexts_in_its_place() -> None:
    sample = Sample(id="1", query="q", relevance={"1": 1})
    target = Gives("response", "contexts")
    found = Preflight.compare(
        [HIT], Dataset((sample,), Source(name="samples")), judge=JUDGE, target=target, every=False
    )
    assert found == Preflight((HIT,), {}, frozenset({"contexts"}))


def test_a_misspelt_column_is_not_replaced_by_calls_of_the_default_target() -> None:
    fields: dict[str, Any] = {"contexts": CONTEXTS, "tags": {"Respnse": "It is blue."}}
    target = Gives("response", "contexts")
    message = "no row has response; did you mean column 'Respnse'? Use map response=Respnse"
    assert ready(fields).refused["faithfulness"] == message
    with pytest.raises(UsageError, match=re.escape(f"{message}, or set target to the system to")):
        ready(fields, target=target).check((), Plan())
    found = ready(fields, target=target, every=True)
    assert found.wanted == {"response", "contexts"}
    assert "faithfulness" not in found.refused
