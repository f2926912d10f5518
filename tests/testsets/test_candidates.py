from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.testsets.question_server import write_documents

from ragstone.errors import UsageError
from ragstone.testsets.candidates import (
    LARGEST,
    MOST,
    SHARES,
    ChunkSampler,
    counts_of,
    grouped,
    parse_types,
)
from ragstone.testsets.documents import read_documents
from ragstone.testsets.index import ChunkIndex

SHARE = st.floats(0, 1000)
SHARES_OF_ANY = st.fixed_dictionaries(dict.fromkeys(SHARES, SHARE)).filter(
    lambda shares: sum(shares.values()) > shares["noisy"]
)


@given(SHARES_OF_ANY, st.integers(1, 500))
def test_counts_add_up_and_are_near_their_shares(shares: dict[str, float], n: int) -> None:
    counts = counts_of(shares, n)
    assert sum(counts.values()) == n
    assert counts["noisy"] < n
    total = sum(shares.values())
    for name, number in counts.items():
        assert number >= 0
        if n > 1:
            assert abs(number - n * shares[name] / total) <= 1


def test_the_default_shares_of_a_hundred() -> None:
    assert counts_of(SHARES, 100) == {
        "single": 40, "multi": 20, "compare": 10, "unanswerable": 15, "noisy": 15,
    }  # fmt: skip
    assert counts_of(parse_types("single=2, multi=1"), 4) == {
        "single": 3, "multi": 1, "compare": 0, "unanswerable": 0, "noisy": 0,
    }  # fmt: skip


@each_case(
    ("text", "said"),
    [
        ("single=0,multi=0", "add up to 0"),
        ("sinlge=1", "did you mean 'single'"),
        ("single", "must be a number"),
        ("single=-1", "must be a number"),
        ("single=nan", "must be a number"),
        ("single=1,single=2", "twice"),
        ("noisy=1", "ragstone questions vary"),
        ("", "no type of question named ''"),
    ],
)
def test_what_is_no_list_of_types(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_types(text)


@pytest.fixture
def index(tmp_path: Path) -> ChunkIndex:
    return ChunkIndex(read_documents(write_documents(tmp_path, topics=6, parts=8)))


def test_every_document_has_its_share(index: ChunkIndex) -> None:
    counts = counts_of(SHARES, 100)
    sampler = ChunkSampler(index, counts, seed=3)
    wave = sampler.wave(counts)
    assert [each.number for each in wave] == list(range(85))
    firsts = Counter(each.chunks[0].document for each in wave)
    assert sorted(firsts.values()) == [14, 14, 14, 14, 14, 15]
    assert sum(map(len, grouped(wave))) == 85
    for each in wave:
        assert len({chunk.id for chunk in each.chunks}) == 1 + (each.type in ("multi", "compare"))
        if each.type == "compare":
            assert len({chunk.document for chunk in each.chunks}) == 2


def test_the_choice_depends_on_the_seed_only(index: ChunkIndex) -> None:
    counts = counts_of(SHARES, 30)
    one, same, other = (ChunkSampler(index, counts, seed=seed).wave(counts) for seed in (1, 1, 2))
    assert one == same != other


def test_documents_that_gave_nothing_do_not_use_up_all_candidates(index: ChunkIndex) -> None:
    counts = counts_of({"single": 1}, 12)
    sampler, waves = ChunkSampler(index, counts, seed=0), 0
    while wave := sampler.wave(counts):  # none is ever accepted
        waves += 1
        assert len(wave) <= 12
    assert (waves, sampler.candidates) == (MOST, MOST * 12)
    assert set(sampler.tried.values()) == {MOST * 2}


def test_one_chunk_makes_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("The only sentence of all documents.", encoding="utf-8")
    counts = counts_of({"single": 1, "multi": 1}, 4)
    wave = ChunkSampler(ChunkIndex(read_documents(tmp_path)), counts, seed=0).wave(counts)
    assert [each.type for each in wave] == ["single", "single"]
    assert [len(group) for group in grouped(wave)] == [2]


def test_one_reply_writes_a_few_questions_only(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("The only sentence of all documents.", encoding="utf-8")
    counts = counts_of({"single": 1}, 100)
    sampler = ChunkSampler(ChunkIndex(read_documents(tmp_path)), counts, seed=0)
    sizes = []
    while wave := sampler.wave(counts):
        sizes.append(len(wave))
    assert set(sizes[:-1]) == {LARGEST}
    assert sum(sizes) == MOST * 100
