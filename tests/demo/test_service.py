import pytest

from ragstone.demo.service import WITHOUT_GUIDES, Mode, make_service
from ragstone.errors import UnknownNameError, UsageError

QUERY = "How long is the warranty of a new phone?"


def test_chat_looks_at_what_search_finds():
    service = make_service(noise=0.2, seed=7)
    answer = service.chat(QUERY, mode=Mode.RAG, top_k=3, score_threshold=0.3)
    assert answer.found == service.search(QUERY, top_k=3, score_threshold=0.3)


def test_without_passages_it_answers_in_general():
    answer = make_service().chat(QUERY, mode=Mode.LLM_ONLY, top_k=5, score_threshold=0.0)
    assert answer.response == WITHOUT_GUIDES
    assert answer.found == ()


def test_an_unknown_retriever_is_told():
    with pytest.raises(UnknownNameError, match="did you mean 'worse'"):
        make_service("worst")


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan")])
def test_noise_out_of_range_is_told(noise: float):
    with pytest.raises(UsageError, match="between 0 and 1"):
        make_service(noise=noise)
