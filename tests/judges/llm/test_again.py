from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.judge import Attempt
from ragstone.judges.llm.prompt import INCOMPLETE, RETRY_REASONS, retry_source, retry_text, sections
from ragstone.types.reply import Failure


@each_case("reason", RETRY_REASONS)
def test_every_reason_has_its_words(reason: str) -> None:
    said = retry_text(reason)
    assert said.startswith("Your previous reply ")
    assert said.endswith(".")
    assert len(said.splitlines()) == 1
    assert said in retry_source()


def test_no_two_reasons_have_the_same_words() -> None:
    assert len({retry_text(reason) for reason in RETRY_REASONS}) == len(RETRY_REASONS)
    assert sections(retry_source(), RETRY_REASONS).keys() == set(RETRY_REASONS)


def test_the_reasons_are_those_for_which_a_question_is_put_again() -> None:
    failures = (Attempt[object](Failure(cause, "", raw="")) for cause in Cause)
    assert {each.reason for each in failures} - {None} | {INCOMPLETE} == set(RETRY_REASONS)
