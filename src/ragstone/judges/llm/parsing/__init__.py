"""Reading what a model wrote: a value of the question's type, or why there is none, never a guess.

JSON comes first, then, unless only JSON is wanted, the plain text of older prompts. JSON that is
cut off is never closed, and nothing inside it is read.
"""

from ragstone.judges.llm.parsing.grades import read_grades
from ragstone.judges.llm.parsing.responses import read_abstention, read_queries, read_rating
from ragstone.judges.llm.parsing.schemas import (
    SCHEMAS,
    queries_schema,
    rating_schema,
    verdict_schema,
)
from ragstone.judges.llm.parsing.verdicts import (
    read_claims,
    read_explanation,
    read_truths,
    read_verdicts,
)

__all__ = [
    "SCHEMAS",
    "queries_schema",
    "rating_schema",
    "read_abstention",
    "read_claims",
    "read_explanation",
    "read_grades",
    "read_queries",
    "read_rating",
    "read_truths",
    "read_verdicts",
    "verdict_schema",
]
