"""What happens around a command: Ctrl-C while it is imported, closed and full standard streams."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m ragstone"


def shell(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run --verify ''", ["batch", "each", "truths"]),
        ("runs list --js", ["--json"]),
    ],
)
def test_tab_completes_what_was_typed(typed: str, offered, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("RAGSTONE_TRUST")  # the store of the config file is not asked
    (tmp_path / "ragstone.yaml").write_text("store: postgresql://u:p@127.0.0.1:9/x\n")
    command = Path(sys.executable).with_name("ragstone")
    script = f"""
        eval "$(_RAGSTONE_COMPLETE=bash_source {command})"
        COMP_WORDS=(ragstone {typed}); COMP_CWORD=$(({len(typed.split())}))
        _ragstone_completion {command}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = shell(script, tmp_path)
    assert done.stdout.split() == offered, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", ["metrics", "--version"])
def test_a_full_standard_output_is_an_error(arguments: str, tmp_path: Path) -> None:
    done = shell(f"{COMMAND} {arguments} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: cannot write")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_change_no_exit_code(closed: str, tmp_path: Path) -> None:
    assert shell(f"{COMMAND} metrics {closed}", tmp_path).returncode == 0
    done = shell(f"{COMMAND} run missing.csv {closed}", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_an_interrupt_while_the_command_is_imported_has_no_traceback(tmp_path: Path) -> None:
    slow = tmp_path / "sitecustomize.py"
    slow.write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'ragstone.cli':\n"
        "            print('importing', flush=True)\n"
        "            time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "ragstone", "metrics"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "importing\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "Interrupted.\n")
