"""Files in the shapes that other tools and public data sets have, and how each is read.

`readings.txt` has what the user sees. After a deliberate change, run this file to rewrite it, and
read the difference.
"""

from pathlib import Path

from tests.cases import each_case

from ragstone.datasets import load

FOLDER = Path(__file__).parent / "real"
READINGS = FOLDER / "readings.txt"
FILES = sorted(path for path in FOLDER.iterdir() if path != READINGS)
OPTIONS: dict[str, dict[str, object]] = {
    "deutsch.xlsx": {"header_row": 3},
    "ms-marco-hub.jsonl": {"columns": {"contexts": "passages.passage_text"}},
}


def reading(path: Path) -> str:
    found = load(path, **OPTIONS.get(path.name, {}))  # type: ignore[arg-type]
    lines = [f"{path.name}: {len(found.samples)} rows", *found.source.reading]
    notes = (*found.source.notes, *found.absent.values())
    return "\n".join((*lines, *(f"  note: {note}" for note in notes)))


@each_case("path", FILES, ids=lambda path: path.name)
def test_a_real_shape_is_read_as_shown(path: Path) -> None:
    shown = READINGS.read_text(encoding="utf-8").split("\n\n")
    assert (
        reading(path) == next(each for each in shown if each.startswith(f"{path.name}: ")).strip()
    )


if __name__ == "__main__":
    READINGS.write_text("\n\n".join(map(reading, FILES)) + "\n", encoding="utf-8")
