from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.judge import Attempt
from ragstone.judges.llm.prompt import INCOMPLETE, REASONS, again, sections, source
from ragstone.types.reply import Failure


@each_case("reason", REASONS)
def test_every_reason_has_its_words(reason: str) -> None:
    said = again(reason)
    assert said.startswith("Your previous reply ")
    assert said.endswith(".")
    assert len(said.splitlines()) == 1
    assert said in source()


def test_no_two_reasons_have_the_same_words() -> None:
    assert len({again(reason) for reason in REASONS}) == len(REASONS)
    assert sections(source(), REASONS).keys() == set(REASONS)


def test_the_reasons_are_those_for_which_a_question_is_put_again() -> None:
    failures = (Attempt[object](Failure(cause, "", raw="")) for cause in Cause)
    assert {each.reason for each in failures} - {None} | {INCOMPLETE} == set(REASONS)
