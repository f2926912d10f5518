"""Markdown in which nothing from outside is markup or a link, or calls anybody."""

import re
from collections.abc import Container, Iterable, Sequence

from ragstone.messages import count, one_line

LONGEST = 1000
"""Characters of one cell or sentence."""

_MARKUP = re.compile(
    r"[\\`*\[\]|~$]"  # code, emphasis, links, cells, strikes, formulas
    r"|(?<!\w)_|_(?!\w)"  # emphasis too, but not within a word
)
_OPENING = re.compile(r"^(\d*)(?=[-#+=.)])")
"""Where a line begins with what makes a heading or a list of it."""
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LINKED = re.compile(
    r"(?<![A-Za-z0-9])@|@(?=[\w-]+\.\w)"  # people, teams and mail, but not hit@5
    r"|[#!](?=\d)|\bGH-(?=\d)"  # issues and requests, which would tell that they were named here
    r"|:(?=//)|\bwww(?=\.)",  # bare addresses
    re.IGNORECASE,
)
_APART = "&#8203;"
"""A space without width: forges look for names in what is shown, where an escape is gone."""


def escaped(words: str, limit: int = LONGEST) -> str:
    """Return words as one line that Markdown shows as they are, cut to `limit` characters."""
    plain = _MARKUP.sub(r"\\\g<0>", one_line(words, limit)).translate(_HTML)
    return _LINKED.sub(rf"\g<0>{_APART}", plain)


def sentence(words: str) -> str:
    """Return words as a line of its own that is neither a heading nor a list."""
    return _OPENING.sub(r"\1\\", escaped(words))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, figures: Container[str] = ()
) -> str:
    """Return a table of cells that are escaped already; `figures` names columns of numbers."""
    ruler = ["---:" if head in figures else "---" for head in heads]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows))


def details(title: str, body: str) -> str:
    """Return a part that is folded until somebody opens it; it is one block."""
    # Markdown reads no escapes within HTML
    shown = _LINKED.sub(rf"\g<0>{_APART}", one_line(title, LONGEST).translate(_HTML))
    return f"<details>\n<summary>{shown}</summary>\n\n{body}\n\n</details>"


def document(blocks: Sequence[str], *, limit: int) -> str:
    """Join blocks, the first the most important, in at most `limit` bytes of UTF-8.

    Whole blocks are left out, from the end; the last line then says how many.
    """
    whole = "\n\n".join(blocks) + "\n"
    if len(whole.encode()) <= limit:
        return whole
    kept = list(blocks)
    while kept:
        kept.pop()
        notice = f"**{count(len(blocks) - len(kept), 'part')} of this report did not fit here**"
        text = "\n\n".join([*kept, notice]) + "\n"
        if len(text.encode()) <= limit:
            return text
    return ""
