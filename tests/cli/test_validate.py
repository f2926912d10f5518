import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.collected import json_lines

from ragstone.cli.commands.validate import ANSWERED, accepted_metrics
from ragstone.datasets import load
from ragstone.datasets.export import losses, write_samples
from ragstone.demo.questions import DATASET
from ragstone.errors import UsageError
from ragstone.evaluation.runner import Evaluation, load_data
from ragstone.judges.factory import LEAST, make_judge
from ragstone.metrics import catalogue
from ragstone.types.config import DEFAULT_API, Plan
from ragstone.types.sample import Context, Sample

FILES = Path(__file__).parents[1] / "datasets" / "files"


def test_each_field_of_a_good_file_is_a_line(ragstone) -> None:
    said = ragstone("validate", str(DATASET))
    assert (said.code, said.err) == (0, "")
    query = "How long does the Tarn 4 take to charge from empty to 50 percent?"
    told = said.out.splitlines()
    assert told[:2] == [
        f"{DATASET}: 84 rows",
        f"  query ← Query (84 of 84 rows): {query:.59}…",
    ]
    assert told[3:6] == [
        "  relevance ← Point_ids (78 of 84 rows): 101",
        "  tags: difficulty, Source_files",
        "  available metrics: none",
    ]
    assert told[6].startswith("  with a RAG system's answers: hit, recall, precision, f1, mrr")
    said = ragstone("validate", str(FILES / "deepeval.json"))
    assert "\n  note: read as deepeval goldens or test cases\n" in said.out


def test_every_problem_of_every_file_is_told(ragstone) -> None:
    Path("good.csv").write_text("query\nq\n", encoding="utf-8")
    Path("bad.csv").write_text("query,x\n" + ",a\n" * 30, encoding="utf-8")
    said = ragstone("validate", "bad.csv", "good.csv", "none.csv", "good.csv")
    assert said.refuses("there is no file none.csv")
    assert said.out.count("good.csv: 1 row\n  query ← query (1 of 1 rows): q\n") == 1
    assert said.err.count("there is no query; fill it in") == 30


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
    assert "\n  with an LLM (--model) also: context_rel" in ragstone("validate", "a.jsonl").out
    assert line in ragstone("validate", "a.jsonl", "--model", "m").out
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    by_name = "\n  by name, with openai:gpt-4o-mini, also: context_relevance"
    assert by_name in ragstone("validate", "a.jsonl").out
    Path("ragstone.yaml").write_text("judge: openai:m\nmap: {contexts: Texte}", "utf-8")
    json_lines("a.jsonl", [{"query": "q", "Texte": ["c"]}])
    assert line in ragstone("validate", "a.jsonl").out


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
DOCUMENTS = st.builds(
    Context,
    text=TEXTS,
    id=st.none() | st.text("ab1", min_size=1, max_size=3),
    score=st.none() | st.floats(0, 1),
)
TAGS = ("level", "query", "name", "parent_id", "span_kind", "gt_answer")
CHECKS = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
LISTS = st.none() | st.lists(DOCUMENTS, max_size=2).map(tuple)
RANKED = DOCUMENTS.filter(lambda document: document.id or document.text)
SAMPLES = st.lists(
    st.builds(
        Sample,
        id=st.text("abc", min_size=1, max_size=6),
        query=TEXTS.filter(str.strip),
        response=st.none() | TEXTS,
        contexts=LISTS,
        ranking=st.none() | st.lists(RANKED, max_size=2).map(tuple),
        reference=st.none() | TEXTS,
        reference_claims=st.none() | st.lists(st.just("A claim."), max_size=2).map(tuple),
        relevance=st.none() | st.dictionaries(st.sampled_from(["1", "a", "b c"]), st.just(1.0)),
        tags=st.dictionaries(st.sampled_from(TAGS), st.integers(0, 9) | TEXTS),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda sample: sample.id,
)


def is_blank(value: object) -> bool:
    """Tell whether a cell that holds a value is read as missing."""
    return isinstance(value, str) and not value.strip()


def texts_of(sample: Sample) -> dict[str, str]:
    """The tags as a cell has them, without the blank ones, which may come back or not."""
    return {name: str(tag) for name, tag in sample.tags.items() if not is_blank(tag)}


@settings(suppress_health_check=CHECKS)
@given(samples=SAMPLES)
def test_json_lines_hold_everything(tmp_path: Path, samples: list[Sample]) -> None:
    path = tmp_path / "a.jsonl"
    write_samples(samples, path, suffix=".jsonl")
    assert load(path).samples == tuple(samples)
    assert losses(samples, load(path).samples) == ()


@settings(suppress_health_check=CHECKS)
@given(samples=SAMPLES)
def test_cells_hold_all_but_what_is_empty_and_the_types_of_tags(tmp_path: Path, samples) -> None:
    path = tmp_path / "a.xlsx"
    write_samples(samples, path, suffix=".xlsx")
    kept = load(path).samples
    for one, other in zip(samples, kept, strict=True):
        for field in set(Sample.model_fields) - {"tags"}:
            given, held = getattr(one, field), getattr(other, field)
            assert held == (None if is_blank(given) else given), field
        assert texts_of(other) == texts_of(one)
    told = {line.partition(" ")[0] for line in losses(samples, kept)}
    for field in Sample.model_fields:
        assert (field in told) == any(
            getattr(one, field) != getattr(other, field)
            for one, other in zip(samples, kept, strict=True)
        )


def test_a_copy_is_json_lines_and_has_everything(ragstone, tmp_path) -> None:
    (tmp_path / "l.jsonl").symlink_to(tmp_path / "real.txt")
    said = ragstone("validate", str(DATASET), "-o", "l.jsonl")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1] == "wrote l.jsonl: 84 rows"
    (tmp_path / "real.txt").rename("a.jsonl")
    assert load(tmp_path / "a.jsonl").samples == load(DATASET).samples


def test_the_causes_of_failed_calls_are_not_in_the_copy(ragstone, tmp_path) -> None:
    answered = {"query_index": 0, "query": "q", "response": "a", "retrieved_contexts": ["c"]}
    failed = {"query_index": 1, "query": "r", "response": "", "error": "HTTP 500"}
    saved = {"metadata": {"mode": "chat"}, "responses": [answered, failed]}
    (tmp_path / "a.json").write_text(json.dumps(saved), encoding="utf-8")
    said = ragstone("validate", "a.json", "-o", "b.jsonl")
    told = "Not in b.jsonl: the causes of failed calls (1 row); keep the saved responses\n"
    assert said.err == told


def test_neither_the_input_nor_an_unknown_format_is_written(ragstone, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q"}', encoding="utf-8")
    said = ragstone("validate", "a.jsonl", "-o", "./a.jsonl")
    assert said.refuses("Error: a.jsonl is an input file, so it cannot be written; choose another")
    said = ragstone("validate", "a.jsonl", "-o", "b.csv")
    assert said.refuses("Error: -o b.csv: the file must be .jsonl; use b.jsonl\n")
