"""Compare the files of src and the pages of docs with size.txt; exit 1 if one has more.

size.txt is `LINES FILES WORDS TABLES`: the lines and files of src, the words of README and docs
with the generated pages, and the percentage of those words that may be in tables. No limit is ever
raised: what needs room first removes something.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    files = list((ROOT / "src").rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "internals" not in page.parts]
    pages.append(ROOT / "README.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    words = len(text.split())
    tables = len(" ".join(re.findall(r"^\|.*\|$", text, re.MULTILINE)).split()) * 100 / words
    there = (lines, len(files), words, tables)
    limits = tuple(map(int, (ROOT / "size.txt").read_text(encoding="utf-8").split()))
    names = ("lines of src", "files of src", "words of docs and README", "% of them in tables")
    for name, found, limit in zip(names, there, limits, strict=True):
        print(f"{found:,.0f} {name} (limit {limit:,})")
    sys.exit(any(found > limit for found, limit in zip(there, limits, strict=True)))
