"""A ranking's run is browsed as a run of rows with the same scores is."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import add_run, each_case

from ragstone._internal.fields import tag_text
from ragstone.errors import Cause, RagstoneError
from ragstone.metrics import get
from ragstone.results import ranking_run as ranked_values
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.store import Store, StoreError, save_ranking
from ragstone.store.search import (
    STATES,
    MetricCounts,
    RowQuery,
    count_scores,
    find_rows,
    row_at,
    summarize,
)
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

RUN = "r1"
METRICS = {name: get(name).described for name in ("faithfulness", "hit@5")}
TEXTS = (
    "100 % of it",
    "a_b",
    "Größe 5",
    'say "hi"',
    "back\\slash",
    "ab/cd",
    "Batterie",
    "two\nlines",
)
TAGS = (
    {"kind": "easy"},
    {"kind": "hard"},
    {"kind": True},
    {"kind": 3.5, "it's": "x"},
    {"kind": None},
)


def made(place: int) -> Row:
    """A row that differs from its neighbours in all that can be asked for."""
    text = TEXTS[place % len(TEXTS)]
    sample = Sample(
        id=f"Q{place}",
        query=text if place % 2 else f"query {place}",
        response=None if place % 5 == 0 else text.upper() if text.isascii() else text,
        tags=TAGS[place % len(TAGS)],
    )
    hit = Score.scored(place % 7 / 7).model_copy(
        update={"fallback": place % 6 == 0, "threshold": 0.5, "passed": place % 7 > 3}
    )
    unsure = Score.undefined("nothing said") if place % 3 else Score.scored(1 - place / 100)
    return Row(place, sample, scores={"faithfulness": unsure, "hit@5": hit})


ROWS = [made(place) for place in range(60)]


def manifest(run_id: str) -> Manifest:
    return Manifest(
        run_id=run_id,
        version="0",
        started_at=datetime.now(UTC),
        plan=Plan(),
        source=Source(name="made.jsonl", rows=len(ROWS)),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
    )


async def fill(store: Store, rows: Sequence[Row] = ROWS) -> None:
    add_run(store, manifest(RUN), METRICS, fingerprint="")
    async with store.open_writer(RUN) as writer:
        for row in rows:
            await writer.put(row)


def lowered(text: str, like: str) -> str:
    return text.lower() if like.isascii() else text.casefold()


def is_wanted(row: Row, wanted: RowQuery) -> bool:
    texts = (row.sample.id, row.sample.query, row.sample.response or "")
    if wanted.tag is not None:
        value = row.sample.tags.get(wanted.tag)
        if value is None or wanted.value not in (None, tag_text(value)):
            return False
    scores = [row.scores[wanted.metric]] if wanted.metric else list(row.scores.values())
    told = lowered(wanted.text, wanted.text)
    return any(told in lowered(text, wanted.text) for text in texts) and any(
        has_score(score, wanted) for score in scores
    )


def has_score(score: Score, wanted: RowQuery) -> bool:
    if wanted.state == "flagged" and not score.fallback:
        return False
    if wanted.state == "missed" and score.passed is not False:
        return False
    if wanted.state in list(State) and score.state != wanted.state:
        return False
    if wanted.low is None and wanted.high is None:
        return True
    value = math.nan if score.value is None else score.value
    least = -math.inf if wanted.low is None else wanted.low
    return least <= value <= (math.inf if wanted.high is None else wanted.high)


def places(wanted: RowQuery) -> list[int]:
    """What a plain filter over the rows finds."""
    found = [row for row in ROWS if is_wanted(row, wanted)]
    if wanted.sort is None:
        return [row.index for row in (found[::-1] if wanted.descending else found)]

    def key(row: Row) -> tuple[bool, float, int]:
        value = row.scores[wanted.sort].value
        sign = -1 if wanted.descending else 1
        return value is None, sign * (value or 0.0), row.index

    return [row.index for row in sorted(found, key=key)]


WANTED = (
    RowQuery(),
    RowQuery(descending=True),
    RowQuery(text="BATTERIE"),
    RowQuery(text="q1"),
    RowQuery(text="%"),
    RowQuery(text="a_b"),
    RowQuery(text='"hi"'),
    RowQuery(text="k\\s"),
    RowQuery(text="b/c"),
    RowQuery(text="o\nl"),
    RowQuery(text="Größe"),
    RowQuery(text="it's not there'; --"),
    RowQuery(metric="hit@5", state="scored"),
    RowQuery(metric="faithfulness", state="undefined"),
    RowQuery(state="undefined"),
    RowQuery(state="failed"),
    RowQuery(state="flagged"),
    RowQuery(metric="hit@5", state="missed"),
    RowQuery(metric="hit@5", low=0.3, high=0.6),
    RowQuery(low=0.95),
    RowQuery(tag="kind", value="easy"),
    RowQuery(tag="kind", value="true"),
    RowQuery(tag="kind", value="3.5"),
    RowQuery(tag="kind"),
    RowQuery(tag="it's", value="x"),
    RowQuery(tag="it's"),
    RowQuery(tag='no "such', value="x"),
    RowQuery(sort="faithfulness"),
    RowQuery(sort="faithfulness", descending=True),
    RowQuery(sort="hit@5", text="query", tag="kind", value="hard", metric="hit@5", high=0.8),
)


async def test_what_is_found_is_what_a_plain_filter_finds(store: Store) -> None:
    await fill(store)
    for wanted in WANTED:
        wanted = replace(wanted, limit=100)
        found = find_rows(store, RUN, wanted)
        assert [row.index for row in found.rows] == places(wanted), wanted
        assert (found.total, found.matched) == (len(ROWS), len(places(wanted))), wanted


async def test_a_page_is_a_piece_of_the_whole(store: Store) -> None:
    await fill(store)
    for sort in (None, "faithfulness"):
        wanted = RowQuery(tag="kind", sort=sort, offset=10, limit=7)
        found = find_rows(store, RUN, wanted)
        assert [row.index for row in found.rows] == places(wanted)[10:17]
        assert found.matched == 48
    behind = find_rows(store, RUN, RowQuery(state="undefined", offset=500))
    assert (behind.rows, behind.matched) == ((), 40)
    assert find_rows(store, RUN, RowQuery(offset=500)).matched == len(ROWS)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A SQLite file with the rows, for many looks at it."""
    with Store.open(tmp_path_factory.mktemp("kept") / "runs.db") as store:
        asyncio.run(fill(store))
        yield store


