"""How many injected errors `ragstone questions check` finds, and how many good rows it rejects.

python benchmarks/question_checks.py DATA [--half tune]

DATA is a folder with bump.jsonl.gz: sentences about news articles, and people's small edits that
make them wrong. The offline judge was not trained on them. Each sentence with a name or figure
becomes a row: the query is the sentence with `what` in that place, the reference is the sentence.
The demo's hand-written questions are a second set.

The thresholds were chosen with `--half tune`: other claims (defacto.jsonl.gz and wice_dev.jsonl.gz)
and the other half of the demo. `scripted` is a judge with perfect verdicts.
"""

import argparse
import asyncio
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

from ragstone._internal.sentences import find_quote, split_sentences
from ragstone.demo.questions import corpus as demo_passages
from ragstone.demo.questions import entries
from ragstone.judges.base import Judge, ScriptedJudge
from ragstone.judges.offline import OfflineJudge
from ragstone.testsets.check import RowCheck, check_samples
from ragstone.testsets.documents import Chunk, Corpus, Document, split_chunks
from ragstone.testsets.wording import topic_terms
from ragstone.types.claim import Claim, Evidence, FoundAnswer, Grade, Label, Verdict
from ragstone.types.questions import ExtractClaims, FindAnswer, GradeContexts, VerifyClaims
from ragstone.types.sample import Sample

ANSWER = re.compile(r"\d[\d,.]*\d|\d|[A-Z][\w’'-]+(?: (?:of |the )?[A-Z][\w’'-]+)*")
CHUNK = 600
"""Words of a chunk: an article is one, because people judged claims about whole articles."""
UNANSWERED = "The documents do not state it."


@dataclass(frozen=True)
class Fact:
    """A true claim, the chunks that state it, and a query for a part of it."""

    id: str
    claim: str
    query: str
    answer: str
    chunks: tuple[str, ...]
    false: str | None = None


@dataclass
class Case:
    """A row of a test set; `wanted` is the check that should find its error, None if it is good."""

    sample: Sample
    kind: str
    wanted: str | None


@dataclass
class Bench:
    """A corpus and rows about it.

    Attributes:
        truth: claim -> the ids of the chunks that state it.
        needs: query -> the claims that answer it.
    """

    name: str
    corpus: Corpus
    cases: list[Case] = field(default_factory=list)
    truth: dict[str, set[str]] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)


def half_of(name: str) -> str:
    """Return which half an id belongs to."""
    return "tune" if sha256(name.encode()).digest()[0] % 2 else "eval"


def cloze(claim: str) -> tuple[str, str] | None:
    """Return a query for a name or figure of a claim, and that answer; None without one."""
    found = [m for m in ANSWER.finditer(claim) if m.start() > 0]
    if not found or len(claim.split()) > 35:
        return None
    chosen = found[-1]
    query = f"{claim[: chosen.start()]}what{claim[chosen.end() :]}".rstrip(" .") + "?"
    return query, chosen[0]


