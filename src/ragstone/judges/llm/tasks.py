"""Forms of the questions about whole texts."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar, cast

from ragstone._internal.quotes import find_quote
from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.llm.parsing.grades import parse_grades
from ragstone.judges.llm.parsing.responses import (
    parse_abstention,
    parse_claims,
    parse_explanation,
    parse_queries,
    parse_rating,
)
from ragstone.judges.llm.parsing.schemas import (
    SCHEMAS,
    queries_schema,
    rating_schema,
    verdict_schema,
)
from ragstone.judges.llm.parsing.verdicts import parse_verdicts
from ragstone.judges.llm.prompt import fenced
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.claim import Claim, GeneratedQueries, Grade, Rating, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
    VerifyClaims,
)

# Form: how one kind of question is put to a model, and how its reply is read.

Q = TypeVar("Q")


class JudgeTask(ABC, Generic[Q]):
    """How one kind of question is put and read."""

    kind: ClassVar[str]

    @abstractmethod
    def texts(self, question: Q) -> dict[str, str]:
        """Return what goes into the prompt's places, the sample's texts fenced."""

    def chosen(self, question: Q) -> dict[str, str]:
        """Return the options of the prompt that are chosen, each with its number or ""."""
        del question
        return {}

    @abstractmethod
    def read(self, text: str, question: Q, *, strict_json: bool) -> object:
        """Read a reply.

        Raises:
            JudgeFailureError: it cannot be read.
        """

    def schema(self, question: Q) -> Mapping[str, object]:
        """Return the JSON schema that the reply should have."""
        del question
        return SCHEMAS[self.kind]

    def doubt(self, question: Q, value: object) -> str | None:
        """Return what a reply that was read may lack, for the one re-ask; None if nothing."""
        del question, value
        return None


def numbered_texts(texts: Iterable[str]) -> str:
    """Return contexts as they are, each with its number before it."""
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1))


def numbered_lines(texts: Iterable[str]) -> str:
    """Return a numbered line for each text, whatever breaks it has."""
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))


class GradeContextsTask(JudgeTask[GradeContexts]):
    """Which contexts are of use; the answer's fence is called what it holds: statements."""

    kind = GradeContexts.kind

    def texts(self, question: GradeContexts) -> dict[str, str]:
        """Return the numbered contexts, the query and the answer."""
        found = fenced(
            {
                "contexts": numbered_texts(question.contexts),
                "query": question.query,
                "statements": question.answer,
            }
        )
        return {"answer": found.pop("statements"), **found}

    def read(self, text: str, question: GradeContexts, *, strict_json: bool) -> tuple[Grade, ...]:
        """Read a grade for each context."""
        shown = (*question.contexts, question.query, question.answer)
        due = len(question.contexts)
        return parse_grades(text, due, of="contexts", shown=shown, strict_json=strict_json)


class GradeSentencesTask(JudgeTask[GradeSentences]):
    """Which sentences matter to the query."""

    kind = GradeSentences.kind

    def texts(self, question: GradeSentences) -> dict[str, str]:
        """Return the sentences, a numbered line each, and the query."""
        return fenced({"sentences": numbered_lines(question.sentences), "query": question.query})

    def read(self, text: str, question: GradeSentences, *, strict_json: bool) -> tuple[Grade, ...]:
        """Read a grade for each sentence."""
        shown = (*question.sentences, question.query)
        due = len(question.sentences)
        return parse_grades(text, due, of="sentences", shown=shown, strict_json=strict_json)


class GenerateQueriesTask(JudgeTask[GenerateQueries]):
    """Which queries the response may be an answer to."""

    kind = GenerateQueries.kind

    def texts(self, question: GenerateQueries) -> dict[str, str]:
        """Return the response."""
        return fenced({"response": question.response})

    def chosen(self, question: GenerateQueries) -> dict[str, str]:
        """Return how many queries are asked for: that is always said."""
        return {"count": str(question.count)}

    def read(self, text: str, question: GenerateQueries, *, strict_json: bool) -> GeneratedQueries:
        """Read the queries, and whether the response commits itself."""
        return parse_queries(text, shown=(question.response,), strict_json=strict_json)

    def schema(self, question: GenerateQueries) -> Mapping[str, object]:
        """Return the schema with a place for each query, so that none can be left out."""
        return queries_schema(question.count)


class DetectAbstentionTask(JudgeTask[DetectAbstention]):
    """Whether the response abstains from answering."""

    kind = DetectAbstention.kind

    def texts(self, question: DetectAbstention) -> dict[str, str]:
        """Return the query and the response."""
        return fenced({"query": question.query, "response": question.response})

    def read(self, text: str, question: DetectAbstention, *, strict_json: bool) -> bool:
        """Read whether it abstains."""
        shown = (question.query, question.response)
        return parse_abstention(text, shown=shown, strict_json=strict_json)


class RateResponseTask(JudgeTask[RateResponse]):
    """Which level the response has by the user's own criteria, which are no data: no fence."""

    kind = RateResponse.kind

    def texts(self, question: RateResponse) -> dict[str, str]:
        """Return the texts; those that may be absent bring the empty line after them."""
        may = {
            "contexts": None if question.contexts is None else numbered_texts(question.contexts),
            "reference": question.reference,
        }
        given = {name: text for name, text in may.items() if text is not None}
        found = fenced({**given, "query": question.query, "response": question.response})
        spaced = {name: f"{found[name]}\n\n" if name in given else "" for name in may}
        levels = "\n".join(f"{level}: {meaning}" for level, meaning in question.levels)
        return {**found, **spaced, "criteria": question.criteria, "levels": levels}

    def read(self, text: str, question: RateResponse, *, strict_json: bool) -> Rating:
        """Read the level and the reason for it."""
        texts = (question.criteria, question.query, question.response, question.reference or "")
        shown = (*texts, *(question.contexts or ()))
        return parse_rating(text, shown=shown, strict_json=strict_json)

    def schema(self, question: RateResponse) -> Mapping[str, object]:
        """Return the schema that has the scale's levels and no other."""
        return rating_schema([level for level, _ in question.levels])