@given(text=st.text("%_/\\\"'abAÄäßöhi1 \n{}é", max_size=4))
def test_no_text_is_more_than_a_text(file: Store, text: str) -> None:
    wanted = RowQuery(text=text, limit=100)
    assert [row.index for row in find_rows(file, RUN, wanted).rows] == places(wanted)


ODD = "\\u0000 a\0\0b \ud800 <script> 50 % \N{RIGHT-TO-LEFT OVERRIDE}"


@pytest.mark.parametrize("text", ["", "50 %", "<SCRIPT>"])
async def test_rows_with_any_text_are_found(store: Store, make: SimpleNamespace, text: str) -> None:
    odd = make.full_row(0, ODD)
    await fill(store, [odd])
    assert find_rows(store, RUN, RowQuery(text=text)).rows == (replace(odd, exchanges=()),)
    assert find_rows(store, RUN, RowQuery(tag="n", value="3")).matched == 1
    assert find_rows(store, RUN, RowQuery(tag="flag", value="true")).matched == 1
    assert find_rows(store, RUN, RowQuery(tag="n", value="4")).matched == 0
    assert row_at(store, RUN, 0) == odd


async def test_letters_beside_half_a_character_are_found(
    store: Store, make: SimpleNamespace
) -> None:
    await fill(store, [make.full_row(0, "Größe \ud83d 日本"), make.full_row(1, "Größe")])
    assert find_rows(store, RUN, RowQuery(text="größe")).matched == 2
    assert find_rows(store, RUN, RowQuery(text="日本")).matched == 1
    assert find_rows(store, RUN, RowQuery(text="é")).matched == 0


@pytest.mark.parametrize("text", ["\0", "Ä", ODD, "'", "%' OR 1=1 --"])
async def test_any_text_can_be_looked_for(store: Store, make: SimpleNamespace, text: str) -> None:
    await fill(store, [make.full_row(0, ODD), make.full_row(1)])
    text = text.encode("utf-8", "replace").decode()  # as an address can hold it
    for wanted in (
        RowQuery(text=text),
        RowQuery(tag=text, value=text),
        RowQuery(metric=text, low=0),
    ):
        assert find_rows(store, RUN, wanted).matched <= 1


async def test_a_row_is_found_by_its_place(store: Store, make: SimpleNamespace) -> None:
    await fill(store, [make.full_row(3)])
    assert row_at(store, RUN, 3) == make.full_row(3)
    assert row_at(store, RUN, 0) is None


def test_a_run_that_is_not_there_is_told(store: Store) -> None:
    for look in (
        lambda: find_rows(store, "no such", RowQuery()),
        lambda: row_at(store, "no such", 0),
    ):
        with pytest.raises(StoreError, match="there is no run no such"):
            look()


