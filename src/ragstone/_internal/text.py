"""Texts for messages: without control characters and secrets, on one line.

Unsafe characters are replaced by a visible mark. Letters of every script and emoji stay unchanged.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import category, normalize
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ragstone._internal.secrets import redact

MARK = "\N{REPLACEMENT CHARACTER}"

_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and newline
    r"\u202a-\u202e\u2066-\u2069"  # change the order in which text is shown
    r"\ud800-\udfff\ufffe\uffff]"  # lone surrogates, and characters that XML forbids
)


def strip_controls(text: str) -> str:
    return _UNSAFE.sub(MARK, text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str, limit: int | None = None) -> str:
    line = strip_controls(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def quoted(text: str, limit: int = 200) -> str:
    text = redact(text[:100_000])
    return one_line(text[:1000], limit)


def message_of(error: BaseException) -> str:
    """Return an exception's text; user code may define one that raises."""
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001
        return f"(its text raised {type(fault).__name__})"


@lru_cache(maxsize=2**17)  # a file has its names in every row
def plain_name(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).casefold()


def listing(names: Iterable[object], most: int = 50) -> str:
    shown = [*map(repr, names)]
    more = [f"and {len(shown) - most:,} more"] if len(shown) > most else []
    return ", ".join(shown[:most] + more)


def public_url(url: str) -> str:
    head = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = head.partition("://")
    if not slashes:  # no URL, but perhaps meant as one: it may contain a password
        known, sign, host = head.rpartition("@")
        return f"...@{host}" if sign and ":" in known else redact(head)
    try:
        _ = urlsplit(head).port
    except ValueError:  # the part before the port may be a password
        return f"{scheme}://..."
    host, slash, path = rest.partition("/")
    return redact(f"{scheme}://{host.rpartition('@')[2]}{slash}{path}")


_INTEGERS = ("int_parsing", "int_parsing_size", "int_type", "int_from_float")
_PLAIN: Mapping[str, str] = {
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    **dict.fromkeys(("float_parsing", "float_type"), "must be a number"),
    **dict.fromkeys(_INTEGERS, "must be a whole number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list"),
    **dict.fromkeys(("model_type", "dict_type"), "must be a mapping"),
    "missing": "is missing",
    "recursion_loop": "must not contain itself",
}


def describe_fault(fault: ErrorDetails) -> str:
    context = {
        name: f"{value:g}" if isinstance(value, float) else value
        for name, value in fault.get("ctx", {}).items()
    }
    if fault["type"] not in _PLAIN:
        return fault["msg"].removeprefix("Value error, ")
    percent = " (0.5 is 50%)" if context.get("le") == "1" else ""
    return _PLAIN[fault["type"]].format_map(context) + percent


def format_validation_errors(error: ValidationError) -> str:
    problems: list[str] = []
    for fault in error.errors(include_url=False):
        place = ".".join(map(str, fault["loc"]))
        why = f"{describe_fault(fault)}, got {quoted(repr(fault['input']), 80)}"
        problems.append(f"{place}: {why}" if place else why)
    return "; ".join(problems)


def join_by_reason(reasons: Mapping[str, str]) -> Sequence[str]:
    names: dict[str, list[str]] = {}
    for name, why in reasons.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(alike)}: {why}" for why, alike in names.items()]


def span(least: int | str, most: int | str) -> str:
    low, high = (f"{end:,}" if isinstance(end, int) else end for end in (least, most))
    return low if low == high else f"{low} to {high}"


def count(number: int, noun: str) -> str:
    """Return a number with a noun, in the plural unless the number is 1."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def plain(text: str) -> str:
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def words(text: str) -> list[str]:
    return "".join(c if category(c)[0] in "LMN" else " " for c in plain(text)).split()


@lru_cache(maxsize=64)  # all metrics of a row ask for the same
def closest(texts: Sequence[str], other: str) -> str:
    """Return the text with the most words in common with another (F1); of equals, the first."""

    def similarity(text: str) -> list[float]:
        one, two = words(text), words(other)
        pairs = (one, two), ("".join(one), "".join(two))  # characters, in a script without spaces
        return [(Counter(a) & Counter(b)).total() / max(len(a) + len(b), 1) for a, b in pairs]

    return max(texts, key=similarity)
