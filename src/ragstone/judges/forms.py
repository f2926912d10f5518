"""Forms: how each kind of question is put to a model, and how its reply is read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar, cast

from ragstone.claims import Claim, Verdict
from ragstone.judges.coverage import uncovered
from ragstone.judges.fences import fenced
from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.reading import (
    SCHEMAS,
    read_claims,
    read_explanation,
    read_truths,
    read_verdicts,
    verdict_schema,
)
from ragstone.places import place_of
from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.sentences import Sentence, split_sentences

Q = TypeVar("Q")


class Form(ABC, Generic[Q]):
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
            Unanswered: it cannot be read.
        """

    def schema(self, question: Q) -> Mapping[str, object]:
        """Return the JSON schema that the reply should have."""
        del question
        return SCHEMAS[self.kind]

    def doubt(self, question: Q, value: object) -> str | None:
        """Return what a reply that was read may lack, for the one re-ask; None if nothing."""
        del question, value
        return None


class _ClaimsForm(Form[ExtractClaims]):
    kind = ExtractClaims.kind

    def texts(self, question: ExtractClaims) -> dict[str, str]:
        return fenced({"query": question.query, "response": question.response})

    def read(self, text: str, question: ExtractClaims, *, strict_json: bool) -> object:
        sentences = _sentences(question.response)
        spans = [(sentence.start, sentence.end) for sentence in sentences]
        return tuple(
            Claim(text=claim, span=place_of(claim, question.response, spans))
            for claim in read_claims(text, shown=[question.response], strict_json=strict_json)
        )

    def doubt(self, question: ExtractClaims, value: object) -> str | None:
        claims = [claim.text for claim in cast("tuple[Claim, ...]", value)]
        if not claims:
            states = extract_claims(question.response)
            return (
                "no claim was found in a response that seems to state something" if states else None
            )
        left = uncovered(_sentences(question.response), claims)
        return f"no claim was found in: {' '.join(left)}" if left else None


class _VerdictsForm(Form[VerifyClaims]):
    kind = VerifyClaims.kind

    def texts(self, question: VerifyClaims) -> dict[str, str]:
        numbered = {
            "contexts": "\n\n".join(f"[{n}] {text}" for n, text in enumerate(question.contexts, 1)),
            "claims": "\n".join(
                f"{n}. {' '.join(claim.split())}" for n, claim in enumerate(question.claims, 1)
            ),
        }
        return fenced(numbered)

    def chosen(self, question: VerifyClaims) -> dict[str, str]:
        return {"partial": ""} if question.partial else {}

    def read(self, text: str, question: VerifyClaims, *, strict_json: bool) -> tuple[Verdict, ...]:
        return read_verdicts(text, question, strict_json=strict_json)

    def schema(self, question: VerifyClaims) -> Mapping[str, object]:
        return verdict_schema(question.partial)


class _TruthsForm(Form[ExtractTruths]):
    kind = ExtractTruths.kind

    def texts(self, question: ExtractTruths) -> dict[str, str]:
        return fenced({"context": question.context})

    def chosen(self, question: ExtractTruths) -> dict[str, str]:
        return {"limit": str(question.limit)} if question.limit else {}

    def read(self, text: str, question: ExtractTruths, *, strict_json: bool) -> tuple[str, ...]:
        return read_truths(text, shown=[question.context], strict_json=strict_json)[
            : question.limit
        ]


class _ExplainForm(Form[Explain]):
    kind = Explain.kind

    def texts(self, question: Explain) -> dict[str, str]:
        lines = [
            f"{n}. {label}: {' '.join(claim.split())}"
            + (f" ({' '.join(why.split())})" if why else "")
            for n, (claim, label, why) in enumerate(
                zip(question.claims, question.labels, question.reasons, strict=True), 1
            )
        ]
        return fenced({"verdicts": "\n".join(lines)})

    def read(self, text: str, question: Explain, *, strict_json: bool) -> str:
        del question
        return read_explanation(text, strict_json=strict_json)


@lru_cache(maxsize=1)  # a reply is read, and then doubted
def _sentences(response: str) -> tuple[Sentence, ...]:
    return split_sentences(response)


_ALL = (_ClaimsForm(), _VerdictsForm(), _TruthsForm(), _ExplainForm())

FORMS: Mapping[str, Form[object]] = MappingProxyType(
    {form.kind: cast("Form[object]", form) for form in _ALL}
)
"""Kind of question -> how it is put and read."""
