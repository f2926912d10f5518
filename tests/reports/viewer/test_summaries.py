from dataclasses import replace
from pathlib import Path

import pytest

from ragstone.metrics import get
from ragstone.reports.viewer import cache as summaries
from ragstone.reports.viewer.cache import Summaries, cache_key
from ragstone.store import Store, resume
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

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
    store.begin(manifest, METRICS, fingerprint="")
    async with store.open_writer("run-a") as writer:
        for place, score in enumerate([Score.scored(0.0), MADE_UP]):
            row = Row(place, Sample(id=f"q{place}", query="?"), scores={"hit@5": score})
            await writer.put(replace(row, notes=("the target hesitated",)))
    store.finish("run-a", extras={}, summary=store.load("run-a").to_dict())
    return store


async def facts(store: Store) -> dict[str, str]:
    summary = await Summaries(store).get(store.info("run-a"))
    return {line["label"]: line["text"] for line in summary["facts"]}


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
