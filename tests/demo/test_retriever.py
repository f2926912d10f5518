import pytest

from ragstone.demo.corpus import corpus
from ragstone.demo.questions import Entry, entries
from ragstone.demo.retriever import Retriever, Variant

QUERY = "How long does the Tarn 4 take to charge from empty to 50 percent?"
ANSWERABLE = [entry for entry in entries() if entry.point_ids]


@pytest.fixture(scope="module")
def good() -> Retriever:
    return Retriever(corpus())


def ids(retriever: Retriever, entry: Entry, threshold: float = 0.0) -> list[int]:
    found = retriever.search(entry.query, score_threshold=threshold)
    return [place.passage.id for place in found]


def hit_and_mrr(retriever: Retriever) -> tuple[float, float]:
    """Hit@5 and MRR@5 over the questions that something answers."""
    first = [
        next((1 / rank for rank, found in enumerate(got, 1) if found in entry.point_ids), 0.0)
        for entry in ANSWERABLE
        for got in [ids(retriever, entry)]
    ]
    return sum(value > 0 for value in first) / len(first), sum(first) / len(first)


def test_the_right_passage_comes_first(good: Retriever):
    found = good.search(QUERY)
    assert found[0].passage.id == 101
    assert [place.score for place in found] == sorted((p.score for p in found), reverse=True)


def test_top_k_cuts_the_same_ranking(good: Retriever):
    assert good.search(QUERY, top_k=2) == good.search(QUERY, top_k=10)[:2]


def test_the_threshold_keeps_scores_at_and_above_it(good: Retriever):
    found = good.search(QUERY)
    mark = found[2].score
    assert list(good.search(QUERY, score_threshold=mark)) == [p for p in found if p.score >= mark]


def test_a_specific_question_scores_high_and_one_from_another_world_low(good: Retriever):
    assert good.search(QUERY)[0].score > 0.7
    strange = good.search("Which phone call did the baker make before the sourdough bread rose?")
    assert all(place.score < 0.4 for place in strange)


def test_most_answerable_questions_find_something_above_07(good: Retriever):
    above = sum(bool(good.search(entry.query, score_threshold=0.7)) for entry in ANSWERABLE)
    assert 0.7 <= above / len(ANSWERABLE) <= 0.95


def test_a_high_threshold_mostly_leaves_nothing_of_what_nothing_answers(good: Retriever):
    unanswerable = [entry for entry in entries() if not entry.point_ids]
    assert sum(bool(ids(good, entry, 0.7)) for entry in unanswerable) <= 1


def test_the_good_retriever_is_good_but_not_perfect(good: Retriever):
    hit, mrr = hit_and_mrr(good)
    assert 0.85 <= hit <= 0.96
    assert mrr < hit


def test_the_worse_retriever_is_clearly_worse(good: Retriever):
    hit, mrr = hit_and_mrr(good)
    worse_hit, worse_mrr = hit_and_mrr(Retriever(corpus(), variant=Variant.WORSE))
    assert worse_hit <= hit - 0.1
    assert worse_mrr <= mrr - 0.2


def test_noise_depends_on_the_seed_and_not_on_earlier_searches():
    one = Retriever(corpus(), noise=0.3, seed=1)
    expected = [one.search(entry.query) for entry in entries()]
    again = Retriever(corpus(), noise=0.3, seed=1)
    backwards = [again.search(entry.query) for entry in reversed(entries())]
    assert backwards[::-1] == expected
    other = Retriever(corpus(), noise=0.3, seed=2)
    assert [other.search(entry.query) for entry in entries()] != expected


def test_noise_moves_a_similarity_by_no_more_than_it_says(good: Retriever):
    noisy = Retriever(corpus(), noise=0.1, seed=3)
    plain = {place.passage.id: place.score for place in good.search(QUERY, top_k=50)}
    moved = {place.passage.id: place.score for place in noisy.search(QUERY, top_k=50)}
    assert plain.keys() == moved.keys()
    assert all(abs(plain[point] - moved[point]) <= 0.1001 for point in plain)
    assert all(0 <= score <= 1 for score in moved.values())
    assert plain != moved
