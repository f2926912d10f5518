"""User-facing text is plain English: the words of BANNED become fewer, and none come back.

`python tests/house/test_plain_words.py [WORD ...]` prints where they are; with `--lower` it lowers
the numbers that are allowed to what is there.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ragstone"
DATA = ("demo/", "judges/offline/", "evaluation/perturbations")
"""Folders whose strings are data in the first place; of them only docstrings are read."""

BANNED = {
    "told": r"told|tells",
    "says": r"says|said",
    "say": r"say",
    "mend": r"mend(s|ed|ing)?",
    "stand": r"stands?|stood|standing",
    "lack": r"lack(s|ed|ing)?",
    "nobody": r"nobody|no one",
    "is no": r"(?<!there )(?<!if )(?<!where )(is|are|was|were) no",
    "anew": r"anew",
    "comes to": r"(comes?|came) to",
    "hold against": r"(hold|holds|held|holding) (\w+ )?against",
    "of which": r"of which|of whom",
    "for good": r"for good",
    "dear": r"dear|dearer",
    "cheap judge": r"cheap (judge|one)",
    "alike": r"alike",
    "made up": r"made[- ]up",
    "planted": r"planted",
    "stranger": r"strangers?('s)?",
    "ledger": r"ledgers?",
    "floors": r"floors",
    "doors": r"doors?",
    "house": r"house",
    "whoever": r"whoever|whatever|wherever|whichever",
    "reckon": r"reckon(s|ed|ing)?",
    "wanted": r"wanted|wants",
}
"""Word -> the pattern of its forms."""

ALLOWED = Path(__file__).parent / "banned_words.json"
"""Word -> how often it may still be there; the numbers only go down, to none."""


@cache
def texts() -> tuple[tuple[str, int, str], ...]:
    """Return (file, line, text) of every line that a user may read."""
    found: list[tuple[str, int, str]] = []
    for path in sorted(SOURCE.rglob("*.py")):
        found += python_texts(path)
    pages = [*SOURCE.rglob("*.md"), *SOURCE.rglob("*.html"), ROOT / "README.md"]
    pages += (p for p in (ROOT / "docs").rglob("*.md") if "internals" not in p.parts)
    for path in sorted(path for path in pages if path.parent.name != "prompts"):  # read by models
        name = path.relative_to(ROOT).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        found += ((name, number, line) for number, line in enumerate(lines, 1))
    return tuple(found)


def python_texts(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield the lines of the string literals with more than one word, docstrings among them."""
    name = path.relative_to(ROOT).as_posix()
    only_docstrings = path.relative_to(SOURCE).as_posix().startswith(DATA)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    expressions = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for each in ast.walk(tree):
        if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
            continue
        if " " in each.value and (id(each) in expressions or not only_docstrings):
            for number, line in enumerate(each.value.splitlines(), each.lineno):
                yield name, number, line


def places(word: str) -> list[str]:
    """Return where a word is."""
    pattern = re.compile(rf"\b(?:{BANNED[word]})\b", re.IGNORECASE)
    return [
        f"{file}:{line}: {text.strip()}"
        for file, line, text in texts()
        for _ in pattern.finditer(text)
    ]


def test_banned_words_do_not_come_back() -> None:
    allowed = json.loads(ALLOWED.read_text(encoding="utf-8"))
    found = {word: places(word) for word in BANNED}
    grown = {word: at for word, at in found.items() if len(at) > allowed.get(word, 0)}
    assert not grown, "\n".join(
        f"{word}: {len(at)} times, {allowed.get(word, 0)} allowed\n" + "\n".join(at[:30])
        for word, at in grown.items()
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--lower"]:
        before = json.loads(ALLOWED.read_text(encoding="utf-8"))
        counts = {word: min(before[word], len(places(word))) for word in before}
        text = json.dumps({word: count for word, count in counts.items() if count}, indent=1)
        ALLOWED.write_text(f"{text}\n", encoding="utf-8")
    for word in [word for word in sys.argv[1:] if word in BANNED] or BANNED:
        sys.stdout.write(f"{word}: {len(places(word))}\n")
        if sys.argv[1:]:
            sys.stdout.writelines(f"  {place}\n" for place in places(word))
