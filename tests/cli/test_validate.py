from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.cli.commands.validate import ANSWERED, accepted_metrics
from ragstone.demo.questions import DATASET
from ragstone.errors import UsageError
from ragstone.evaluation.runner import Evaluation, load_data
from ragstone.judges.factory import LEAST, make_judge
from ragstone.metrics import catalogue
from ragstone.types.config import DEFAULT_API, Plan

FILES = Path(__file__).parents[1] / "datasets" / "files"


QUERY = "How long does the Tarn 4 take to charge from empty to 50 percent?"
ANSWER = "With the 45 W charger it takes 22 minutes to reach 50 percent."


def test_each_field_of_a_good_file_is_a_line(ragstone) -> None:
    said = ragstone("validate", str(DATASET))
    assert said.code == 0
    assert said.err == ""
    assert said.out.splitlines() == [
        f"{DATASET}: 84 rows",
        f"  query ← Query (84 of 84 rows): {QUERY:.59}…",
        f"  reference ← Ground_truth_answer (84 of 84 rows): {ANSWER:.59}…",
        "  relevance ← Point_ids (78 of 84 rows): 101",
        "  tags: difficulty, Source_files",
        "  available metrics: none",
        "  with a RAG system's answers: hit, recall, precision, f1, mrr, faithfulness, "
        "context_precision" + said.out[said.out.index(" and ") :].rstrip(),
    ]


def test_what_another_tool_wrote_is_said(ragstone) -> None:
    said = ragstone("validate", str(FILES / "deepeval.json"))
    assert "\n  note: read as deepeval goldens or test cases\n" in said.out


def test_every_problem_of_every_file_is_told(ragstone, tmp_path) -> None:
    (tmp_path / "good.csv").write_text("query\nq\n", encoding="utf-8")
    (tmp_path / "bad.csv").write_text("query,x\n" + ",a\n" * 30, encoding="utf-8")
    said = ragstone("validate", "bad.csv", "good.csv", "none.csv", "good.csv")
    assert said.code == 2
    assert said.out.count("good.csv: 1 row\n  query ← query (1 of 1 rows): q\n") == 1
    assert said.err.count("there is no query; fill it in") == 30
    assert "there is no file none.csv" in said.err


def test_columns_and_sheets_may_be_named(ragstone, tmp_path) -> None:
    (tmp_path / "a.csv").write_text("Satz\nq\n", encoding="utf-8")
    assert ragstone("validate", "a.csv").code == 2
    assert ragstone("validate", "a.csv", "--map", "query=Satz").code == 0


def test_in_github_actions_each_bad_file_is_an_error_at_its_line(
    ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "bad.csv").write_text("query,x\na,1\n,b\n", encoding="utf-8")
    said = ragstone("validate", "bad.csv", "none.csv")
    errors = [line for line in said.err.splitlines() if line.startswith("::error")]
    assert [line.partition("::")[2].partition("::")[0] for line in errors] == [
        "error file=bad.csv,line=3,title=invalid data",
        "error title=nothing was scored",
    ]


def test_in_github_actions_no_cell_is_a_command(
    ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    cell = "::add-mask::b"
    (tmp_path / "bad.jsonl").write_text(f'{{"query": "Q", "{cell}\\n{cell}": [1', encoding="utf-8")
    for command in ("validate", "run"):
        said = ragstone(command, "bad.jsonl")
        assert said.code == 2
        lines = said.err.splitlines()
        assert lines[0].startswith("::stop-commands::")
        token = lines[0].removeprefix("::stop-commands::")
        after = lines[lines.index(f"::{token}::") + 1 :]
        assert [line.partition(" ")[0] for line in after] == ["::error"]


def test_a_column_that_may_be_misspelt_is_told(ragstone, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q", "respnse": "r", "level": 1}', "utf-8")
    said = ragstone("validate", "a.jsonl").out
    note = "column 'respnse' is not used; did you mean response? Use map response=respnse"
    assert f"  tags: respnse, level\n  note: {note}\n  available metrics: " in said
    (tmp_path / "b.jsonl").write_text('{"query": "q", "response": "r", "outputs": 1}', "utf-8")
    assert "did you mean" not in ragstone("validate", "b.jsonl").out


def test_metrics_that_are_not_among_all_are_named_if_no_other_can_run(ragstone, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q", "contexts": ["c"]}', "utf-8")
    said = ragstone("validate", "a.jsonl").out
    assert "\n  available metrics: none\n" in said
    assert "\n  with an LLM (--model) also: context_relevance" in said


def test_metrics_that_the_default_llm_would_score_are_named(
    ragstone, tmp_path, monkeypatch
) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q", "contexts": ["c"]}', "utf-8")
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


def test_the_judge_decides_what_can_run(
    ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q", "contexts": ["c"]}', "utf-8")
    assert (
        "\n  available metrics: context_relevance"
        in ragstone("validate", "a.jsonl", "--model", "m").out
    )
    monkeypatch.setenv("RAGSTONE_JUDGE", "openai:m")
    assert "\n  available metrics: context_relevance" in ragstone("validate", "a.jsonl").out
    monkeypatch.delenv("RAGSTONE_JUDGE")
    (tmp_path / "ragstone.yaml").write_text("judge: openai:m\nmap: {contexts: Texte}", "utf-8")
    (tmp_path / "a.jsonl").write_text('{"query": "q", "Texte": ["c"]}', "utf-8")
    assert "\n  available metrics: context_relevance" in ragstone("validate", "a.jsonl").out
