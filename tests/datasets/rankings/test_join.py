from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.rankings.join import Batch, Judgments, matched
from ragstone.datasets.rankings.source import Problems, Spans, Texts
from ragstone.errors import InputError
from ragstone.types.rankings import Rankings

documents = st.sampled_from([*"abcdefghij", "doc-with-a-long-name", "文書"])
lists = st.lists(documents, unique=True, max_size=9)
grades = st.dictionaries(documents, st.integers(-1, 3).map(float), max_size=7)
queries = st.lists(st.tuples(lists, grades), min_size=1, max_size=8)


def problems() -> Problems:
    return Problems(Path(__file__))


def batch_of(rankings: dict[str, list[str]]) -> Batch:
    sizes = np.array([len(ids) for ids in rankings.values()])
    texts = Texts.of([each for ids in rankings.values() for each in ids])
    lines = np.arange(1, len(texts) + 1)
    return Batch(tuple(rankings), Spans(sizes), texts, texts.hashes(), None, lines)


def judged_of(relevance: dict[str, dict[str, float]], noted: Problems) -> Judgments:
    sizes = np.array([len(known) for known in relevance.values()])
    texts = Texts.of([document for known in relevance.values() for document in known])
    grades = np.array([grade for known in relevance.values() for grade in known.values()])
    batch = Batch.of(list(relevance), sizes, texts, grades, np.arange(len(texts)))
    return Judgments.of([batch], noted)


def rankings_of(batch: Batch, judged: Judgments, depth: int | None = None) -> list[Rankings]:
    noted = problems()
    found = [rankings for _, rankings in matched(batch, judged, noted, depth=depth)]
    noted.raise_found()
    return found


@pytest.mark.parametrize("collide", [0, 2**63 - 1, 2**64 - 1, None])
@given(pairs=queries, depth=st.sampled_from([None, 1, 3, 20]))
def test_what_is_matched_is_what_lists_in_memory_come_to(
    collide: int | None, pairs: list[tuple[list[str], dict[str, float]]], depth: int | None
) -> None:
    """Also where hashes are the same for all documents, or for many."""
    batch = batch_of({f"q{number}": ids for number, (ids, _) in enumerate(pairs)})
    judged = judged_of({f"q{number}": known for number, (_, known) in enumerate(pairs)}, problems())
    if collide is not None:
        mask = np.uint64(collide if collide in (0, 2**64 - 1) else 3)
        batch = replace(batch, hashes=batch.hashes & mask)
        judged = replace(judged, hashes=judged.hashes & mask)
    if collide == 2**64 - 1:
        batch = replace(batch, hashes=batch.hashes | mask)
        judged = replace(judged, hashes=judged.hashes | mask)
    [found] = rankings_of(batch, judged, depth)
    wanted = Rankings.of([ids for ids, _ in pairs], [known for _, known in pairs], depth=depth)
    for name in ("gains", "irrelevant", "best", "n_relevant", "n_irrelevant", "n_retrieved"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    assert list(found.ids) == [tuple(ids) for ids in wanted.ids]
    assert list(found.relevance) == list(wanted.relevance)


def test_queries_that_nobody_judged_are_left_out_and_their_copies_told() -> None:
    judged = judged_of({"q1": {"a": 1.0}}, problems())
    noted = problems()
    found = list(matched(batch_of({"q0": ["a"], "q1": ["b", "a"]}), judged, noted))
    assert [places.tolist() for places, _ in found] == [[0]]
    assert found[0][1].gains.tolist() == [[0, 1]]
    list(matched(batch_of({"q0": ["a", "b", "a"]}), judged, noted))
    with pytest.raises(InputError, match="line 3: document a of query q0 is already at line 1"):
        noted.raise_found()


@pytest.mark.parametrize("mask", [0, 2**64 - 1])
def test_a_document_that_comes_twice_is_reported_also_where_hashes_say_nothing(mask: int) -> None:
    judged = judged_of({"q": {"a": 1.0, "c": 0.0}}, problems())
    judged = replace(judged, hashes=judged.hashes & np.uint64(mask))
    batch = batch_of({"q": ["a", "b", "a", "d", "b"]})
    batch = replace(batch, hashes=batch.hashes & np.uint64(mask))
    with pytest.raises(InputError) as raised:
        rankings_of(batch, judged)
    assert [str(each).partition(" of ")[0] for each in raised.value.problems] == [
        "line 3: document a",
        "line 5: document b",
    ]


def test_many_queries_of_very_different_lengths_are_matched_in_blocks() -> None:
    rankings = {f"q{n}": [f"d{n}-{m}" for m in range(3 if n % 50 else 9000)] for n in range(200)}
    relevance = {query: {ids[-1]: 2.0} for query, ids in rankings.items()}
    judged = judged_of(relevance, problems())
    found = list(matched(batch_of(rankings), judged, problems()))
    assert len(found) > 3
    assert [place for places, _ in found for place in places] == list(range(len(rankings)))
    for places, ranked in found:
        for place, gains in zip(places, ranked.gains, strict=True):
            assert np.flatnonzero(gains).tolist() == [len(rankings[f"q{place}"]) - 1]