# Coverage: which sentences of a response its claims leave out.

FEWEST_WORDS = 3
"""Words with content below which a sentence is too short to be missed."""
LEAST_SHARE = 0.25
"""The share of them that must come up in the claims."""

_LONG_OR_FIGURE = re.compile(r"\b(?:\w{4,}|\d+)\b")


def uncovered(sentences: Sequence[Sentence], claims: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences that state something of which no claim has the words.

    A guess, made to miss rather than to nag: a sentence counts as covered if a quarter of its
    longer words and figures come up in any claim.
    """
    said = {word for claim in claims for word in _content(claim)}
    left = [
        sentence.text
        for sentence in sentences
        if len(words := _content(sentence.text)) >= FEWEST_WORDS
        and len(words & said) < LEAST_SHARE * len(words)
    ]
    return tuple(text for text in left if extract_claims(text))


def _content(text: str) -> set[str]:
    return set(_LONG_OR_FIGURE.findall(text.casefold()))


# Forms of the questions about claims.


class ExtractClaimsTask(JudgeTask[ExtractClaims]):
    """Which claims a response makes."""

    kind = ExtractClaims.kind

    def texts(self, question: ExtractClaims) -> dict[str, str]:
        """Return the query and the response."""
        return fenced({"query": question.query, "response": question.response})

    def read(self, text: str, question: ExtractClaims, *, strict_json: bool) -> object:
        """Read the claims, each with its place in the response."""
        sentences = _sentences(question.response)
        spans = [(sentence.start, sentence.end) for sentence in sentences]
        return tuple(
            Claim(text=claim, span=find_quote(claim, question.response, spans))
            for claim in parse_claims(text, shown=[question.response], strict_json=strict_json)
        )

    def doubt(self, question: ExtractClaims, value: object) -> str | None:
        """Say which sentences no claim covers."""
        claims = [claim.text for claim in cast("tuple[Claim, ...]", value)]
        if not claims:
            states = extract_claims(question.response)
            return (
                "no claim was found in a response that seems to state something" if states else None
            )
        left = uncovered(_sentences(question.response), claims)
        return f"no claim was found in: {' '.join(left)}" if left else None


class VerifyClaimsTask(JudgeTask[VerifyClaims]):
    """What contexts say of claims."""

    kind = VerifyClaims.kind

    def texts(self, question: VerifyClaims) -> dict[str, str]:
        """Return the numbered contexts and claims."""
        numbered = {
            "contexts": numbered_texts(question.contexts),
            "claims": numbered_lines(question.claims),
        }
        return fenced(numbered)

    def chosen(self, question: VerifyClaims) -> dict[str, str]:
        """Choose a partial support where it is asked for."""
        return {"partial": ""} if question.partial else {}

    def read(self, text: str, question: VerifyClaims, *, strict_json: bool) -> tuple[Verdict, ...]:
        """Read a verdict for each claim."""
        return parse_verdicts(text, question, strict_json=strict_json)

    def schema(self, question: VerifyClaims) -> Mapping[str, object]:
        """Return the schema with the labels that are offered."""
        return verdict_schema(question.partial)


class ExtractTruthsTask(JudgeTask[ExtractTruths]):
    """Which facts a context states."""

    kind = ExtractTruths.kind

    def texts(self, question: ExtractTruths) -> dict[str, str]:
        """Return the context."""
        return fenced({"context": question.context})

    def chosen(self, question: ExtractTruths) -> dict[str, str]:
        """Choose the limit where there is one."""
        return {"limit": str(question.limit)} if question.limit else {}

    def read(self, text: str, question: ExtractTruths, *, strict_json: bool) -> tuple[str, ...]:
        """Read the facts, no more than the limit."""
        return parse_claims(text, shown=[question.context], strict_json=strict_json)[
            : question.limit
        ]


class ExplainTask(JudgeTask[Explain]):
    """What verdicts come to, in words."""

    kind = Explain.kind

    def texts(self, question: Explain) -> dict[str, str]:
        """Return the verdicts, a numbered line each."""
        lines = [
            f"{n}. {label}: {' '.join(claim.split())}"
            + (f" ({' '.join(why.split())})" if why else "")
            for n, (claim, label, why) in enumerate(
                zip(question.claims, question.labels, question.reasons, strict=True), 1
            )
        ]
        return fenced({"verdicts": "\n".join(lines)})

    def read(self, text: str, question: Explain, *, strict_json: bool) -> str:
        """Read the explanation."""
        del question
        return parse_explanation(text, strict_json=strict_json)


@lru_cache(maxsize=1)  # a reply is read, and then doubted
def _sentences(response: str) -> tuple[Sentence, ...]:
    return split_sentences(response)


_ALL = (
    ExtractClaimsTask(),
    VerifyClaimsTask(),
    ExtractTruthsTask(),
    ExplainTask(),
    GradeContextsTask(),
    GradeSentencesTask(),
    GenerateQueriesTask(),
    DetectAbstentionTask(),
    RateResponseTask(),
)

TASKS: Mapping[str, JudgeTask[object]] = MappingProxyType(
    {form.kind: cast("JudgeTask[object]", form) for form in _ALL}
)
"""Kind of question -> how it is put and read."""
