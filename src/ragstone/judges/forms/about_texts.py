"""Forms of the questions about whole texts."""

from collections.abc import Mapping

from ragstone.grades import GeneratedQueries, Grade, Rating
from ragstone.judges.fences import fenced
from ragstone.judges.forms.base import Form, numbered_lines, numbered_texts
from ragstone.judges.reading import (
    queries_schema,
    rating_schema,
    read_abstention,
    read_grades,
    read_queries,
    read_rating,
)
from ragstone.questions import (
    DetectAbstention,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
)


class ContextsForm(Form[GradeContexts]):
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
        return read_grades(text, due, of="contexts", shown=shown, strict_json=strict_json)


class SentencesForm(Form[GradeSentences]):
    """Which sentences matter to the query."""

    kind = GradeSentences.kind

    def texts(self, question: GradeSentences) -> dict[str, str]:
        """Return the sentences, a numbered line each, and the query."""
        return fenced({"sentences": numbered_lines(question.sentences), "query": question.query})

    def read(self, text: str, question: GradeSentences, *, strict_json: bool) -> tuple[Grade, ...]:
        """Read a grade for each sentence."""
        shown = (*question.sentences, question.query)
        due = len(question.sentences)
        return read_grades(text, due, of="sentences", shown=shown, strict_json=strict_json)


class QueriesForm(Form[GenerateQueries]):
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
        return read_queries(text, shown=(question.response,), strict_json=strict_json)

    def schema(self, question: GenerateQueries) -> Mapping[str, object]:
        """Return the schema with a place for each query, so that none can be left out."""
        return queries_schema(question.count)


class AbstentionForm(Form[DetectAbstention]):
    """Whether the response abstains from answering."""

    kind = DetectAbstention.kind

    def texts(self, question: DetectAbstention) -> dict[str, str]:
        """Return the query and the response."""
        return fenced({"query": question.query, "response": question.response})

    def read(self, text: str, question: DetectAbstention, *, strict_json: bool) -> bool:
        """Read whether it abstains."""
        shown = (question.query, question.response)
        return read_abstention(text, shown=shown, strict_json=strict_json)


class RatingForm(Form[RateResponse]):
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
        return read_rating(text, shown=shown, strict_json=strict_json)

    def schema(self, question: RateResponse) -> Mapping[str, object]:
        """Return the schema that has the scale's levels and no other."""
        return rating_schema([level for level, _ in question.levels])
