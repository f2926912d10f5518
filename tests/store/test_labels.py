"""Labels belong to a run: they are stored, replaced, deleted, exported and imported with it."""

from dataclasses import replace
from datetime import UTC, timedelta, timezone
from types import SimpleNamespace

import pytest
from tests.store.conftest import LABEL, query

from ragstone.store import DamagedRunError, Store, StoreError, delete

SUPPORTED, AT = LABEL, LABEL.at
WHOLE = replace(SUPPORTED, claim=None, value=None, blind=False, annotator="Zoë")
OTHER = replace(SUPPORTED, position=2, sample_id="q2", claim=3, value=False)


@pytest.fixture
async def labelled(store: Store, make: SimpleNamespace) -> Store:
    await make.put(store, *map(make.small_row, range(3)))
    store.finish("r1", extras={})
    store.add_labels("r1", [OTHER, SUPPORTED, WHOLE])
    return store


def test_a_label_replaces_one_of_the_same_claim_and_annotator(labelled: Store) -> None:
    assert labelled.labels("r1") == [WHOLE, SUPPORTED, OTHER]
    east = (AT + timedelta(hours=1)).astimezone(timezone(timedelta(hours=9)))
    changed = replace(SUPPORTED, value=False, at=east, blind=False)
    second = replace(SUPPORTED, annotator="ben")
    labelled.add_labels("r1", [replace(SUPPORTED, value=None), changed, second])
    assert labelled.labels("r1") == [WHOLE, changed, second, OTHER]
    assert labelled.labels("r1")[1].at.tzinfo is UTC
    labelled.delete_label("r1", second)
    labelled.delete_label("r1", second)
    labelled.delete_label("r1", WHOLE)
    assert labelled.labels("r1") == [changed, OTHER]


async def test_labels_are_deleted_when_what_they_judge_changes(store: Store, make) -> None:
    rows = [make.full_row(place) for place in range(4)]
    await make.put(store, *rows)
    claims = [replace(SUPPORTED, position=place, sample_id=f"q{place}") for place in range(4)]
    whole = [replace(each, claim=None) for each in claims]
    store.add_labels("r1", [*claims, *whole])
    faithful = rows[1].scores["faithfulness"]
    (claim,) = faithful.claims
    moved = faithful.model_copy(update={"claims": (claim.model_copy(update={"text": "Other."}),)})
    spoken = rows[2].sample.model_copy(update={"response": "It lasts 30 hours."})
    first, second = (replace(rows[0], notes=("again",)), replace(rows[2], sample=spoken))
    scores = {**rows[1].scores, "faithfulness": moved}
    await make.put(store, first, replace(rows[1], scores=scores), second)
    assert store.labels("r1") == [whole[0], claims[0], whole[1], whole[3], claims[3]]


def test_labels_need_a_row(labelled: Store) -> None:
    with pytest.raises(StoreError, match="a label is for row 7, but the run has no such row"):
        labelled.add_labels("r1", [replace(SUPPORTED, annotator="x"), replace(OTHER, position=7)])
    assert len(labelled.labels("r1")) == 3
    with pytest.raises(StoreError, match="there is no run r9"):
        labelled.add_labels("r9", [SUPPORTED])
    with pytest.raises(StoreError, match="there is no run r9"):
        labelled.labels("r9")


def test_a_changed_label_is_noticed(labelled: Store) -> None:
    query(labelled, "UPDATE labels SET value = NOT value WHERE place = 2")
    with pytest.raises(DamagedRunError, match="a label of row 2 of run r1 is not as it was stored"):
        labelled.labels("r1")


def test_labels_are_deleted_with_the_run(labelled: Store) -> None:
    delete(labelled, "r1")
    assert query(labelled, "SELECT count(*) FROM labels") == [(0,)]
