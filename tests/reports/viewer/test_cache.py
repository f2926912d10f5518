import asyncio
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from tests.cases import add_run

from ragstone.metrics import get
from ragstone.reports.viewer import cache as summaries
from ragstone.reports.viewer.cache import AsyncCache, Summaries, cache_key, history
from ragstone.store import Store, resume
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


async def test_it_is_made_once_for_all_who_ask() -> None:
    cache, made = AsyncCache[int](2), []

    def make() -> int:
        made.append(1)
        return 7

    assert await asyncio.gather(*(cache.get("a", make) for _ in range(20))) == [7] * 20
    assert await cache.get("a", make) == 7
    assert len(made) == 1


async def test_only_the_latest_are_kept() -> None:
    cache, made = AsyncCache[str](2), []
    for key in ("a", "b", "a", "c", "a", "b"):
        await cache.get(key, lambda key=key: made.append(key) or key)
    assert made == ["a", "b", "c", "b"]


async def test_what_failed_is_made_anew() -> None:
    cache, fails = AsyncCache[int](2), [True, False]

    def make() -> int:
        if fails.pop(0):
            raise ValueError("not yet")
        return 1

    with pytest.raises(ValueError, match="not yet"):
        await cache.get("a", make)
    assert await cache.get("a", make) == 1


async def test_who_stops_waiting_does_not_stop_it_for_others() -> None:
    cache, may_end = AsyncCache[int](2), Event()

    def make() -> int:
        assert may_end.wait(10)
        return 1

    first = asyncio.create_task(cache.get("a", make))
    second = asyncio.create_task(cache.get("a", make))
    await asyncio.sleep(0.05)
    first.cancel()
    may_end.set()
    assert await second == 1


METRICS = {"hit@5": get("hit@5").described}
MADE_UP = Score.scored(1.0).model_copy(update={"fallback": True, "reason": "nothing was claimed"})


@pytest.fixture
async def ended(served, tmp_path: Path) -> Store:
    """A store with a run that ended, of two rows; one score was made up."""
    with Store.open(served.place) as other:
        manifest = other.info("run-a").manifest
    manifest = manifest.model_copy(
        update={"source": manifest.source.model_copy(update={"notes": ("1 row was left out",)})}
    )
    store = Store.open(tmp_path / "runs.db")
    add_run(store, manifest, METRICS, fingerprint="")
    async with store.open_writer("run-a") as writer:
        for place, score in enumerate([Score.scored(0.0), MADE_UP]):
            row = Row(place, Sample(id=f"q{place}", query="?"), scores={"hit@5": score})
            await writer.put(replace(row, notes=("the target hesitated",)))
    store.finish("run-a", extras={}, summary=store.load("run-a").to_dict())
    return store


async def facts(store: Store) -> dict[str, str]:
    summary = await Summaries(store).get(store.info("run-a"))
    return {line["label"]: line["words"] for line in summary["facts"]}


async def test_a_short_run_is_told_with_the_notes_on_its_rows(ended: Store) -> None:
    told = await facts(ended)
    assert "the target hesitated" in told["Note"]
    assert "nothing was claimed" in told["Imputed"]
    assert "Not shown" not in told


async def test_a_long_run_is_told_without_its_rows_and_says_so(
    ended: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summaries, "FULL_SUMMARY_ROWS", 1)
    told = await facts(ended)
    assert told["Note"] == "1 row was left out"
    assert told["Imputed"] == "hit@5: 1 score imputed by the policy"
    assert "`ragstone report run-a --html FILE` includes them" in told["Not shown"]


def test_of_a_finished_run_the_same_is_told_and_of_an_unfinished_one_not_for_long(
    ended: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("ragstone.reports.viewer.cache.monotonic", lambda: now[0])
    finished = ended.info("run-a")
    resume(ended, finished.manifest)
    unfinished = ended.info("run-a")
    before = cache_key(finished), cache_key(unfinished)
    now[0] += 2
    assert cache_key(finished) == before[0]
    assert cache_key(unfinished) != before[1]


def test_only_runs_of_the_same_rows_share_a_chart(served, tmp_path: Path) -> None:
    with Store.open(served.place, reading=True) as other:
        plain = other.info("run-a").manifest
    store = Store.open(tmp_path / "runs.db")

    def add(run_id: str, *, identity: dict[str, str] | None = None, **fields: object) -> None:
        plan = {key: fields.pop(key) for key in ("limit", "sheet") if key in fields}
        update = {
            "run_id": run_id,
            "source": plain.source.model_copy(update=fields),
            "plan": plain.plan.model_copy(update=plan),
            "identity": identity or {},
        }
        add_run(store, plain.model_copy(update=update), METRICS, fingerprint=run_id)
        store.finish(run_id, extras={}, summary={"metrics": {"hit@5": {"mean": 0.5}}})

    in_memory = {"name": "samples", "fingerprint": None}
    for number in (1, 2):
        add(f"file-{number}")
        add(f"list-{number}", identity={"data fingerprint": "ab"}, **in_memory)
        add(f"unknown-{number}", **in_memory)
    add("changed", fingerprint="cd")
    add("drawn", sample="10 rows, seed 0")
    add("first", limit=10)
    add("sheet", sheet="second")
    add("list-3", identity={"data fingerprint": "cd"}, **in_memory)

    charts = {info.id: history(store, info, str) for info in store.runs(limit=100)}
    linked = {name: found["hit@5"] for name, found in charts.items() if found}
    assert set(linked) == {"file-1", "file-2", "list-1", "list-2"}
    assert all(chart.count("<circle") == 2 for chart in linked.values())
