"""HumanLabel: the verdict of a person on a claim or a response."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AwareDatetime, Field

Index = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """A person's verdict on one claim of a run, or on a whole response.

    Attributes:
        position: the row's `index` in the run, from 0.
        claim: the claim's index in the metric's score, from 0; None is the whole response.
        value: True is supported (or faithful), False is not; None is "cannot tell".
        probability: the chance of the row to be drawn for labelling.
        blind: whether the person has not seen the judge's verdict.
    """

    run: str
    position: Index
    sample_id: str
    metric: str
    claim: Index | None
    value: bool | None
    annotator: str
    at: AwareDatetime
    probability: Annotated[float, Field(gt=0, le=1)]
    blind: bool
