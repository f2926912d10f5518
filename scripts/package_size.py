"""Compare the Python files of src with size.txt, `LINES FILES`; exit 1 if src has more.

Nobody raises the limit: a feature that needs lines first removes others.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

if __name__ == "__main__":
    files = list((ROOT / "src").rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    max_lines, max_files = map(int, (ROOT / "size.txt").read_text(encoding="utf-8").split())
    print(f"src: {lines} lines (limit {max_lines}) in {len(files)} files (limit {max_files})")
    sys.exit(lines > max_lines or len(files) > max_files)
