"""Config files of a folder run no code and send no secrets before somebody agrees."""

import io
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

RAN = "executed.txt"
FILES = {
    "evil.py": f"""\
from pathlib import Path
Path({RAN!r}).write_text("ran")
def answer(query): return query
""",
    "rag.yaml": """\
base: http://127.0.0.1:9
headers:
  X-A: ${AWS_SECRET_ACCESS_KEY}
calls:
  chat:
    url: "{base}/x"
    body: {q: "{query}"}
    reply: {response: answer}
""",
    "data.jsonl": '{"query": "q", "response": "a", "contexts": ["c"]}\n',
}
PLUGIN, URL = "plugin: evil.py\n", "http://127.0.0.1:9/v1"
SENDING = {
    "the code of evil.py": "metric: abstention\nplugin: evil.py\n",
    "evil.py": "target: evil.py:answer\n",
    "the code of evil": "target: evil:answer\n",
    "rag.yaml: AWS_SECRET_ACCESS_KEY": "target: rag.yaml\n",
    "ragstone.yaml: AWS_SECRET_ACCESS_KEY": f'target: "{URL}/\\x24{{AWS_SECRET_ACCESS_KEY}}"\n',
    "in ragstone.yaml: AWS_SECRET_ACCESS_KEY": (
        "judge: openai:m\njudge_body: {a: '\"\\u0024{AWS_SECRET_ACCESS_KEY}\"'}\n"
    ),
    URL: f"judge: openai:gpt-4o-mini\nbase_url: {URL}\nmetric: faithfulness\n",
    "postgresql://127.0.0.1:9/x": "store: postgresql://127.0.0.1:9/x\n",
}
COMMANDS = [
    "data.jsonl",
    "run data.jsonl --dry-run",
    "run --list-metrics",
    "collect data.jsonl",
    "resume",
    "validate data.jsonl",
    "metrics",
    "runs rescore last",
    "questions check data.jsonl --docs data.jsonl",
    "questions generate data.jsonl",
    "judge test data.jsonl",
]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ragstone: Command) -> Path:
    """The current folder, without consent, and with an empty home."""
    monkeypatch.delenv("RAGSTONE_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abcdefgh12345678")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def set_up(folder: Path, settings: str) -> None:
    (folder / "ragstone.yaml").write_text(settings)


@each_case("what", SENDING)
def test_a_config_file_needs_consent(what: str, folder: Path, ragstone: Command) -> None:
    set_up(folder, SENDING[what])
    said = ragstone("data.jsonl")
    assert said.refuses(what)
    assert said.out == ""
    assert not (folder / RAN).exists()
    assert not (folder / ".ragstone").exists()


@each_case("command", COMMANDS)
def test_every_command_needs_consent(command: str, folder: Path, ragstone: Command) -> None:
    set_up(folder, PLUGIN)
    assert ragstone(*command.split()).refuses("run the code of evil.py")
    assert not (folder / RAN).exists()


def test_consent_reaches_the_target_and_the_store(folder: Path, ragstone: Command) -> None:
    set_up(folder, SENDING["postgresql://127.0.0.1:9/x"])
    assert ragstone("runs", "list").refuses("send a database's password")
    set_up(folder, "target: evil.py:answer\n")
    ragstone("collect", "data.jsonl", "--trust", "-o", "out.jsonl")
    assert (folder / RAN).exists()


def test_consent_holds_until_a_file_changes(folder: Path, ragstone: Command) -> None:
    set_up(folder, PLUGIN)
    assert ragstone("metrics", "--trust").code == 0
    assert ragstone("metrics").code == 0
    (folder / "evil.py").write_text("changed = True\n")
    assert ragstone("metrics").code == 2
    (folder / "evil.py").write_text(FILES["evil.py"])
    set_up(folder, PLUGIN + "metric: hit\n")
    assert ragstone("metrics").code == 2


def test_packages_are_part_of_a_module(folder: Path, ragstone: Command) -> None:
    set_up(folder, "plugin: evil.part\n")
    for name in ("evil/__init__.py", "evil/part.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / "evil.py").unlink()
    assert ragstone("metrics", "--trust").code == 0
    for name in ("evil.py", "evil.pyc", "evil/part.pyc", "evil/__init__.py"):
        (folder / name).write_text("changed = True\n")
        assert "needs your consent" in ragstone("metrics").err, name
        assert ragstone("metrics", "--trust").code == 0


def test_a_target_file_of_any_size_needs_consent(folder: Path, ragstone: Command) -> None:
    set_up(folder, "target: rag.yaml\n")
    (folder / "rag.yaml").write_text(f"#{'x' * 1_000_000}\n{FILES['rag.yaml']}")
    for words in (["data.jsonl"], ["data.jsonl", "--trust"]):
        assert ragstone(*words).refuses("has more than 1,000,000 bytes")


def test_the_environment_may_consent(folder: Path, ragstone: Command, monkeypatch) -> None:
    set_up(folder, PLUGIN)
    for given, code in (("0", 2), ("1", 0)):
        monkeypatch.setenv("RAGSTONE_TRUST", given)
        assert ragstone("metrics").code == code
    monkeypatch.delenv("RAGSTONE_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "evil.py"))  # where nothing can be written
    assert ragstone("metrics", "--trust").code == 0
    assert ragstone("metrics").code == 2


def test_the_command_line_needs_no_consent(folder: Path, ragstone: Command) -> None:
    assert ragstone("metrics", "--plugin", "evil.py").code == 0
    assert (folder / RAN).exists()
    set_up(folder, "metric: hit\ntarget: http://127.0.0.1:9\njudge: openai:m\n")
    assert ragstone("metrics").code == 0


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("answer", "ci", "code"), [("y\n", None, 0), ("\n", None, 2), ("n\n", None, 2), ("y\n", "1", 2)]
)
def test_a_terminal_is_asked_once(answer, ci, code, folder, ragstone, monkeypatch) -> None:
    set_up(folder, PLUGIN)
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("sys.stdin", _Terminal(answer))
    monkeypatch.setattr("sys.stderr", shown := _Terminal())
    assert ragstone("metrics").code == code
    assert ("[y/N]" in shown.getvalue()) == (not ci)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert ragstone("metrics").code == code


def test_a_promptfoo_configuration_needs_consent(folder: Path, ragstone: Command) -> None:
    provider = f"{{id: openai:gpt-4o-mini, config: {{apiBaseUrl: {URL}}}}}"
    (folder / "promptfooconfig.yaml").write_text(
        f"defaultTest: {{options: {{provider: {provider}}}}}\n"
        "tests:\n- vars: {query: q, context: c, answer: a}\n"
        "  assert: [{type: context-faithfulness}]\n"
    )
    assert ragstone("promptfooconfig.yaml", "--dry-run").refuses(f"provider to {URL}")
