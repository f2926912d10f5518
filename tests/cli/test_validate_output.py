import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone.datasets import load
from ragstone.datasets.export import LONGEST, losses, losses_in_file, write_samples
from ragstone.demo.questions import DATASET
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Context, Sample

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
DOCUMENTS = st.builds(
    Context,
    text=TEXTS,
    id=st.none() | st.text("ab1", min_size=1, max_size=3),
    score=st.none() | st.floats(0, 1),
)
TAGS = ("level", "query", "name", "parent_id", "span_kind", "gt_answer")
"""Names of tags: of our own fields, and of what tells other tools' files, too."""
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


def test_what_a_workbook_cannot_hold_is_told(tmp_path: Path) -> None:
    blank = Sample(id="a", query="q", response="", tags={"n": 1.0})
    rows = [blank, Sample(id="b", query="r", response="x")]
    empty = "empty values are read back as missing"
    types = "numbers are stored as in Excel, and blank texts are read back as missing"
    assert losses_in_file(rows, tmp_path / "a.xlsx") == [
        f"response (1 row, first a): {empty}",
        f"tags (1 row, first a): {types}",
    ]
    assert not list(tmp_path.iterdir())


def test_the_causes_of_failed_calls_are_not_in_the_copy(ragstone, tmp_path) -> None:
    answered = {"query_index": 0, "query": "q", "response": "a", "retrieved_contexts": ["c"]}
    failed = {"query_index": 1, "query": "r", "response": "", "error": "HTTP 500"}
    saved = {"metadata": {"mode": "chat"}, "responses": [answered, failed]}
    (tmp_path / "a.json").write_text(json.dumps(saved), encoding="utf-8")
    said = ragstone("validate", "a.json", "-o", "b.jsonl")
    told = "Not in b.jsonl: the causes of failed calls (1 row); keep the saved responses\n"
    assert said.err == told


def test_a_text_that_no_cell_holds_is_refused(tmp_path: Path) -> None:
    long = [Sample(id="a", query="q", response="x" * (LONGEST + 1))]
    why = "column response, sample a: 32,768 characters, but an Excel cell"
    with pytest.raises(InputError, match=why):
        write_samples(long, tmp_path / "a.xlsx", suffix=".xlsx")
    assert not (tmp_path / "a.xlsx").exists()


def test_neither_the_input_nor_an_unknown_format_is_written(ragstone, tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "q"}', encoding="utf-8")
    said = ragstone("validate", "a.jsonl", "-o", "./a.jsonl")
    assert said.refuses("Error: a.jsonl is an input file, so it cannot be written; choose another")
    said = ragstone("validate", "a.jsonl", "-o", "b.csv")
    assert said.refuses("Error: -o b.csv: the file must be .jsonl; use b.jsonl\n")
    with pytest.raises(UsageError, match=r"cannot be written; use \.jsonl, \.xlsx"):
        write_samples([], Path("a"), suffix="")


def test_what_could_not_be_read_back_is_refused(tmp_path: Path, monkeypatch) -> None:
    def damaged(samples: object, path: Path) -> None:
        path.write_text("no such column\nq\n", encoding="utf-8")

    monkeypatch.setattr("ragstone.datasets.export.WRITERS", {".csv": damaged})
    with pytest.raises(UsageError, match=r"(?s)\.csv cannot store these rows .*; use \.jsonl"):
        losses_in_file([Sample(id="1", query="q")], tmp_path / "out.csv")
