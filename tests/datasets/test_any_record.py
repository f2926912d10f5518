import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragstone._internal.documents import CONTEXT_ALIASES
from ragstone.datasets import Dataset, load, samples_of
from ragstone.datasets.columns import ALIASES, CONVERSATIONS
from ragstone.datasets.detect import SHAPES
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
    given = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    path.write_bytes(given)
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
@given(data=st.data())
def test_any_values_under_the_names_of_other_tools(tmp_path: Path, data: st.DataObject):
    shape = data.draw(st.sampled_from(SHAPES))
    columns = [name for group in shape.columns.values() for name in group if "." not in name]
    parts = ["query", "output", "messages", "role", "content", "spans", "key", "value", "trace_id"]
    inner = st.dictionaries(st.sampled_from(parts), VALUES, max_size=4)
    values = VALUES | inner | st.lists(inner, max_size=2)
    needed = {group[0]: values for group in shape.needs}
    others = {*columns, *shape.left_out, *shape.opened} - needed.keys()
    record = st.fixed_dictionaries(needed, optional=dict.fromkeys(sorted(others), values))
    rows = data.draw(st.lists(record, min_size=1, max_size=2))
    loaded(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))


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
