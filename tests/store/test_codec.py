"""A finished run has the counts of its rows, so that its summary reads none of them."""

import json
import zlib
from dataclasses import replace
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from tests.store.conftest import METRICS, full_row, query, small_row

from ragstone.results.run import Run
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store import Store, resume
from ragstone.store.codec import (
    COUNTS_VERSION,
    Texts,
    column,
    decode_counts,
    decode_row,
    encode_counts,
    encode_row,
    query_fingerprint,
)
from ragstone.types.reply import Exchange, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

ANY_TEXT = st.text(st.characters(categories=None))  # halves of characters and NUL among them


@given(st.text(min_size=1).filter(str.strip), ANY_TEXT, st.floats(-1e300, 1e300), st.integers())
def test_any_texts_and_numbers_come_back(query: str, text: str, number: float, whole: int) -> None:
    tags = {"number": number, "whole": whole, "text": text}
    sample = Sample(id="q", query=query, response=text, tags=tags)
    row = Row(0, sample, scores={"m": Score.scored(number)}, notes=(text,))
    again = decode_row(encode_row(row))
    assert again == row or "\ud800" <= max(text) <= "\udfff"  # two halves make a character
    assert type(again.sample.tags["whole"]) is int


def test_without_a_transcript_no_text_of_a_reply_is_there(make: SimpleNamespace) -> None:
    row = make.full_row(0, "the reply")
    texts = encode_row(row, transcript=False)
    assert "the reply" not in texts.transcript
    again = decode_row(texts)
    assert again.usage == row.usage
    assert replace(again, exchanges=()) == replace(row, exchanges=())
    keys = [(exchange.key, exchange.kind) for exchange in row.exchanges]
    assert [(exchange.key, exchange.kind) for exchange in again.exchanges] == keys
    assert again.exchanges[1].outcome == replace(row.exchanges[1].outcome, returned=(), raw=None)


def test_what_is_not_stored_is_at_its_default(make: SimpleNamespace) -> None:
    body = json.loads(encode_row(make.full_row(3)).body)
    for name in ("failures", "calls", "blamed", "notes"):
        del body[name]
    del body["scores"]["hit@5"]["detail"], body["scores"]["hit@5"]["threshold"]
    exchange = {"key": "k", "kind": "explain", "outcome": {"value": "so"}, "latency_ms": 1.0}
    row = decode_row(Texts(json.dumps(body), json.dumps([exchange])))
    assert (row.index, row.notes, row.scores["hit@5"]) == (3, (), Score.scored(1))
    assert row.exchanges == (Exchange("k", "explain", Reply("so"), 1.0),)


def test_a_column_holds_what_a_database_takes() -> None:
    for text, held in (("q1", "q1"), ("ü 😀", "ü 😀"), ("a\0", "a\\x00"), ("\ud800", "\\ud800")):
        assert column(text) == held
    assert query_fingerprint("a") == query_fingerprint("a") != query_fingerprint("\ud800")


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


def test_damaged_counts_are_none() -> None:
    for stored in (b"", b"\x00\x11", zlib.compress(b"["), zlib.compress(b'["Other", 1]')):
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
