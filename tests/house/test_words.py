"""The words: no file named for nothing, no other name for our nouns, no machine's own places."""

import re
from pathlib import Path

NOTHING_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "manager", "core", "lib"}
ALIASES = re.compile(
    r"\b(user_input|actual_output|retrieval_context|retrieved_contexts|retrieved_chunks"
    r"|ground_truth|expected_output|qrels|point_ids)\b"
)
WHERE_OTHERS_WORDS_MAY_STAND = (
    "cli/__init__.py", "cli/commands/rank", "cli/commands/run.py", "cli/ranking.py",
    "datasets/", "demo/", "evaluation/ranking.py", "reports/", "targets/rag_api.yaml",
    "types/sample.py",
)  # fmt: skip
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|opt/pypi)/|file:///opt|--index-url https?:")


def test_no_file_is_named_for_nothing(source_files: list[Path]) -> None:
    assert not NOTHING_NAMES & {path.stem for path in source_files}


def test_one_word_for_a_thing(source_files: list[Path], root: Path) -> None:
    for path in source_files:
        place = path.relative_to(root / "src/ragstone").as_posix()
        if not place.startswith(WHERE_OTHERS_WORDS_MAY_STAND):
            found = ALIASES.findall(path.read_text(encoding="utf-8"))
            assert not found, f"{place} says {found}; DESIGN's vocabulary has another word"


def test_nothing_names_a_machine(text_files: list[Path]) -> None:
    for path in text_files:
        if path != Path(__file__):
            assert not MACHINE.search(path.read_text(encoding="utf-8", errors="replace")), path
