"""Writes test questions from documents, and keeps those that a judge verifies.

Candidates are written in waves: as many as are missing of each type, from chunks that a sampler
chooses so that every document gets about the same number. The drafts of a wave are verified at the
same time, and are accepted at its end in the order of their numbers. So what counts as a
repetition, and how many questions a document has, does not depend on which reply came first.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import cycle, takewhile
from os import PathLike
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from ragstone._internal.concurrency import gather, run_sync, worker_pool
from ragstone._internal.fields import is_object
from ragstone._internal.files import write_file, write_text
from ragstone._internal.rate_limit import Budget
from ragstone._internal.sentences import QuoteFinder, find_in, split_sentences
from ragstone._internal.text import one_line
from ragstone.datasets.export import write_samples
from ragstone.errors import Cause, UnknownNameError, UsageError
from ragstone.evaluation.scoring import CircuitBreaker
from ragstone.judges.base import Judge, outcome_of
from ragstone.judges.factory import make_judge
from ragstone.judges.offline.words import guess_language, languages, split_forms
from ragstone.testsets import wording
from ragstone.testsets.documents import Chunk, ChunkIndex, Corpus, Span, read_documents, shown_texts
from ragstone.types.claim import DraftQuestion, FoundAnswer, Label
from ragstone.types.config import Plan
from ragstone.types.questions import (
    DetectAbstention,
    FindAnswer,
    Question,
    VerifyClaims,
    WriteQuestions,
)
from ragstone.types.reply import NOTHING_SPENT, Failure, Usage
from ragstone.types.sample import Sample

T = TypeVar("T")

Type: TypeAlias = Literal["single", "multi", "compare", "unanswerable"]

TYPES: Sequence[Type] = ("single", "multi", "compare", "unanswerable")
SHARES: Mapping[str, float] = MappingProxyType(dict(zip(TYPES, (50, 20, 10, 20), strict=True)))
PAIRED = ("multi", "compare")  # types that take two chunks
ATTEMPTS = 3  # candidates per requested question, at most
LARGEST = 8  # questions of one reply: more may not fit into it, or would repeat each other
PARTNERS = 5  # chunks that may be paired with another one, the most similar
LONGEST_QUERY = 1000  # characters of a chunk with which its partners are searched
OTHERS = 10  # chunks that are searched for another answer, the most similar
WHOLE = 50  # chunks that must not answer an unanswerable question
ROUNDS = 3  # how many other chunks with an answer are looked for
EVIDENCE = 12_000  # characters of the texts in one `evidence` tag; a cell of Excel has up to 32,767
AVOIDED = 10  # queries of the same chunks that are not to be written again, at most
NO_REPLY, OVER_BUDGET = "without a reply", "over budget"  # reasons that are not about the question
KINDS = (WriteQuestions.kind, FindAnswer.kind, VerifyClaims.kind, DetectAbstention.kind)
ASSUMED = "A sentence of a dozen words or so states a fact of the documents."


def parse_types(text: str) -> Mapping[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (word.strip() for word in part.partition("="))
        if name in shares:
            raise UsageError(f"types {text}: {name} is there twice")
        try:
            shares[name] = float(value)
        except ValueError:
            shares[name] = math.nan
    return shares


@dataclass(frozen=True)
class QuestionRequest:
    """What to generate.

    Attributes:
        n: the number of questions.
        types: type -> share; any positive numbers.
        brief: what the questions are about, or for.
        personas, languages: who asks, and in which language; they take turns.
    """

    n: int
    types: Mapping[str, float] = field(default_factory=lambda: SHARES)
    brief: str = ""
    personas: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"the number of questions must be 1 or more, got {self.n}")
        for name, share in self.types.items():
            if name not in SHARES:
                raise UnknownNameError("type of question", name, SHARES)
            if not 0 <= share < math.inf:
                raise UsageError(
                    f"the share of {name} must be a number from 0; write single=40,multi=20"
                )
        if not sum(self.types.values()):
            raise UsageError("the shares of the types add up to 0; give one type more than 0")

    @property
    def counts(self) -> Mapping[str, int]:
        """Type -> how many questions of it are requested (largest remainders)."""
        total = sum(self.types.values())
        exact = {name: self.n * self.types.get(name, 0) / total for name in SHARES}
        counts = {name: int(value) for name, value in exact.items()}
        left = self.n - sum(counts.values())
        for name in sorted(exact, key=lambda name: counts[name] - exact[name])[:left]:
            counts[name] += 1
        return counts

    def missing(self, questions: Iterable["VerifiedQuestion"]) -> Mapping[str, int]:
        """Return type -> how many questions are missing beside these."""
        made = Counter[str](question.candidate.type for question in questions)
        return {name: n - made[name] for name, n in self.counts.items() if n > made[name]}


@dataclass(frozen=True)
class Candidate:
    number: int  # questions are accepted in this order
    type: Type
    chunks: tuple[Chunk, ...]
    persona: str = ""
    language: str = ""


@dataclass(frozen=True)
class VerifiedQuestion:
    """A question that was kept.

    Attributes:
        relevant: the chunks that answer it.
        spans: the verbatim evidence; of an unanswerable question, what comes closest.
        leak: the share of its rare words that its chunks have.
    """

    candidate: Candidate
    query: str
    reference: str
    claims: tuple[str, ...]
    relevant: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    leak: float | None = None


@dataclass(frozen=True)
class Rejected:
    candidate: Candidate
    reason: str
    detail: str = ""
    draft: DraftQuestion | None = None

    @property
    def query(self) -> str:
        return self.draft.query if self.draft else ""


@dataclass(frozen=True)
class Generated:
    """What was generated.

    Attributes:
        empty: the documents without an accepted question.
        stopped: why it stopped early; None if it did not.
    """

    request: QuestionRequest
    corpus: Corpus = field(repr=False, compare=False)
    questions: tuple[VerifiedQuestion, ...]
    rejected: tuple[Rejected, ...]
    empty: tuple[str, ...]
    usage: Usage
    stopped: str | None = None

    @property
    def samples(self) -> list[Sample]:
        """The questions as rows of a data set.

        Relevant chunks have grade 1. The relevance of an unanswerable question is missing, so that
        retrieval metrics do not score it. Tags are `type`, `source`, `language`, `persona`,
        `wording_leak` (a share) and `evidence` (JSON).
        """
        samples: list[Sample] = []
        for number, question in enumerate(self.questions, 1):
            candidate, leak = question.candidate, question.leak
            tags: dict[str, str | float | None] = {
                "type": candidate.type,
                "source": ", ".join(dict.fromkeys(span.document for span in question.spans)),
                "language": candidate.language or query_language(question.query),
                "persona": candidate.persona,
                "wording_leak": None if leak is None else round(leak, 2),
                "evidence": evidence_text(question.spans, self.corpus),
            }
            samples.append(
                Sample(
                    id=f"q{number}",
                    query=question.query,
                    reference=question.reference,
                    reference_claims=question.claims or None,
                    relevance={chunk.id: 1.0 for chunk in question.relevant} or None,
                    tags={tag: value for tag, value in tags.items() if value not in (None, "")},
                )
            )
        return samples

    @property
    def complete(self) -> bool:
        """Whether there are as many questions of each type as requested."""
        return not self.missing

    @property
    def missing(self) -> Mapping[str, int]:
        """Type -> how many questions are missing."""
        return self.request.missing(self.questions)

    @property
    def reasons(self) -> Mapping[str, int]:
        """Why candidates were rejected -> how many, the most frequent first."""
        return dict(Counter(rejected.reason for rejected in self.rejected).most_common())

    def __str__(self) -> str:
        made = f"{len(self.questions):,} of {self.request.n:,}"
        if self.complete:
            return made
        short = ", ".join(f"{number:,} {name}" for name, number in self.missing.items())
        why = ", ".join(f"{number:,} {reason}" for reason, number in self.reasons.items())
        parts = [f"{made}: {why}" if why else made, f"missing: {short}", self.stopped]
        return "; ".join(filter(None, parts))


def query_language(query: str) -> str:
    return guess_language(query, split_forms(query)).name


def evidence_text(spans: Sequence[Span], corpus: Corpus) -> str:
    """Return spans as JSON, with the beginning of their texts."""
    longest = EVIDENCE // len(spans)
    places = [span.to_dict(corpus) | {"text": span.text(corpus)[:longest]} for span in spans]
    return json.dumps(places, ensure_ascii=False)


def generate_questions(
    docs: str | PathLike[str] | Iterable[str | PathLike[str]] | Corpus,
    request: QuestionRequest,
    *,
    judge: str | Judge,
    concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
) -> Generated:
    """Write a test set from documents; a question is kept only if a judge verifies it.

    Replies are cached as by `ragstone.evaluate`: the same call continues after an interruption.

    Args:
        docs: a folder, files, or documents that were read before.
        request: what to generate.
        judge: an LLM, or its name, such as `openai:gpt-4o-mini`; it writes and verifies.
        concurrency: how many candidates are written at once.
        max_calls: a limit of a judge that is given by its name; what is verified so far is kept.
        max_cost: the same in US dollars.

    Raises:
        UsageError: the documents cannot be read, or the judge does not write questions.
    """
    corpus = docs if isinstance(docs, Corpus) else read_documents(docs)
    plan = Plan() if isinstance(judge, Judge) else Plan.of({"judge": judge})
    budget = Budget(max_calls, max_cost)
    if not isinstance(judge, Judge):
        judge = make_judge(plan, asked=[KINDS], budget=budget)
    check_takes(judge)
    generator = Generator(ChunkIndex(corpus), judge, request, plan=plan)
    run_sync(partial(generator.run, concurrency=concurrency, spent=lambda: budget.spent))
    return generator.result(stopped=budget.spent)


def check_takes(judge: Judge) -> None:
    if refused := [kind for kind in KINDS if not judge.takes(kind)]:
        raise UsageError(
            f"the judge {judge.name} cannot write and verify questions ({', '.join(refused)}), "
            "which needs a language model; name one, such as openai:gpt-4o-mini, or check "
            "questions that you have with `ragstone questions check`, which needs none"
        )


def _random(*seed: object) -> Random:
    return Random("\n".join(map(str, seed)))  # noqa: S311 - no secret


class ChunkSampler:
    """Chooses the chunks of each candidate, so that all documents get about the same number."""

    def __init__(self, index: ChunkIndex, request: QuestionRequest) -> None:
        self._index, self._seed = index, request.seed
        self._personas = cycle(request.personas or ("",))
        self._languages = cycle(request.languages or ("",))
        self._left = {name: ATTEMPTS * n for name, n in request.counts.items()}
        shuffled = [
            (name, [*chunks]) for name, chunks in index.corpus.by_document.items() if chunks
        ]
        _random(self._seed).shuffle(shuffled)
        for name, chunks in shuffled:
            _random(self._seed, name).shuffle(chunks)
        self._chunks = dict(shuffled)
        self._most = ATTEMPTS * max(1, math.ceil(request.n / max(1, len(shuffled))))
        self.candidates = 0
        self.tried: Counter[str] = Counter()  # candidates that began with a document
        self.accepted: Counter[str] = Counter()
        self._pending: Counter[str] = Counter()

    def wave(self, missing: Mapping[str, int]) -> list[Candidate]:
        # of a chunk, at most LARGEST are in a wave: later ones avoid the queries of earlier ones
        self._pending.clear()
        wave: list[Candidate] = []
        for kind in TYPES:
            for _ in range(min(missing.get(kind, 0), self._left[kind])):
                if (chunks := self._draw(kind)) is None:
                    break
                persona, language = next(self._personas), next(self._languages)
                wave.append(Candidate(self.candidates, kind, chunks, persona, language))
                self.candidates += 1
                self._left[kind] -= 1
        return wave

    def _draw(self, kind: Type) -> tuple[Chunk, ...] | None:
        """Return the next chunk of the document with the fewest questions, and its partner."""
        names = [
            name
            for name, chunks in self._chunks.items()
            if self.tried[name] < self._most and self._pending[name] < LARGEST * len(chunks)
        ]
        every = self._index.corpus.chunks
        if not names or (kind in PAIRED and len(every) < 2):
            return None
        name = min(names, key=lambda n: (self.accepted[n] + self._pending[n], self.tried[n]))
        turn = self.tried[name]
        chunk = self._chunks[name][turn % len(self._chunks[name])]
        self.tried[name] += 1
        self._pending[name] += 1
        if kind not in PAIRED:
            return (chunk,)
        # more than needed: some are of the same document, and one is the chunk itself
        similar = self._index.search(chunk.text[:LONGEST_QUERY], 4 * PARTNERS)
        others = [other for other in similar if other.id != chunk.id]
        apart = [other for other in others if other.document != chunk.document]
        near = (apart if kind == "compare" else []) or others
        near = near[:PARTNERS] or [other for other in every if other.id != chunk.id]
        return chunk, _random(self._seed, chunk.id, turn).choice(near)


def grouped(candidates: Sequence[Candidate]) -> Iterable[list[Candidate]]:
    """Return the candidates that one reply writes together."""
    groups: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        ids = tuple(chunk.id for chunk in candidate.chunks)
        key = candidate.type, ids, candidate.persona, candidate.language
        groups.setdefault(key, []).append(candidate)
    return groups.values()


@dataclass(eq=False)
class VerificationError(Exception):
    reason: str
    detail: str = ""
    cause: Cause | None = None  # if the judge did not answer


def quoted(answer: FoundAnswer) -> list[int]:
    return [evidence.context for evidence in answer.evidence if evidence.verified]


class QuestionVerifier:
    """Asks a judge about questions and chunks; a VerificationError is raised without a reply."""

    def __init__(
        self, index: ChunkIndex, judge: Judge, breaker: CircuitBreaker | None = None
    ) -> None:
        self.index, self.judge, self.breaker = index, judge, breaker
        self.usage = NOTHING_SPENT

    async def ask(self, question: Question[T]) -> T:
        if self.breaker and self.breaker.reason:
            raise VerificationError(NO_REPLY, self.breaker.reason)
        outcome = await outcome_of(self.judge, question)
        self.usage += outcome.usage
        failure = outcome if isinstance(outcome, Failure) else None
        if self.breaker:
            self.breaker.add({failure and failure.cause}, failure and failure.message)
        if isinstance(outcome, Failure):
            raise VerificationError(
                OVER_BUDGET if outcome.cause is Cause.BUDGET else NO_REPLY,
                f"{question.kind}: {outcome.cause}: {one_line(outcome.message, 300)}",
                outcome.cause,
            )
        # some checks need an answer, others that there is none: a split panel is neither
        if isinstance(outcome.value, FoundAnswer) and outcome.value.split:
            raise VerificationError(
                "judges disagree", f"{question.kind}: as many found an answer as not"
            )
        return outcome.value

    def nearest(self, query: str, listed: Sequence[Chunk] = ()) -> list[Chunk]:
        """Return the chunks that must not answer an unanswerable query."""
        every = (*listed, *self.index.search(query, WHOLE), *self.index.corpus.chunks)
        return list({chunk.id: chunk for chunk in every}.values())[: max(WHOLE, len(listed))]

    async def find(self, query: str, chunks: Sequence[Chunk]) -> tuple[Chunk, str] | None:
        """Return the chunk that the judge quotes for an answer in chunks, and the answer."""
        if not chunks:
            return None
        answer = await self.ask(FindAnswer(query=query, contexts=shown_texts(chunks)))
        first = next(iter(quoted(answer)), 0)
        return (chunks[first], answer.answer) if answer.found else None

    async def other_answers(
        self, query: str, claims: Sequence[str], known: Sequence[Chunk]
    ) -> list[Chunk]:
        left = self.index.search(query, OTHERS, without=known)
        others: list[Chunk] = []
        for _ in range(ROUNDS):
            if (found := await self.find(query, left)) is None:
                break
            chunk = found[0]
            left.remove(chunk)
            texts = shown_texts([chunk])
            asked = VerifyClaims(query=query, claims=tuple(claims), contexts=texts)
            if all(verdict.label is Label.SUPPORTED for verdict in await self.ask(asked)):
                others.append(chunk)
        return others


class Generator:
    """Generates questions; `result` is available at any time, also after an interruption."""

    def __init__(
        self, index: ChunkIndex, judge: Judge, request: QuestionRequest, *, plan: Plan | None = None
    ) -> None:
        self.index, self.request = index, request
        self._judge, self._verifier = judge, QuestionVerifier(index, judge)
        self._breaker = CircuitBreaker(plan or Plan())
        self._sampler = ChunkSampler(index, request)
        self._decided: list[VerifiedQuestion | Rejected] = []
        self._accepted: list[VerifiedQuestion] = []
        self._rejected: list[Rejected] = []
        self._queries: defaultdict[str, list[str]] = defaultdict(list)
        self._by_term: defaultdict[str, list[str]] = defaultdict(list)

    async def run(
        self,
        *,
        concurrency: int = 8,
        spent: Callable[[], str | None] = lambda: None,
        on_candidate: Callable[[int, int], None] = lambda _done, _of: None,
    ) -> None:
        """Generate until the budget is `spent`; report each decided candidate of a wave."""

        def stopped() -> str | None:
            return spent() or self._breaker.reason

        async with self._judge:
            while not stopped():
                wave = self._sampler.wave(self.request.missing(self._accepted))
                if not wave:
                    break
                groups = takewhile(lambda _: not stopped(), grouped(wave))
                async with worker_pool(groups, self._write, concurrency=concurrency) as done:
                    async for _ in done:
                        on_candidate(len(self._decided), len(wave))
                self._settle()

    def result(self, *, stopped: str | None = None) -> Generated:
        self._settle()
        questions = sorted(self._accepted, key=lambda each: TYPES.index(each.candidate.type))
        documents = {span.document for question in questions for span in question.spans}
        corpus, usage, why = (
            self.index.corpus,
            self._verifier.usage,
            stopped or self._breaker.reason,
        )
        empty = tuple(name for name in corpus.documents if name not in documents)
        kept, rejected = tuple(questions), tuple(self._rejected)
        return Generated(self.request, corpus, kept, rejected, empty, usage, why)

    def _settle(self) -> None:
        """Accept what is verified, in the order of the numbers, unless it repeats another."""
        for decision in sorted(self._decided, key=lambda each: each.candidate.number):
            candidate, query = decision.candidate, decision.query
            for chunk in candidate.chunks if query else ():
                self._queries[chunk.id].append(query)
            if isinstance(decision, VerifiedQuestion) and (same := self._repeated(query)):
                draft = DraftQuestion(query=query, reference=decision.reference)
                decision = Rejected(candidate, "duplicate", f"of {same!r}", draft)
            if isinstance(decision, Rejected):
                self._rejected.append(decision)
                continue
            self._accepted.append(decision)
            self._sampler.accepted[candidate.chunks[0].document] += 1
            for term in self._rarest(query):
                self._by_term[term].append(query)
        self._decided.clear()

    def _rarest(self, query: str) -> Sequence[str]:
        # any query may have terms that no chunk has: they come last
        return wording.rarest_terms(query, lambda term: self.index.frequency(term) or math.inf)

    def _repeated(self, query: str) -> str | None:
        """Return an accepted query that is nearly the same."""
        near = {other: None for term in self._rarest(query) for other in self._by_term[term]}
        return wording.near_duplicate(query, near, self.index)

    def _reject(
        self, candidate: Candidate, error: VerificationError, draft: DraftQuestion | None = None
    ) -> None:
        self._decided.append(Rejected(candidate, error.reason, error.detail, draft))
        self._breaker.add({error.cause}, error.detail)

    async def _write(self, group: Sequence[Candidate]) -> None:
        first = group[0]
        avoid = dict.fromkeys(query for chunk in first.chunks for query in self._queries[chunk.id])
        question = WriteQuestions(
            passages=shown_texts(first.chunks),
            type=first.type,
            count=len(group),
            brief="; ".join(filter(None, (first.persona, self.request.brief))),
            language=first.language,
            avoid=tuple(avoid)[-AVOIDED:],
        )
        try:
            drafts = await self._verifier.ask(question)
        except VerificationError as error:
            for candidate in group:
                self._reject(candidate, error)
            return
        few = VerificationError("not written", "the judge wrote fewer questions")
        for candidate in group[len(drafts) :]:
            self._reject(candidate, few)
        await gather(map(self._verify, group, drafts))

    async def _verify(self, candidate: Candidate, draft: DraftQuestion) -> None:
        try:
            verified = await self._verified(candidate, draft)
        except VerificationError as error:
            self._reject(candidate, error, draft)
        else:
            self._decided.append(verified)
            self._breaker.add({None}, None)

    async def _verified(self, candidate: Candidate, draft: DraftQuestion) -> VerifiedQuestion:
        """Return a draft that passes every check, the cheapest first."""
        query, reference, chunks = draft.query, draft.reference, candidate.chunks
        verifier, corpus = self._verifier, self.index.corpus
        unanswerable, paired = candidate.type == "unanswerable", candidate.type in PAIRED
        claims = () if unanswerable else draft.claims
        if not reference or not (unanswerable or claims):
            raise VerificationError("incomplete", "the reference or its claims are missing")
        self._check_wording(candidate, draft)
        spans = find_spans(draft, chunks)
        named = {number for number, _ in spans}
        if not named or (paired and len(named) < len(chunks)):
            raise VerificationError("quote not found", "a passage is not quoted")
        others: list[Chunk] = []
        if unanswerable:
            if not await verifier.ask(DetectAbstention(query=query, response=reference)):
                raise VerificationError("reference answers", reference)
            if found := await verifier.find(query, verifier.nearest(query)):
                chunk, answer = found
                seen = f"{chunk.id} has an answer: {one_line(answer, 200)}"
                raise VerificationError("answerable", seen)
        else:
            facts = reference, *claims
            texts = [f"{chunks[n].heading}\n{span.text(corpus)}".strip() for n, span in spans]
            verdicts = await verifier.ask(
                VerifyClaims(query=query, claims=facts, contexts=tuple(texts))
            )
            for fact, verdict in zip(facts, verdicts, strict=True):
                if verdict.label is not Label.SUPPORTED:
                    reason = f": {verdict.reason}" if verdict.reason else ""
                    raise VerificationError("unsupported", f"{verdict.label}: {fact!r}{reason}")
            answers = await verifier.ask(FindAnswer(query=query, contexts=(reference,)))
            if not answers.found:
                raise VerificationError("reference off topic", reference)
            for chunk in chunks if paired else ():
                if found := await verifier.find(query, [chunk]):
                    seen = f"{chunk.id} alone has an answer: {one_line(found[1], 200)}"
                    raise VerificationError("one span is enough", seen)
            others = await verifier.other_answers(query, claims, chunks)
            if others and paired:
                raise VerificationError("one span is enough", f"{others[0].id} answers it")
        relevant = () if unanswerable else (*chunks, *others)
        evidence = tuple(dict.fromkeys(span for _, span in spans))
        leak = wording.query_overlap(query, shown_texts(chunks), self.index)
        return VerifiedQuestion(candidate, query, reference, claims, relevant, evidence, leak)

    def _check_wording(self, candidate: Candidate, draft: DraftQuestion) -> None:
        if vague := wording.vague_wording(draft.query):
            raise VerificationError("vague wording", vague)
        if wording.answer_in_query(draft.query, draft.reference):
            raise VerificationError("answer in query", draft.reference)
        asked, language = candidate.language.lower(), query_language(draft.query)
        if asked in languages() and language not in ("", asked):
            raise VerificationError("wrong language", f"{language}, not {asked}")
        if same := self._repeated(draft.query):
            raise VerificationError("duplicate", f"of {same!r}")


def find_spans(draft: DraftQuestion, chunks: Sequence[Chunk]) -> list[tuple[int, Span]]:
    """Return where each quote is, as whole sentences, after the number of its chunk from 0."""
    spans: list[tuple[int, Span]] = []
    finders = [QuoteFinder(chunk.text) for chunk in chunks]
    for number, words in draft.quotes:
        if (found := find_in(finders, words, number and number - 1)) is None:
            raise VerificationError("quote not found", repr(one_line(words, 200)))
        n, position = found
        chunk, (start, end) = chunks[n], position
        for sentence in split_sentences(chunk.text):
            if sentence.start < position[1] and position[0] < sentence.end:
                start, end = min(start, sentence.start), max(end, sentence.end)
        spans.append((n, Span(chunk.document, chunk.start + start, chunk.start + end)))
    return spans


def planned_questions(
    index: ChunkIndex, request: QuestionRequest, *, most: bool
) -> Iterator[WriteQuestions | FindAnswer | VerifyClaims | DetectAbstention]:
    """Yield what a judge is asked if one candidate, or the `most`, per question is verified."""
    sampler = ChunkSampler(index, request)
    for _ in range(ATTEMPTS if most else 1):
        for group in grouped(sampler.wave(request.counts)):
            kind, passages = group[0].type, shown_texts(group[0].chunks)
            yield WriteQuestions(passages=passages, type=kind, count=len(group))
            for candidate in group:
                query = f"query {candidate.number}"
                nearest = shown_texts(index.search(passages[0][:LONGEST_QUERY], WHOLE))
                if kind == "unanswerable":
                    yield DetectAbstention(query=query, response=ASSUMED)
                    yield FindAnswer(query=query, contexts=nearest)
                    continue
                claims = tuple(f"{ASSUMED} {n}" for n in range(3))
                yield VerifyClaims(query=query, claims=claims, contexts=(f"{query} {ASSUMED}",) * 2)
                yield FindAnswer(query=query, contexts=(ASSUMED,))
                for text in passages if kind in PAIRED else ():
                    yield FindAnswer(query=query, contexts=(text,))
                yield FindAnswer(query=query, contexts=nearest[:OTHERS])


# The files.

CHUNK_FIELDS = "id text document title"
REJECTED_FIELDS = "reason detail type chunks"
RECORD_FIELDS = "ragstone n seed"  # what the JSON objects of generated files begin with


def write_dataset(samples: Sequence[Sample], path: Path, record: Mapping[str, object]) -> None:
    # the record is written before the file is moved into place: a data set is never without it
    def write(file: Path) -> None:
        write_samples(samples, file, suffix=path.suffix.lower())
        digest = sha256(file.read_bytes()).hexdigest()
        whole = {**record, "file": path.name, "sha256": digest}
        write_text(provenance_path(path), json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    write_file(path, write)


def write_rejected(rejected: Iterable[Rejected], path: Path) -> None:
    rows = (
        {
            "reason": one.reason,
            "detail": one.detail,
            "type": one.candidate.type,
            "chunks": [chunk.id for chunk in one.candidate.chunks],
            **(one.draft.model_dump(mode="json") if one.draft else {}),
        }
        for one in rejected
    )
    _write_lines(rows, path)


def write_chunks(chunks: Sequence[Chunk], path: Path) -> None:
    _write_lines(
        ({"id": c.id, "text": c.text, "document": c.document, "title": c.heading} for c in chunks),
        path,
    )


def _write_lines(rows: Iterable[Mapping[str, object]], path: Path) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def provenance_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def check_generated_by_us(path: Path | None, fields: str) -> None:
    if path is None or not path.exists():
        return
    with suppress(OSError, ValueError):
        first: object = json.JSONDecoder().raw_decode(path.read_text(encoding="utf-8"))[0]
        if is_object(first) and " ".join(first).startswith(fields):
            return
    raise UsageError(f"{path} exists, and was not generated; choose another path, or delete it")


def check_replaceable(path: Path) -> int:
    """Return the number of questions of a file that was generated and not changed since, or 0."""
    if not path.exists():
        return 0
    with suppress(OSError, ValueError, TypeError, KeyError):
        record = json.loads(provenance_path(path).read_text(encoding="utf-8"))
        if record["sha256"] == sha256(path.read_bytes()).hexdigest():
            return int(record["questions"])
    raise UsageError(
        f"{path} exists, and was not generated or was changed since; choose another file with -o, "
        "or delete it"
    )