@each_case(
    "asked",
    [{"state": "odd"}, {"offset": -1}, {"limit": 0}, {"limit": 501}, {"text": "x" * 1001}],
    ids=str,
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(RagstoneError):
        RowQuery(**asked)


# A ranking's run is browsed as a run of rows with the same scores is.


METRICS_OF_VALUE_BROWSING = ("hit@5", "ndcg@5")
MANIFEST = Manifest(
    run_id="values",
    version="0",
    started_at=datetime.now(UTC),
    plan=Plan(),
    source=Source(name="a.run", rows=40),
    judge=None,
    judge_note=None,
    target=None,
    not_run={},
)
asked = st.sampled_from([*METRICS_OF_VALUE_BROWSING, "mrr@5", None])


def values() -> RankingScores:
    places = np.arange(40)
    return RankingScores(
        ids=[f"Q{place}" for place in places],
        texts={f"Q{place}": f"query {place}" for place in places[::2]},
        metrics=METRICS_OF_VALUE_BROWSING,
        values=np.stack([places % 2, places % 7 / 7], axis=1).astype(float)
        * (places % 5 > 0)[:, None],
        why=np.where(places % 5, 0, 1 + places % 2).astype(np.uint8),
        failed={"ndcg@5": {3: "it raised"}},
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with the same scores as blocks, and as rows."""
    place: Path = tmp_path_factory.mktemp("both") / "runs.db"
    metrics = {name: get(name).described for name in METRICS_OF_VALUE_BROWSING}
    run = Run(manifest=MANIFEST, metrics=metrics, rows=values())
    with Store.open(place) as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked_values, "BLOCK", 7)
        save_ranking(store, run)
        add_run(store, MANIFEST.model_copy(update={"run_id": "rows"}), metrics, fingerprint="")
        asyncio.run(fill_of_value_browsing(store, run))
        yield store


async def fill_of_value_browsing(store: Store, run: Run) -> None:
    async with store.open_writer("rows") as writer:
        for row in run.rows:
            await writer.put(row)


@given(
    wanted=st.builds(
        RowQuery,
        text=st.sampled_from(["", "q3", "QUERY 2", "nothing"]),
        metric=asked,
        state=st.sampled_from([None, *STATES]),
        low=st.sampled_from([None, 0.0, 0.3]),
        high=st.sampled_from([None, 0.3, 1.0]),
        tag=st.sampled_from([None, None, None, "kind"]),
        sort=asked,
        descending=st.booleans(),
        offset=st.sampled_from([0, 3, 50]),
        limit=st.sampled_from([1, 10, 50]),
    )
)
def test_the_same_is_found_in_the_same_order(both: Store, wanted: RowQuery) -> None:
    assert find_rows(both, "values", wanted) == find_rows(both, "rows", wanted)


def test_one_row_is_found_by_its_place(both: Store) -> None:
    assert row_at(both, "values", 3) == row_at(both, "rows", 3)
    for place in (40, -1):
        assert row_at(both, "values", place) is row_at(both, "rows", place) is None
    few = replace(RowQuery(), limit=2, sort="ndcg@5", descending=True)
    assert [row.index for row in find_rows(both, "values", few).rows] == [6, 13]


def made_of_summing(place: int) -> Row:
    late = Score.failed(Cause.TIMEOUT, "late")
    faithful = (Score.scored(place / 10), Score.undefined("nothing said"), late)[place % 3]
    scores = {"faithfulness": faithful, "hit@5": Score.scored(1.0)}
    return Row(place, Sample(id=f"q{place}", query="?"), scores=scores)


ROWS_OF_SUMMING = [made_of_summing(place) for place in range(10)]


async def fill_of_summing(store: Store, make: SimpleNamespace, rows: list[Row]) -> None:
    make.begin(store, "r1")
    async with store.open_writer("r1") as writer:
        for row in rows:
            await writer.put(row)


async def test_of_no_rows_there_is_nothing_to_count(store: Store, make: SimpleNamespace) -> None:
    await fill_of_summing(store, make, [])
    assert count_scores(store, "r1") == {}


async def test_the_figures_are_those_of_the_rows(store: Store, make: SimpleNamespace) -> None:
    await fill_of_summing(store, make, ROWS_OF_SUMMING)
    told = count_scores(store, "r1")
    assert told["faithfulness"].mean == pytest.approx(math.fsum([0, 0.3, 0.6, 0.9]) / 4)
    assert replace(told["faithfulness"], mean=None) == MetricCounts(4, 3, 3, None)
    assert told["hit@5"] == MetricCounts(10, 0, 0, 1.0)


async def test_a_run_without_a_summary_gets_one(store: Store, make: SimpleNamespace) -> None:
    await fill_of_summing(store, make, ROWS_OF_SUMMING)
    info = summarize(store, store.info("r1"))
    assert info.summary is not None
    assert info.summary["metrics"]["faithfulness"]["failed"] == 3
    kept = replace(info, summary={"metrics": {}})
    assert summarize(store, kept) is kept


def test_a_run_that_is_not_there_is_told_of_summing(store: Store) -> None:
    with pytest.raises(StoreError, match="there is no run no such"):
        count_scores(store, "no such")
