"""A finished run has the counts of its rows, so that its summary reads none of them."""

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.conftest import METRICS, full_row, query, small_row

from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store import Store, resume
from ragstone.store.codec import COUNTS_VERSION, decode_counts, encode_counts
from ragstone.types.row import Row


def shown(run: Run) -> str:
    counts = run.counts
    more = [counts.blame, counts.notes, counts.over_budget, counts.ids, counts.tags]
    worst = [each.worst(higher_is_better=True) for each in counts.scores.values()]
    first = [[each.note, each.imputed, each.failed] for each in counts.scores.values()]
    return json.dumps(run.to_dict()) + repr([more, worst, first, counts.failed_before])


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=30))
def test_counts_are_restored_as_they_were(kinds: list[tuple[bool, float]]) -> None:
    rows = [full_row(n, hit=hit) if full else small_row(n, hit) for n, (full, hit) in
            enumerate(kinds)]  # fmt: skip
    counts = RunSummaryBuilder.of(rows, METRICS)
    encoded = encode_counts(counts)
    assert encoded is not None
    restored = decode_counts(encoded)
    assert restored is not None
    assert encode_counts(restored) == encoded
    more = RunSummaryBuilder.of([full_row(99)], METRICS)
    restored.merge(more)  # it is a builder like any other
    counts.merge(more)
    assert restored.usage == counts.usage
    for name, scores in counts.scores.items():
        assert restored.scores[name].summary() == scores.summary()
        assert restored.scores[name].causes == scores.causes


@pytest.mark.parametrize(
    "stored", [b"", b"\x00\x11", zlib.compress(b"["), zlib.compress(b'["Other", 1]')]
)
def test_damaged_counts_are_none(stored: bytes) -> None:
    assert decode_counts(stored) is None


async def test_the_summary_of_a_finished_run_reads_no_rows(store: Store, make, monkeypatch) -> None:
    rows = [make.full_row(0), make.small_row(1), make.small_row(2)]
    await make.put(store, *rows)
    counted = shown(store.load("r1"))
    store.finish("r1", extras={}, counts=RunSummaryBuilder.of(rows, METRICS))

    def unread(*_: object) -> Row:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("ragstone.store.codec.decode_row", unread)
        found = shown(store.load("r1"))
    assert found == counted.replace('"partial": true', '"partial": false').replace(
        '"troubles": ["rows are missing"', '"troubles": ['
    ).replace("[, ", "[")
    with monkeypatch.context() as patch:
        patch.setattr("ragstone.store.codec.COUNTS_VERSION", COUNTS_VERSION + "1")
        assert shown(store.load("r1")) == found  # another version counts the rows
    resume(store, make.manifest("r1"))
    assert query(store, "SELECT run FROM counts") == []
