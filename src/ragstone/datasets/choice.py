"""Columns whose names have several meanings: their values and the other columns decide."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Literal

from ragstone._internal.documents import read_document
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import plain_name
from ragstone.datasets.columns import (
    ALMOST,
    EITHER,
    FIELD_OF,
    NOT_RETRIEVED,
    WEAK_OF,
    Layout,
    ambiguous,
    mapping,
    used_columns,
)
from ragstone.datasets.number_formats import Shown
from ragstone.datasets.table import FIRST, FileRows, Table, records_in
from ragstone.datasets.values import is_number, spelled
from ragstone.errors import Problem, nearest

Answers = Literal["ask", "response", "reference"]
"""What a column such as `answer` is beside a question alone."""
_EITHER, _NOT_RETRIEVED = (frozenset(map(plain_name, names)) for names in (EITHER, NOT_RETRIEVED))
_OUTPUTS = frozenset(("output", "outputs"))
_FILE = re.compile(
    r"[^\n]{1,200}\.(pdf|docx?|md|txt|html?|pptx?|xlsx?|csv|json|xml)(#\S*)?|[\w./-]{1,200}#\w+",
    re.IGNORECASE | re.ASCII,
)
_MARKS = frozenset(("0", "1", "0.0", "1.0", "true", "false", "yes", "no"))
_SHARE = re.compile(r"[01]|[01]?\.\d+")
_VAGUE = frozenset(("documents", "docs", "chunks", "sources", "evidence"))  # texts or ids
LOOKED_AT = 1000  # rows of a large file
LONGEST_ID, MOST_WORDS = 100, 12  # of ids, which may be titles


class Choice:
    """The columns with weak names that are a field, and what is unclear about others.

    Attributes:
        fields: Sample field -> column; `""` if the column of a shape is another field.
        renamed: column -> its name as a tag, or that of the same field in other rows.
        notes: what was decided, and may be wrong.
        absent: Sample field -> why no row has it.
        problems: what has to be decided by the user.
    """

    def __init__(
        self,
        table: Table,
        given: Mapping[str, str],
        *,
        fixed: Collection[str] = (),
        answers: Answers,
    ) -> None:
        """`given` is Sample field -> column, by the user or by the shape of the file.

        The `fixed` ones of these fields are not changed.
        """
        self.fields, self.renamed = dict[str, str](), dict[str, str]()
        self.notes, self.problems = list[str](), list[Problem]()
        self.absent = dict[str, str]()
        columns = table.columns or ()
        names = [*columns, *(table.names or ())]
        is_large = isinstance(table.rows, FileRows) and not table.rows.is_small
        records = list(islice(records_in(table.rows), LOOKED_AT if is_large else None))
        names = dict.fromkeys(chain(names, *(each.values for each in records), given.values()))
        plain = {name: plain_name(name) for name in names}
        known = [n for n in names if plain[n] in FIELD_OF or plain[n] in _NOT_RETRIEVED]
        known += [name for name in given.values() if name not in known]
        self._values: dict[str, list[object]] = {name: [] for name in known}
        everything = {*known}
        self._beside = {n: everything if n in columns else set[str]() for n in known}
        for record in records:
            there = {n: v for n in known if (v := record.values.get(n)) is not None}
            for name, value in there.items():
                if len(self._values[name]) < FIRST:
                    self._values[name].append(value)
                self._beside[name].update(there)
        layout = Layout.of(tuple(self._values), given)
        self._columns = {**layout.fields}
        self._known = {*layout.fields, *layout.ambiguous}
        self._fixed = fixed
        self._weak: dict[str, list[str]] = {}
        used = used_columns(given)
        for name in (each for each in layout.tags if each not in used):
            if of := WEAK_OF.get(plain_name(name)):
                self._weak.setdefault(of, []).append(name)
        for of in "query", "reference":
            worded = (n for n in self._weak.get(of, ()) if any(map(_is_worded, self._values[n])))
            self._take(of, list(worded))
        self._choose_contexts()
        self._choose_ids()
        self._choose_answers(answers)
        texts = self._columns.get("contexts", "")
        is_test_set = "reference" in self._known and "response" not in self._known
        if is_test_set and (plain_name(texts) in WEAK_OF or plain_name(texts) == "contexts"):
            self.notes.append(
                f"column {texts!r} may have the texts that the questions were written from, which "
                f"were not retrieved; if so, {mapping('tags', texts)}"
            )

    def _take(self, of: str, names: Sequence[str]) -> None:
        names = self._merge(of, names)
        if of not in self._known and names:
            self._known.add(of)
            if rest := self._merge(of, names[1:], names[0]):
                self.problems.append(ambiguous(of, (names[0], *rest)))
            else:
                self.fields[of] = self._columns[of] = names[0]

    def _merge(self, of: str, names: Sequence[str], column: str | None = None) -> list[str]:
        """Rename columns that are in no row with another of this field."""
        column = self._columns.get(of, column)
        if column is None or of in self._fixed or not self._values.get(column):
            return [*names]
        beside, rest = {*self._beside.get(column, ())}, list[str]()
        for name in names:
            if name in beside:
                rest.append(name)
            else:
                self.renamed[name] = column
                beside |= self._beside.get(name, set())
        return rest

    def _choose_contexts(self) -> None:
        weak = self._weak.get("contexts", [])
        if "contexts" in self._fixed:
            return
        given = self._columns.get("contexts", "")
        beside = [name for name in self._values if plain_name(name) in _NOT_RETRIEVED]
        if beside and "response" not in self._columns and not self._weak.get("response"):
            if plain_name(given) == "contexts":
                self.renamed[given] = "reference_contexts"
                weak = [given]
            if weak:
                self.absent["contexts"] = (
                    f"column {weak[0]!r}, beside {beside[0]!r}, has the texts that a test set was "
                    "made from, which were not retrieved; to use them all the same, "
                    f"{mapping('contexts', weak[0])}"
                )
            return
        names = {name: _file_name(self._items(name), name in weak) for name in (given, *weak)}
        passages = (
            n
            for n in weak
            if names[n] is None and any(_is_passage(item, n) for item in self._items(n))
        )
        self._take("contexts", list(passages))
        for name, example in names.items():
            if example is not None and (name == given or "contexts" not in self._known):
                why = (
                    f"the values of column {name!r} are names of files or ids, such as "
                    f"{example!r}, not texts; {mapping('ranking', name)} if they were retrieved, "
                    f"{mapping('relevance', name)} if they are relevant, or "
                    f"{mapping('contexts', name)} if they are texts"
                )
                self.problems += [Problem(why)] if name == given else []
                self.absent.setdefault("contexts", why)

    def _choose_ids(self) -> None:
        weak = self._weak.get("relevance", [])
        self._take("relevance", [name for name in weak if _are_ids(self._values[name])])
        if "relevance" in self._known:
            ranked = self._weak.get("ranking", ())
            self._take("ranking", [name for name in ranked if _are_ids(self._values[name])])
        elif parts := [p for n in weak for item in self._items(n) if is_object(item) for p in item]:
            path = f"{weak[0]}[].{parts[0]}"
            self.notes.append(
                f"column {weak[0]!r} may have the relevant documents, but its values are not ids; "
                f"if a part of them is, {mapping('relevance', path)}"
            )

    def _choose_answers(self, answers: Answers) -> None:
        """An answer is the expected one, or that of the system."""
        weak = [n for n in self._weak.get("response", ()) if any(map(_is_worded, self._values[n]))]
        either = [name for name in weak if plain_name(name) in _EITHER]
        has_reference = not self._known.isdisjoint(("reference", "reference_claims"))
        made = self._columns.get("response", "")
        moved = plain_name(made.partition(".")[0]) in _EITHER and not has_reference
        if moved and "response" not in self._fixed:  # a shape has taken it
            either = [made]
            self._known.discard("response")
        self._take("response", [name for name in weak if plain_name(name) not in _EITHER])
        either = self._merge("response", either) if "response" in self._known else either
        if not either:
            return
        name = either[0]
        has_response = "response" in self._known
        lists = any(isinstance(spelled(value), list) for value in self._values.get(name, ()))
        if has_response and not has_reference:
            if len(either) == 1 and plain_name(name) not in _OUTPUTS:
                self._to_reference(name, f"{self._columns.get('response')!r} has the responses")
        elif len(either) > 1 or has_reference or has_response:
            self._take("response", either)
        elif lists and not moved:
            self._to_reference(name, "its values are lists")
        elif answers == "reference":
            self._to_reference(name, "the RAG system is asked for the responses")
        elif answers == "response" or not self._known.isdisjoint(("contexts", "ranking")):
            self._take("response", either)
            if not plain_name(self._columns.get("contexts", "")).startswith("retriev"):
                self.notes.append(
                    f"column {name!r} is read as the response of your system; if it is the "
                    f"expected answer, {mapping('reference', name)}"
                )
        elif "query" in self._known:
            choices = f"{mapping('response', name)}, or {mapping('reference', name)}"
            seen = f"column {name!r} may be the response of your system, or the expected answer"
            self.problems.append(Problem(seen, f"choose one: {choices}"))

    def _items(self, column: str) -> list[object]:
        return [*_items(self._values.get(column, ()))]

    def _to_reference(self, name: str, why: str) -> None:
        if name == self._columns.get("response"):
            self.fields["response"] = ""
        self._take("reference", [name])
        self.notes.append(f"column {name!r} is read as the reference, because {why}")


def propose_query(table: Table) -> str:
    """Return a hint with the only column whose values are questions, or one misspelt, or `""`."""
    questions: dict[str, list[bool]] = {}
    for record in islice(records_in(table.rows), FIRST):
        for name, value in record.values.items():
            if value is not None:
                is_question = isinstance(value, str) and value.rstrip().endswith(("?", "？"))
                questions.setdefault(name, []).append(is_question)
    names = [name for name, found in questions.items() if 2 * sum(found) > len(found)]
    names = names or [*filter(None, [nearest("query", questions, cutoff=ALMOST)])]
    return f"did you mean {mapping('query', names[0])}?" if len(names) == 1 else ""


def _items(values: Iterable[object]) -> Iterator[object]:
    for value in values:
        parsed = spelled(value) if isinstance(value, str) else value
        if is_list(parsed):
            yield from (part[0] if is_list(part) and len(part) == 1 else part for part in parsed)
        else:
            yield value if parsed is None else parsed


def _is_worded(value: object) -> bool:
    """Whether a value can be a question or an answer: not a mark or a share."""
    return not isinstance(value, bool) and not _SHARE.fullmatch(str(value).strip())


def _is_passage(item: object, name: str) -> bool:
    text, is_vague = str(item), plain_name(name) in _VAGUE
    if is_object(item):
        return not is_vague or bool((read_document(item) or {}).get("text"))
    is_long = len(text) > 30 or text.count(" ") > 2 or not is_vague
    return isinstance(item, str) and is_long and not is_number(text) and "://" not in text[:8]


def _file_name(items: Sequence[object], is_weak: bool) -> str | None:
    """Return the first of items that are all names of files or ids, or None."""
    blanks = 4 if is_weak else 0
    if not all(isinstance(i, str) and _FILE.fullmatch(i) and i.count(" ") <= blanks for i in items):
        return None
    return next(map(str, items), None)


def _are_ids(values: Sequence[object]) -> bool:
    """Whether values can be ids, or grades by id."""

    def is_id(item: object) -> bool:
        if is_object(item):
            return all(isinstance(grade, int | float) for grade in item.values())
        text = str(item)
        is_short = len(text) <= LONGEST_ID and "\n" not in text and text.count(" ") < MOST_WORDS
        is_phrase = "," in text and " " in text.replace(", ", ",")
        return isinstance(item, str | int | Shown) and is_short and not is_phrase

    items = [*_items(values)]
    return all(map(is_id, items)) and any(str(item).casefold() not in _MARKS for item in items)
