"""No path makes a command crash: kinds of bad paths, for every command and option with a path.

Each kind is tried with a third of the commands; HYPOTHESIS_PROFILE=deep tries all. Each is refused
with exit code 2 and a message, and no file is left.
"""

import os
import re
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.cli.test_runs import made
from tests.conftest import Fork

from ragstone.store import Store, export

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="needs permissions and links"),
    pytest.mark.timeout(3600),  # some commands take seconds on a busy machine
]

ROWS = '{"query": "q", "response": "A.", "contexts": ["A."], "reference": "A."}\n'
SUFFIXES = ("", ".csv", ".db", ".gz", ".html", ".json", ".jsonl", ".md", ".parquet", ".py", ".tsv")
SUFFIXES += (".xlsx", ".xml", ".yaml")

INPUTS = {
    "missing": "none",
    "in a missing folder": "nowhere/none",
    "a folder": "folder",
    "below a file": "data.jsonl/none",
    "unreadable": "secret",
    "a locked folder": "locked",
    "in a locked folder": "locked/data",
    "a link to itself": "loop",
    "below a link to itself": "loop/none",
    "a dangling link": "dangling",
    "a long name": "x" * 300,
    "a long path": "x/" * 3000,
    "NUL": "a\0b",  # not in a real argument, but in a config file
    "a device": "null",
    "an endless device": "zero",
    "a pipe": "pipe",
    "a socket": "socket",
    "empty": "empty",
    "binary": "binary",
    "no text": "",
    "no UTF-8": "\udcff",
}
"""Kind of bad path -> a path, to which a suffix is added."""
OUTPUTS = {
    "in a locked folder": "locked/new",
    "in a folder that cannot be changed": "fixed/new",
    "a full disk": "full",
}
OUTPUTS |= {
    kind: INPUTS[kind]
    for kind in (
        *("a folder", "below a file", "a link to itself", "below a link to itself", "a long name"),
        *("a long path", "NUL", "a socket", "no text", "no UTF-8"),
    )
}
USABLE = {"empty", "no text", "no UTF-8"}
"""Kinds of path that some commands can use."""
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7)}
FINE = {"run": "-m exact_match --no-store --no-export"}
READING = """
run @.jsonl {run}
run @.xlsx {run}
run @.yaml {run}
run data.jsonl --config @.yaml {run}
run data.jsonl --target @.yaml {run}
run data.jsonl --target @.py {run}
run data.jsonl --plugin @.py {run}
run data.jsonl --judge offline --prompt verify_claims=@.md {run}
rank --qrels @ --ranking ranking
rank --qrels @.parquet --ranking ranking
rank --qrels qrels --ranking @
rank --qrels qrels --ranking ranking --plugin @.py
resume last --store @.db
runs list --store @.db
runs delete last --yes --store @.db
runs export last new.json --store @.db
runs import @.json --store new.db
runs show last --store @.db
view nothing --store @.db
runs rescore last --store @.db
compare last last --store @.db
collect @.jsonl --target plugin.py:ask -o new.json
collect data.jsonl --target @.yaml -o new.json
validate @.jsonl
validate @.yaml
validate data.jsonl --config @.yaml
judge test @.jsonl --judge offline
"""
WRITING = """
run data.jsonl --store @.db -m exact_match --no-export
rank --qrels qrels --ranking ranking --store @.db
runs import run.json --store @.db
run data.jsonl -m exact_match --no-store -o @.xlsx
run data.jsonl -m exact_match --no-store --no-export --html @.html
run data.jsonl -m exact_match --no-store --no-export --json @.json
run data.jsonl -m exact_match --no-store --no-export --rows @.parquet
run data.jsonl -m exact_match --no-store --no-export --markdown @.md
run data.jsonl -m exact_match --no-store --no-export --junit @.xml
rank --qrels qrels --ranking ranking -o @.xlsx
runs list --store runs.db --json @.json
runs export last @.json --store runs.db
runs rescore last --store runs.db --json @.json
compare last last --store runs.db --json @.json
collect data.jsonl --target plugin.py:ask -o @.json
validate data.jsonl -o @.jsonl
judge test data.jsonl --judge offline --json @.json
"""


