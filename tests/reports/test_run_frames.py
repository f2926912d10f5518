"""Frames in and out of a run: the index, the user's columns, short columns, and `Run.join`."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cases import each_case

import ragstone
from ragstone.results.run import Run, RunInterruptedError
from ragstone.store import Store

pd: Any = pytest.importorskip("pandas", reason="frames of pandas need pandas")

ROWS = 6
TRUTH = [1.0, 0.0, 1.0, 1.0, 0.0, None]


def frame_of(index: Any = None, **columns: list[Any]) -> Any:
    """Rows whose third, say, is right if the third of TRUTH is 1."""
    return pd.DataFrame(
        {
            "question": [f"question {n}?" for n in range(ROWS)],
            "answer": ["right" if truth else "wrong" for truth in TRUTH],
            "reference": [None if truth is None else "right" for truth in TRUTH],
            **columns,
        },
        index=index,
    )


def evaluate(frame: Any, **options: Any) -> Run:
    return ragstone.evaluate(frame, metrics="exact_match", **options)


def values(column: Any) -> list[float | None]:
    return [None if value is pd.NA else value for value in column]


DATES = pd.to_datetime([f"2024-01-{day:02}" for day in range(1, ROWS + 1)])
INDEXES = [
    range(10, 10 + ROWS),
    list("uvwxyz"),
    DATES,
    ["a", "a", "b", "b", "a", "c"],
    pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["letter", "number"]),
]


@each_case("index", INDEXES)
def test_the_index_is_that_of_the_frame(index: Any) -> None:
    whole = frame_of(index, topic=list("aabbcc"))
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 0, 4, 1, 2], [4, 1]):
        frame = whole.iloc[order]
        run = evaluate(frame)
        scores, right = run.to_pandas(), [TRUTH[n] for n in order]
        pd.testing.assert_index_equal(scores.index, frame.index)
        assert values(scores["exact_match"]) == right
        assert scores["topic"].equals(frame["topic"])
        joined = run.join(frame)
        assert joined.drop(columns="exact_match").equals(frame)
        assert values(joined["exact_match"]) == right
        if frame.index.is_unique:
            assert values(run.join(frame.iloc[::-1])["exact_match"]) == right[::-1]
    part = evaluate(whole, limit=2)
    assert values(part.join(whole)["exact_match"]) == [*TRUTH[:2], *[None] * 4]
    assert values(part.join(whole.head(2))["exact_match"]) == TRUTH[:2]


def test_a_part_of_the_rows_has_its_part_of_the_index() -> None:
    frame = frame_of(list("uvwxyz")).iloc[[5, 3, 0, 4, 1, 2]]
    right = dict(zip("uvwxyz", TRUTH, strict=True))
    for options in ({"limit": 2}, {"sample": 3}):
        scores = evaluate(frame, **options).to_pandas()
        assert len(scores) == next(iter(options.values()))
        assert values(scores["exact_match"]) == [right[label] for label in scores.index]
        assert list(scores["query"]) == list(frame.loc[scores.index]["question"])
    frame.loc["blank"] = None
    frame = frame.loc[["z", "blank", "u", "v"]]
    run = evaluate(frame)
    assert list(run.to_pandas().index) == ["z", "u", "v"]
    assert values(run.join(frame)["exact_match"]) == [None, None, 1.0, 0.0]


def test_the_rows_of_a_stopped_run_have_their_index() -> None:
    frame, finished = frame_of(list("uvwxyz"), n=range(ROWS)), list[ragstone.Row]()

    def stop(row: ragstone.Row, _due: int) -> None:
        finished.append(row)
        if len(finished) == 3:
            raise KeyboardInterrupt

    with pytest.raises(RunInterruptedError) as raised:
        evaluate(frame, on_row=stop)
    run = raised.value.run
    scores = run.to_pandas()
    assert 0 < len(scores) < ROWS
    assert list(scores.index) == list("uvwxyz")[: len(scores)]
    assert values(run.join(frame)["exact_match"])[: len(scores)] == TRUTH[: len(scores)]


def test_runs_without_a_frame_are_indexed_by_ids(tmp_path: Path) -> None:
    frame = frame_of(range(20, 20 + ROWS), id=list("uvwxyz"))
    run = evaluate(frame, store=tmp_path / "runs.db")
    assert list(run.to_pandas().index) == list(frame.index)
    resumed = evaluate(frame, store=tmp_path / "runs.db", resume=run.manifest.run_id)
    assert list(resumed.to_pandas().index) == list(frame.index)
    with Store.open(tmp_path / "runs.db") as store:
        loaded = store.load(run.manifest.run_id)
        assert list(loaded.to_pandas().index) == list("uvwxyz")
        assert values(loaded.join(frame.iloc[::-1])["exact_match"]) == TRUTH[::-1]
    assert list(evaluate(frame.to_dict(orient="records")).to_pandas().index) == list("uvwxyz")


OWN = {
    "topic": list("aabbcc"),
    "count": [1, 2, 3, 4, 5, 6],
    "price": [1.5, None, 2.0, 3.0, 4.0, 5.0],
    "is new": [True, False] * 3,
    "mixed": [1, "x", True, 2.5, None, "y"],
    "when": list(DATES),
    "group": pd.Categorical(list("ababab")),
    "parts": [["a"], ["b", "c"]] * 3,
    "record": [{"a": 1}] * 6,
}


def test_columns_of_the_user_stay_as_they_were() -> None:
    frame = frame_of(list("uvwxyz"), **OWN)
    scores = evaluate(frame).to_pandas()
    pd.testing.assert_frame_equal(scores[list(OWN)], frame[list(OWN)])
    fields = ["id", "query", "response", "reference", "contexts", "ranking"]
    assert list(scores) == [*fields, *OWN, "exact_match"]


def test_columns_of_polars_stay_as_they_were() -> None:
    own = pl.DataFrame(
        {"day": [date(2024, 1, 1)] * ROWS, "n": pl.Series(range(ROWS), dtype=pl.Int8)}
    )
    texts = {
        name: [None if pd.isna(text) else text for text in column]
        for name, column in frame_of().items()
    }
    frame = pl.DataFrame(texts).hstack(own)
    run = evaluate(frame)
    assert run.to_polars().select("day", "n").equals(own)
    assert run.to_polars()["exact_match"].to_list() == TRUTH
    assert run.to_pandas()["n"].tolist() == list(range(ROWS))
    assert run.join(frame).equals(frame.hstack([run.to_polars()["exact_match"]]))
    assert run.join(frame.drop("answer"))["exact_match"].to_list() == TRUTH
    rows = [
        {"query": "a?", "contexts": ["x", {"text": "y", "id": "2"}], "ranking": [7]},
        {"query": "b?", "contexts": [], "reference": "b"},
    ]
    run = ragstone.evaluate([{**row, "response": "a"} for row in rows], metrics="exact_match")
    assert run.to_polars()["contexts"].to_list() == [["x", "y"], []]
    assert run.to_arrow()["ranking"].to_pylist() == [["7"], None]
    assert run.to_pandas()["contexts"].tolist() == [["x", "y"], []]


def test_a_column_with_the_name_of_a_metric_gets_a_suffix() -> None:
    own = {"exact_match": list("abcdef"), "exact_match_given": list("ghijkl")}
    scores = evaluate(frame_of(**own)).to_pandas()
    assert values(scores["exact_match"]) == TRUTH
    assert {"".join(scores[name]) for name in scores if "given" in name} == {"abcdef", "ghijkl"}


def test_a_frame_that_does_not_fit_is_refused() -> None:
    frame = frame_of(list("uvwxyz"))
    run = evaluate(frame)
    cases: list[tuple[Any, str]] = [
        (frame.head(5), "the frame has 5 rows of the run's 6 samples; join"),
        (pd.concat([frame, frame.head(1)]), "the frame has 7 rows of the run's 6 samples"),
        (pd.concat([frame, frame_of().head(1)]), "row 7 of the frame was not evaluated; join"),
        (frame.iloc[::-1].reset_index(drop=True), "row 1 of the frame has another query than in"),
        (frame.assign(answer="another"), "row 1 of the frame has another response than in the run"),
        (frame.assign(id=range(50, 56)).reset_index(drop=True), "row 1 of the frame was not"),
        (frame.assign(exact_match=1), "the frame already has a column 'exact_match'; rename or"),
        (frame.to_dict(orient="records"), "needs a frame of pandas or polars, got a list"),
        (frame.drop(columns="question"), "no query column found"),
    ]
    for given, message in cases:
        with pytest.raises(ragstone.RagstoneError, match=re.escape(message)):
            run.join(given)


def test_columns_of_one_name_are_refused_and_missing_dates_are_missing() -> None:
    frame = frame_of(when=[*DATES[:2], *[pd.NaT] * 4])
    assert evaluate(frame).to_polars()["when"].null_count() == 4
    with pytest.raises(ragstone.UsageError, match="two columns of the frame are named 'answer'"):
        evaluate(frame.rename(columns={"reference": "answer"}))


def test_turns_of_a_conversation_have_the_label_of_their_row() -> None:
    turns = [("user", "a?"), ("assistant", "a"), ("user", "b?"), ("assistant", "b")]
    messages = [{"role": role, "content": text, "reference": "b"} for role, text in turns]
    frame = pd.DataFrame({"messages": [messages]}, index=["first"])
    run = evaluate(frame)
    assert list(run.to_pandas().index) == ["first", "first"]
    with pytest.raises(ragstone.UsageError, match="1 row of the run's 2 samples"):
        run.join(frame)


def test_only_ids_and_queries_must_fit_if_a_target_answered() -> None:
    frame = frame_of(list("uvwxyz"))
    run = evaluate(frame, target=lambda _query: {"response": "right"})
    assert values(run.join(frame)["exact_match"]) == [1.0] * 5 + [None]
    assert set(run.to_pandas()["response"]) == {"right"}
    frame = pd.DataFrame({"id": ["x", "y"], "query": ["q?", "q?"], "reference": ["red", "red"]})
    answers = iter(["red", "blue"])
    run = evaluate(frame, target=lambda _query: next(answers), concurrency=1)
    turned = run.join(frame.iloc[::-1].reset_index(drop=True))  # ids match before the index
    assert dict(zip(turned["id"], turned["exact_match"], strict=True)) == {"x": 1.0, "y": 0.0}
