from dataclasses import replace

import pytest

from ragstone.errors import Cause
from ragstone.judges.batching import MOST, SplitJudge, estimated_tokens
from ragstone.judges.scripted import ScriptedJudge
from ragstone.types.claim import Grade
from ragstone.types.questions import GradeContexts, GradeSentences
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

ROOM = 500
FACT = "Fact {} is known about the battery of this telephone."


def texts_of(question: GradeContexts | GradeSentences) -> tuple[str, ...]:
    return question.contexts if isinstance(question, GradeContexts) else question.sentences


def by_word(question: GradeContexts | GradeSentences) -> list[Grade]:
    """Call relevant what has the word; the reason says how each text begins."""
    return [Grade(relevant="right" in text, reason=text[:9]) for text in texts_of(question)]


def scripted(answer: object = by_word) -> ScriptedJudge:
    return ScriptedJudge({"grade_contexts": answer, "grade_sentences": answer})


def contexts(*texts: str) -> GradeContexts:
    return GradeContexts(query="q", answer="a", contexts=texts)


def long(first: int = 0, count: int = 30) -> str:
    return " ".join(FACT.format(number) for number in range(first, first + count))


async def graded(judge: ScriptedJudge, question: GradeContexts | GradeSentences) -> Reply:
    return await SplitJudge(judge, context_window=2 * ROOM).answer(question)


async def test_what_fits_is_one_call_as_it_is() -> None:
    judge, question = scripted(), contexts("right", "wrong")
    reply = await graded(judge, question)
    assert [grade.relevant for grade in reply.value] == [True, False]
    assert (judge.asked, reply.notes) == ([question], ())


async def test_nothing_to_grade_is_no_call() -> None:
    judge = scripted()
    assert (await graded(judge, contexts())).value == ()
    assert (await graded(judge, GradeSentences(query="q", sentences=()))).value == ()
    assert judge.asked == []


async def test_contexts_that_do_not_fit_together_are_graded_in_windows() -> None:
    judge = scripted()
    texts = [f"{n} {'right' if n % 2 else 'wrong'} {long(count=20)}" for n in range(5)]
    reply = await graded(judge, contexts(*texts))
    assert [grade.relevant for grade in reply.value] == [False, True, False, True, False]
    assert [grade.reason for grade in reply.value] == [text[:9] for text in texts]
    assert reply.notes == (f"the contexts were graded in {len(judge.asked)} windows",)
    assert reply.usage == Usage(calls=len(judge.asked))
    assert len(judge.asked) > 1
    for asked in judge.asked:
        assert (asked.query, asked.answer) == ("q", "a")
        assert sum(map(estimated_tokens, asked.contexts)) <= ROOM


async def test_a_long_context_is_graded_in_pieces_and_relevant_if_one_is() -> None:
    judge = scripted()
    late = f"{long(count=60)} This is right. {long(60)}"
    reply = await graded(judge, contexts("short", late, long(count=70), "right"))
    assert [grade.relevant for grade in reply.value] == [False, True, False, True]
    pieces = [text for asked in judge.asked for text in asked.contexts]
    assert len(pieces) > 4
    assert reply.value[1].reason in [piece[:9] for piece in pieces if "right" in piece]


async def test_equal_windows_are_asked_once() -> None:
    judge = scripted()
    text = long(count=35)
    reply = await graded(judge, contexts(text, text, text))
    assert (len(reply.value), len(judge.asked), reply.usage.calls) == (3, 1, 1)


async def test_sentences_are_graded_in_batches_that_fit() -> None:
    judge = scripted()
    sentences = tuple(f"{n} {'right' if n % 3 else 'wrong'}" for n in range(2 * MOST + 1))
    reply = await graded(judge, GradeSentences(query="q", sentences=sentences))
    assert [grade.relevant for grade in reply.value] == [n % 3 > 0 for n in range(2 * MOST + 1)]
    assert all(len(asked.sentences) <= MOST for asked in judge.asked)
    assert all(sum(map(estimated_tokens, asked.sentences)) <= ROOM for asked in judge.asked)
    assert reply.notes == ()


async def test_a_part_keeps_the_tags() -> None:
    judge = scripted()
    question = contexts(long(count=35), long(50, 35)).varied(tags=(("language", "German"),))
    await graded(judge, question)
    assert {asked.tags for asked in judge.asked} == {question.tags}


async def test_notes_costs_and_raw_replies_of_the_parts_are_joined() -> None:
    def answer(question: GradeContexts) -> Reply[tuple[Grade, ...]]:
        reply = question.reply(by_word(question), Usage(calls=2))
        return replace(reply, notes=("noted",), raw=question.contexts[0][:6], attempts=2)

    reply = await graded(scripted(answer), contexts(long(1, 35), long(2, 35)))
    assert reply.notes == ("noted", "the contexts were graded in 2 windows")
    assert (reply.usage, reply.attempts) == (Usage(calls=4), 2)
    assert reply.raw == "Fact 1\n\nFact 2"


async def test_one_part_that_fails_fails_the_whole_at_its_price() -> None:
    late = Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=3))

    def answer(question: GradeContexts) -> object:
        return late if question.contexts[0].startswith("Fact 2") else by_word(question)

    with pytest.raises(JudgeFailureError) as raised:
        await graded(scripted(answer), contexts(long(1, 35), long(2, 35)))
    failure = raised.value.failure
    assert (failure.cause, failure.message) == (Cause.TIMEOUT, "too late")
    assert failure.usage == Usage(calls=4)
