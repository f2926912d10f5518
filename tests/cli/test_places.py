"""No place makes a command crash: working folders, `.ragstone`, and paths in other places.

The paths are those of test_paths.py, in a config file, in `--judge local:PATH`, in variables of
GitHub Actions, and in a promptfoo configuration.
"""

import os
import re
from pathlib import Path

import pytest
from tests.cli.test_paths import INPUTS, OUTPUTS, faults, home, outcomes
from tests.conftest import Fork

__all__ = ["home"]
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs permissions and links"),
    pytest.mark.timeout(3600),  # some commands take seconds on a busy machine
]

FROM_ELSEWHERE = """
run {home}/data.jsonl -m exact_match --no-store --no-export
run {home}/data.jsonl -m faithfulness --judge offline --no-store --no-export
validate {home}/data.jsonl
validate {home}/data.jsonl -o {home}/new.jsonl
runs list --store {home}/runs.db
runs show last --store {home}/runs.db
runs export last {home}/new.json --store {home}/runs.db
runs show last --store {home}/runs.db
runs rescore last --store {home}/runs.db
rank --qrels {home}/qrels --ranking {home}/ranking
metrics
metrics faithfulness
metrics --policies
"""
"""Commands that need nothing in the working folder."""
NEEDS_A_FOLDER = """
run
run {home}/data.jsonl -m exact_match
run {home}/data.jsonl -m exact_match --no-store
run data.jsonl -m exact_match --no-store --no-export
validate data.jsonl
validate {home}/data.jsonl -o new.jsonl
collect {home}/data.jsonl --target plugin.py:ask -o {home}/new.json
runs list
resume
view
runs show last --store {home}/runs.db
rank --qrels qrels --ranking {home}/ranking
judge test data.jsonl --judge offline
"""
FOLDERS = {
    ".ragstone is a file": lambda folder: folder.touch(),
    ".ragstone is locked": lambda folder: folder.mkdir(0),
    ".ragstone is read-only": lambda folder: folder.mkdir(0o555),
    ".ragstone is a link to itself": lambda folder: folder.symlink_to(folder),
    ".ragstone is a dangling link": lambda folder: folder.symlink_to("nowhere/at/all"),
}


def commands(text: str, home: Path) -> list[str]:
    return text.format(home=home).strip().splitlines()


def ended(
    fork: Fork, home: Path, kind: str, folder: Path, fine: set[int], others: set[int]
) -> list[str]:
    """Run all commands in a folder; return what is wrong with how they ended."""
    lines = dict.fromkeys(commands(FROM_ELSEWHERE, home), fine)
    lines |= dict.fromkeys(commands(NEEDS_A_FOLDER, home), others)
    results = outcomes(fork, home, [(line.split(), folder) for line in lines])
    found = []
    for (line, codes), result in zip(lines.items(), results, strict=True):
        found += faults(kind, line.split(), result, codes)
        if kind == "shut" and "the working folder" not in str(result["err"]):
            found.append(f"{line}: {result['err']}")
    return found


@pytest.mark.parametrize("kind", ["gone", "shut"])
def test_a_working_folder_that_is_deleted_or_locked(fork: Fork, home: Path, kind: str) -> None:
    folder = home / kind
    if kind == "shut":
        folder.mkdir()
    found = ended(fork, home, kind, folder, {0, 2, 3} if kind == "gone" else {2}, {2})
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_folder_of_ragstone_that_cannot_be_used(fork: Fork, home: Path, kind: str) -> None:
    folder = home / kind
    folder.mkdir()
    (folder / "data.jsonl").write_text((home / "data.jsonl").read_text())
    FOLDERS[kind](folder / ".ragstone")
    found = ended(fork, home, kind, folder, {0}, {0, 2})
    assert not found, "\n".join(found)


KINDS = (
    *("missing", "a folder", "unreadable", "in a locked folder", "below a file"),
    *("a link to itself", "a pipe", "a device", "binary", "a long name"),
)
KINDS += ("a pipe", "a device", "binary", "a long name")
VALUES = {
    "run": ["data: @.jsonl"],
    "runs list": ["store: @.db"],
    "metrics": ["plugins: [@.py]"],
    "run data.jsonl -m exact_match --no-export": [
        *("store: @.db", "target: @.yaml", "target: '@.py:ask'"),
    ],
    "run data.jsonl --no-export -m faithfulness": ["judge: 'local:@'"],
}
"""Command -> lines of a config file with a path."""


@pytest.mark.parametrize("command", VALUES)
def test_a_bad_path_in_a_config_file(fork: Fork, home: Path, command: str) -> None:
    cases: dict[str, tuple[list[str], Path]] = {}
    for number, line in enumerate(VALUES[command]):
        suffix = (re.search(r"@(\.[a-z]+)", line) or ["", ""])[1]
        for kind in KINDS:
            folder = home / f"{number} {kind} {command}"[:60]
            folder.mkdir(exist_ok=True)
            text = line.replace(f"@{suffix}", f"{home}/{INPUTS[kind]}{suffix}")
            (folder / "data.jsonl").write_text((home / "data.jsonl").read_text())
            (folder / "ragstone.yaml").write_text(text + "\n")
            cases[f"{line} {kind}"] = command.split(), folder
    found = []
    for kind, result in zip(cases, outcomes(fork, home, [*cases.values()]), strict=True):
        missing = kind == "store: @.db missing" and command != "runs list"
        found += faults(kind, command.split(), result, {0} if missing else {2})
    assert not found, "\n".join(found)


def test_a_bad_path_of_a_job_summary(fork: Fork, home: Path) -> None:
    words = ["run", "data.jsonl", "-m", "exact_match", "--no-store", "--no-export"]
    kinds = {kind: path for kind, path in OUTPUTS.items() if kind not in ("NUL", "no text")}
    places = [f"{home}/{path}" for path in kinds.values()]
    environments = [{"GITHUB_ACTIONS": "1", "GITHUB_STEP_SUMMARY": place} for place in places]
    results = outcomes(fork, home, [(words, home)] * len(kinds), environments)
    found = []
    for kind, result in zip(kinds, results, strict=True):
        found += faults(kind, words, result, {0})
        said = f"{result['out']}{result['err']}"
        if kind != "no UTF-8" and "the job summary cannot be written" not in said:
            found.append(f"{kind}: {result}")
    assert not found, "\n".join(found)


def test_promptfoo_files_are_refused(fork: Fork, home: Path) -> None:
    texts = ("prompts: @", "tests: @", "tests: [@]", "tests: [{vars: {query: @}}]")
    cases = []
    for text in (*texts, "providers: [@]"):
        for kind in KINDS:
            config = home / f"{len(cases)}.yaml"
            config.write_text(text.replace("@", f"file://{home}/{INPUTS[kind]}") + "\n")
            cases.append((["run", config.name, "--no-store", "--no-export"], home))
    found = []
    for (words, _), result in zip(cases, outcomes(fork, home, cases), strict=True):
        found += faults("file://", words, result, {2})
    assert not found, "\n".join(found)
