"""HumanLabel: the verdict of a person on a claim or a response."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AwareDatetime, Field

Index = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """A person's verdict on one claim of a run, or on a whole response."""

    run: str
    position: Index  # the row's `index` in the run
    sample_id: str
    metric: str
    claim: Index | None  # its place in the metric's score; None is the whole response
    value: bool | None  # whether it is supported, or faithful; None is "cannot tell"
    annotator: str
    at: AwareDatetime
    blind: bool  # the person has not seen the judge's verdict
