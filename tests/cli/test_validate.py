from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.collected import json_lines

from ragstone.cli.commands.validate import ANSWERED, accepted_metrics
from ragstone.demo.questions import DATASET
from ragstone.errors import UsageError
from ragstone.evaluation.runner import Evaluation, load_data
from ragstone.judges.factory import LEAST, make_judge
from ragstone.metrics import catalogue
from ragstone.types.config import DEFAULT_API, Plan

FILES = Path(__file__).parents[1] / "datasets" / "files"


def test_each_field_of_a_good_file_is_a_line(ragstone) -> None:
    said = ragstone("validate", str(DATASET))
    assert (said.code, said.err) == (0, "")
    query = "How long does the Tarn 4 take to charge from empty to 50 percent?"
    answer = "With the 45 W charger it takes 22 minutes to reach 50 percent."
    assert said.out.splitlines() == [
        f"{DATASET}: 84 rows",
        f"  query ← Query (84 of 84 rows): {query:.59}…",
        f"  reference ← Ground_truth_answer (84 of 84 rows): {answer:.59}…",
        "  relevance ← Point_ids (78 of 84 rows): 101",
        "  tags: difficulty, Source_files",
        "  available metrics: none",
        "  with a RAG system's answers: hit, recall, precision, f1, mrr, faithfulness, "
        "context_precision" + said.out[said.out.index(" and ") :].rstrip(),
    ]
    said = ragstone("validate", str(FILES / "deepeval.json"))
    assert "\n  note: read as deepeval goldens or test cases\n" in said.out


def test_every_problem_of_every_file_is_told(ragstone) -> None:
    Path("good.csv").write_text("query\nq\n", encoding="utf-8")
    Path("bad.csv").write_text("query,x\n" + ",a\n" * 30, encoding="utf-8")
    said = ragstone("validate", "bad.csv", "good.csv", "none.csv", "good.csv")
    assert said.refuses("there is no file none.csv")
    assert said.out.count("good.csv: 1 row\n  query ← query (1 of 1 rows): q\n") == 1
    assert said.err.count("there is no query; fill it in") == 30


def test_in_github_actions_each_bad_file_is_an_error_at_its_line(ragstone, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(Path().absolute()))
    Path("bad.csv").write_text("query,x\na,1\n,b\n", encoding="utf-8")
    said = ragstone("validate", "bad.csv", "none.csv")
    errors = [line for line in said.err.splitlines() if line.startswith("::error")]
    assert [line.partition("::")[2].partition("::")[0] for line in errors] == [
        "error file=bad.csv,line=3,title=invalid data",
        "error title=nothing was scored",
    ]


def test_in_github_actions_no_cell_is_a_command(ragstone, monkeypatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    cell = "::add-mask::b"
    text = f'{{"query": "Q", "{cell}\\n{cell}": [1'
    Path("bad.jsonl").write_text(text, encoding="utf-8")
    for command in ("validate", "run"):
        said = ragstone(command, "bad.jsonl")
        assert said.code == 2
        lines = said.err.splitlines()
        assert lines[0].startswith("::stop-commands::")
        token = lines[0].removeprefix("::stop-commands::")
        after = lines[lines.index(f"::{token}::") + 1 :]
        assert [line.partition(" ")[0] for line in after] == ["::error"]


def test_metrics_that_an_llm_would_score_are_named(ragstone, monkeypatch) -> None:
    json_lines("a.jsonl", [{"query": "q", "contexts": ["c"]}])
    said = ragstone("validate", "a.jsonl").out
    assert "\n  available metrics: none\n" in said
    assert "\n  with an LLM (--model) also: context_relevance" in said
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    line = "\n  by name, with openai:gpt-4o-mini, also: context_relevance"
    assert line in ragstone("validate", "a.jsonl").out
    assert line not in ragstone("validate", "a.jsonl", "--judge", "offline").out


MEANT = {
    "response": "r", "contexts": ["c"], "ranking": ["a"], "reference": "f",
    "reference_claims": ["f"], "relevance": ["a"], "respnse": "r",
}  # fmt: skip
"""A value of each column, and one of a column that is misspelt."""


@pytest.mark.parametrize("judge", ["offline", "openai:gpt-4o-mini", "offline,openai:x"])
@given(columns=st.sets(st.sampled_from(sorted(MEANT))), name=st.sampled_from(sorted(catalogue())))
def test_run_accepts_what_validate_says_can_run(judge: str, columns: set[str], name: str) -> None:
    row = {"query": "q", **{column: MEANT[column] for column in columns}}
    dataset = load_data([row], Plan(), "response")
    made = make_judge(Plan(judge=judge), guess=LEAST)
    validated = accepted_metrics(dataset, Plan(), made)
    for target, metrics in (
        (None, validated["available metrics"]),
        (DEFAULT_API, validated.get(ANSWERED, validated["available metrics"])),
    ):
        plan = Plan(metrics=(name,), fallback_target=target)
        try:
            Evaluation(dataset, plan=plan, judge=made)
        except UsageError:
            assert name not in {metric.name for metric in metrics}
        else:
            assert name in {metric.name for metric in metrics}


def test_the_judge_decides_what_can_run(ragstone, monkeypatch) -> None:
    line = "\n  available metrics: context_relevance"
    json_lines("a.jsonl", [{"query": "q", "contexts": ["c"]}])
    assert line in ragstone("validate", "a.jsonl", "--model", "m").out
    monkeypatch.setenv("RAGSTONE_JUDGE", "openai:m")
    assert line in ragstone("validate", "a.jsonl").out
    monkeypatch.delenv("RAGSTONE_JUDGE")
    Path("ragstone.yaml").write_text("judge: openai:m\nmap: {contexts: Texte}", "utf-8")
    json_lines("a.jsonl", [{"query": "q", "Texte": ["c"]}])
    assert line in ragstone("validate", "a.jsonl").out
