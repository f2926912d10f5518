"""Compare the size of the package with size.txt: `python scripts/package_size.py [--write]`.

size.txt has one line, `LINES FILES`: the most that the Python files of src may have. It only goes
down; a feature that needs lines first removes others.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = ROOT / "size.txt"


def measured() -> tuple[int, int]:
    """Return the lines and the number of the Python files in src."""
    files = list((ROOT / "src").rglob("*.py"))
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files), len(files)


def allowed() -> tuple[int, int]:
    """Return the lines and files that size.txt allows."""
    lines, files = map(int, LIMIT.read_text(encoding="utf-8").split())
    return lines, files


if __name__ == "__main__":
    lines, files = measured()
    if "--write" in sys.argv:
        LIMIT.write_text(f"{lines} {files}\n", encoding="utf-8")
    most_lines, most_files = allowed()
    print(f"src: {lines} lines (limit {most_lines}) in {files} files (limit {most_files})")
