import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.judge import Attempt, better_reply
from ragstone.judges.llm.prompt import INCOMPLETE
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict, Reply, Usage

ONE, TWO = Usage(calls=1, prompt_tokens=10), Usage(calls=2, retries=1, prompt_tokens=7)
CAME = (PartialVerdict(1, "SUPPORTED", Verdict(label=Label.SUPPORTED)),)
DOUBT = "no claim was found in: It is new."


def found(*texts: str, doubt: str | None = None, usage: Usage = ONE) -> Attempt[tuple[Claim, ...]]:
    reply = Reply(tuple(Claim(text=text) for text in texts), usage, ("a note",), raw="{}")
    return Attempt(reply, doubt)


def failed(cause: Cause, raw: str | None = "{", usage: Usage = ONE) -> Attempt[tuple[Claim, ...]]:
    message = f"{cause} of {'the wire' if raw is None else raw}"
    return Attempt(Failure(cause, message, CAME if raw else (), raw=raw, usage=usage))


MENDABLE = (Cause.REFUSAL, Cause.TRUNCATED, Cause.MALFORMED, Cause.COUNT_MISMATCH)


@each_case("cause", Cause)
def test_only_what_was_written_can_be_written_better(cause: Cause) -> None:
    assert failed(cause).reason == (str(cause) if cause in MENDABLE else None)


def test_a_reply_that_broke_off_on_the_wire_had_its_tries() -> None:
    assert failed(Cause.TRUNCATED, raw=None).reason is None
    assert failed(Cause.TRUNCATED, raw="").reason == "truncated"


def test_a_reply_is_asked_for_again_where_it_is_in_doubt() -> None:
    assert (found("a").reason, found("a", doubt=DOUBT).reason) == (None, INCOMPLETE)
    assert (found("a").reply is None, failed(Cause.REFUSAL).reply) == (False, None)


@pytest.mark.parametrize("first", [failed(Cause.MALFORMED), found("a", doubt=DOUBT)])
def test_a_second_reply_without_a_doubt_counts(first: Attempt[tuple[Claim, ...]]) -> None:
    reply = better_reply(first, found("b", usage=TWO))
    assert [claim.text for claim in reply.value] == ["b"]
    assert (reply.usage, reply.attempts) == (ONE + TWO, 2)
    assert (reply.notes, reply.raw, reply.final) == (("a note",), "{}", True)


@pytest.mark.parametrize(
    ("first", "second", "texts"),
    [
        (["a"], ["b", "c"], ["b", "c"]),
        (["a", "b"], ["c"], ["a", "b"]),
        (["a"], ["b"], ["a"]),
        ([], [], []),
    ],
)
def test_of_two_in_doubt_the_fuller_one_counts(
    first: list[str], second: list[str], texts: list[str]
) -> None:
    reply = better_reply(found(*first, doubt=DOUBT), found(*second, doubt=DOUBT))
    assert [claim.text for claim in reply.value] == texts
    assert (reply.notes, reply.final) == (("a note", f"{DOUBT} (asked twice)"), True)


def test_a_doubtful_second_reply_is_better_than_none() -> None:
    reply = better_reply(failed(Cause.REFUSAL), found(doubt=DOUBT))
    assert (reply.value, reply.final) == ((), True)
    assert reply.notes[-1].endswith("(asked twice)")


@each_case("cause", Cause)
@each_case("raw", ["{", None])
def test_a_doubt_is_final_only_where_something_came_back(cause: Cause, raw: str | None) -> None:
    second = failed(cause, raw, TWO)
    reply = better_reply(found("a", doubt=DOUBT), second)
    how = "asked twice" if second.reason else "asking again failed"
    assert (reply.notes, reply.final) == (("a note", f"{DOUBT} ({how})"), second.reason is not None)
    assert ([claim.text for claim in reply.value], reply.usage) == (["a"], ONE + TWO)


def test_of_two_failures_the_last_word_counts() -> None:
    with pytest.raises(JudgeFailureError) as raised:
        better_reply(failed(Cause.MALFORMED), failed(Cause.REFUSAL, "I cannot", TWO))
    assert raised.value.failure == Failure(
        Cause.REFUSAL, "refusal of I cannot", CAME, raw="I cannot", attempts=2, usage=ONE + TWO
    )


@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.BUDGET, Cause.TRUNCATED])
def test_what_came_back_to_the_first_survives_where_the_second_got_nothing(cause: Cause) -> None:
    with pytest.raises(JudgeFailureError) as raised:
        better_reply(failed(Cause.COUNT_MISMATCH), failed(cause, raw=None, usage=TWO))
    assert raised.value.failure == Failure(
        Cause.COUNT_MISMATCH,
        f"count_mismatch of {{; asking again failed: {cause} of the wire",
        CAME,
        raw="{",
        attempts=2,
        usage=ONE + TWO,
    )
