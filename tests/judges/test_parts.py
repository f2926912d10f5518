import pytest

from ragstone.errors import Cause
from ragstone.judges.batching import joined
from ragstone.types.reply import Failure, Reply, Usage

THREE = Usage(calls=3)


def test_parts_come_to_one_reply_with_all_that_they_tell() -> None:
    parts = [
        Reply(1, notes=("a", "b"), raw="one"),
        Reply(2, notes=("b",), attempts=2),
        Reply(3, raw="three"),
    ]
    reply = joined(parts, sum, THREE)
    assert reply == Reply(6, THREE, ("a", "b"), raw="one\n\nthree", attempts=2)


@pytest.mark.parametrize("final", [True, False])
def test_the_whole_is_final_if_all_parts_are(final: bool) -> None:
    reply = joined([Reply(1), Reply(2, final=final)], sum, THREE)
    assert isinstance(reply, Reply)
    assert reply.final is final


def test_one_failed_part_fails_the_whole_with_all_that_was_written() -> None:
    failed = Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=1))
    whole = joined([Reply(1, raw="one"), failed, Reply(3, raw="three")], sum, THREE)
    assert whole == Failure(Cause.TIMEOUT, "too late", raw="one\n\nthree", usage=THREE)
