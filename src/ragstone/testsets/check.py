"""Checks a test set against its documents: answers, relevant ids, types and wording of its rows."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from types import MappingProxyType
from typing import Literal, TypeAlias

from ragstone._internal.concurrency import run_sync, worker_pool
from ragstone._internal.text import closest, listing, one_line
from ragstone.datasets import load, samples_of
from ragstone.evaluation.scoring import CircuitBreaker
from ragstone.judges.base import Judge, RouterJudge
from ragstone.judges.factory import make_judge
from ragstone.judges.offline import OfflineJudge
from ragstone.judges.offline.judge import abstains
from ragstone.testsets import wording
from ragstone.testsets.documents import Chunk, ChunkIndex, Corpus, Span, read_documents, shown_texts
from ragstone.testsets.generate import NO_REPLY, QuestionVerifier, VerificationError, quoted
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.config import Plan
from ragstone.types.questions import ExtractClaims, FindAnswer, GradeContexts, VerifyClaims
from ragstone.types.reply import NOTHING_SPENT, Usage
from ragstone.types.sample import Sample

NEAR = 5  # chunks beside the listed ones in which an answer is sought
ALONE = 3  # chunks that are tried one by one for a question that should need several
SURE = 0.75  # confidence from which a verdict against a row is an error; below, it may be a warning
LEAK = 0.8  # share of a query's rare words in its chunks from which a warning is given
COPY = 0.5  # share of a query's words that its chunk has in the same order, for the same warning
SHOWN = 160  # characters shown of a claim or a query in a message
_FIGURE = re.compile(r"\d+")
KINDS = (ExtractClaims.kind, VerifyClaims.kind, GradeContexts.kind, FindAnswer.kind)
Severity: TypeAlias = Literal["error", "warning"]
RowType: TypeAlias = Literal["single", "multi", "unanswerable"]
Status: TypeAlias = Literal["valid", "corrected", "rejected", "unchecked"]

CHECKS: Mapping[str, str] = {  # check -> what a finding of it means
    "unsupported": "the reference is not supported by the documents",
    "off_topic": "the reference does not answer the query",
    "answerable": "it should be unanswerable, but the documents have an answer",
    "one_chunk": "it should need several chunks, but one is enough",
    "wrong_id": "a listed chunk does not have the answer",
    "unknown_id": "a listed id is in none of the documents",
    "duplicate": "it repeats another query",
    "answer_in_query": "the query has the answer",
    "vague": "the query cannot be understood by itself",
    "not_checked": "the judge did not answer, or is split",
    "other_chunk": "a chunk that is not listed has the answer too",
    "leak": "the query copies the words of its chunk",
}
CORRECTED = frozenset(("wrong_id", "unknown_id"))  # errors that disappear with other relevant ids
TYPE_TAGS = ("type", "question_type", "query_type", "synthesizer_name")
_PARTS = r"(?: ?(?:hop|step|context|chunk|span|passage|doc|document|source)s?\b|$)"
TYPE_WORDS: Mapping[RowType, re.Pattern[str]] = {  # type -> words of its tags
    "unanswerable": re.compile(
        r"\b(?:unanswer(?:able|ed)|(?:not|non) ?answerable|no ?answers?|no ?context"
        r"|out ?of ?scope)\b"
    ),
    "multi": re.compile(rf"\bmulti{_PARTS}|\bcompar(?:e|ison|ative)\b|\bbridge\b"),
    "single": re.compile(rf"\b(?:single|simple){_PARTS}"),
}
_TAG_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Finding:
    """What is wrong with a row: its id, one of CHECKS, and places that show it."""

    row: str
    check: str
    severity: Severity
    message: str
    evidence: tuple[Span, ...] = ()


@dataclass(frozen=True)
class RowCheck:
    """What was found out about a row.

    Attributes:
        support: the places that support its reference.
        relevance: its relevance, corrected; None if it is right, or cannot be corrected.
        leak: the share of the query's rare words that its chunks have; None without any.
    """

    sample: Sample
    type: RowType
    findings: tuple[Finding, ...] = ()
    support: tuple[Span, ...] = ()
    relevance: Mapping[str, float] | None = None
    leak: float | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def status(self) -> Status:
        """Whether it is valid, valid with other relevant ids, rejected, or the judge was silent."""
        failed = {finding.check for finding in self.errors}
        if not failed:
            return "corrected" if self.relevance and self.sample.relevance else "valid"
        if failed == {"not_checked"}:
            return "unchecked"
        return "corrected" if failed <= CORRECTED and self.relevance else "rejected"

    @property
    def corrected(self) -> Sample:
        """The row with its relevance corrected."""
        if self.relevance is None:
            return self.sample
        return self.sample.model_copy(update={"relevance": MappingProxyType(dict(self.relevance))})


@dataclass(frozen=True)
class SetCheck:
    """The check of a test set: its rows in order, and notes on the whole set."""

    name: str
    corpus: Corpus
    judge: str
    description: str
    rows: tuple[RowCheck, ...]
    notes: tuple[str, ...] = ()
    usage: Usage = NOTHING_SPENT

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for row in self.rows for finding in row.findings)

    @property
    def counts(self) -> Mapping[str, int]:
        """Check -> the number of rows with such a finding; errors first."""
        found = Counter(check for row in self.rows for check in {f.check for f in row.findings})
        return {check: found[check] for check in CHECKS if found[check]}

    def with_status(self, *statuses: Status) -> list[RowCheck]:
        return [row for row in self.rows if row.status in statuses]


def check_questions(
    data: str | PathLike[str] | Iterable[Sample | Mapping[str, object]],
    docs: str | PathLike[str] | Iterable[str | PathLike[str]] | Corpus,
    *,
    judge: str | Judge = "offline",
    concurrency: int = 8,
) -> SetCheck:
    """Check a test set against the documents that it is about.

    Args:
        data: a file that `ragstone.load` reads, or rows.
        docs: a folder, files, or documents that were read before.
        judge: a judge, or its name. `offline` needs no model and compares words.
        concurrency: how many rows are checked at once.

    Raises:
        UsageError: a file does not exist, the judge is unknown or its key is missing.
        InputError: the test set or a document is invalid; it has every problem.
    """
    dataset = load(data) if isinstance(data, str | PathLike) else samples_of(data, name="questions")
    corpus = docs if isinstance(docs, Corpus) else read_documents(docs)
    one = judge if isinstance(judge, Judge) else make_judge(Plan(judge=judge), asked=[KINDS])
    check = partial(check_samples, name=dataset.source.name, concurrency=concurrency)
    return run_sync(partial(check, dataset.samples, corpus, one))


async def check_samples(
    samples: Sequence[Sample],
    corpus: Corpus,
    judge: Judge,
    *,
    name: str,
    concurrency: int,
    on_row: Callable[[int, int], None] = lambda _done, _total: None,
    plan: Plan | None = None,
) -> SetCheck:
    """Check rows; `on_row` is called with the number of finished rows, and of all."""
    decides = not isinstance(judge, OfflineJudge) and all(
        judge.takes(kind) for kind in (GradeContexts.kind, FindAnswer.kind)
    )
    # questions that the judge does not take are answered by words
    routes = dict.fromkeys([kind for kind in KINDS if not judge.takes(kind)], OfflineJudge())
    ids = {name for sample in samples for name in sample.relevance or ()}
    known = {name for name in ids if corpus.find(name)}
    notes: list[str] = []
    if not any(sample.reference or sample.reference_claims for sample in samples):
        notes.append(
            "no row has a reference, so it is only checked whether the documents have an answer"
        )
    if ids and not known:
        notes.append(
            "no relevant id is that of a chunk or a document, so ids were not checked: the test "
            f"set has {listing(sorted(ids), 3)}, and the chunks are named "
            f"{listing([chunk.id for chunk in corpus.chunks[:3]])}"
        )
    if all(sample.relevance is None for sample in samples):
        notes.append("no row has relevant ids, so the chunks with the answers were searched for")
    if routes:
        kinds = ", ".join(routes)
        notes.append(f"{judge.name} does not answer {kinds}: these compare words, as offline does")
        judge = RouterJudge(routes, judge)
    index = ChunkIndex(corpus)
    repeated = wording.duplicates(samples, index)
    breaker = CircuitBreaker(plan or Plan(concurrency=concurrency))
    verifier = QuestionVerifier(index, judge, breaker)
    checker = partial(
        _RowChecker,
        verifier=verifier,
        ids_known=bool(known) or not ids,
        by_document=bool(known) and known.isdisjoint(corpus.by_id),
        decides=decides,
    )

    async def check(number: int) -> tuple[int, RowCheck]:
        return number, await checker(samples[number]).check(repeated.get(number))

    rows: dict[int, RowCheck] = {}
    numbers = range(len(samples))
    async with judge, worker_pool(numbers, check, concurrency=concurrency) as done:
        async for number, row in done:
            rows[number] = row
            on_row(len(rows), len(samples))
    checked, notes = tuple(rows[number] for number in numbers), [*corpus.notes, *notes]
    return SetCheck(
        name, corpus, judge.name, judge.description, checked, tuple(notes), verifier.usage
    )


def type_of(sample: Sample) -> RowType:
    """Return the type by a tag of this or another tool, or by what the row has."""
    for name in TYPE_TAGS:
        words = " ".join(_TAG_WORD.findall(str(sample.tags.get(name) or ""))).casefold()
        for kind, pattern in TYPE_WORDS.items():
            if pattern.search(words):
                return kind
    if sample.relevance is not None and not any(grade > 0 for grade in sample.relevance.values()):
        return "unanswerable"
    if sample.references and all(map(abstains, sample.references)):
        return "unanswerable"
    return "single"


def _spans(evidence: Iterable[Evidence], chunks: Sequence[Chunk]) -> Iterator[Span]:
    """Yield the places of verified quotes in the documents."""
    for item in evidence:
        if item.start is not None and item.end is not None:
            chunk = chunks[item.context]
            shift = len(chunk.shown) - len(chunk.text)  # a heading is before the text
            start, end = max(0, item.start - shift), max(0, item.end - shift)
            if start < end:
                yield Span(chunk.document, chunk.start + start, chunk.start + end)


class _RowChecker:
    """Checks one row; `relevance` is corrected as it goes."""

    def __init__(
        self,
        sample: Sample,
        *,
        verifier: QuestionVerifier,
        ids_known: bool,
        by_document: bool,  # relevant ids are names of documents, in rows without known ids
        decides: bool,  # the judge may refine relevant ids; otherwise they are only replaced
    ) -> None:
        self.sample = sample
        self.type: RowType = type_of(sample)
        self.ask, self.nearest, self.index = verifier.ask, verifier.nearest, verifier.index
        self.ids_known, self.decides = ids_known, decides
        self.query = sample.query_with_history
        claims = " ".join(sample.reference_claims or ())
        self.reference = (sample.closest_reference or claims).strip()
        self.findings: list[Finding] = []
        self.support: list[Span] = []
        self.relevance = dict(sample.relevance or {})
        corpus = self.index.corpus
        named = [name for name, grade in self.relevance.items() if grade > 0 and ids_known]
        self.listed = {name: chunks for name in named if (chunks := corpus.find(name))}
        if unknown := [name for name in named if name not in self.listed]:
            self.add("unknown_id", f"no chunk or document is named {listing(unknown, 5)}")
        for name in unknown:
            del self.relevance[name]
        self.chunks = [chunk for chunks in self.listed.values() for chunk in chunks]
        if isinstance(sample.reference, tuple):  # one that the documents support is enough
            near = self.chunks or self.index.search("\n".join(sample.references), NEAR)
            self.reference = closest(sample.reference, "\n".join(chunk.text for chunk in near))
        self.by_document = by_document
        if self.listed:
            self.by_document = self.listed.keys().isdisjoint(corpus.by_id)

    def add(
        self, check: str, message: str, evidence: Iterable[Span] = (), *, sure: bool = True
    ) -> None:
        found = tuple(dict.fromkeys(evidence))
        severity = "error" if sure else "warning"
        self.findings.append(Finding(self.sample.id, check, severity, message, found))

    @property
    def has_relevant(self) -> bool:
        return any(grade > 0 for grade in self.relevance.values())

    async def check(self, repeated: tuple[str, bool] | None) -> RowCheck:
        leak = self._check_wording(repeated)
        try:
            if self.type == "unanswerable":
                await self._check_unanswerable()
            else:
                chunks, others = self._near_chunks()
                claims = await self._check_support(chunks, others)
                await self._check_relevance(chunks, others)
                await self._check_topic(chunks)
                if self.type == "multi":
                    alone = [*chunks, *others][: max(ALONE, len(chunks))]
                    await self._check_several(claims, alone)
        except VerificationError as error:
            self.add("not_checked", f"not checked: {error.detail}")
        changed = self.has_relevant and self.relevance != dict(self.sample.relevance or {})
        relevance = self.relevance if changed else None
        findings, support = tuple(self.findings), tuple(self.support)
        return RowCheck(self.sample, self.type, findings, support, relevance, leak)

    def _check_wording(self, repeated: tuple[str, bool] | None) -> float | None:
        """Check what needs no judge, and return the share of rare words."""
        query = self.sample.query
        if repeated is not None:
            other, same = repeated
            words = "the same" if same else "nearly the same"
            self.add("duplicate", f"it asks {words} as row {one_line(other, 60)!r}", sure=same)
        if self.sample.history is None:
            if words := wording.vague_wording(query):
                message = f"{words!r} is clear only to a reader of the text"
                self.add("vague", message, sure=not wording.may_be_open(words))
            elif words := wording.unclear_pronoun(query):
                self.add("vague", f"{words!r} may refer to anything", sure=False)
        if self.type != "unanswerable" and wording.answer_in_query(query, self.reference):
            message = f"all of {one_line(self.reference, SHOWN)!r} is in the query"
            self.add("answer_in_query", message)
        if not self.chunks:
            return None
        texts = [chunk.text for chunk in self.chunks]
        leak = wording.query_overlap(query, texts, self.index)
        if leak is not None and leak >= LEAK and wording.longest_copy(query, texts) >= COPY:
            names = listing([chunk.id for chunk in self.chunks], 2)
            message = f"it copies words of {names}, with {leak:.0%} of its rare words"
            self.add("leak", message, sure=False)
        return leak

    async def _check_unanswerable(self) -> None:
        chunks = self.nearest(self.query, self.chunks)
        answer = await self.ask(FindAnswer(query=self.query, contexts=shown_texts(chunks)))
        if answer.found:
            where = listing(dict.fromkeys(chunks[n].id for n in quoted(answer)), 3)
            sure = answer.confidence is None or answer.confidence >= SURE
            seen = f"there {'is' if sure else 'may be'} an answer in {where or 'the documents'}"
            message = f"{seen}: {one_line(answer.answer, SHOWN)!r}"
            self.add("answerable", message, _spans(answer.evidence, chunks), sure=sure)

    def _near_chunks(self) -> tuple[list[Chunk], list[Chunk]]:
        """Return the listed chunks, or of a long document the nearest ones, and others nearby."""
        text = f"{self.query}\n{self.reference}"
        near: list[Chunk] = []
        for name, chunks in self.listed.items():
            if len(chunks) > 2 * NEAR:
                similar = self.index.search(text, len(self.index.corpus.chunks))
                chunks = [chunk for chunk in similar if chunk.document == name][: 2 * NEAR]
            near += chunks
        return near, self.index.search(text, NEAR, without=self.chunks)

    async def _check_support(self, listed: list[Chunk], others: list[Chunk]) -> tuple[str, ...]:
        """Check that the documents support the reference, and return its claims."""
        if not self.reference:
            return ()
        claims = self.sample.reference_claims or ()
        if not claims:
            found = await self.ask(ExtractClaims(query=self.query, response=self.reference))
            claims = tuple(claim.text for claim in found) or (self.reference,)
        best: dict[str, tuple[Verdict, list[Chunk]]] = {}
        for chunks in (listed, others):
            left = [
                claim
                for claim in claims
                if claim not in best or best[claim][0].label is not Label.SUPPORTED
            ]
            if left and chunks:
                question = VerifyClaims(
                    query=self.query, claims=tuple(left), contexts=shown_texts(chunks)
                )
                for claim, verdict in zip(left, await self.ask(question), strict=True):
                    if claim not in best or verdict.label is not Label.NOT_ENOUGH_INFO:
                        best[claim] = verdict, chunks
        for claim in claims:
            if claim not in best:
                self.add("unsupported", f"no chunk shares a word with {one_line(claim, SHOWN)!r}")
                continue
            verdict, chunks = best[claim]
            spans = list(_spans(verdict.evidence, chunks))
            if verdict.label is Label.SUPPORTED:
                self.support += spans
                continue
            contradicted = verdict.label is Label.CONTRADICTED
            figures = {figure for text in shown_texts(chunks) for figure in _FIGURE.findall(text)}
            sure = (
                contradicted
                or (self.decides if verdict.confidence is None else verdict.confidence >= SURE)
                or not figures.issuperset(_FIGURE.findall(claim))
            )
            words = "contradict" if contradicted else "do not support"
            reason = f": {one_line(verdict.reason, SHOWN)}" if verdict.reason else ""
            message = f"the documents {words} {one_line(claim, SHOWN)!r}{reason}"
            self.add("unsupported", message, spans, sure=sure)
        return claims

    async def _check_topic(self, listed: list[Chunk]) -> None:
        """Check that the reference answers the query, if it can be understood without it."""
        known = {finding.check for finding in self.findings if finding.severity == "error"}
        if "unsupported" in known or not wording.is_sentence(self.reference):
            return
        message = f"{one_line(self.reference, SHOWN)!r} does not answer the query"
        if self.decides:
            answer = await self.ask(FindAnswer(query=self.query, contexts=(self.reference,)))
            if not answer.found:
                sure = answer.confidence is None or answer.confidence >= SURE
                self.add("off_topic", message, self.support, sure=sure)
            return
        documents = {span.document for span in self.support}
        others = self.index.search(self.reference, NEAR)
        near = listed or [chunk for chunk in others if chunk.document in documents]
        found = wording.off_topic(self.query, self.reference, shown_texts(near), self.index)
        if near and found:
            message = message.replace("does not", "does not" if found == "error" else "may not")
            message += ": no word in common, also not with its chunk"
            self.add("off_topic", message, self.support, sure=found == "error")

    async def _check_relevance(self, listed: list[Chunk], others: list[Chunk]) -> None:
        """Check that the listed chunks have the answer, and find others that have it."""
        if any(finding.check == "unsupported" for finding in self.findings):
            return
        if not listed and not others:
            self.add("unsupported", "no chunk shares a word with the query", sure=False)
            return
        held = await self._holders(listed, others)
        if not held and not self.listed and not self.reference:
            message = "no chunk near the query has an answer"
            self.add("unsupported", message, sure=self.decides)
        # Without a reference, few shared words do not show that a chunk is wrong.
        refuted = self.decides or bool(self.reference)
        more = [chunk for chunk in others if chunk.id in held]
        wrong = [n for n, found in self.listed.items() if held.isdisjoint(c.id for c in found)]
        elsewhere = listing([chunk.id for chunk in more], 3)
        if wrong and refuted and (self.decides or len(wrong) == len(self.listed)):
            for name in wrong:
                del self.relevance[name]
            instead = f"; it is in {elsewhere}" if more else ""
            self.add("wrong_id", f"the answer is not in {listing(wrong, 3)}{instead}")
        elif wrong:
            other = "answer" if self.reference else "query"
            message = f"the {other} shares few words with {listing(wrong, 3)}"
            self.add("wrong_id", message, sure=False)
        elif more and self.listed:
            self.add("other_chunk", f"the answer is also in {elsewhere}", sure=False)
        if more and self.ids_known and (self.decides or not self.has_relevant):
            for chunk in more:
                self.relevance.setdefault(chunk.document if self.by_document else chunk.id, 1.0)

    async def _holders(self, chunks: list[Chunk], others: list[Chunk]) -> set[str]:
        """Return the ids of the listed chunks and of the others that have the answer."""
        query, every = self.query, [*chunks, *others]
        if self.reference:
            texts = shown_texts(every)
            asked = GradeContexts(query=query, answer=self.reference, contexts=texts)
            grades = await self.ask(asked)
            return {c.id for c, g in zip(every, grades, strict=True) if g.relevant} | {
                chunk.id
                for chunk in chunks
                for span in self.support
                if span.document == chunk.document and chunk.start <= span.start < chunk.end
            }
        if chunks:
            answer = await self.ask(FindAnswer(query=query, contexts=shown_texts(chunks)))
            if answer.found and (quoted(answer) or not answer.evidence):
                return {chunk.id for chunk in chunks}
        answer = await self.ask(FindAnswer(query=query, contexts=shown_texts(every)))
        if answer.found and not quoted(answer):
            detail = "the judge found an answer, but its quotes are in no chunk"
            raise VerificationError(NO_REPLY, detail)
        return {every[number].id for number in quoted(answer)}

    async def _check_several(self, claims: tuple[str, ...], chunks: list[Chunk]) -> None:
        """Check that no chunk alone is enough."""
        for chunk in chunks:
            texts = shown_texts([chunk])
            if claims:
                verdicts = await self.ask(
                    VerifyClaims(query=self.query, claims=claims, contexts=texts)
                )
                enough = all(verdict.label is Label.SUPPORTED for verdict in verdicts)
                evidence = [item for verdict in verdicts for item in verdict.evidence]
            else:
                answer = await self.ask(FindAnswer(query=self.query, contexts=texts))
                enough, evidence = answer.found, answer.evidence
            if enough:
                spans = _spans(evidence, [chunk])
                self.add("one_chunk", f"{chunk.id} alone has the answer", spans)
                return


def valid_samples(found: SetCheck) -> list[Sample]:
    samples: list[Sample] = []
    for row in found.with_status("valid", "corrected"):
        sample, tags = row.corrected, dict(row.sample.tags)
        if sample is not row.sample and row.sample.relevance:
            tags["relevance_before"] = ", ".join(row.sample.relevance)
        if warnings := [finding for finding in row.findings if finding.severity == "warning"]:
            tags["warnings"] = _messages(warnings)
        samples.append(sample.model_copy(update={"tags": tags}))
    return samples


def rejected_samples(found: SetCheck) -> list[Sample]:
    samples: list[Sample] = []
    for row in found.with_status("rejected", "unchecked"):
        tags = {**row.sample.tags, "rejected_because": _messages(row.errors)}
        samples.append(row.sample.model_copy(update={"tags": tags}))
    return samples


def _messages(findings: Iterable[Finding]) -> str:
    return "; ".join(f"{each.check}: {each.message}" for each in findings)