def human_edits(folder: Path) -> Bench:
    """Return two of three articles as chunks, facts about them, and questions about the others."""
    with gzip.open(folder / "bump.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [row for line in file if "reference" in (row := json.loads(line))]
    pairs: dict[str, tuple[str, str, str]] = {}  # article -> its text, a sentence, and its edit
    for row in rows:
        true, false = (
            [sentence.text for sentence in split_sentences(row[name])]
            for name in ("reference", "response")
        )
        changed = [(a, b) for a, b in zip(true, false, strict=False) if a != b]
        if len(true) == len(false) and len(changed) == 1 and cloze(changed[0][0]):
            pairs.setdefault(name_of(row["contexts"][0]), (row["contexts"][0], *changed[0]))
    bench = Bench("edits", Corpus({}, ()))
    documents: dict[str, Document] = {}
    facts: list[Fact] = []
    for name, (text, true, false) in pairs.items():
        query, answer = cloze(true) or ("", "")
        if int(name, 16) % 3:
            documents[name] = Document(name, text, name)
            facts.append(Fact(name, true, query, answer, (name,), false))
        else:
            sample = Sample(id=f"none-{name}", query=query, relevance={})
            bench.cases.append(Case(sample, "unanswerable", None))
    chunks = [Chunk(n, n, 0, len(d.text), "", d.text) for n, d in documents.items()]
    bench.corpus = Corpus(documents, tuple(chunks))
    return make_bench("edits", bench.corpus, facts, bench)


def held_out(folder: Path) -> list[dict[str, Any]]:
    """Return claims of other sources, to choose thresholds."""
    rows: list[dict[str, Any]] = []
    for name in ("defacto", "wice_dev"):
        with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            rows += [row for line in file if (row := json.loads(line))["split"] == "dev"]
    return rows


def name_of(text: str) -> str:
    """Return the name of an article."""
    return sha256(text.encode()).hexdigest()[:10]


def chunks_of(row: dict[str, Any], corpus: Corpus) -> set[str]:
    """Return the chunks with the evidence that people chose."""
    text, quotes = row["contexts"][0], row.get("evidence") or ()
    spans = [(sentence.start, sentence.end) for sentence in split_sentences(text)]
    found = [
        find_quote(str(quote), text, spans)
        for quote in ([quotes] if isinstance(quotes, str) else quotes)
    ]
    return {
        chunk.id
        for chunk in corpus.by_document[name_of(text)]
        for span in found
        if span and chunk.start <= span[0] < chunk.end
    }


def human_claims(folder: Path, half: str) -> Bench:
    """Return the articles and pages of one half, and the facts about them."""
    rows = held_out(folder)
    documents: dict[str, Document] = {}
    chunks: list[Chunk] = []
    facts: list[Fact] = []
    false: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        text = row["contexts"][0]
        name = name_of(text)
        if half_of(name) != half:
            continue
        if name not in documents:
            documents[name] = Document(name, text, name)
            chunks += split_chunks(documents[name], CHUNK)
        if row["label"] in ("CONTRADICTED", "NOT_ENOUGH_INFO"):
            false[name].append(row["response"])
    corpus = Corpus(documents, tuple(chunks))
    for row in rows:
        text = row["contexts"][0]
        name = name_of(text)
        if name not in documents or row["label"] != "SUPPORTED":
            continue
        if any(fact.id.startswith(name) for fact in facts):
            continue
        made, within = cloze(row["response"]), chunks_of(row, corpus)
        if made and len(within) == 1:
            wrong = false[name][0] if false[name] else None
            facts.append(Fact(name, row["response"], *made, tuple(within), wrong))
    bench = Bench("claims", corpus)
    for row in rows:  # about articles that are not in the corpus
        if row["label"] == "SUPPORTED" and len(bench.cases) < 150:
            name = name_of(row["contexts"][0])
            if name not in documents and (made := cloze(row["response"])):
                sample = Sample(id=f"none-{row['id']}", query=made[0], relevance={})
                bench.cases.append(Case(sample, "unanswerable", None))
    return make_bench("claims", corpus, facts, bench)


def demo_questions(half: str) -> Bench:
    """Return half of the demo's passages, the questions about them, and those about the others."""
    passages = demo_passages()
    kept = [p for p in passages if half_of(str(p.id)) == half]
    documents = {str(p.id): Document(str(p.id), p.text, "") for p in kept}
    chunks = tuple(Chunk(str(p.id), str(p.id), 0, len(p.text), p.title, p.text) for p in kept)
    corpus = Corpus(documents, chunks)
    bench = Bench("demo", corpus)
    facts: list[Fact] = []
    for number, entry in enumerate(entries()):
        ids = tuple(map(str, entry.point_ids))
        inside = [name for name in ids if name in corpus.by_id]
        if not inside:
            bench.cases.append(
                Case(
                    Sample(id=f"none-{number}", query=entry.query, relevance={}),
                    "unanswerable",
                    None,
                )
            )
        elif len(inside) == len(ids):
            reference = entry.ground_truth_answer
            if len(ids) == 1:
                facts.append(Fact(f"q{number}", reference, entry.query, "", ids))
            else:
                sentences = [sentence.text for sentence in split_sentences(reference)]
                for place, sentence in enumerate(sentences):  # which passage has which is not known
                    bench.truth[sentence] = {ids[place % len(ids)]}
                bench.needs[entry.query] = tuple(sentences)
                sample = Sample(
                    id=f"q{number}",
                    query=entry.query,
                    reference=reference,
                    relevance=dict.fromkeys(ids, 1.0),
                    tags={"type": "multi"},
                )
                bench.cases.append(Case(sample, "multi", None))
    return make_bench("demo", corpus, facts, bench)


def row(fact: Fact, name: str, **update: object) -> Sample:
    """Return a correct row about a fact, with changes."""
    values = {
        "query": fact.query,
        "reference": fact.claim,
        "tags": {"type": "single"},
        "relevance": dict.fromkeys(fact.chunks, 1.0),
    } | update
    return Sample.model_validate({"id": f"{fact.id}-{name}", **values})


def make_bench(
    name: str, corpus: Corpus, facts: Sequence[Fact], bench: Bench | None = None
) -> Bench:
    """Return good rows and rows with each error."""
    bench = bench or Bench(name, corpus)
    ids = [chunk.id for chunk in corpus.chunks]
    random = Random(7)
    facts = list(facts)
    random.shuffle(facts)

    def add(sample: Sample, kind: str, wanted: str | None = None) -> None:
        bench.cases.append(Case(sample, kind, wanted))

    for fact in facts:
        bench.truth[fact.claim] = set(fact.chunks)
        bench.needs[fact.query] = (fact.claim,)
    # Each fact is one good row and one or two rows with errors, so that every kind has enough.
    for number, fact in enumerate(facts):
        other = facts[(number + 1) % len(facts)]
        add(row(fact, "good"), "single")
        wrong = fact.false or wrong_figure(fact.claim, random)
        if wrong:
            add(
                row(fact, "wrong", reference=wrong, query=f"{fact.query} "),
                "wrong reference",
                "unsupported",
            )
        elsewhere = random.choice([each for each in ids if each not in fact.chunks])
        add(
            row(fact, "id", relevance={elsewhere: 1.0}, query=f"{fact.query}  "),
            "wrong id",
            "wrong_id",
        )
        add(
            row(
                fact,
                "answerable",
                reference=UNANSWERED,
                relevance={},
                query=f"{fact.query}   ",
                tags={"type": "unanswerable"},
            ),
            "answerable",
            "answerable",
        )
        both = f"{fact.query.rstrip('?')}, and {other.query}"
        if fact.chunks != other.chunks and number % 2 == 0:
            add(
                row(
                    fact,
                    "multi",
                    query=both,
                    reference=f"{fact.claim} {other.claim}",
                    relevance=dict.fromkeys((*fact.chunks, *other.chunks), 1.0),
                    tags={"type": "multi"},
                ),
                "multi",
            )
            bench.needs[both] = (fact.claim, other.claim)
        add(
            row(
                fact,
                "one",
                query=f"{fact.query}    ",
                tags={"type": "multi"},
                relevance=dict.fromkeys((*fact.chunks, elsewhere), 1.0),
            ),
            "one-hop multi",
            "one_chunk",
        )
        if (copied := copy_of(fact, corpus)) and number % 2:
            add(row(fact, "leak", query=copied), "leak", "leak")
            bench.needs[copied] = (fact.claim,)
        if fact.answer:
            told = f"{fact.query.rstrip('?')}, which is {fact.answer}?"
            add(
                row(fact, "told", query=told, reference=fact.answer),
                "answer in query",
                "answer_in_query",
            )
            bench.truth[fact.answer] = set(fact.chunks)
            bench.needs[told] = (fact.answer,)
        vague = random.choice(
            (
                "According to the text, {}",
                "{} as described in this document?",
                "In the passage, {}",
                "Based on the article, {}",
            )
        )
        unclear = vague.format(fact.query if vague.endswith("{}") else fact.query.rstrip("?"))
        add(row(fact, "vague", query=unclear), "vague", "vague")
        bench.needs[unclear] = (fact.claim,)
        again = twice(fact.query, random)
        bench.needs[again] = (fact.claim,)
        if number % 2:
            add(row(fact, "twice", query=again), "duplicate", "duplicate")
    return bench


def wrong_figure(claim: str, random: Random) -> str | None:
    """Return a claim with another figure; None without one."""
    figures = list(re.finditer(r"\b\d+\b", claim))
    if not figures:
        return None
    chosen = random.choice(figures)
    number = int(chosen[0]) + random.choice((1, 2, 3, 10))
    return f"{claim[: chosen.start()]}{number}{claim[chosen.end() :]}"


def copy_of(fact: Fact, corpus: Corpus) -> str | None:
    """Return a sentence of the fact's chunk as a question."""
    text = corpus.by_id[fact.chunks[0]].text
    terms = topic_terms(fact.claim)
    sentences = [s.text for s in split_sentences(text) if 8 <= len(s.text.split()) <= 40]
    if not sentences:
        return None
    best = max(sentences, key=lambda each: len(terms & topic_terms(each)))
    return f"Is it true that {best[0].lower()}{best[1:].rstrip('.')}?"


def twice(query: str, random: Random) -> str:
    """Return a query again, with small changes."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda text: text.lower(),
        lambda text: f"Please tell me: {text}",
        lambda text: f"  {text.rstrip('?')} ?",
        misspelt,
    )
    return random.choice(changes)(query)


def misspelt(text: str) -> str:
    """Swap two letters of the longest word in lower case."""
    words = re.findall(r"[a-z]{5,}", text)
    if not words:
        return text.upper()
    word = max(words, key=len)
    return text.replace(word, f"{word[:2]}{word[3]}{word[2]}{word[4:]}", 1)


def scripted(bench: Bench) -> ScriptedJudge:
    """Return a judge whose verdicts are right."""
    by_text = {chunk.text.strip(): chunk.id for chunk in bench.corpus.chunks}

    def ids(contexts: Sequence[str]) -> list[str | None]:
        found = []
        for text in contexts:
            own = by_text.get(text.strip()) or by_text.get(text.partition("\n")[2].strip())
            assert own, text[:80]
            found.append(own)
        return found

    def states(claim: str, shown: Sequence[str | None]) -> int | None:
        holders = bench.truth.get(claim.strip(), set())
        return next((n for n, each in enumerate(shown) if each in holders), None)

    def evidence(contexts: Sequence[str], place: int) -> tuple[Evidence, ...]:
        text = contexts[place]
        return (Evidence(context=place, start=0, end=len(text), quote=text, verified=True),)

    def split(query: str, text: str) -> Sequence[str]:
        needs = bench.needs.get(query.strip(), ())
        return needs if text == " ".join(needs) else [text]

    def extract(question: ExtractClaims) -> list[Claim]:
        return [Claim(text=text) for text in split(question.query, question.response)]

    def verify(question: VerifyClaims) -> list[Verdict]:
        shown = ids(question.contexts)
        verdicts = []
        for claim in question.claims:
            place = states(claim, shown)
            verdicts.append(
                Verdict(label=Label.NOT_ENOUGH_INFO)
                if place is None
                else Verdict(label=Label.SUPPORTED, evidence=evidence(question.contexts, place))
            )
        return verdicts

    def grade(question: GradeContexts) -> list[Grade]:
        shown = ids(question.contexts)
        return [
            Grade(
                relevant=any(
                    states(claim, [each]) is not None
                    for claim in split(question.query, question.answer)
                )
            )
            for each in shown
        ]

    def find(question: FindAnswer) -> FoundAnswer:
        shown = ids(question.contexts)
        needs = bench.needs.get(question.query.strip(), ())
        places = [states(claim, shown) for claim in needs]
        if not needs or None in places:
            return FoundAnswer(found=False)
        items = tuple(item for place in places for item in evidence(question.contexts, place or 0))
        return FoundAnswer(found=True, answer="as in the documents", evidence=items)

    return ScriptedJudge(
        {
            "extract_claims": extract,
            "verify_claims": verify,
            "grade_contexts": grade,
            "find_answer": find,
        }
    )


KINDS = {
    "wrong reference": "unsupported",
    "answerable": "answerable",
    "one-hop multi": "one_chunk",
    "wrong id": "wrong_id",
    "duplicate": "duplicate",
    "leak": "leak",
    "answer in query": "answer_in_query",
    "vague": "vague",
}


def measure(bench: Bench, judge: Judge) -> tuple[dict[str, list[int]], list[tuple[Case, RowCheck]]]:
    """Return kind -> findings on rows with that error and on good rows, errors alone, and rows.

    Also all rows with their checks.
    """
    # duplicates are checked within the set, so each kind of row is a set with the good rows
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in bench.cases:
        groups[case.kind].append(case)
    good = [case for kind in ("single", "multi", "unanswerable") for case in groups[kind]]
    pairs: list[tuple[Case, RowCheck]] = []
    for kind, cases in {"good": good, **{k: v for k, v in groups.items() if k in KINDS}}.items():
        base = [*groups["single"], *cases] if kind == "duplicate" else cases
        found = asyncio.run(
            check_samples([c.sample for c in base], bench.corpus, judge, name=kind, concurrency=4)
        )
        pairs += [(c, r) for c, r in zip(base, found.rows, strict=True) if c in cases]
    results = {}
    for kind, check in KINDS.items():
        found = [any(f.check == check for f in row.findings) for _, row in pairs]
        errors = [any(f.check == check for f in row.errors) for _, row in pairs]
        injected = [case.kind == kind for case, _ in pairs]
        good_ones = [case.wanted is None for case, _ in pairs]
        results[kind] = [
            sum(a and b for a, b in zip(flags, rows, strict=True))
            for flags in (found, errors)
            for rows in (injected, good_ones)
        ] + [sum(injected)]
    return results, pairs


def main() -> None:
    """Print precision and recall of each check, with the offline and with the scripted judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--half", choices=("tune", "eval"), default="eval")
    parser.add_argument("--show", help="print rows of this kind that were judged wrong")
    given = parser.parse_args()
    tuning = given.half == "tune"
    claims = human_claims(given.data, "tune") if tuning else human_edits(given.data)
    for bench in (claims, demo_questions(given.half)):
        kinds = Counter(case.kind for case in bench.cases)
        print(f"\n{bench.name}: {len(bench.corpus.chunks)} chunks, {dict(kinds)}")
        for judge in (OfflineJudge(), scripted(bench)):
            start = process_time()
            results, pairs = measure(bench, judge)
            print(f"{judge.name}: {process_time() - start:.1f} CPU s")
            good = [r for c, r in pairs if c.wanted is None]
            status = Counter((c.kind, r.status) for c, r in pairs if c.wanted is None)
            warned = Counter(f.check for r in good for f in r.findings if f.severity == "warning")
            print(f"  {len(good)} good rows: {dict(status)}")
            print(
                f"  errors {dict(Counter(f.check for r in good for f in r.errors))}, {dict(warned)}"
            )
            for kind, (right, wrong, sure, surely_wrong, injected) in results.items():
                lines = []
                for name, hits, misses in (
                    ("errors and warnings", right, wrong),
                    ("errors", sure, surely_wrong),
                ):
                    precision = hits / (hits + misses) if hits + misses else 0.0
                    recall = hits / injected if injected else 0.0
                    lines.append(f"{name} P {precision:4.0%} R {recall:4.0%} ({hits}, {misses})")
                print(f"  {kind:16} {injected:3} rows: {'; '.join(lines)}")
            if given.show and isinstance(judge, OfflineJudge):
                for c, r in pairs:
                    check = KINDS.get(given.show)
                    hit = any(f.check == check for f in r.findings)
                    if (c.kind == given.show and not hit) or (c.wanted is None and hit):
                        print(
                            c.kind,
                            "|",
                            c.sample.query,
                            "|",
                            c.sample.reference,
                            "|",
                            [f.message for f in r.findings],
                        )


if __name__ == "__main__":
    main()
