"""Grade, Rating, Guesses: what a judge says of a text as a whole, not claim by claim."""

from pydantic import BaseModel, ConfigDict


class Grade(BaseModel):
    """A judge's word on one context or sentence: whether it is relevant, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevant: bool
    reason: str | None = None


class Rating(BaseModel):
    """A judge's word on a response by a rubric: the level of the scale, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: int
    reason: str | None = None


class Guesses(BaseModel):
    """The queries that a response may be an answer to.

    `noncommittal` is True where the response evades: "I don't know", "it depends".
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    queries: tuple[str, ...]
    noncommittal: bool
