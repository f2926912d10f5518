import asyncio
from threading import Event, Thread

import pytest

from ragstone.metrics import get
from ragstone.reports.viewer import views as pages
from ragstone.store import Store
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


def made(place: int) -> Row:
    scores = {"hit@5": Score.scored(1.0), "faithfulness": Score.scored(0.5)}
    return Row(place, Sample(id=f"q{place}", query="How long?"), scores=scores)


async def test_a_going_run_is_followed_until_it_is_summed_up(served, view, tmp_path) -> None:
    manifest = Store.open(served.place).info("run-a").manifest
    metrics = {name: get(name).described for name in ("faithfulness", "hit@5")}
    with Store.open(tmp_path / "live.db") as store:
        store.begin(manifest, metrics, fingerprint="")
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
    open_recorder, may_end, made = Event(), Event(), []
    really = pages.compare

    def slow(*given: object, **named: object) -> object:
        made.append(given)
        open_recorder.set()
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
        assert open_recorder.wait(30)
        assert viewed.get("/runs/run-a").status == 200
        assert viewed.get("/").status == 200
        may_end.set()
        for each in ask:
            each.join()
        assert viewed.get("/compare?a=run-a&b=run-b").status == 200
    assert told == [200] * 50
    assert len(made) == 1, "it is made once for all who ask"
