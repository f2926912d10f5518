"""Where runs are kept: --store, RAGSTONE_STORE, `store` in ragstone.yaml, the usual place."""

from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., object]
USUAL = ".ragstone/ragstone.db"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    (tmp_path / "rows.csv").write_text(
        "query,response,contexts\nQ?,It is red.,It is red.\n", encoding="utf-8"
    )
    return "rows.csv"


@pytest.fixture
def run(ragstone: Command, rows: str) -> Command:
    def run(*options: str) -> object:
        return ragstone("run", rows, "-m", "faithfulness", "--no-export", *options)

    return run


def config(folder: Path, text: str, name: str = "ragstone.yaml") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def stores(folder: Path) -> set[str]:
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.db")}
    return found - {".ragstone/replies.db"}


def test_the_file_in_the_folder_says_it_to_every_command(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    config(tmp_path, "store: kept/runs.db\n")
    assert run().code == 0
    assert stores(tmp_path) == {"kept/runs.db"}
    listed = ragstone("runs")
    assert listed.code == 0
    assert "faithfulness" in listed.out
    assert ragstone("report", "last", "--no-export").code == 0
    assert stores(tmp_path) == {"kept/runs.db"}


def test_the_environment_goes_before_the_file_and_the_option_before_both(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(tmp_path, "store: file.db\n")
    monkeypatch.setenv("RAGSTONE_STORE", "environment.db")
    assert run().code == 0
    assert stores(tmp_path) == {"environment.db"}
    assert run("--store", "option.db").code == 0
    assert stores(tmp_path) == {"environment.db", "option.db"}


def test_another_file_is_all_that_counts(run: Command, tmp_path: Path) -> None:
    config(tmp_path, "store: [no, place]\n")
    config(tmp_path, "store: other.db\n", "other.yaml")
    config(tmp_path, "", "empty.yaml")
    assert run("--config", "other.yaml").code == 0
    assert stores(tmp_path) == {"other.db"}
    assert run("--config", "empty.yaml").code == 0
    assert stores(tmp_path) == {"other.db", USUAL}


def test_other_commands_mind_nothing_else_of_the_file(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    config(tmp_path, "store: ${PLACE_THAT_IS_NOT_SET}\n")
    said = ragstone("runs")
    assert said.code == 2
    assert "row 1" in said.err
    assert "PLACE_THAT_IS_NOT_SET" in said.err
    config(tmp_path, "target: ${PLACE_THAT_IS_NOT_SET}\nstore: a.db\n")
    config(tmp_path, "", "empty.yaml")
    assert run("--config", "empty.yaml", "--store", "a.db").code == 0
    assert ragstone("runs").code == 0


def test_nothing_is_kept_and_somewhere_is_a_contradiction(
    ragstone: Command, run: Command, tmp_path: Path
) -> None:
    said = run("--no-store", "--store", "postgresql://me:secret@host/name")
    assert said.code == 2
    assert (
        "--no-store keeps nothing; leave it out, or --store postgresql://me@host/name" in said.err
    )
    demo = ragstone("demo", "--limit", "1", "--no-store", "--store", "a.db", "--no-export")
    assert demo.code == 2
    assert stores(tmp_path) == set()


ASKED = {
    "run": ("run", "rows.csv", "-m", "faithfulness", "--no-export"),
    "rank": ("rank", "--qrels", "qrels", "--ranking", "a.run"),
    "demo": ("demo", "--limit", "1", "--no-export"),
    "resume": ("resume", "last", "--no-export"),
    "report": ("report", "last", "--no-export"),
}


@pytest.fixture
def ranking(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 a 1 1 x\n")


@pytest.mark.parametrize("how", ["usual", "option", "environment", "file"])
@pytest.mark.parametrize("command", ["run", "rank", "demo", "resume"])
@pytest.mark.usefixtures("ranking")
def test_no_output_takes_the_place_of_the_store(
    how: str,
    command: str,
    ragstone: Command,
    run: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = USUAL if how == "usual" else "mine.db"
    if how == "environment":
        monkeypatch.setenv("RAGSTONE_STORE", place)
    elif how == "file":
        config(tmp_path, f"store: {place}\n")
    typed = ["--store", place] if how == "option" else []
    assert run(*typed).code == 0
    before = (tmp_path / place).read_bytes()
    said = ragstone(*ASKED[command], *typed, "--json", place)
    assert said.code == 2
    assert f"{place} is read, and cannot be written" in said.err
    assert (tmp_path / place).read_bytes() == before


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
@pytest.mark.parametrize("command", ["run", "report"])
def test_no_output_takes_the_place_of_what_stands_beside_the_store(
    ending: str, command: str, ragstone: Command, run: Command
) -> None:
    assert run().code == 0
    said = ragstone(*ASKED[command], "--json", USUAL + ending)
    assert said.code == 2
    assert f"{USUAL}{ending} is read, and cannot be written" in said.err


@pytest.mark.parametrize(
    ("command", "more"),
    [("run", ["--no-store"]), ("rank", ["--store"]), ("rank", ["--baseline", "last"])],
)
@pytest.mark.usefixtures("ranking")
def test_whatever_the_store_is_used_for_it_stays(
    command: str, more: list[str], ragstone: Command, run: Command, tmp_path: Path
) -> None:
    assert run().code == 0
    before = (tmp_path / USUAL).read_bytes()
    assert ragstone(*ASKED[command], *more, "--json", USUAL).code == 2
    assert (tmp_path / USUAL).read_bytes() == before


@pytest.mark.usefixtures("ranking")
def test_the_place_of_a_store_that_is_to_be_made_is_taken(
    ragstone: Command, tmp_path: Path
) -> None:
    assert ragstone(*ASKED["rank"], "--store", "--json", USUAL).code == 2
    assert stores(tmp_path) == set()


def test_no_store_overrules_what_is_said_for_good(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(tmp_path, "store: file.db\n")
    assert run("--no-store").code == 0
    monkeypatch.setenv("RAGSTONE_STORE", "environment.db")
    assert run("--no-store").code == 0
    assert stores(tmp_path) == set()


def test_a_place_with_a_password_is_told_without_it(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG", "postgresql://me:secret@127.0.0.1:9/runs")
    config(tmp_path, "store: ${PG}\n")
    said = run()
    assert said.code == 2
    assert "It names: postgresql://127.0.0.1:9/runs." in said.err
    assert "secret" not in said.err + said.out
