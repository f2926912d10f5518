from ragstone.demo.corpus import Flaw
from ragstone.demo.questions import entries, planted, planted_in
from ragstone.demo.service import Mode, make_service


def answers() -> list[str]:
    service = make_service()
    return [
        service.chat(entry.query, mode=Mode.RAG, top_k=5, score_threshold=0.0).response
        for entry in entries()
    ]


def test_planted_errors_of_all_kinds_appear_in_the_answers():
    seen = {error for answer in answers() for error in planted_in(answer)}
    assert len(seen) >= 12
    assert {error.kind for error in seen} == set(Flaw)


def test_most_answers_have_no_planted_error():
    wrong = [answer for answer in answers() if planted_in(answer)]
    assert 0.15 <= len(wrong) / len(entries()) <= 0.45


def test_the_errors_of_an_answer_are_told_in_its_order():
    first, second = planted()[3], planted()[0]
    response = f"{first.sentence} The phone is blue. {second.sentence}"
    assert planted_in(response) == (first, second)


def test_what_the_manual_says_is_no_planted_error():
    assert all(not planted_in(error.truth) for error in planted())
    assert planted_in("") == ()
