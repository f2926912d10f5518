import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.metrics import get
from ragstone.plan import Manifest, Plan, Source
from ragstone.rows import Row
from ragstone.samples import Context, Sample
from ragstone.scores import Score
from ragstone.store import Store
from ragstone.store.browsing import Wanted, find_rows

RUN = "r1"
HALF = (Context(text="\ud83d"),)
"""All but ASCII is escaped in the JSON of a row that holds half a character anywhere."""
SAMPLES = (
    Sample(id="Ä1", query="Größe", response="two\nlines", contexts=HALF),
    Sample(id="b", query="Größe", response="a\tb"),
    Sample(id="c12", query='the "contexts": [] and "query":', response=None),
    Sample(id='d"', query="plain", response="back\\nslash \x7f \x0b"),
    Sample(id="e", query="response to a sample", response="id 10", contexts=(Context(text="far"),)),
)


async def fill(store: Store) -> None:
    manifest = Manifest(
        run_id=RUN,
        version="0",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        plan=Plan(),
        source=Source(name="data"),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
    )
    store.begin(manifest, {"hit@5": get("hit@5").described}, fingerprint="f")
    async with store.writing(RUN) as writer:
        for place, sample in enumerate(SAMPLES):
            await writer.put(Row(place, sample, scores={"hit@5": Score.scored(1.0)}))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A SQLite file with the samples, for many looks at it."""
    with Store.open(tmp_path_factory.mktemp("searched") / "runs.db") as store:
        asyncio.run(fill(store))
        yield store


def holding(text: str) -> Sequence[int]:
    """The places of the samples in which a text stands, in any case of its letters."""
    lowered = str.lower if text.isascii() else str.casefold
    told = [(each.id, each.query, each.response or "") for each in SAMPLES]
    return [n for n, texts in enumerate(told) if any(lowered(text) in lowered(x) for x in texts)]


def found(store: Store, text: str) -> Sequence[int]:
    return [row.index for row in find_rows(store, RUN, Wanted(text=text)).rows]


@pytest.mark.parametrize(
    "text",
    [
        *("nlines", "tb", "nslash", "u00f6", "u00", "\\n", '"', "\n", "e\n"),
        *("null", ":null", "UERY", "sample", "Id", "index", "contexts", "response", "far"),
        *(":", ": ", ",", "{", "[]", "1", "12", "10", '":', "\x0b"),
        *("Größe", "GRÖSSE", "rö", "ä1", "Ä", "é", "PLAIN"),
    ],
)
def test_a_text_is_found_where_it_stands_and_not_in_the_json_around(file: Store, text: str) -> None:
    assert found(file, text) == holding(text)


@given(text=st.text('qn:1,{u"\\e \nröÖ', min_size=1, max_size=3))
def test_any_few_letters_are_found_where_they_stand(file: Store, text: str) -> None:
    assert found(file, text) == holding(text)
