"""The package has a limit on its size as a whole, in size.txt, and the limit only goes down."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLACK = 200
"""Lines that the package may be below its limit before the limit has to follow."""


def test_the_package_has_no_more_lines_and_files_than_its_limit() -> None:
    script = runpy.run_path(str(ROOT / "scripts/package_size.py"))
    (lines, files), (most_lines, most_files) = script["measured"](), script["allowed"]()
    assert lines <= most_lines, "src grew: remove lines elsewhere"
    assert files <= most_files, "src has more files: merge some"
    assert lines > most_lines - SLACK, (
        "src shrank: run `make size WRITE=--write` to lower the limit"
    )
