"""Whole runs by a cascade of the offline judge and a model on a socket of loopback."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import ragstone
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.reports.view import details
from ragstone.results.run import Run

NAME = "cascade:offline+openai:m"


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


NOTHING: Mapping[str, object] = {}


def options(url: str, *, settings: Mapping[str, object] = NOTHING, **more: Any) -> Options:
    config = {"claim_source": "sentences", "cascade_threshold": 0.7, "cascade_audit_rate": 0.3}
    return {
        "metrics": "faithfulness",
        "judge": NAME,
        "base_url": url,
        "config": {**config, **settings},
        **more,
    }


def shared(run: Run) -> list[tuple[str, str | None]]:
    """Return every claim with the judge that gave its verdict."""
    rows = sorted(run.rows, key=lambda row: row.index)
    scores = [score for row in rows for score in row.scores.values()]
    return [(claim.text, claim.judge) for score in scores for claim in score.claims]


def test_a_run_asks_the_model_only_for_what_is_not_sure_and_tells_it(judge_server, kit) -> None:
    run = ragstone.evaluate(kit.samples(), **options(judge_server.url))
    told = run.counts.cascade
    assert told is not None
    assert told.verdicts == 100
    assert 0 < told.escalated + told.audited < 100
    by_model = [judge for _, judge in shared(run) if judge == "openai:m"]
    assert len(by_model) == told.escalated + told.audited
    assert run.usage().calls == len(judge_server.asked) == 20 - told.saved
    [first, second] = [line.words for line in details(run) if line.label == "Cascade"]
    assert first.startswith(f"{told.escalated} of 100 verdicts")
    assert f"both judges were asked about {told.audited} confident verdicts" in second


def test_an_estimate_asks_the_offline_judge_so_its_calls_are_exact(judge_server, kit) -> None:
    said = options(judge_server.url, cache=False)
    run = ragstone.evaluate(kit.samples(), **said)
    assert Evaluation.estimate(kit.samples(), **said).calls == (run.usage().calls,) * 2
    least, most = Evaluation.estimate(
        kit.samples(), **options(judge_server.url, settings={"claim_source": "llm"}, cache=False)
    ).calls
    assert least > run.usage().calls
    assert least <= most


def test_a_run_that_was_stopped_goes_on_with_the_same_control(judge_server, kit) -> None:
    whole = ragstone.evaluate(kit.samples(), **options(judge_server.url, cache=False))
    said = options(judge_server.url, cache=False, store="runs.db", concurrency=1)
    first = ragstone.evaluate(kit.samples(), **said, max_calls=3)
    assert first.partial or first.stopped
    second = ragstone.evaluate(kit.samples(), **said)
    assert second.manifest.run_id == first.manifest.run_id
    assert shared(second) == shared(whole)
    assert second.to_dict()["cascade"] == whole.to_dict()["cascade"]


def test_the_mark_is_part_of_what_a_run_is(judge_server, kit) -> None:
    def setup(**settings: object) -> str:
        run = ragstone.evaluate(kit.samples(1), **options(judge_server.url, settings=settings))
        return run.manifest.identity["judge setup"]

    assert setup() == setup(rpm=100)
    assert len({setup(), setup(cascade_threshold=0.5), setup(cascade_audit_rate=0.0)}) == 3


@pytest.mark.parametrize("claims", ["sentences", "llm"])
def test_a_spent_budget_leaves_the_sure_rows_where_claims_cost_nothing(
    claims: str, judge_server, kit
) -> None:
    settings = {"claim_source": claims, "cascade_audit_rate": 0.0, "cascade_threshold": 0.6}
    said = options(judge_server.url, settings=settings, cache=False, max_calls=0)
    run = ragstone.evaluate(kit.samples(), **said)
    assert judge_server.asked == []
    if claims == "llm":
        assert (run.partial, len(run.rows)) == (True, 0)
    else:
        [told] = [counts.summary() for counts in run.counts.scores.values()]
        assert told.scored > 0
        assert told.scored + told.failed == len(kit.samples())
