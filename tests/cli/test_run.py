import json
import re
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
from tests.cases import each_case
from tests.cli.collected import ANSWERS, FAILING, json_lines, target
from tests.cli.conftest import Command

from ragstone._internal.rate_limit import RetryLog
from ragstone.cli.output import RowProgress
from ragstone.errors import Cause
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@pytest.fixture
def answers(tmp_path: Path) -> str:
    json_lines(tmp_path / "answers.jsonl", ANSWERS)
    return str(tmp_path / "answers.jsonl")


@each_case("typed", [(), ("run",), ("-v",)])
def test_without_data_the_command_explains_itself_and_calls_nothing(ragstone, typed) -> None:
    said = ragstone(*typed)
    assert (said.out, said.err.count("\n") <= 15) == ("", True)
    for words in ("ragstone answers.xlsx", "init --target URL --ask", "ragstone demo", "help"):
        assert said.refuses(words)
    assert "[default: 5]" in ragstone("help", "run").out


def test_a_live_target_is_evaluated(ragstone: Command, demo_url: str, tmp_path: Path) -> None:
    said = ragstone("--metric", "all", "--api-url", demo_url, "--limit", "5", "--json", "s.json")
    assert said.code == 0, said.err
    summary = json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))
    assert summary["target_health"]["asked"] == {"search": 5, "chat": 5}
    assert {name.split("_k5")[0] for name in names(tmp_path)} == {
        "retrieval_combined",
        "generation_combined",
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "results").glob("*.xlsx"))


def test_one_metric_is_one_workbook_by_its_name(ragstone, answers: str, tmp_path: Path) -> None:
    assert ragstone("run", answers, "-m", "hit", "-k", "3").code == 0
    (name,) = names(tmp_path)
    assert name.startswith("Hit@K_k3_")


def test_a_named_workbook_is_one_file(ragstone: Command, answers: str, tmp_path: Path) -> None:
    assert ragstone("run", answers, "-m", "all", "-o", "X.xlsx").code == 0
    assert [path.name for path in tmp_path.glob("*.xlsx")] == ["X.xlsx"]
    sheets = openpyxl.load_workbook(tmp_path / "X.xlsx").sheetnames
    assert sheets == ["Questions", "Summary", "Claims"]


def test_rows_are_lines_of_json(ragstone: Command, answers: str) -> None:
    said = ragstone("run", answers, "-m", "faithfulness", "--rows", "-", "--no-export")
    first, second = map(json.loads, said.out.splitlines())
    score = first["scores"]["faithfulness"]
    assert score["value"] == 0.0
    (claim,) = score["claims"]
    assert (claim["label"], "35" in claim["reason"]) == ("NOT_ENOUGH_INFO", True)
    assert second["scores"]["faithfulness"]["value"] == 1.0


@each_case(
    ("gates", "code"),
    [
        ("--fail-under faithfulness=51%", 1),
        ("--fail-over faithfulness=0.4", 2),
        ("--fail-under hit=0.5 --fail-under hit@5=0.6", 1),
        ("--fail-under faithfulness=0 --limit 1 --map response=nothing", 3),
    ],
)
def test_gates_make_the_exit_code(ragstone, tmp_path, gates: str, code: int) -> None:
    data = json_lines(tmp_path / "a.jsonl", [row | {"nothing": ""} for row in ANSWERS])
    said = ragstone("run", data, "-m", "faithfulness", "hit", "--no-export", *gates.split())
    assert said.code == code, said.err


@each_case(
    ("arguments", "message"),
    [
        ("-m hit response-relevancy", "'response-relevancy'; did you mean 'response_relevancy'?"),
        ("--judge openai:gpt-4o --model gpt-4o-mini", "contradict each other"),
        ("--preset deepval", "did you mean 'deepeval'?"),
        ("--target a.yaml --api-url http://x", "contradict each other"),
        ("--limit 0", "'--limit': must be at least 1, got '0'"),
        ("--target localhost:8000", "did you mean http://localhost:8000?"),
        ("--no-export -o x.xlsx", "--no-export writes no workbook; remove it, or --output"),
        ("--json answers.jsonl", "is an input file, so it cannot be written"),
    ],
)
def test_what_cannot_be_done_is_2(ragstone, answers: str, arguments: str, message: str) -> None:
    before = Path(answers).read_text(encoding="utf-8")
    assert ragstone("run", answers, *arguments.split()).refuses(message)
    assert not Path("results").exists()
    assert Path(answers).read_text(encoding="utf-8") == before


def test_a_reader_that_leaves_early_loses_nothing(answers: str, tmp_path: Path) -> None:
    command = f"{sys.executable} -m ragstone {answers} -v --json s.json | head -1"
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert said.stderr.startswith("Read answers.jsonl:\n  query ← query (2 of 2 rows): ")
    assert (tmp_path / "s.json").exists()


