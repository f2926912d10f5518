"""`ragstone init`: what it writes can be run, and replaces nothing."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ragstone.evaluation.config_file import read_config
from ragstone.types.config import SETTINGS, Plan, settings_schema


def next_command(out: str) -> list[str]:
    """Return the words of the printed command."""
    return shlex.split(out.rpartition("Next: ")[2])


def test_the_printed_command_works_as_it_is(ragstone: Command) -> None:
    made = ragstone("init")
    assert made.code == 0
    name, *words = next_command(made.out)
    assert name == "ragstone"
    said = ragstone(*words)
    assert said.code == 0, said.err
    assert re.search(r"faithfulness +0\.5000 ", said.out)
    assert "35 minutes" in said.out
    assert Path("report.html").stat().st_size > 10_000


def test_an_api_is_called_as_its_file_describes(
    ragstone: Command, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ragstone("init", "my evaluation", "--target", demo_url)
    assert made.code == 0, made.err
    words = next_command(made.out)
    assert words[:4] == ["cd", "my evaluation", "&&", "ragstone"]
    monkeypatch.chdir("my evaluation")
    said = ragstone(*words[4:])
    assert said.code == 0, said.err
    assert re.search(r"Target +rag_api.yaml: 6 calls, 0 failed", said.out)
    assert "Copy this file" not in Path("rag_api.yaml").read_text(encoding="utf-8")


def test_comments_are_the_declared_settings_with_their_defaults(ragstone: Command) -> None:
    ragstone("init")
    text = Path("ragstone.yaml").read_text(encoding="utf-8")
    for setting in SETTINGS.values():
        key = setting.keys[0] if setting.name == "columns" else setting.name
        written = re.search(rf"^#?{key}: ", text, re.MULTILINE)
        assert bool(written) == (setting.common or setting.name == "data"), key

    # Without the lines that have placeholders, all defaults together change nothing.
    placeholder = re.compile(r"^#\w+: .*\b[A-Z]{4,}.*\n", re.MULTILINE)
    all_set = re.sub(r"^#(?=\w+: )", "", placeholder.sub("", text), flags=re.MULTILINE)
    Path("all.yaml").write_text(all_set, encoding="utf-8")
    made = read_config("all.yaml")
    assert len(made.settings) > 12
    assert made.plan() == Plan(metrics=made.plan().metrics)


def test_the_schema_beside_it_is_that_of_this_version(ragstone: Command) -> None:
    ragstone("init")
    head = Path("ragstone.yaml").read_text(encoding="utf-8").splitlines()[0]
    path = Path(head.rpartition("$schema=")[2])
    assert json.loads(path.read_text(encoding="utf-8")) == settings_schema()


@pytest.mark.parametrize("there", ["ragstone.yaml", "answers.csv"])
def test_existing_files_stay_as_they_are(ragstone: Command, there: str) -> None:
    Path(there).write_text("mine", encoding="utf-8")
    said = ragstone("init")
    assert (said.code, said.out) == (2, "")
    assert f"{there} already exists; name another folder" in said.err
    assert [path.name for path in Path().iterdir()] == [there]
    assert Path(there).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("my_rag:answer", "must be a URL, such as http://localhost:8000; set a function or a file"),
        ("https://me:secret-1@rag.example", "contains a password or key, which is not saved"),
    ],
)
def test_targets_that_a_file_cannot_have(ragstone: Command, target: str, message: str) -> None:
    said = ragstone("init", "--target", target)
    assert said.code == 2
    assert message in said.err
    assert "secret-1" not in said.err
    assert not list(Path().iterdir())
