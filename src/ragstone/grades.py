"""Grade, Rating, GeneratedQueries: a judge's answers about whole texts."""

from pydantic import BaseModel, ConfigDict


class Grade(BaseModel):
    """Whether a context or sentence is relevant, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevant: bool
    reason: str | None = None


class Rating(BaseModel):
    """The level that a rubric gives a response, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: int
    reason: str | None = None


class GeneratedQueries(BaseModel):
    """Queries that a response could answer.

    `noncommittal` is True if the response is evasive: "I don't know", "it depends".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    queries: tuple[str, ...]
    noncommittal: bool
