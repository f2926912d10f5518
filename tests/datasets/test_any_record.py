import json
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone._internal.documents import CONTEXT_ALIASES
from ragstone.datasets import Dataset, load, samples_of
from ragstone.datasets.columns import ALIASES, CONVERSATIONS
from ragstone.datasets.detect import SHAPES, Shape
from ragstone.errors import UsageError
from ragstone.types.sample import Sample

KNOWN = [name for ours, others in ALIASES.items() for name in (ours, *others)]
PARTS = [name for ours, others in CONTEXT_ALIASES.items() for name in (ours, *others)]
ANY = st.text(st.characters(), max_size=9)
"""Half characters too, which `st.text` by itself leaves out."""
NAMES = st.sampled_from([*KNOWN, *PARTS, *CONVERSATIONS]) | ANY
SPELLED = st.sampled_from(["1, 2", "[1, 2]", "['a' 'b']", '{"a": 2}', "(", "5.0", '"a', "NaN"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ANY | SPELLED
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5) | VALUES, max_size=3)
WITH_QUERY = st.lists(
    st.dictionaries(NAMES, VALUES, max_size=3).map(lambda record: {**record, "query": "q"}),
    max_size=3,
)

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def loaded(path: Path, content: str | bytes) -> Dataset | None:
    """Load a file of that content; every problem must be a UsageError."""
    path.write_bytes(
        content.encode(errors="surrogatepass") if isinstance(content, str) else content
    )
    try:
        dataset = load(path)
    except UsageError:
        return None
    assert dataset.samples
    for sample in dataset.samples:
        assert Sample.model_validate_json(sample.model_dump_json()) == sample
    return dataset


@quick
@given(RECORDS | WITH_QUERY)
def test_any_json_and_the_same_rows_as_lines(tmp_path: Path, records: list[object]):
    whole = loaded(tmp_path / "a.json", json.dumps(records))
    lines = loaded(tmp_path / "a.jsonl", "\n".join(map(json.dumps, records)))
    assert (whole and whole.samples) == (lines and lines.samples)


@quick
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@given(data=st.data())
def test_any_values_under_the_names_of_other_tools(
    tmp_path: Path, shape: Shape, data: st.DataObject
):
    columns = [name for group in shape.columns.values() for name in group if "." not in name]
    names = [*(group[0] for group in shape.needs), *columns, *shape.left_out, *shape.opened]
    parts = ["query", "output", "messages", "role", "content", "spans", "key", "value", "trace_id"]
    inner = st.dictionaries(st.sampled_from(parts), VALUES, max_size=4)
    values = VALUES | inner | st.lists(inner, max_size=2)
    record = st.fixed_dictionaries(dict.fromkeys(names, values))
    rows = data.draw(st.lists(record, min_size=1, max_size=2))
    loaded(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))


@quick
@given(WITH_QUERY)
def test_any_yaml(tmp_path: Path, records: list[object]):
    text = StringIO()
    yaml.safe_dump(records, text, allow_unicode=False)
    loaded(tmp_path / "a.yaml", text.getvalue())


@quick
@given(RECORDS | WITH_QUERY)
def test_any_records_in_python(records: list[object]):
    with suppress(UsageError):
        assert len(samples_of(records).samples) == len(records)


@quick
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.yaml", "a.xlsx"])
@given(content=st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_and_any_bytes(tmp_path: Path, name: str, content: str | bytes):
    loaded(tmp_path / name, content)


@quick
@given(
    st.lists(
        st.sampled_from(["query", "point_ids", "contexts", "id", "metadata", "x"]), unique=True
    ),
    st.lists(st.lists(SPELLED | st.text(max_size=9), max_size=6), max_size=4),
)
def test_any_cells(tmp_path: Path, names: list[str], rows: list[list[str]]):
    lines = [",".join(f'"{cell}"' for cell in row) for row in (names, *rows)]
    loaded(tmp_path / "a.csv", "\n".join(lines))


@quick
@given(st.lists(st.tuples(st.text(min_size=1), st.none() | st.text()), min_size=1))
def test_texts_come_back_as_they_were(tmp_path: Path, pairs: list[tuple[str, str | None]]):
    records = [{"query": query, "response": response} for query, response in pairs]
    dataset = loaded(tmp_path / "a.json", json.dumps(records))
    if dataset is not None:
        assert [(sample.query, sample.response) for sample in dataset.samples] == pairs
    else:
        assert any(not query.strip() or "\0" in query + (text or "") for query, text in pairs)
