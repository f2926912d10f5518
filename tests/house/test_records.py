"""Decision records have titles, statuses and an index; the changelog has short lines."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/internals/decisions"
LONGEST = 300
"""Words of a record: half a page."""


def test_every_record_has_a_title_a_status_and_an_entry_in_the_index() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    numbers = [path.name[:4] for path in FOLDER.glob("[0-9]*.md")]
    assert len(numbers) == len(set(numbers)), "two records have the same number"
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        text = path.read_text(encoding="utf-8")
        title = re.match(r"# (\d+)\. (.+)\n\nStatus: (accepted|superseded by \d{4})\b", text)
        assert title, f"{path.name}: the first lines must be '# N. Title' and 'Status: ...'"
        slug = re.sub(r"[^a-z0-9]+", "-", title[2].lower().replace("'", "")).strip("-")
        assert path.name == f"{int(title[1]):04}-{slug}.md"
        assert f"]({path.name})" in index, f"{path.name} is not in the index"
        assert len(text.split()) <= LONGEST, f"{path.name} has more than {LONGEST} words"


def test_every_change_is_one_short_line() -> None:
    for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("- "):
            assert len(line[2:].split()) <= 20, f"more than 20 words: {line}"
