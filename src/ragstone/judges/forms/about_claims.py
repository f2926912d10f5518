"""Forms of the questions about claims."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from ragstone.claims import Claim, Verdict
from ragstone.judges.coverage import uncovered
from ragstone.judges.fences import fenced
from ragstone.judges.forms.base import Form, numbered_lines, numbered_texts
from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.reading import (
    read_claims,
    read_explanation,
    read_truths,
    read_verdicts,
    verdict_schema,
)
from ragstone.places import find_quote
from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.sentences import Sentence, split_sentences


class ClaimsForm(Form[ExtractClaims]):
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
            for claim in read_claims(text, shown=[question.response], strict_json=strict_json)
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


class VerdictsForm(Form[VerifyClaims]):
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
        return read_verdicts(text, question, strict_json=strict_json)

    def schema(self, question: VerifyClaims) -> Mapping[str, object]:
        """Return the schema with the labels that are offered."""
        return verdict_schema(question.partial)


class TruthsForm(Form[ExtractTruths]):
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
        return read_truths(text, shown=[question.context], strict_json=strict_json)[
            : question.limit
        ]


class ExplainForm(Form[Explain]):
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
        return read_explanation(text, strict_json=strict_json)


@lru_cache(maxsize=1)  # a reply is read, and then doubted
def _sentences(response: str) -> tuple[Sentence, ...]:
    return split_sentences(response)