def arguments(line: str, path: str) -> list[str]:
    """Return the words of a command in which `@` is a path."""
    words = line.format(**FINE).split()
    return [word.replace("@", path, 1) if "@" in word else word for word in words]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder with good files, and with every kind of bad path."""
    folder = Path(tempfile.mkdtemp(prefix="ragstone-paths-"))
    folder.chmod(0o755)
    (folder / "data.jsonl").write_text(ROWS)
    (folder / "qrels").write_text("q1 0 d1 1\n")
    (folder / "ranking").write_text("q1 Q0 d1 1 1.0 r\n")
    (folder / "plugin.py").write_text("def ask(query): return 'A.'")
    for name in ("cwd", "locked", "fixed"):
        (folder / name).mkdir()
    for suffix in SUFFIXES:
        (folder / f"empty{suffix}").touch()
        (folder / f"loop{suffix}").symlink_to(f"loop{suffix}")
        (folder / f"dangling{suffix}").symlink_to("nowhere")
        (folder / f"binary{suffix}").write_bytes(bytes(range(256)) * 10)
        (folder / f"folder{suffix}").mkdir()
        (folder / "locked" / f"data{suffix}").write_text(ROWS)
        (folder / f"secret{suffix}").write_text(ROWS)
        (folder / f"secret{suffix}").chmod(0)
        for name, numbers in DEVICES.items():  # not those in /dev, which root could replace
            if os.geteuid() == 0:
                os.mknod(folder / f"{name}{suffix}", 0o666 | stat.S_IFCHR, os.makedev(*numbers))
            else:
                (folder / f"{name}{suffix}").symlink_to(f"/dev/{name}")
        os.mkfifo(folder / f"pipe{suffix}")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(folder / f"socket{suffix}"))
    run = made(str(folder / "runs.db"))
    with Store.open(str(folder / "runs.db")) as store:
        export(store, run, folder / "run.json")
    (folder / "locked").chmod(0)
    (folder / "fixed").chmod(0o555)
    yield folder
    (folder / "locked").chmod(0o700)
    shutil.rmtree(folder)


def outcomes(
    fork: Fork,
    home: Path,
    cases: list[tuple[list[str], Path]],
    environments: Iterable[dict[str, str]] = (),
) -> list[dict[str, object]]:
    """Run commands in folders, with other variables in the environment if there are any."""
    common = {**os.environ, "COLUMNS": "200", "HOME": str(home), "TMPDIR": "/tmp"}
    return [
        fork(*words, folder=folder, home=home, environment=common | (environment or {}))
        for (words, folder), environment in zip_longest(cases, environments)
    ]


def faults(kind: str, words: list[str], result: dict[str, object], codes: set[int]) -> list[str]:
    """Return what is wrong with how a command ended."""
    shown = ascii(" ".join(word[:30] for word in words))
    refused = result["code"] == 2
    wrong = {
        f"exit code {result['code']}": result["code"] not in codes,
        "traceback": "Traceback" in f"{result['err']}{result['out']}",
        f"left {result['left']}": refused and result["left"],
        "no message": refused and not str(result["err"]).strip(),
    }
    end = ascii(str(result["err"])[-200:])
    return [f"{kind}: {shown}: {what}: {end}" for what, is_so in wrong.items() if is_so]


def commands(lines: str, paths: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield kinds of bad path with commands: each kind with a third of the lines, or with all."""
    for number, line in enumerate(lines.strip().splitlines()):
        suffix = re.search(r"@(\.\w+)?", line)[1] or ""
        for turn, (kind, path) in enumerate(paths.items()):
            if (number + turn) % 3 == 0 or os.environ.get("HYPOTHESIS_PROFILE") == "deep":
                whole = path and path + suffix
                yield kind, arguments(line.replace(f"@{suffix}", "@"), whole)


ALL = [*commands(READING, INPUTS), *commands(WRITING, OUTPUTS)]
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_a_bad_path_is_refused(fork: Fork, home: Path, part: int) -> None:
    some = ALL[part::PARTS]
    results = outcomes(fork, home, [(words, home) for _, words in some])
    found = []
    for (kind, words), result in zip(some, results, strict=True):
        found += faults(kind, words, result, {0, 2, 3} if kind in USABLE else {2})
    assert not found, "\n".join(found)


# Working folders, `.ragstone`, and paths in a config file, a job summary and promptfoo's file.

FROM_ELSEWHERE = """
run {home}/data.jsonl -m exact_match --no-store --no-export
validate {home}/data.jsonl
validate {home}/data.jsonl -o {home}/new.jsonl
runs list --store {home}/runs.db
runs export last {home}/new.json --store {home}/runs.db
runs show last --store {home}/runs.db
rank --qrels {home}/qrels --ranking {home}/ranking
metrics
metrics faithfulness
"""
"""Commands that need nothing in the working folder."""
NEEDS_A_FOLDER = """
run
run {home}/data.jsonl -m exact_match
run {home}/data.jsonl -m exact_match --no-store
run data.jsonl -m exact_match --no-store --no-export
validate data.jsonl
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
    ".ragstone is read-only": lambda folder: folder.mkdir(0o555),
    ".ragstone is a link to itself": lambda folder: folder.symlink_to(folder),
    ".ragstone is a dangling link": lambda folder: folder.symlink_to("nowhere/at/all"),
}


def lines_of(text: str, home: Path) -> list[str]:
    return text.format(home=home).strip().splitlines()


def ended(
    fork: Fork, home: Path, kind: str, folder: Path, fine: set[int], others: set[int]
) -> list[str]:
    """Run all commands in a folder; return what is wrong with how they ended."""
    lines = dict.fromkeys(lines_of(FROM_ELSEWHERE, home), fine)
    lines |= dict.fromkeys(lines_of(NEEDS_A_FOLDER, home), others)
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
    cases = []
    for text in ("prompts: @", "tests: [@]", "tests: [{vars: {query: @}}]"):
        for kind in KINDS:
            config = home / f"{len(cases)}.yaml"
            config.write_text(text.replace("@", f"file://{home}/{INPUTS[kind]}") + "\n")
            cases.append((["run", config.name, "--no-store", "--no-export"], home))
    found = []
    for (words, _), result in zip(cases, outcomes(fork, home, cases), strict=True):
        found += faults("file://", words, result, {2})
    assert not found, "\n".join(found)
