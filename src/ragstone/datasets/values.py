"""Values of a file to fields of a Sample.

Every function raises a ValueError with the reason if a value cannot be read.
"""

import ast
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date, time, timedelta
from decimal import Decimal
from io import StringIO
from token import DEDENT, ENDMARKER, INDENT, NAME, NEWLINE, NL, NUMBER, STRING
from tokenize import TokenError, generate_tokens
from typing import Any, TypeAlias, cast
from unicodedata import normalize
from uuid import UUID

from pydantic import BaseModel

from ragstone._internal.documents import read_document
from ragstone._internal.fields import document_id, is_list, is_object
from ragstone.datasets.number_formats import Shown
from ragstone.datasets.table import Unreadable
from ragstone.types.sample import Context

Scalar = str | int | float | bool
Plain: TypeAlias = Scalar | list["Plain | None"] | dict[str | int | float, "Plain | None"]
"""A value that is not missing, as in JSON, except that an object's names may be numbers."""

SEVERAL_TURNS = "this is a conversation; write one row per turn"
UNSPLIT = (
    f"{SEVERAL_TURNS}, or move this row to the first 1,000: a file over 4 MiB is searched for "
    "conversations only there"
)
EXACT = 10**15  # larger floats (all numbers of Excel are floats) may not be the id that was typed
_AS_TEXT = "format the column as text, and enter it again"
_DEEPEST = 50  # how deep lists and objects may be nested; real data sets have fewer than ten levels
_BITS = 1023  # most bits of a whole number; larger ones cannot be floats, such as grades