def test_too_many_failures_are_3(ragstone: Command, answers: str, tmp_path: Path) -> None:
    body = "def ask(query):\n    return 1 / ('heavy' in query) and 'Fine words.'\n"
    name = target(tmp_path, body, "half")
    arguments = ("run", answers, "--target", name, "-m", "faithfulness", "--no-export")
    assert ragstone(*arguments).code == 3
    assert ragstone(*arguments, "--max-failure-rate", "100%").code == 0


def test_a_spent_budget_is_3_whatever_the_policy(ragstone, answers: str) -> None:
    policy = ("--policy", "promptfoo-plan", "--max-failure-rate", "100%")
    said = ragstone(
        *("run", answers, "-m", "faithfulness", *policy),
        *("--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--max-calls", "0", "--no-export"),
    )
    assert said.code == 3, said.err


def test_no_api_says_what_to_do(ragstone: Command) -> None:
    data = json_lines("d.jsonl", [{"query": "a?", "point_ids": [1]}])
    assert ragstone("run", data, "--api-url", "http://127.0.0.1:9").refuses("ragstone demo --serve")


def test_a_metric_of_ones_own(ragstone: Command, answers: str) -> None:
    plugin = str(Path(__file__).parents[2] / "examples" / "reciprocal_rank.py")
    options = ("--plugin", plugin, "-m", "reciprocal_rank", "mrr", "--json", "-", "--no-export")
    metrics = json.loads(ragstone("run", answers, *options).out)["metrics"]
    assert metrics["reciprocal_rank@5"]["mean"] == metrics["mrr@5"]["mean"] == 0.5


def test_metrics_are_listed(ragstone: Command) -> None:
    said = ragstone("--list-metrics")
    assert said.code == 0
    assert all(name in said.out for name in ("hit", "ndcg", "faithfulness", "context_precision"))


def test_verbose_prints_each_query(ragstone: Command, answers: str) -> None:
    said = ragstone("run", answers, "-v", "--no-export")
    assert "How fast does it charge?" in said.out


def test_progress_is_a_line_of_what_is_done_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.cli.output.monotonic", iter([500.0, 610.0]).__next__)
    rows, retries = RowProgress(retries=3), RetryLog(3)
    retries.count, retries.reason = 10, "POST http://judge answered 500"
    assert rows.line(retries) == (
        "no rows done yet; 7 retried, last: POST http://judge answered 500"
    )
    row = Row(0, Sample(id="1", query="q"), scores={"hit@5": Score.failed(Cause.TIMEOUT, "late")})
    for _ in range(12):
        rows.add(row, 49)
    assert rows.line(RetryLog(3)) == (
        "12 of 49 rows done, 12 failed; 6 per minute, 37 left, about 6 min"
    )


def test_rows_that_fail_in_a_row_stop_the_command(ragstone: Command, tmp_path: Path) -> None:
    (tmp_path / "failing.txt").write_text("\n".join(f"q{place}" for place in range(50)))
    queries = ({"query": f"q{place}", "relevance": ["a"]} for place in range(100))
    name = target(tmp_path, FAILING, "failing_in_a_row")
    files = ("--no-export", "--html", "my run.html")
    told = ragstone("run", json_lines("data.jsonl", queries), "-m", "hit", "--target", name, *files)
    assert told.code == 3
    stopped = "Exit code 3: none of the first 5 answers of the target can be used: failing_in_a_row"
    assert stopped in told.err
    run_id = re.findall(r"Run (\S+) is stored: `ragstone resume` continues it; ", told.err)[0]
    (tmp_path / "failing.txt").write_text("")
    (tmp_path / "my run.html").unlink()
    again = ragstone("resume", run_id, "--retry-failed", "--json", "-")
    assert (tmp_path / "my run.html").exists(), "the reports of the first command"
    assert json.loads(again.out)["metrics"]["hit@5"]["failed"] == 0


def test_gates_of_the_file_on_metrics_left_out_are_not_checked(ragstone: Command) -> None:
    Path("data.csv").write_text("query,response,contexts\nq,It is red.,It is red.\n")
    Path("ragstone.yaml").write_text("fail_under: {hit: 90%, faithfulness: 0.5}\n")
    said = ragstone("run", "data.csv", "-m", "faithfulness", "--no-export", "--no-store", "-v")
    assert said.code == 0, said.err
    assert "Not checked: the config file's gates hit >= 0.9, because --metric" in said.err


def test_saved_answers_without_contexts_call_no_system(ragstone: Command) -> None:
    """Only questions without answers are sent to the API that nobody named."""
    text = "question,answer,reference,point_ids,retrieved_ids\n"
    Path("saved.csv").write_text(text + 'How long?,24 months.,It lasts 24 months.,d1,"d2,d1"\n')
    said = ragstone("run", "saved.csv", "--no-store", "--no-export")
    assert (said.code, "localhost" in said.err) == (0, False), said.err
    assert said.out.startswith("The answer is right.")
