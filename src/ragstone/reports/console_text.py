"""Text from outside as a console can show it, and never obeys it."""

from rich.console import Console
from rich.text import Text

from ragstone.messages import one_line

LONGEST = 400
"""Characters shown of one text; servers answer with whole pages."""

_PLAIN = str.maketrans({"–": "-", "…": "..."})
"""What stands for our own marks on a terminal that lacks some character."""


def shown(words: str, console: Console, style: str = "", limit: int = LONGEST) -> Text:
    """Return words that rich reads no markup from, in characters that the console can write."""
    line = one_line(words, limit)
    try:
        line.encode(console.encoding)
    except UnicodeEncodeError:
        plain = line.translate(_PLAIN).encode(console.encoding, "replace")
        line = plain.decode(console.encoding)
    return Text(line, style, overflow="fold")