def parsed_json(text: str) -> object:
    """A repeated name becomes Unreadable; `NaN` passes here, and `normalize_cell` rejects it."""
    try:
        return cast("object", DECODER.decode(text))
    except RecursionError:
        raise ValueError("this is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python does not read such a number
        raise ValueError("a number of more than 4,300 digits is too large") from None


def _object(pairs: Sequence[tuple[Any, object]]) -> dict[Any, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        times = Counter(name for name, _ in pairs)
        for name in (name for name in values if times[name] > 1):
            values[name] = Unreadable(f"duplicate name {name!r} in an object")
    return values


DECODER = json.JSONDecoder(object_pairs_hook=_object)
_SPELLS = re.compile(  # how a text may begin that spells a list or an object
    r"""["\[({]|page_content=|(?:\w+\.)?(?:array|(?:frozen)?set|deque|Index)\(|[A-Z]\w*\(\w+="""
)
_LIKE_LIST = re.compile(  # what hardly any other text begins with
    r"""\[[\[(\s]*['"{“”„‘‚«»]|\[\s*(?:[A-Z]\w*\(\w+=|<[\w.]+\ object)|page_content=['"]
    |(?:\w+\.)?array\([\[(]|(?:Document|TextNode|NodeWithScore)\(\w+=|.*\sdtype:\ \w+$
    |\{\s*(['"])(?:(?!\1).)*\1\s*,|\(\s*(['"])(?:(?!\2).)*\2\s*,\s*['"]
    |\{[^\s",:{}\\]+(?:,[^\s",:{}\\]+)+\}$""",
    re.DOTALL | re.VERBOSE,
)
_POSTGRES = re.compile(  # an array, such as {a,"b c"}
    r"""\{(?:(?:"(?:[^"\\]|\\["\\])*"|(?!NULL[,}])[^\s'",:{}\\]+)(?:,(?!\})|(?=\})))*\}"""
)
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^"{},]+)', re.DOTALL)
_UNPARSED = (
    LookupError, MemoryError, RecursionError, SyntaxError, TokenError, TypeError, ValueError,
)  # fmt: skip


def spelled(value: object) -> list[object] | dict[object, object] | None:
    """Return a list or object, or the one that a text spells in JSON or as a program prints it.

    Programs are Python (also objects: Document(page_content="...")), NumPy and Postgres.
    """
    found = value
    if isinstance(value, str):
        text = value.strip()
        if not _SPELLS.match(text):
            return None
        try:
            found = parsed_json(text)
        except ValueError:
            try:
                found = None if text[0] == '"' else _printed(text)
            except _UNPARSED:
                return None
        if isinstance(found, str):  # JSON that was encoded twice
            return spelled(found)
    if isinstance(found, list | dict):
        return cast("list[object] | dict[object, object]", found)
    return None


def _printed(text: str) -> object:
    if '"' in text and _POSTGRES.fullmatch(text):
        return [re.sub(r"\\(.)", r"\1", "".join(word)) for word in _WORD.findall(text)]
    text = f"Document({text})" if text.startswith("page_content=") else text

    # NumPy and Pydantic print no commas, at which Python would join two texts.
    words, levels, last = list[str](), [("", set[str]())], ENDMARKER
    for kind, word, *_ in generate_tokens(StringIO(text).readline):
        if kind in (NL, NEWLINE, INDENT, DEDENT, ENDMARKER):
            continue
        opens = word in "([{"
        bracket, between = levels[-1]
        after = last in (NAME, NUMBER, STRING) or words[-1:] in ([")"], ["]"], ["}"])
        if after and (opens or kind in (NAME, NUMBER, STRING)) and (last, word) != (NAME, "("):
            if bracket != "[" and (bracket, kind) != ("(", NAME):
                raise ValueError("a comma is missing")
            between.add("nothing")
            words.append(",")
        if opens:
            levels.append((word, set()))
        elif word in ")]}" and len(levels.pop()[1]) > 1:
            raise ValueError("some commas are missing")
        elif word == ",":
            between.add(word)
        words.append(word)
        last = kind
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `\d` in a text is not our user's code
        return _evaluated(ast.parse(" ".join(words), mode="eval").body)


def _evaluated(node: ast.expr) -> object:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.Name(id="nan"):
            return None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_evaluated(item) for item in items]
        case ast.Dict(keys=keys, values=items) if None not in keys:
            names = [_evaluated(key) for key in keys if key]
            return _object([*zip(names, map(_evaluated, items), strict=True)])
        case ast.Call(args=[], keywords=[]):  # set()
            return []
        case ast.Call(args=[item], keywords=words) if {w.arg for w in words} <= {"dtype", "shape"}:
            return _evaluated(item)  # such as np.str_('a')
        case ast.Call(func=ast.Attribute(value=ast.Name(id="datetime"))):
            return ast.unparse(node)
        case ast.Call(args=[], keywords=words):
            parts = {str(word.arg): _evaluated(word.value) for word in words}
            inner = parts.get("node")  # of LlamaIndex
            return {**cast("dict[str, object]", inner), **parts} if is_object(inner) else parts
        case _:
            raise ValueError(f"a {type(node).__name__} is not a value")


def decoded(value: object) -> object:
    """Return the text that a text in JSON's quotes is; any other value as it is."""
    if isinstance(value, str) and value.strip()[:1] == '"':
        with suppress(ValueError):
            found = parsed_json(value)
            return found if isinstance(found, str) else value
    return value


def split_joined(text: str) -> list[str] | Unreadable:
    """Return the texts that are joined with `|`, as deepeval does it."""
    lines = [line for line in text.splitlines() if line.count("|") > 1]
    if len(lines) > 1 or "||" in text:
        seen = "the texts are joined with |, but one of them contains | (as in a table)"
        return Unreadable(f'{seen}; write a list: ["one", "two"]')
    return [piece for part in text.split("|") if (piece := part.strip())]


def object_in(value: object) -> dict[object, object] | None:
    found = spelled(value)
    return found if isinstance(found, dict) else None


def normalize_cell(value: object, depth: int = 0) -> Plain | None:
    """Return plain data, or raise a ValueError for what JSON cannot have, such as NaN."""
    if depth > _DEEPEST:
        raise ValueError(f"lists or objects are nested more than {_DEEPEST} deep")
    match value := _unwrapped(value):
        case None | bool():
            return value
        case int() | float():
            return _number(value)
        case str():
            return _storable(value)
        case Unreadable():
            raise ValueError(value.seen)
        case date() | time():
            return value.isoformat()
        case timedelta() | UUID():
            return str(value)
        case Decimal():
            whole = value.is_finite() and value.adjusted() <= _BITS
            whole = whole and value == value.to_integral_value()
            return _number(int(value) if whole else float(value))
        case BaseModel():
            return normalize_cell(value.model_dump(), depth)
        case list() | tuple():
            return [normalize_cell(item, depth + 1) for item in cast("list[object]", value)]
        case Mapping():
            pairs = cast("Mapping[object, object]", value).items()
            return {_name(key): normalize_cell(item, depth + 1) for key, item in pairs}
        case _:
            raise ValueError(f"values of type {type(value).__name__} are not supported")


def _unwrapped(value: object) -> object:
    if isinstance(value, Shown):
        return value.value
    convert = getattr(value, "tolist", None)  # of NumPy
    return convert() if callable(convert) else value


def text(value: Plain) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return document_id(value)
        case _:
            raise ValueError(f"this is {kind(value)}, not text")


def query(value: Plain) -> str:
    items = spelled(value)
    messages = items if isinstance(items, list) else []
    if messages and all(isinstance(item, dict) and "content" in item for item in messages):
        raise ValueError(UNSPLIT)
    if isinstance(items, dict) and items:
        path = f"{{column}}.{next(iter(items))}"
        raise ValueError(f"this is an object; map one of its parts, such as query={path}")
    asked = text(value)
    if not asked.strip():
        raise ValueError("the query is blank; fill it in, or delete the row")
    return asked


def sample_id(value: Plain) -> str:
    if not (name := text(exact(value)).strip()):
        raise ValueError("the id is blank; fill it in, or leave it out in every row")
    return name


def exact(value: Plain) -> Plain:
    if isinstance(value, float) and abs(value) >= EXACT:
        seen = "may not be the number that was typed: only 15 digits are stored"
        raise ValueError(f"{value:.0f} {seen}; {_AS_TEXT}")
    return value


def in_field(value: object, *, ids: bool) -> object:
    """Return what a field has of a cell: in a number format, it has the text that Excel displays.

    Dates and numbers of 16 digits are refused as ids.
    """
    if ids and isinstance(_unwrapped(value), date | time | timedelta):
        raise ValueError(f"this is a date or time ({normalize_cell(value)}), not an id; {_AS_TEXT}")
    if ids and isinstance(value, float) and math.isfinite(value) and not value.is_integer():
        raise ValueError(f"{value} has decimals, so it may be several ids; {_AS_TEXT}")
    if not isinstance(value, Shown):
        return value
    plain = normalize_cell(value.value)
    if (shown := value.text) is None:
        code = value.code or "of the region"
        raise ValueError(f"Excel may show {plain} differently (in the format {code}); {_AS_TEXT}")
    if ids:
        exact(plain or 0)
    return plain if ids and (isinstance(plain, bool) or _BETWEEN.search(shown)) else shown


def is_number(value: object) -> bool:
    return bool(re.fullmatch(r"[-#(]?\d+(?:[.,]\d+)?[.)%]?", str(value).strip()))


_LISTED = re.compile(r"""(?s)\s*(\[\s*['"].*\]|\{\s*['"](text|answer_start)['"]\s*:.*\})\s*""")


def accepted_answers(value: Plain) -> str | tuple[str, ...] | None:
    """Return one text, or several of a list; an empty list is *missing*."""
    found: object = spelled(value)
    if is_object(found) and found.keys() >= {"text", "answer_start"}:  # as in SQuAD
        found = found["text"]
    if isinstance(value, str) and found is None and _LISTED.fullmatch(value):
        raise ValueError('this looks like a list but cannot be parsed; write JSON: ["one", "two"]')
    numbers = is_list(found) and not any(isinstance(item, str) for item in found)
    if not is_list(found) or (numbers and str(value).lstrip()[0] == "("):  # (1, 2) is one answer
        return text(value)
    answers: list[str] = []
    for number, item in enumerate(map(normalize_cell, found), 1):
        if item is None or isinstance(item, dict | list) or not text(item).strip():
            raise ValueError(f"item {number} is {kind(item)}, not text")
        answers.append(text(item))
    return tuple(dict.fromkeys(answers)) or None


def claims(value: Plain) -> tuple[str, ...]:
    if isinstance(value, str):
        lines = [line for line in value.splitlines() if line.strip()]
        value = normalize_cell(lines if (found := _list_in(value)) is None else found) or []
    if not isinstance(value, list):
        raise ValueError(f"this is {kind(value)}; write a list of texts, or one per line")
    for number, item in enumerate(value, 1):
        if not isinstance(item, str) or not item.strip():
            raise ValueError(f"item {number} is {kind(item)}, not text")
    return tuple(str(item).strip() for item in value)


def tags(value: Plain, column: str) -> dict[str, Scalar]:
    if isinstance(value, str) and (found := object_in(value)) is not None:
        value = normalize_cell(found) or {}
    if isinstance(value, dict):
        return {str(name): tag(part) for name, part in value.items() if part is not None}
    return {column: tag(value)}


def tag(value: Plain) -> Scalar:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def kind(value: Plain | None) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list():
            return "a list"
        case str() if not value.strip():
            return "blank"
        case _:
            return repr(value if len(str(value)) <= 40 else f"{str(value)[:40]}…")


def _name(key: object) -> str | int | float:
    if isinstance(key, bool) or not isinstance(key, str | int | float):
        raise ValueError(f"the name {key!r} is not text; put it in quotes")
    return cast("str | int | float", normalize_cell(key))


def _number(value: int | float) -> int | float:
    if isinstance(value, int) and value.bit_length() > _BITS:
        raise ValueError(f"a number of {value.bit_length()} bits is too large")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


def _storable(value: str) -> str:
    if "\0" in value:
        raise ValueError("the text contains a NUL character (\\u0000); remove it")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        seen = f"the text contains half of a surrogate pair ({value[error.start]!a})"
        raise ValueError(f"{seen}; remove it") from None
    return value


_SCORE = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_PRINTED = ("page_content=", "Document(", "NodeWithScore(", "TextNode(")
_BETWEEN = re.compile(r"[,;|\t\r\n，、；]+")
_GAP = re.compile(r"([,;|，、；])\s*\1")
_NUMBERS = re.compile(r"\d+(\s+\d+)+")
_WIDE = re.compile(r"[０-９]+")
_LIST = '; write a list such as 1, 2 or ["a", "b"]'

NOT_GIVEN = frozenset("nan NaN None NaT <NA> \\N (null) [NULL]".split())  # of pandas and SQL
UNCLEAR = NOT_GIVEN | {"null", "NULL", "N/A", "n/a", "#N/A", "#NV"}
_MISSING = frozenset(
    "nan none null n/a na \\n (null) [null]".split()
)  # in any case; in quotes they are ids
_DASHES = frozenset("-–—")


def _list_in(text: str) -> list[object] | dict[object, object] | None:
    """Return what a text spells; a text that only begins like a list is refused."""
    if (found := spelled(text)) is None and _LIKE_LIST.match(text.strip()):
        end = "" if text.rstrip().endswith(("]", ")", "}")) else " (its end is missing)"
        raise ValueError(
            f'this starts like a list but cannot be parsed{end}; write JSON: ["one", "two"]'
        )
    return found


def contexts(value: Plain, known: Collection[str] = ()) -> tuple[Context, ...]:
    """A text that spells a list is that list; any other is one context; `""` is none."""
    if isinstance(value, str):
        found = _list_in(value)
        if isinstance(found, dict) and found and value.lstrip()[:1].isalpha():
            found = [found]  # Document(...)
        if isinstance(found, list) or found == {}:
            value = normalize_cell(found) or []
        else:
            value = [value] if value.strip() else []
    parts = value if isinstance(value, dict) else {}
    lists = [part for part in parts.values() if isinstance(part, list)]
    if len(lists) == 1 and all(map(is_object, lists[0])):  # of Bedrock
        value = lists[0]
    if not isinstance(value, list):
        texts = (n for n, part in parts.items() if is_list(part) and {*map(type, part)} == {str})
        name = next(texts, None)
        advice = f"; its texts may be in {name}: map contexts={{column}}.{name}" if name else ""
        raise ValueError(f"this is {kind(value)}, not a list of texts{advice}")
    return tuple(_document(item, n, known, ranked=False) for n, item in enumerate(value, 1))


def ranking(value: Plain, known: Collection[str] = ()) -> tuple[Context, ...] | None:
    """Return documents in rank order; None if the text means *missing*, see `spelled_ids`."""
    given = spelled_ids(value) if isinstance(value, str) else value
    if given is None:
        return None
    items = given if isinstance(given, list) else [given]
    return tuple(_document(item, n, known, ranked=True) for n, item in enumerate(items, 1))


def relevance(value: Plain) -> dict[str, float] | None:
    """Return document id -> grade, which is 1 for ids alone; None if it is *missing*."""
    given = spelled_ids(value) if isinstance(value, str) else value
    if given is None:
        return None
    if not isinstance(given, dict):
        items = given if isinstance(given, list) else [given]
        # AutoRAG lists alternatives; with one in each list, all are needed
        parts = [item[0] if isinstance(item, list) and len(item) == 1 else item for item in items]
        return {_id(item): 1.0 for item in parts}
    grades: dict[str, float] = {}
    for name, grade in given.items():
        if (document := _id(name)) in grades:
            raise ValueError(f"the document {document!r} has two grades")
        if isinstance(grade, str | list | dict) or grade is None:
            raise ValueError(f"the grade of {document!r} is {kind(grade)}, not a number")
        grades[document] = float(grade)
    return grades


def spelled_ids(text: str) -> Plain | None:
    """Parse a list or object, or ids between , ; | or line breaks; None if they are *missing*."""
    text = text.strip()
    if text.casefold() in _MISSING:
        return None
    if text in _DASHES:
        raise ValueError(
            f"{text!r} is ambiguous; write [] for no documents, or leave it blank if unknown"
        )
    if text.startswith(tuple("'\"“”„‘«")) and (quoted := spelled(f"[{text}]")) is not None:
        return normalize_cell(quoted) or []
    if (found := spelled(text)) is not None:
        return normalize_cell(found) or []
    text = text[1:-1] if _POSTGRES.fullmatch(text) else text
    words = [word for piece in _BETWEEN.split(text.strip("[]()")) if (word := piece.strip())]
    if words and _GAP.search(text[text.find(words[0]) : text.rfind(words[-1])]):
        raise ValueError(f"an id is missing in {kind(text)}; remove a separator, or fill it in")
    if odd := [word for word in words if word.casefold() in _MISSING or word in _DASHES]:
        raise ValueError(f"{odd[0]!r} is not an id; remove it, or put it in quotes if it is one")
    if text.startswith(("[", "{", "(")):
        raise ValueError(f"{kind(text)} starts like a list but cannot be parsed{_LIST}")
    if text and not words:
        raise ValueError(f"{kind(text)} contains no id{_LIST}")
    if unclear := [word for word in words if _NUMBERS.fullmatch(word)]:
        raise ValueError(f"{kind(unclear[0])} may be one id or several; separate ids with commas")
    if quoted := [word for word in words if word[0] in '"“”„‘«']:
        raise ValueError(f"the quotes of {kind(quoted[0])} are unclear{_LIST}")
    return [normalize("NFKC", word) if _WIDE.fullmatch(word) else word for word in words]


def _id(item: Plain | None) -> str:
    if isinstance(item, list | dict) or item is None:
        raise ValueError(f"{kind(item)} is not a document id{_LIST}")
    return document_id(exact(item))


def _document(item: Plain | None, number: int, known: Collection[str], *, ranked: bool) -> Context:
    if ranked and not isinstance(item, dict | list) and item is not None:
        return Context(id=_id(item))
    if isinstance(item, str) and (not item.startswith(_PRINTED) or _list_in(item) is None):
        return Context(text=item)
    item = normalize_cell(spelled(item)) if isinstance(item, str) else item
    needed = "an id or an object with an id" if ranked else "text or an object with text"
    if (parts := cast("dict[str, Plain] | None", read_document(item, known))) is None:
        raise ValueError(f"item {number} is {kind(item)}, not {needed}")
    if "text" not in parts and not (ranked and "id" in parts):
        missing = "neither id nor text" if ranked else "no text"
        there = ", ".join(repr(name) for name in list(cast("Any", item))[:8]) or "no names"
        raise ValueError(f"item {number} has {missing}; it has {there}")
    score = parts.get("score")
    score = float(score) if isinstance(score, str) and _SCORE.fullmatch(score) else score
    try:
        if isinstance(score, bool | str | list | dict):
            raise ValueError(f"the score is {kind(score)}, not a number")
        return Context(
            text=text(parts.get("text", "")),
            id=document_id(exact(parts["id"])) if "id" in parts else None,
            score=score,
        )
    except ValueError as error:
        raise ValueError(f"item {number}: {error}") from error
