"""Every example command of the RAG evaluation framework's document, `rag_evaluation` -> ours."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
import xlsxwriter
from tests.conftest import Fork

PORT = 8000
"""The document's: its commands name no other."""

NEEDS_A_MODEL = "the judge offline does not support generate_queries; use an LLM"
NO_KEY = "needs a key in the environment variable OPENAI_API_KEY"

SETTINGS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "RAGSTONE_JUDGE", "LOG_LEVEL")

COMMANDS = {
    "--metric hit --k 5": "",
    "--metric recall --k 10 -v": "",
    "--metric all --k 5": "",
    "--metric all_retrieval --k 5": "",
    "--metric all_generation --k 5": "",
    "--metric faithfulness --k 5": "",
    "--list-metrics": "",
    "--metric hit recall --k 5": "",
    "--metric faithfulness --k 5 --model gpt-4o": NO_KEY,
    "--metric response_relevancy --k 5 --embedding-model text-embedding-3-large": NEEDS_A_MODEL,
    "--metric context_precision --k 5": "",
    "--metric recall --k 10 -t 0.7 --test-data custom_data.xlsx": "",
    "--metric faithfulness --k 5 --limit 10 -v": "",
    "--metric mrr --k 5": "",
}
"""Command -> what its refusal says; nothing where it runs."""


def listening() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


@pytest.fixture
def demo_server() -> Iterator[None]:
    if listening():
        assert "CI" not in os.environ, f"port {PORT} is taken"
        pytest.skip(f"port {PORT} is taken, and the document's commands name no other")
    command = [sys.executable, "-m", "ragstone", "demo", "--serve", "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        end = monotonic() + 200
        while not listening() and monotonic() < end:
            sleep(0.05)
        yield
        server.terminate()


@pytest.mark.usefixtures("demo_server")
def test_every_command_of_the_document_runs(fork: Fork, tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "custom_data.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["Query", "Point_ids"])
        sheet.write_row(1, 0, ["How fast does the battery charge?", "101"])
    keyless = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    for command, refusal in COMMANDS.items():
        ended = fork(*command.split(), folder=tmp_path, environment=keyless)
        assert ended["code"] == (2 if refusal else 0), f"{command}: {ended['err']}"
        assert refusal in ended["err"], command
        assert "Traceback" not in ended["err"], command
