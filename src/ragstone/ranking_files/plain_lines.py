"""Plain lines: JSON Lines of one simple shape, read as bytes, without an object an id."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.ranking_files.texts import PADDING, Integers, Texts, padded


@dataclass(frozen=True)
class QueryLines:
    """What some lines hold, a query each: N documents of Q queries.

    Attributes:
        queries: the queries' ids.
        lines: int64[Q], the numbers of the lines.
        sizes: int64[Q], how many documents each query has.
        documents: the documents' ids.
        grades: float64[N]; nothing where documents have none.
    """

    queries: list[str]
    lines: Integers
    sizes: Integers
    documents: Texts
    grades: NDArray[np.float64]


@dataclass(frozen=True)
class PlainShape:
    """What lines look like that hold a query's id, then ids, and nothing else.

    Attributes:
        begin: what stands before the query's id.
        middle: what stands between it and the first document's id.
        end: what a line ends with.
        comma: what stands between two values: a comma, mostly with a blank.
        colon: what stands between a document's id and its grade; nothing if there are no grades.
    """

    begin: bytes
    middle: bytes
    end: bytes
    comma: bytes
    colon: bytes = b""

    @classmethod
    def of(cls, line: bytes, query: str, field: str, *, graded: bool) -> "PlainShape | None":
        """Return the shape of a line in which the two keys are called so; None if it is another."""
        opening, closing = (b'{"', b"}}") if graded else (b'["', b'"]}')
        for blank in (b" ", b""):
            comma, colon = b"," + blank, b":" + blank
            begin = b'{"%b"%b"' % (query.encode(), colon)
            middle = b'"%b"%b"%b%b' % (comma, field.encode(), colon, opening)
            if line.startswith(begin) and middle in line and line.endswith(closing):
                return cls(begin, middle, closing, comma, colon if graded else b"")
        return None

    def read(self, content: bytes, number: int) -> "QueryLines | None":
        """Read whole lines, the first of this number.

        None if one of them is of another shape, or holds what is escaped.
        """
        if not _is_plain(content):
            return None
        queries: list[bytes] = []
        bodies: list[bytes] = []
        begin, middle, end = len(self.begin), len(self.middle), len(self.end)
        for line in content.removesuffix(b"\n").split(b"\n"):
            place = line.find(self.middle, begin)
            last = len(line) - end
            if not 0 <= place <= last - middle or not line.endswith(self.end):
                return None
            if not line.startswith(self.begin):
                return None
            queries.append(line[begin:place])
            bodies.append(line[place + middle : last])
        names = b"\n".join(queries)
        quotes = np.array([body.count(b'"') for body in bodies], dtype=np.int64)
        found = self._graded(bodies) if self.colon else self._listed(bodies)
        if found is None or b'"' in names or np.any(quotes % 2 != bool(self.colon)):
            return None
        lines = np.arange(number, number + len(bodies))
        return QueryLines(names.decode().split("\n"), lines, quotes // 2 + 1, *found)

    def _listed(self, bodies: list[bytes]) -> tuple[Texts, NDArray[np.float64]] | None:
        """Find ids in `a", "b`, one body after the other."""
        between = b'"%b"' % self.comma
        buffer, closing, opening = _quotes(between.join(bodies))
        if len(closing) != len(opening) or not _stand(buffer, closing, between):
            return None
        return _texts(buffer, opening, np.append(closing, len(buffer) - len(PADDING))), np.zeros(0)

    def _graded(self, bodies: list[bytes]) -> tuple[Texts, NDArray[np.float64]] | None:
        """Find ids and grades of one digit in `a": 1, "b": 0`, one body after the other."""
        between = self.comma + b'"'
        buffer, closing, opening = _quotes(between.join(bodies))
        places = closing + 1 + len(self.colon)
        if (
            len(closing) != len(opening) + 1
            or places[-1] + 1 != len(buffer) - len(PADDING)
            or not _stand(buffer, closing, b'"' + self.colon)
            or not _stand(buffer, places[:-1] + 1, between)
        ):
            return None
        grades = buffer[places] - ord("0")
        if np.any(grades > 9):
            return None
        return _texts(buffer, opening, closing), grades.astype(np.float64)


def _is_plain(content: bytes) -> bool:
    """Tell whether this is UTF-8, with nothing escaped, and no control characters but breaks."""
    if b"\\" in content:
        return False
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
    controls = np.count_nonzero(np.frombuffer(content, dtype=np.uint8) < ord(" "))
    return controls == content.count(b"\n")


def _quotes(content: bytes) -> tuple[NDArray[np.uint8], Integers, Integers]:
    """Return a buffer of the content, and where in it quotes close and open a text, in turn."""
    buffer = padded(content)
    quotes = np.flatnonzero(buffer == ord('"'))
    return buffer, quotes[0::2], quotes[1::2]


def _stand(buffer: NDArray[np.uint8], places: Integers, wanted: bytes) -> bool:
    """Tell whether the same bytes stand at all these places."""
    return all(bool(np.all(buffer[places + number] == byte)) for number, byte in enumerate(wanted))


def _texts(buffer: NDArray[np.uint8], opening: Integers, closing: Integers) -> Texts:
    starts = np.append(len(PADDING), opening + 1)
    return Texts(buffer, starts, closing - starts)
