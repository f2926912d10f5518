"""A comparison as Markdown, for a pull request or a wiki."""

import re

from ragstone.comparison import Comparison
from ragstone.messages import one_line
from ragstone.reports.comparison_report import sections
from ragstone.reports.sections import Grid, Line, Mood

LONGEST = 1000
"""Characters of one cell or sentence."""

_MARKUP = re.compile(
    r"[\\`*\[\]|~$]"  # code, emphasis, links, cells, strikes, formulas
    r"|(?<!\w)_|_(?!\w)"  # emphasis too, but not within a word
)
_OPENING = re.compile(r"^(\d*)(?=[-#+=.)])")
"""Where a line begins with what makes a heading or a list of it."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def as_markdown(comparison: Comparison) -> str:
    """Return the report as Markdown; nothing in it that came from outside is markup."""
    blocks: list[str] = []
    for section in sections(comparison):
        blocks.append(f"## {escaped(section.title)}")
        blocks += [
            _line(each) if isinstance(each, Line) else _table(each) for each in section.parts
        ]
    return "\n\n".join(blocks) + "\n"


def escaped(words: str) -> str:
    """Return words as one line that Markdown shows as they are."""
    return _MARKUP.sub(r"\\\g<0>", one_line(words, LONGEST)).translate(_HTML)


def _line(line: Line) -> str:
    words = escaped(line.words)
    return f"**{words}**" if line.mood is Mood.BAD else _OPENING.sub(r"\1\\", words)


def _table(grid: Grid) -> str:
    ruler = ["---:" if head in grid.figures else "---" for head in grid.heads]
    lines = [[escaped(head) for head in grid.heads], ruler]
    for row in grid.rows:
        *cells, last = (escaped(cell) for cell in row.cells)
        lines.append([*cells, last if row.mood is Mood.PLAIN else f"**{last}**"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
