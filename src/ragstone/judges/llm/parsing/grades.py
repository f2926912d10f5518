"""Grades of contexts and sentences, as models write them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ragstone._internal.text import quoted
from ragstone.errors import Cause
from ragstone.judges.llm.parsing.items import (
    Item,
    ItemFormat,
    ReplyMismatchError,
    in_order,
    json_items,
    plain_items,
)
from ragstone.judges.llm.parsing.json import (
    YES_OR_NO,
    is_refusal,
    label_pattern,
    numbered_pattern,
    parse_value,
    unusable,
)
from ragstone.types.claim import Grade

_RELEVANCE: Mapping[str, bool] = MappingProxyType(
    {
        **YES_OR_NO,
        **dict.fromkeys(("relevant", "useful"), True),
        **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
    }
)
_GRADES = ItemFormat(
    lists=("grades", "contexts", "sentences", "verdicts", "results", "labels"),
    labels=("relevant", "is_relevant", "relevance", "useful", "grade", "verdict", "label"),
    numbers=(
        "number", "context", "context_number", "context_id", "sentence", "sentence_number",
        "sentence_id", "index", "id",
    ),
    words=_RELEVANCE,
    label=label_pattern(_RELEVANCE),
    line=numbered_pattern("context", "sentence"),
)  # fmt: skip


def parse_grades(
    text: str, due: int, *, of: str, shown: Sequence[str] = (), strict_json: bool = False
) -> tuple[Grade, ...]:
    """Return the grades of a reply: exactly one for each of the `due` texts, in their order.

    `of` is what they are, in the plural; `shown` are the texts that the model was shown.

    Raises:
        JudgeFailureError: the reply cannot be parsed, or does not have one grade for each.
    """

    def plain(answer: str) -> tuple[Item[bool], ...] | None:
        lines = answer.splitlines()  # a reason may read like a refusal: other lines count
        if is_refusal("\n".join(line for line in lines if not _GRADES.line.fullmatch(line))):
            return None
        items = tuple(plain_items(lines, _GRADES, shown))
        return items if any(item.value is not None for item in items) else None

    items = parse_value(
        text,
        lambda value: json_items(value, due, _GRADES),
        plain,
        shown=shown,
        strict_json=strict_json,
    )
    try:
        ordered = in_order(items, due, "grades", of)
    except ReplyMismatchError as error:
        raise unusable(text, Cause.COUNT_MISMATCH, str(error)) from None
    grades: list[Grade] = []
    for item in ordered:
        if item.value is None:
            seen = (
                f"{quoted(item.written)!r} is not a grade" if item.written else "a grade is missing"
            )
            raise unusable(text, Cause.MALFORMED, seen)
        grades.append(Grade(relevant=item.value, reason=item.reason))
    return tuple(grades)
