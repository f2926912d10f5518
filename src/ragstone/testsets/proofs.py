"""Proofs about a question: what its judge is asked, and what the replies show."""

from collections.abc import Sequence
from typing import TypeVar

from ragstone._internal.text import one_line
from ragstone.errors import Cause
from ragstone.evaluation.scoring import CircuitBreaker
from ragstone.judges.base import Judge, outcome_of
from ragstone.testsets.documents import Chunk
from ragstone.testsets.index import ChunkIndex
from ragstone.types.claim import FoundAnswer, Label
from ragstone.types.questions import DetectAbstention, FindAnswer, Question, VerifyClaims
from ragstone.types.reply import NOTHING_SPENT, Failure

T = TypeVar("T")

OTHERS = 10
"""Chunks that are searched for another answer: those that share most rare words."""
WHOLE = 50
"""Chunks that must not answer an unanswerable question."""
ROUNDS = 3
"""How many other chunks with an answer are looked for."""
NO_REPLY, OVER_BUDGET = "without a reply", "over budget"
"""Reasons that are not about the question."""


class UnprovenError(Exception):
    """A proof failed: the reason in a few words, and details.

    Attributes:
        cause: why the judge did not answer; None if it did.
    """

    def __init__(self, reason: str, detail: str = "", cause: Cause | None = None) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.cause = reason, detail, cause


def shown_text(chunk: Chunk) -> str:
    """Return a chunk's text as a judge reads it: after its headings, unless it begins with them."""
    last = chunk.heading.rpartition(" > ")[2]
    return chunk.text if last in chunk.text[: len(last) + 10] else f"{chunk.heading}\n{chunk.text}"


def quoted(answer: FoundAnswer) -> list[int]:
    return [each.context for each in answer.evidence if each.verified]


class Prover:
    """Asks a judge for proofs, and adds up what they cost; a breaker stops it after failures."""

    def __init__(
        self, index: ChunkIndex, judge: Judge, breaker: CircuitBreaker | None = None
    ) -> None:
        self.index, self.judge, self.breaker = index, judge, breaker
        self.usage = NOTHING_SPENT

    async def ask(self, question: Question[T]) -> T:
        """Return the judge's reply.

        Raises:
            UnprovenError: the judge did not answer, or a panel is split on whether there is an
                answer: some proofs need one, others need that there is none.
        """
        if self.breaker and self.breaker.reason:
            raise UnprovenError(NO_REPLY, self.breaker.reason)
        outcome = await outcome_of(self.judge, question)
        self.usage += outcome.usage
        failure = outcome if isinstance(outcome, Failure) else None
        if self.breaker:
            self.breaker.add({failure and failure.cause}, failure and failure.message)
        if isinstance(outcome, Failure):
            raise UnprovenError(
                OVER_BUDGET if outcome.cause is Cause.BUDGET else NO_REPLY,
                f"{question.kind}: {outcome.cause}: {one_line(outcome.message, 300)}",
                outcome.cause,
            )
        if isinstance(outcome.value, FoundAnswer) and outcome.value.split:
            raise UnprovenError(
                "judges disagree", f"{question.kind}: as many found an answer as not"
            )
        return outcome.value

    async def check_support(self, claims: Sequence[str], texts: Sequence[str]) -> None:
        verdicts = await self.ask(VerifyClaims(claims=tuple(claims), contexts=tuple(texts)))
        for claim, verdict in zip(claims, verdicts, strict=True):
            if verdict.label is not Label.SUPPORTED:
                reason = f": {verdict.reason}" if verdict.reason else ""
                raise UnprovenError("unsupported", f"{verdict.label}: {claim!r}{reason}")

    async def check_answer(self, query: str, reference: str) -> None:
        found = await self.ask(FindAnswer(query=query, contexts=(reference,)))
        if not found.found:
            raise UnprovenError("reference off topic", reference)

    async def check_abstains(self, query: str, reference: str) -> None:
        if not await self.ask(DetectAbstention(query=query, response=reference)):
            raise UnprovenError("reference answers", reference)

    async def check_insufficient(self, query: str, chunk: Chunk) -> None:
        if found := await self.finds(query, [chunk]):
            answer = one_line(found[0], 200)
            raise UnprovenError("one span is enough", f"{chunk.id} alone has an answer: {answer}")

    async def finds(self, query: str, chunks: Sequence[Chunk]) -> tuple[str, Chunk] | None:
        if not chunks:
            return None
        found = await self.ask(FindAnswer(query=query, contexts=tuple(map(shown_text, chunks))))
        if not found.found:
            return None
        places = quoted(found)
        return found.answer or "", chunks[places[0] if places else 0]

    def nearest(self, query: str, listed: Sequence[Chunk] = ()) -> list[Chunk]:
        """Return the chunks that must not answer an unanswerable query: first the listed ones."""
        hits = (hit.chunk for hit in self.index.search(query, WHOLE))
        found = {chunk.id: chunk for chunk in (*listed, *hits, *self.index.corpus.chunks)}
        return list(found.values())[: max(WHOLE, len(listed))]

    async def check_unanswerable(self, query: str) -> None:
        if found := await self.finds(query, self.nearest(query)):
            answer, chunk = found
            raise UnprovenError("answerable", f"{chunk.id} has an answer: {one_line(answer, 200)}")

    async def other_answers(
        self, query: str, claims: Sequence[str], known: Sequence[Chunk]
    ) -> list[Chunk]:
        ids = {chunk.id for chunk in known}
        hits = self.index.search(query, OTHERS + len(known))
        left = [hit.chunk for hit in hits if hit.chunk.id not in ids][:OTHERS]
        found: list[Chunk] = []
        for _ in range(ROUNDS):
            if (answer := await self.finds(query, left)) is None:
                break
            chunk = answer[1]
            left = [each for each in left if each.id != chunk.id]
            verdicts = await self.ask(
                VerifyClaims(claims=tuple(claims), contexts=(shown_text(chunk),))
            )
            if all(verdict.label is Label.SUPPORTED for verdict in verdicts):
                found.append(chunk)
        return found
