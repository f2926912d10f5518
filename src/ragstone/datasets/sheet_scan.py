"""SheetScan: what a sheet's XML says and calamine does not: its cells' errors, and its size."""

import re
from collections import Counter
from dataclasses import dataclass, field
from xml.parsers.expat import ExpatError, ParserCreate

from ragstone.datasets.archive import refuse_doctype

_PLACE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
_LOOKED_AT = 100
"""How many characters of a value are kept: enough for a number, an error or a shared text's."""
UNCALCULATED = "a formula without a value; open the file in Excel and save it"


@dataclass
class SheetScan:
    """A pass over a sheet's cells (ECMA-376 part 1, section 18.3.1.4).

    Attributes:
        rows, columns: the size of the area, from A1, that holds all values.
        errors: (row, column), both from 0 -> the error there, such as `#REF!`, or `UNCALCULATED`.
        shared: number of a shared text, as written -> how many cells hold it.
    """

    rows: int = 0
    columns: int = 0
    errors: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    shared: Counter[str] = field(default_factory=Counter[str])
    _row: int = -1
    _column: int = -1
    _type: str = "n"
    _formula: bool = False
    _valued: bool = False
    _text: str = ""

    @classmethod
    def of(cls, xml: bytes) -> "SheetScan":
        """Scan a sheet.

        Raises:
            ExpatError: this is no XML that a workbook has.
        """
        scan = cls()
        parser = ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler = scan._start
        parser.EndElementHandler = scan._end
        parser.CharacterDataHandler = scan._characters
        parser.Parse(xml, True)
        return scan

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "c":
            self._type, self._formula, self._text = attributes.get("t", "n"), False, ""
            self._valued = False
            if not (address := attributes.get("r")):
                self._column += 1
            elif place := _PLACE.fullmatch(address):
                self._column, self._row = _number(place[1]), int(place[2]) - 1
            else:
                raise ExpatError(f"{address[:20]!r} is no cell")
        elif name == "row":
            self._row = int(attributes.get("r", self._row + 2)) - 1
            self._column = -1
        elif name == "f":
            self._formula = self._valued = True
        elif name in ("v", "is"):
            self._valued = True
            self._text = ""

    def _characters(self, text: str) -> None:
        if len(self._text) < _LOOKED_AT:
            self._text += text

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == "f":
            self._text = ""
        elif name == "c" and self._valued:
            if self._type == "e":
                self.errors[self._row, self._column] = f"the error {self._text.strip()}"
            elif self._formula and self._type == "n" and not self._text.strip():
                self.errors[self._row, self._column] = UNCALCULATED
            elif self._type == "s":
                self.shared[self._text.strip()] += 1
            self.rows = max(self.rows, self._row + 1)
            self.columns = max(self.columns, self._column + 1)


def text_lengths(xml: bytes) -> list[int]:
    """Return how long each of the texts is that sheets share, at most; phonetic marks count too.

    Raises:
        ExpatError: this is no XML that a workbook has.
    """
    lengths: list[int] = []

    def start(tag: str, _: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def characters(text: str) -> None:
        if lengths:
            lengths[-1] += len(text)

    parser = ParserCreate()
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.CharacterDataHandler = characters
    parser.Parse(xml, True)
    return lengths


def _number(letters: str) -> int:
    """Return a column's number, from 0: A is 0, Z 25, AA 26."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
