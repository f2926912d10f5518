"""The pages of a ranking's run."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.cases import add_run
from tests.reports.ranked import ranked_run
from tests.reports.viewer.conftest import keep, manifest, row

from ragstone.metrics import get
from ragstone.reports.viewer import views as pages
from ragstone.store import Store, StoreError, save_ranking
from ragstone.types.row import Row
from ragstone.types.sample import Message, Sample
from ragstone.types.score import Score

PAGES = ("/", "/runs/run-a", "/runs/run-c", "/compare?a=run-a&b=run-b", "/healthz")
DATA = ("/runs/run-c/live.json", "/runs/run-a/rows.json", "/runs/run-a/rows/0.json")


def test_the_first_page_lists_the_runs_newest_first(served) -> None:
    text = served.get("/").text
    assert text.index("run-c") < text.index("run-b") < text.index("run-a")
    assert "5 of 12 rows" in text
    assert text.count("finished") == 2
    assert "stopped" in text
    assert "faithfulness <strong>0.5000</strong>" in text


def test_only_so_many_runs_are_listed_as_asked(served) -> None:
    text = served.get("/?limit=1").text
    assert "run-c" in text
    assert "run-b" not in text
    assert 'href="/?limit=5"' in text


def test_a_runs_page_tells_what_it_came_to(served) -> None:
    answer = served.get("/runs/run-a")
    assert answer.status == 200
    assert 'data-rows="/runs/run-a/rows"' in answer.text
    assert '<span title="0.5000">0.50</span>' in answer.text
    assert "nothing is relevant" in answer.text
    assert "Runs of this data set" in answer.text
    assert "run-a: 0.5000 (0." in answer.text
    assert '<a href="/runs/run-b"' in answer.text
    assert "6 contradicted (50%)" in answer.text


@pytest.mark.parametrize("name", ["run-", "last"])
def test_a_run_is_named_as_on_the_command_line(served, name: str) -> None:
    answer = served.get(f"/runs/{name}")
    if name == "last":
        assert (answer.status, answer.headers["location"]) == (307, "/runs/run-c")
    else:
        assert answer.status == 404
        assert "3 run ids begin with" in answer.text


def test_a_run_that_was_not_summed_up_has_a_page_of_its_progress(served) -> None:
    answer = served.get("/runs/run-c")
    assert 'data-live="/runs/run-c/live.json"' in answer.text
    assert "5 of 12 rows" in answer.text
    told = served.get("/runs/run-c/live.json").data
    assert (told["rows"], told["rows_due"], told["state"]) == (5, 12, "stopped")
    assert told["metrics"]["faithfulness"]["mean"] == 1.0
    assert told["metrics"]["hit@5"]["undefined"] == 2


def test_a_summary_that_lacks_something_is_reckoned_from_the_rows(served, view, tmp_path) -> None:
    place = tmp_path / "old.db"
    with sqlite3.connect(served.place) as source, sqlite3.connect(place) as target:
        source.backup(target)
        older = """UPDATE runs SET summary = '{"run_id": "run-a"}', checksum = NULL"""
        target.execute(f"{older} WHERE id = 'run-a'")
    source.close()
    target.close()
    with view(place) as older:
        assert "nothing is relevant" in older.get("/runs/run-a").text


def test_rows_are_given_as_they_are_asked_for(served) -> None:
    found = served.get(
        "/runs/run-a/rows.json?text=HOW&metric=hit@5&state=scored&tag=kind&value=odd"
        "&sort=faithfulness&order=desc&offset=1&limit=2"
    ).data
    assert [each["place"] for each in found["rows"]] == [11, 1]
    assert (found["total"], found["matched"]) == (12, 4)
    assert found["rows"][1]["scores"]["faithfulness"]["value"] == 0.0


@pytest.mark.parametrize(
    "asked", ["state=odd", "low=nan", "low=x", "offset=-1", "limit=0", "limit=9999", "order=up"]
)
def test_what_cannot_be_asked_is_told_in_words(served, asked: str) -> None:
    answer = served.get(f"/runs/run-a/rows.json?{asked}")
    assert answer.status == 400
    assert answer.data["error"]


def test_one_row_is_given_whole(served) -> None:
    told = served.get("/runs/run-a/rows/7.json").data
    assert told["id"] == "q7"
    assert told["scores"]["faithfulness"]["claims"][0]["label"] == "SUPPORTED"
    assert told["contexts"][0]["text"] == "It lasts 20 hours."


def test_two_runs_are_compared_what_changed_first(served) -> None:
    text = served.get("/compare?a=run-a&b=run-b").text
    assert text.index("What changed from A") < text.index("Differences")
    assert "The judge or its settings changed" in text
    assert "6 now supported" in text
    assert '<span title="0.5000">+0.50</span>' in text
    assert "no regression" in text
    assert "B - A +0.5000, interval " in text
    assert '<svg class="scatter"' in text
    assert 'href="/compare/sample?a=run-a&amp;b=run-b&amp;metric=faithfulness&amp;row=0"' in text


def test_runs_are_compared_if_a_metric_has_no_scores_in_one(view, tmp_path: Path) -> None:
    runs = {"a": [row(i, supported=i > 5) for i in range(12)]}
    none = {"hit@5": Score.failed("timeout", "too slow")}
    runs["b"] = [replace(each, scores={**each.scores, **none}) for each in runs["a"]]
    with Store.open(tmp_path / "runs.db") as store:
        for name, rows in runs.items():
            keep(store, manifest(name), rows)
    with view(tmp_path / "runs.db") as served:
        for path in ("/compare?a=a&b=b", "/compare?a=b&b=a", "/runs/b"):
            answer = served.get(path)
            assert answer.status == 200
            assert ">None<" not in answer.text


def test_a_pair_is_shown_with_the_conversation_before_it(view, tmp_path: Path) -> None:
    said = (Message(role="user", content="A warranty? <img src=x>"),)
    with Store.open(tmp_path / "runs.db") as store:
        for name in ("a", "b"):
            first, second = row(0, supported=True), row(1, supported=True)
            sample = first.sample.model_copy(update={"history": said})
            keep(store, manifest(name), [replace(first, sample=sample), second])
    with view(tmp_path / "runs.db") as served:
        texts = [
            served.get(f"/compare/sample?a=a&b=b&metric=faithfulness&row={n}").text for n in (0, 1)
        ]
    assert '<span class="muted">user:</span> A warranty? &lt;img src=x&gt;</p>' in texts[0]
    assert ["Conversation before" in text for text in texts] == [True, False]


def test_a_sample_of_two_runs_is_shown_side_by_side(served) -> None:
    text = served.get("/compare/sample?a=run-a&b=run-b&metric=faithfulness&row=5").text
    assert "12 of 12 by change of faithfulness" in text
    assert 'href="/runs/run-b#sample=5"' in text
    assert text.count("It lasts 20 hours.</div>") == 4
    assert "The responses are the same." in text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nowhere", 404, "Page not found"),
        ("/runs/nobody", 404, "there is no run named"),
        ("/runs/nobody/rows.json", 404, "there is no run nobody"),
        ("/runs/run-a/rows/99.json", 404, "no row 99"),
        ("/runs/run-a/rows/x.json", 404, "no row x"),
        ("/runs/run-a/rows/2147483648.json", 404, "no row 2147483648"),
        (f"/runs/run-a/rows/{'9' * 5000}.json", 404, "no row 9999"),
        ("/assets/nothing.js", 404, "no file nothing.js"),
        ("/assets/..%2Ftemplates.py", 404, "Page not found"),
        ("/assets/%2e%2e", 404, "no file"),
        ("/compare", 400, "Select two runs"),
        ("/compare/sample?a=run-a&b=run-b&metric=faithfulness&row=99", 404, "no such pair"),
        ("/compare/sample?a=run-a&b=run-b&metric=nothing&row=0", 404, "no such pair"),
        ("/compare/sample?a=run-a&b=run-b&metric=faithfulness&row=x", 404, "no such pair"),
        ("/compare/sample?a=run-a&metric=faithfulness&row=0", 400, "Select two runs"),
        ("/compare?a=run-a&b=run-a", 400, "select two different runs"),
        ("/runs/%00%ff%27--", 404, "there is no run named"),
    ],
)
def test_what_is_not_there_is_told_in_words(served, path: str, status: int, words: str) -> None:
    answer = served.get(path)
    assert answer.status == status
    assert words in answer.text


@pytest.mark.parametrize("path", ["/", "/runs/run-c", "/runs/run-c/rows.json", "/assets/live.js"])
def test_a_head_is_answered_without_a_body(served, path: str) -> None:
    answer = served.get(path, method="HEAD")
    assert (answer.status, answer.text) == (200, "")


def test_hostile_texts_are_only_texts(served) -> None:
    pair = "/compare/sample?a=run-c&b=run-a&metric=faithfulness&row=0"
    strange = "/runs/%3Cscript%3Ealert(1)"
    for path in ("/", "/runs/run-c", "/compare?a=run-c&b=run-a", pair, strange):
        text = served.get(path).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\x1b" not in text
    answer = served.get("/runs/run-c/rows/0.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.text.isascii()


def test_the_store_is_as_it_was(served) -> None:
    before = served.place.read_bytes()
    for path in (*PAGES, *DATA):
        assert served.get(path).status == 200
    assert served.place.read_bytes() == before
    assert not list(served.place.parent.glob("*.lock"))


# The pages of a ranking's run.


@pytest.fixture(params=[30, 1500])
def queries(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def place(queries: int, tmp_path: Path) -> Path:
    with Store.open(tmp_path / "runs.db") as store:
        run = ranked_run(queries)
        save_ranking(store, run)
        manifest = run.manifest.model_copy(update={"run_id": "r2"})
        save_ranking(store, type(run)(manifest=manifest, metrics=run.metrics, rows=run.rows))
    return tmp_path / "runs.db"


def test_a_run_is_listed_shown_paged_and_compared(view, place: Path, queries: int) -> None:
    with view(place) as served:
        first = served.get("/").text
        assert f"{queries:,} rows" in first
        assert first.count("finished") == 2
        page = served.get("/runs/r1")
        assert page.status == 200
        assert "it raised" in page.text
        assert "Not shown" not in page.text
        found = served.get("/runs/r1/rows.json?sort=ndcg@5&limit=3&offset=2").data
        assert (found["total"], found["matched"]) == (queries, queries)
        assert [row["id"] for row in found["rows"]] == ["q4", "q5", "q6"]
        failed = served.get("/runs/r1/rows.json?state=failed").data
        assert [row["id"] for row in failed["rows"]] == ["q1"]
        whole = served.get("/runs/r1/rows/2.json").data
        assert (whole["query"], whole["response"]) == ("what?", None)
        assert served.get(f"/runs/r1/rows/{queries}.json").status == 404
        assert served.get("/runs/r1/live.json").data["rows"] == queries
        compared = served.get("/compare?a=r1&b=r2")
        assert compared.status == 200
        assert "no difference shown" in compared.text


def made(place: int) -> Row:
    scores = {"hit@5": Score.scored(1.0), "faithfulness": Score.scored(0.5)}
    return Row(place, Sample(id=f"q{place}", query="How long?"), scores=scores)


async def test_a_going_run_is_followed_until_it_is_summed_up(served, view, tmp_path) -> None:
    manifest = Store.open(served.place).info("run-a").manifest
    metrics = {name: get(name).described for name in ("faithfulness", "hit@5")}
    with Store.open(tmp_path / "live.db") as store:
        add_run(store, manifest, metrics, fingerprint="")
        with view(tmp_path / "live.db") as viewed:
            async with store.open_writer("run-a") as writer:
                await writer.put(made(0))
                first = await until(viewed, rows=1)
                assert first["state"] == "running"
                assert "running" in await asyncio.to_thread(lambda: viewed.get("/").text)
                await writer.put(made(1))
                second = await until(viewed, rows=2)
                assert second["metrics"]["faithfulness"]["mean"] == 0.5
                assert second["metrics"]["hit@5"]["scored"] == 2
                assert not second["summed_up"]
            store.finish("run-a", extras={}, summary=store.load("run-a").to_dict())
            last = await until(viewed, rows=2)
            assert (last["state"], last["summed_up"]) == ("finished", True)
            page = await asyncio.to_thread(viewed.get, "/runs/run-a")
            assert "data-live" not in page.text


async def until(viewed, *, rows: int) -> dict[str, object]:
    """Ask until so many rows are there, as the page does."""
    for _ in range(100):
        told = (await asyncio.to_thread(viewed.get, "/runs/run-a/live.json")).data
        if told["rows"] >= rows:
            return told
        await asyncio.sleep(0.05)
    raise AssertionError(told)


def test_a_slow_comparison_holds_up_no_other_page(
    served, view, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, made = Event(), Event(), []
    really = pages.compare

    def slow(*given: object, **named: object) -> object:
        made.append(given)
        begun.set()
        assert may_end.wait(30)
        return really(*given, **named)

    monkeypatch.setattr(pages, "compare", slow)
    told = []
    with view(served.place) as viewed:
        ask = [
            Thread(target=lambda: told.append(viewed.get("/compare?a=run-a&b=run-b").status))
            for _ in range(50)
        ]
        for each in ask:
            each.start()
        assert begun.wait(30)
        assert viewed.get("/runs/run-a").status == 200
        assert viewed.get("/").status == 200
        may_end.set()
        for each in ask:
            each.join()
        assert viewed.get("/compare?a=run-a&b=run-b").status == 200
    assert told == [200] * 50
    assert len(made) == 1, "it is made once for all who ask"


def test_a_database_that_fails_is_not_a_missing_page(
    served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise StoreError("runs.db: the disk is full")

    monkeypatch.setattr(pages, "find_run", fail)
    answer = served.get("/runs/run-a")
    assert (answer.status, "The store cannot be read" in answer.text) == (503, True)
