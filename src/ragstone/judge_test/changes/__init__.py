"""Changes that make a supported claim unsupported: one kind a file, None where one cannot apply."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ragstone.judge_test.capitals import WORD
from ragstone.judge_test.changes.dates import change_date
from ragstone.judge_test.changes.names import change_name
from ragstone.judge_test.changes.negations import turn_negation
from ragstone.judge_test.changes.numbers import change_number
from ragstone.judge_test.changes.qualifiers import drop_qualifier
from ragstone.judge_test.changes.units import change_unit
from ragstone.judge_test.material import Material

Change = Callable[[str, Material], str | None]


def add_sentence(claim: str, material: Material) -> str | None:
    """Add a sentence of another sample, which the contexts do not state."""
    added = material.foreign_sentence(claim)
    if added is None:
        return None
    first = WORD.match(added)
    begins = added[:1].upper() if first and first[0].islower() else added[:1]
    stop = "." if WORD.match(claim[-1:]) else ""
    return f"{claim}{stop} {begins}{added[1:]}"


CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "number": change_number,
        "date": change_date,
        "unit": change_unit,
        "name": change_name,
        "negation": turn_negation,
        "qualifier": drop_qualifier,
        "invented": add_sentence,
    }
)
"""Kind -> the change; the claim must no longer be called supported."""
