"""Writes test questions from documents, and keeps those that are proven.

Waves of candidates are written and proven at once, and accepted in their order: the result does
not depend on which reply came first.
"""

import itertools
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, takewhile
from os import PathLike
from random import Random
from typing import TypeAlias, TypeVar

from ragstone._internal.concurrency import finish_in_thread, together, working
from ragstone._internal.rate_limit import Budget
from ragstone._internal.sentences import QuoteFinder, split_sentences
from ragstone._internal.text import one_line
from ragstone.errors import Cause, UnknownNameError, UsageError
from ragstone.evaluation.scoring import CircuitBreaker
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.offline.matching import find_names
from ragstone.judges.offline.words import split_words, stem, word_lists
from ragstone.testsets.candidates import (
    LONGEST_QUERY,
    MOST,
    NOISY,
    PAIRED,
    SHARES,
    UNANSWERABLE,
    Candidate,
    ChunkSampler,
    check_shares,
    counts_of,
    grouped,
)
from ragstone.testsets.documents import Chunk, Corpus, Span, read_documents
from ragstone.testsets.index import ChunkIndex
from ragstone.testsets.noise import MODEL_FREE, query_language
from ragstone.testsets.proofs import OTHERS, WHOLE, Prover, UnprovenError, shown_text
from ragstone.testsets.wording import (
    answer_in_query,
    near_duplicate,
    rarest_terms,
    topic_terms,
    vague_wording,
    wording_leak,
)
from ragstone.types.claim import DraftQuestion
from ragstone.types.config import Plan
from ragstone.types.questions import (
    DetectAbstention,
    FindAnswer,
    RephraseQuery,
    VerifyClaims,
    WriteQuestions,
)
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample

T = TypeVar("T")

PARAPHRASE = "paraphrase"
NOISES = (*MODEL_FREE, PARAPHRASE)
"""Kinds of noise."""
KINDS = (WriteQuestions.kind, FindAnswer.kind, VerifyClaims.kind, DetectAbstention.kind)
"""The kinds of question that a judge must take; RephraseQuery too, for paraphrases."""
ASSUMED = "A sentence of a dozen words or so states a fact of the documents."
FIGURE = re.compile(r"\d+")
EVIDENCE = 12_000
"""Characters of the texts in one `evidence` tag, at most: a cell of Excel has up to 32,767."""
AVOIDED = 10
"""Queries of the same chunks that are not to be written again, at most."""


