"""Matching: which verdict or grade is about what, or why that cannot be told."""

import re
from collections.abc import Sequence

from ragstone.judges.reading.items import Item
from ragstone.messages import count

_NUMBER = re.compile(r"\s*(?:(?:claim|statement)\s*)?#?[0-9]{1,4}[.):]\s+", re.IGNORECASE)


class ReplyMismatchError(Exception):
    """There is not one verdict, or grade, for each thing asked about; the message says how."""


def in_order(items: Sequence[Item], claims: Sequence[str]) -> Sequence[Item]:
    """Return the verdicts in the claims' order, one a claim.

    They are told apart by the numbers they give (from 1; from 0 if all are so), else by the
    claims they repeat, else by their place.

    Raises:
        ReplyMismatchError: there are more or fewer than claims, or they contradict one another.
    """
    numbers = [item.number for item in items]
    places = order(numbers, len(claims), "verdicts", of="claims")
    if all(number is None for number in numbers):
        return _by_statement(items, claims)
    return [items[place] for place in places]


def order(numbers: Sequence[int | None], due: int, what: str, *, of: str) -> Sequence[int]:
    """Return the places in a reply of the words on each of the things asked about, in their order.

    `numbers` are what the words say they are about; where none says it, they stand in order.

    Raises:
        ReplyMismatchError: there is not one word for each.
    """
    if (came := len(numbers)) != due:
        counted = count(came, what.removesuffix("s"))
        raise ReplyMismatchError(f"{counted} came back for {count(due, of.removesuffix('s'))}")
    told = [number for number in numbers if number is not None]
    if not told:
        return range(due)
    first = first_number(told, due)
    if sorted(told) != list(range(first, first + due)):
        said = ", ".join("none" if number is None else str(number)[:20] for number in numbers[:50])
        raise ReplyMismatchError(f"{due} {of} were asked about, the {what} are about {of} {said}")
    places = {number: place for place, number in enumerate(numbers)}
    return [places[number] for number in range(first, first + due)]


def first_number(numbers: Sequence[int], due: int) -> int:
    """Return where the numbers begin: 0 if one is 0 and none is `due`."""
    return 0 if 0 in numbers and due not in numbers else 1


def _by_statement(items: Sequence[Item], claims: Sequence[str]) -> Sequence[Item]:
    """Order by the claims they repeat; a verdict that repeats none word for word keeps its place.

    Raises:
        ReplyMismatchError: a claim is repeated in another claim's place, and not all claims are
            repeated.
    """
    texts = [_line(claim) for claim in claims]
    repeated = [_line(item.statement or "") for item in items]
    if repeated == texts:
        return items
    if len(set(texts)) == len(texts) and set(repeated) == set(texts):
        return [items[repeated.index(text)] for text in texts]
    if strayed := [n for n, text in enumerate(repeated) if text != texts[n] and text in texts]:
        raise ReplyMismatchError(
            f"verdict {strayed[0] + 1} repeats another claim than claim {strayed[0] + 1}"
        )
    return items


def _line(text: str) -> str:
    return " ".join(_NUMBER.sub("", text, 1).split()).casefold().rstrip(".")
