from collections.abc import Awaitable, Callable

from ragstone.evaluation.scoring import Transcript
from ragstone.judges.base import Judge
from ragstone.types.questions import Question, T


def asker(judge: Judge) -> Callable[[Question[T]], Awaitable[T]]:
    """Return what a metric asks its questions with."""
    transcript = Transcript(judge)

    async def ask(question: Question[T]) -> T:
        return (await transcript.reply(question)).value

    return ask