@dataclass(frozen=True)
class QuestionRequest:
    """What to generate.

    Attributes:
        n: the number of questions.
        types: type -> share; any positive numbers.
        brief: what the questions are about, or for; the user's words.
        personas, languages: who asks, and in which language; they take turns.
        noises: the kinds of noise of noisy questions; they take turns.
    """

    n: int
    types: Mapping[str, float] = field(default_factory=lambda: SHARES)
    brief: str = ""
    personas: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    noises: tuple[str, ...] = NOISES
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n < 1:
            raise UsageError(f"the number of questions must be 1 or more, got {self.n}")
        check_shares(self.types)
        for noise in self.noises:
            if noise not in NOISES:
                raise UnknownNameError("kind of noise", noise, NOISES)
        if not self.noises and self.types.get(NOISY):
            raise UsageError("noisy questions need a kind of noise")
        noisy = self.counts[NOISY]
        most = (self.n - noisy) * len(self.noises)
        if noisy > most:
            raise UsageError(
                f"{noisy:,} noisy questions are asked for, but there can be {most:,}: one of each "
                "kind of noise for each other question; lower the share of noisy, or add a kind"
            )

    @property
    def counts(self) -> Mapping[str, int]:
        """Type -> how many questions of it are requested."""
        return counts_of(self.types, self.n)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of question that the judge must take."""
        rephrases = self.counts[NOISY] and PARAPHRASE in self.noises
        return (*KINDS, RephraseQuery.kind) if rephrases else KINDS


@dataclass(frozen=True)
class ProvenQuestion:
    """A question with its proofs.

    Attributes:
        relevant: the chunks that it was written from, and others that answer it; none if it is
            unanswerable.
        spans: the verbatim evidence; of an unanswerable question, what comes closest.
        base: for a noisy variant, the question that it varies; `noise` is how.
        leak: the share of its rare words that its chunks have.
    """

    candidate: Candidate
    query: str
    reference: str
    claims: tuple[str, ...]
    relevant: tuple[Chunk, ...]
    spans: tuple[Span, ...]
    leak: float | None = None
    base: "ProvenQuestion | None" = None
    noise: str | None = None

    @property
    def type(self) -> str:
        """Its type; `noisy` for a variant."""
        return NOISY if self.base else self.candidate.type


@dataclass(frozen=True)
class Rejected:
    """A candidate that was not accepted: why, in one of a few phrases, and the details."""

    candidate: Candidate
    reason: str
    detail: str = ""
    draft: DraftQuestion | None = None
    cause: Cause | None = None


Decision: TypeAlias = ProvenQuestion | Rejected
Asked: TypeAlias = WriteQuestions | FindAnswer | VerifyClaims | DetectAbstention | RephraseQuery


@dataclass(frozen=True)
class Generated:
    """What was generated.

    Attributes:
        questions: the accepted ones: of each type in the order of WRITTEN, then the noisy ones.
        rejected: the others, in the order of their numbers.
        empty: the documents without an accepted question.
        stopped: why it stopped early; None if it did not.
    """

    request: QuestionRequest
    corpus: Corpus = field(repr=False, compare=False)
    questions: tuple[ProvenQuestion, ...]
    rejected: tuple[Rejected, ...]
    empty: tuple[str, ...]
    usage: Usage
    stopped: str | None = None

    @property
    def samples(self) -> list[Sample]:
        """The questions as rows of a data set.

        Relevant chunks have grade 1. The relevance of an unanswerable question is missing, so that
        retrieval metrics do not score it. Tags are `type`, `source`,
        `language`, `persona`, `noise`, `variant_of` (a row's id), `wording_leak` (a share) and
        `evidence` (JSON).
        """
        ids = {each: f"q{number}" for number, each in enumerate(self.questions, 1)}
        found: list[Sample] = []
        for each, name in ids.items():
            tags: dict[str, str | float | None] = {
                "type": each.type,
                "source": ", ".join(dict.fromkeys(span.document for span in each.spans)),
                "language": each.candidate.language or query_language(each.query).name,
                "persona": each.candidate.persona,
                "noise": each.noise,
                "variant_of": each.base and ids[each.base],
                "wording_leak": None if each.leak is None else round(each.leak, 2),
                "evidence": evidence_text(each.spans, self.corpus),
            }
            sample = Sample(
                id=name,
                query=each.query,
                reference=each.reference,
                reference_claims=each.claims or None,
                relevance={chunk.id: 1.0 for chunk in each.relevant} or None,
                tags={tag: value for tag, value in tags.items() if value not in (None, "")},
            )
            found.append(sample)
        return found

    @property
    def complete(self) -> bool:
        """Whether there are as many questions of each type as requested."""
        return not self.missing

    @property
    def missing(self) -> Mapping[str, int]:
        """Type -> how many questions are missing."""
        made = Counter(each.type for each in self.questions)
        counts = self.request.counts.items()
        return {name: n - made[name] for name, n in counts if n > made[name]}

    @property
    def reasons(self) -> Mapping[str, int]:
        """Why candidates were rejected -> how many, the most frequent first."""
        return dict(Counter(each.reason for each in self.rejected).most_common())

    def __str__(self) -> str:
        made, n = len(self.questions), self.request.n
        if self.complete:
            return f"{made:,} of {n:,}"
        short = ", ".join(f"{number:,} {name}" for name, number in self.missing.items())
        why = ", ".join(f"{number:,} {reason}" for reason, number in self.reasons.items())
        parts = [f"{made:,} of {n:,}: {why}" if why else f"{made:,} of {n:,}", f"missing: {short}"]
        return "; ".join([*parts, self.stopped] if self.stopped else parts)


def evidence_text(spans: Sequence[Span], corpus: Corpus) -> str:
    """Return spans as JSON: document, start, end (exclusive) and the document's own text.

    Of long texts, only the beginning is there.
    """
    return json.dumps(
        [
            {
                "document": span.document,
                "start": span.start,
                "end": span.end,
                "text": span.text(corpus)[: EVIDENCE // len(spans)],
            }
            for span in spans
        ],
        ensure_ascii=False,
    )


def generate_questions(
    docs: str | PathLike[str] | Iterable[str | PathLike[str]] | Corpus,
    request: QuestionRequest,
    *,
    judge: str | Judge,
    concurrency: int = 8,
    max_calls: int | None = None,
    max_cost: float | None = None,
) -> Generated:
    """Write a test set from documents; each question is kept only with its proofs.

    Replies are cached as by `ragstone.evaluate`: the same call continues after an interruption.

    Args:
        docs: a folder, files, or documents that were read before.
        request: the number of questions, and their types.
        judge: an LLM, or its name, such as `openai:gpt-4o-mini`; it writes and proves.
        concurrency: how many candidates are written at once.
        max_calls: the most calls of a judge that is given by its name; then what is proven so far
            is returned.
        max_cost: the same in US dollars.

    Raises:
        UsageError: the documents cannot be read, or the judge does not write questions.
    """
    corpus = docs if isinstance(docs, Corpus) else read_documents(docs)
    plan = Plan() if isinstance(judge, Judge) else Plan.of({"judge": judge})
    budget = Budget(max_calls, max_cost)
    if not isinstance(judge, Judge):
        judge = make_judge(plan, asked=[request.kinds], budget=budget)
    check_takes(judge, request)
    generator = Generator(ChunkIndex(corpus), judge, request, plan=plan)
    run = partial(generator.run, concurrency=concurrency, spent=lambda: budget.spent)
    finish_in_thread(run)
    return generator.result(stopped=budget.spent)


def check_takes(judge: Judge, request: QuestionRequest) -> None:
    """Check that a judge takes all kinds of question of a request."""
    if refused := [kind for kind in request.kinds if not judge.takes(kind)]:
        raise UsageError(
            f"the judge {judge.name} does not take {', '.join(refused)}; name an LLM, such as "
            "openai:gpt-4o-mini"
        )


class Generator:
    """Generates questions; `result` is available at any time, also after an interruption.

    Args:
        index: the documents, and their chunks.
        judge: takes the kinds of question of `request.kinds`.
        plan: its limit on failures in a row applies.
    """

    def __init__(
        self, index: ChunkIndex, judge: Judge, request: QuestionRequest, *, plan: Plan | None = None
    ) -> None:
        self.index, self.request = index, request
        self._judge, self._prover = judge, Prover(index, judge)
        self._breaker = CircuitBreaker(plan or Plan())
        self._sampler = ChunkSampler(
            index,
            request.counts,
            seed=request.seed,
            personas=request.personas,
            languages=request.languages,
        )
        self._decided: list[Decision] = []
        self._accepted: list[ProvenQuestion] = []
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
        """Generate; stop before the next candidate if the budget is `spent`.

        `on_candidate` is called with the number of decided candidates, and of all of this wave.
        """

        def stopped() -> str | None:
            return spent() or self._breaker.reason

        async def decide(
            work: Callable[[T], Awaitable[None]], items: Iterable[T], size: int
        ) -> None:
            going = takewhile(lambda _: not stopped(), items)
            async with working(going, work, concurrency=concurrency) as done:
                async for _ in done:
                    on_candidate(len(self._decided), size)
            self._settle()

        async with self._judge:
            while not stopped() and (wave := self._sampler.wave(self._missing())):
                await decide(self._write, grouped(wave), len(wave))
            pairs = self._pairs()
            while not stopped() and (some := list(islice(pairs, self._missing()[NOISY]))):
                await decide(self._vary, some, len(some))

    def result(self, *, stopped: str | None = None) -> Generated:
        """Return what is proven so far; `stopped` is the reason if it was interrupted."""
        self._settle()
        order = {name: place for place, name in enumerate(SHARES)}
        questions = sorted(self._accepted, key=lambda each: order[each.type])
        documents = {span.document for each in questions for span in each.spans}
        return Generated(
            self.request,
            self.index.corpus,
            tuple(questions),
            tuple(self._rejected),
            tuple(name for name in self.index.corpus.documents if name not in documents),
            self._prover.usage,
            stopped or self._breaker.reason,
        )

    def _missing(self) -> Mapping[str, int]:
        made = Counter(each.type for each in self._accepted)
        return {name: request - made[name] for name, request in self.request.counts.items()}

    def _settle(self) -> None:
        """Accept what is proven, in the order of the numbers, unless it repeats another."""
        decided = sorted(self._decided, key=lambda each: each.candidate.number)
        self._decided = []
        for decision in decided:
            if isinstance(decision, ProvenQuestion):
                ids, query = [chunk.id for chunk in decision.candidate.chunks], decision.query
                others = self._near(query)
                same = near_duplicate(query, others, self.index)
                if decision.base:  # it is near its base
                    same = query if query in others else None
                if same:
                    draft = DraftQuestion(query=query, reference=decision.reference)
                    decision = Rejected(decision.candidate, "duplicate", f"of {same!r}", draft)
                else:
                    self._accepted.append(decision)
                    for term in self._rarest(query):
                        self._by_term[term].append(query)
                    first = decision.candidate.chunks[0].document
                    self._sampler.accepted[first] += decision.base is None
            else:
                ids = [chunk.id for chunk in decision.candidate.chunks]
                query = decision.draft.query if decision.draft else ""
            if isinstance(decision, Rejected):
                self._rejected.append(decision)
            for each in ids if query else ():
                self._queries[each].append(query)

    def _rarest(self, query: str) -> Sequence[str]:
        """Return a query's rarest terms; any query may have those that no chunk has."""
        return rarest_terms(query, lambda term: self.index.frequency(term) or math.inf)

    def _near(self, query: str) -> Collection[str]:
        """Return the accepted queries that share a rare term with a query."""
        return {other: None for term in self._rarest(query) for other in self._by_term[term]}.keys()

    def _decide(self, decision: Decision) -> None:
        self._decided.append(decision)
        if isinstance(decision, Rejected) and decision.cause:
            self._breaker.add({decision.cause}, decision.detail)
        else:
            self._breaker.add({None}, None)

    async def _write(self, group: Sequence[Candidate]) -> None:
        """Have one reply written, and prove each of its questions."""
        first = group[0]
        avoid = dict.fromkeys(each for chunk in first.chunks for each in self._queries[chunk.id])
        question = WriteQuestions(
            passages=tuple(map(shown_text, first.chunks)),
            type=first.type,
            count=len(group),
            brief="; ".join(filter(None, (first.persona, self.request.brief))),
            language=first.language,
            avoid=tuple(avoid)[-AVOIDED:],
        )
        try:
            drafts = await self._prover.ask(question)
        except UnprovenError as error:
            for each in group:
                self._decide(Rejected(each, error.reason, error.detail, cause=error.cause))
            return
        for each in group[len(drafts) :]:
            self._decide(Rejected(each, "not written", "the judge wrote fewer questions"))
        await together(map(self._prove, group, drafts))

    async def _prove(self, candidate: Candidate, draft: DraftQuestion) -> None:
        try:
            self._decide(await self._proven(candidate, draft))
        except UnprovenError as error:
            self._decide(Rejected(candidate, error.reason, error.detail, draft, error.cause))

    async def _proven(self, candidate: Candidate, draft: DraftQuestion) -> ProvenQuestion:
        """Return a draft with its proofs, the cheapest first.

        Raises:
            UnprovenError: a proof failed, or the judge did not answer.
        """
        query, chunks, prover = draft.query, candidate.chunks, self._prover
        if not draft.reference or (candidate.type != UNANSWERABLE and not draft.claims):
            raise UnprovenError("incomplete", "the reference or its claims are missing")
        if vague := vague_wording(query):
            raise UnprovenError("vague wording", vague)
        if answer_in_query(query, draft.reference):
            raise UnprovenError("answer in query", draft.reference)
        if candidate.language and (language := query_language(query).name):
            asked = candidate.language.lower()
            if asked in word_lists() and language != asked:
                raise UnprovenError("wrong language", f"{language}, not {asked}")
        if same := near_duplicate(query, self._near(query), self.index):
            raise UnprovenError("duplicate", f"of {same!r}")
        spans = find_spans(draft, chunks)
        quoted = {name for name, _ in spans}
        if not quoted or (candidate.type in PAIRED and len(quoted) < len(chunks)):
            raise UnprovenError("quote not found", "a passage is not quoted")
        corpus, relevant = self.index.corpus, list[Chunk]()
        if candidate.type == UNANSWERABLE:
            await prover.check_abstains(query, draft.reference)
            await prover.check_unanswerable(query)
        else:
            texts = [f"{chunks[n].heading}\n{span.text(corpus)}".strip() for n, span in spans]
            await prover.check_support((draft.reference, *draft.claims), texts)
            await prover.check_answer(query, draft.reference)
            if candidate.type in PAIRED:
                for chunk in chunks:
                    await prover.check_insufficient(query, chunk)
            others = await prover.other_answers(query, draft.claims, chunks)
            if others and candidate.type in PAIRED:
                raise UnprovenError("one span is enough", f"{others[0].id} answers it")
            relevant = [*chunks, *others]
        return ProvenQuestion(
            candidate,
            query,
            draft.reference,
            () if candidate.type == UNANSWERABLE else draft.claims,
            tuple(relevant),
            tuple(dict.fromkeys(span for _, span in spans)),
            wording_leak(query, map(shown_text, chunks), self.index),
        )

    def _pairs(self) -> Iterator[tuple[int, ProvenQuestion, str]]:
        """Yield each number, proven question, and kind of noise of variants to try, in order.

        Every question has one variant before one has two.
        """
        bases = [each for each in self._accepted if not each.base]
        Random(f"{self.request.seed}\n{NOISY}").shuffle(bases)  # noqa: S311 - no secret
        noises = self.request.noises
        most = MOST * self.request.counts[NOISY]
        number = itertools.count(self._sampler.candidates)
        every = (
            (base, noises[(place + turn) % len(noises)])
            for turn in range(len(noises))
            for place, base in enumerate(bases)
        )
        for base, noise in islice(every, most):
            yield next(number), base, noise

    async def _vary(self, pair: tuple[int, ProvenQuestion, str]) -> None:
        """Make one variant of a question."""
        number, base, noise = pair
        candidate = replace(base.candidate, number=number)
        query: str | None = None
        try:
            if noise == PARAPHRASE:
                query = await self._rephrased(base)
            else:
                query = MODEL_FREE[noise](base.query, f"{self.request.seed}")
                if query is None:
                    raise UnprovenError(f"no {noise} possible", base.query)
        except UnprovenError as error:
            draft = DraftQuestion(query=query or base.query, reference=base.reference)
            self._decide(Rejected(candidate, error.reason, error.detail, draft, error.cause))
            return
        leak = wording_leak(query, map(shown_text, candidate.chunks), self.index)
        self._decide(
            replace(base, candidate=candidate, query=query, leak=leak, base=base, noise=noise)
        )

    async def _rephrased(self, base: ProvenQuestion) -> str:
        """Return a paraphrase whose answer is still the reference, with the same figures and names.

        Raises:
            UnprovenError: it asks something else, or has the same words.
        """
        query = await self._prover.ask(RephraseQuery(query=base.query))
        if fault := paraphrase_fault(query, base.query):
            raise UnprovenError("paraphrase changed", f"{fault}: {query!r}")
        if vague := vague_wording(query):
            raise UnprovenError("vague wording", vague)
        if base.candidate.type == UNANSWERABLE:
            await self._prover.check_unanswerable(query)
        else:
            await self._prover.check_answer(query, base.reference)
        return query


def paraphrase_fault(query: str, base: str) -> str | None:
    """Return why a query cannot be a paraphrase of another, by its words; None if it may be one.

    Both have the same figures and names, and a topic in common, but not the same words.
    """
    if Counter(FIGURE.findall(query)) != Counter(FIGURE.findall(base)):
        return "other figures"
    names, stems, forms = list[set[str]](), list[set[str]](), list[list[str]]()
    for text in (query, base):
        words = split_words(text)
        forms.append([word.form for word in words])
        stems.append(set(map(stem, forms[-1])))
        names.append({stem(words[at].form) for at in find_names(words, query_language(text))})
    if names[0] - stems[1] or names[1] - stems[0]:
        return "other names"
    if topic_terms(query).isdisjoint(topic_terms(base)):
        return "another topic"
    return "the same words" if forms[0] == forms[1] else None


def find_spans(draft: DraftQuestion, chunks: Sequence[Chunk]) -> list[tuple[int, Span]]:
    """Return the place of each quote, as whole sentences, after the number of its chunk from 0.

    Raises:
        UnprovenError: a quote is in none of the chunks.
    """
    found: list[tuple[int, Span]] = []
    finders = [QuoteFinder(chunk.text) for chunk in chunks]
    for number, words in draft.quotes:
        named = number - 1 if number and 1 <= number <= len(chunks) else 0
        for place in (named, *(other for other in range(len(chunks)) if other != named)):
            if place_in_chunk := finders[place].find(words):
                break
        else:
            raise UnprovenError("quote not found", repr(one_line(words, 200)))
        chunk, (start, end) = chunks[place], place_in_chunk
        inside = [
            (sentence.start, sentence.end)
            for sentence in split_sentences(chunk.text)
            if sentence.start < end and start < sentence.end
        ]
        start = min([start, *(begin for begin, _ in inside)])
        end = max([end, *(stop for _, stop in inside)])
        found.append((place, Span(chunk.document, chunk.start + start, chunk.start + end)))
    return found


def planned_questions(
    index: ChunkIndex, request: QuestionRequest, *, most: bool
) -> Iterator[Asked]:
    """Yield the questions that a judge is asked, with assumed texts, to estimate what they cost.

    One candidate per requested question is assumed, and that all are proven; with `most`, as many
    candidates as there may be.
    """
    counts = request.counts
    sampler = ChunkSampler(index, counts, seed=request.seed)
    for _ in range(MOST if most else 1):
        for group in grouped(sampler.wave(counts)):
            passages = tuple(map(shown_text, group[0].chunks))
            kind = group[0].type
            yield WriteQuestions(passages=passages, type=kind, count=len(group))
            for each in group:
                query, near = f"query {each.number}", passages[0][:LONGEST_QUERY]
                nearest = [hit.chunk for hit in index.search(near, WHOLE)]
                if kind == UNANSWERABLE:
                    yield DetectAbstention(query=query, response=ASSUMED)
                    yield FindAnswer(query=query, contexts=tuple(map(shown_text, nearest)))
                    continue
                claims = tuple(f"{ASSUMED} {n}" for n in range(3))
                yield VerifyClaims(claims=claims, contexts=(f"{query} {ASSUMED}",) * 2)
                yield FindAnswer(query=query, contexts=(ASSUMED,))
                if kind in PAIRED:
                    yield from (FindAnswer(query=query, contexts=(text,)) for text in passages)
                others = tuple(map(shown_text, nearest[:OTHERS]))
                yield FindAnswer(query=query, contexts=others)
    if PARAPHRASE in request.noises:
        paraphrases = math.ceil(counts[NOISY] / len(request.noises)) * (MOST if most else 1)
        for number in range(paraphrases):
            yield RephraseQuery(query=f"query {number}")
            yield FindAnswer(query=f"query {number}", contexts=(f"{ASSUMED} {number}",))
