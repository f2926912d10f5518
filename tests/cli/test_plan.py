import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.test_compare import PLACE, put

from ragstone.results.planning import human_correlations
from ragstone.store import Store
from ragstone.types.label import HumanLabel

Command = Callable[..., Any]


@pytest.fixture
def stored(ragstone: Command) -> Command:
    """Two runs of the same 24 questions, in groups of four by their source."""
    with Store.open(PLACE) as store:
        put(store, "run-a", [(n * 7 % 24) / 24 for n in range(24)])
        put(store, "run-b", [min(1, (n * 7 % 24) / 24 + n % 3 / 10) for n in range(24)])
        put(store, "flat", [1.0] * 24)
    return ragstone


def test_a_plan_needs_no_run(ragstone: Command) -> None:
    said = ragstone("plan", "--detect", "0.03")
    assert said.code == 0, said.err
    assert "2,129" in said.out
    assert "1,770 of 4,258" in said.out
    assert "from that of scores (0.4, assumed) and an assumed correlation of 0.25" in said.out


def test_a_plan_has_the_labels_that_a_corrected_difference_needs(ragstone: Command) -> None:
    assert "10  20 of 20" in ragstone("plan", "--detect", "100%").out


def test_the_variance_comes_from_a_run_and_the_pairing_from_two(stored: Command) -> None:
    one = json.loads(stored("plan", "--detect", "5%", "--like", "run-a", "--json", "-").out)
    assert (one["like"], one["correlation"]) == (["run-a"], 0.25)
    two = stored("plan", "--detect", "5%", "--like", "run-a", "--like", "run-b", "--json", "-")
    found = json.loads(two.out)
    assert found["correlation"] is None
    few, many = (each["metrics"]["faithfulness"]["questions"] for each in (found, one))
    assert few < many / 4
    assert "measured between the two runs" in two.err
    assert one["metrics"]["faithfulness"]["correlation_of_systems"] == 0.25
    assert found["metrics"]["faithfulness"]["correlation_of_systems"] == 0.95, "the highest"
    assert found["metrics"]["faithfulness"]["labels"] < one["metrics"]["faithfulness"]["labels"]


def test_the_differences_of_two_runs_have_the_planned_spread(stored: Command) -> None:
    said = stored("plan", "--detect", "0.1", "--like", "run-a", "--like", "run-b", "--json", "-")
    found = json.loads(said.out)["metrics"]["faithfulness"]
    assert found["spread"] == pytest.approx(0.08, abs=0.01)  # of 0, 0.1 and 0.2, one each, capped
    assert found["questions"] == 10, "never fewer"


def test_more_power_takes_more_questions(stored: Command) -> None:
    plans = [
        json.loads(stored("plan", "--detect", "0.1", "--power", power, "--json", "-").out)
        for power in ("80%", "95%")
    ]
    usual, high = (plan["metrics"]["any metric"]["questions"] for plan in plans)
    assert high > 1.5 * usual


def test_the_agreement_of_people_and_judge_comes_from_labels(stored: Command) -> None:
    assumed = json.loads(stored("plan", "--detect", "5%", "--like", "run-a", "--json", "-").out)
    with Store.open(PLACE) as store:
        for n in range(24):
            yes = (n * 7 % 24) / 24 > 0.5
            store.add_labels("run-a", [
                HumanLabel("run-a", n, f"q{n}", "faithfulness", None, yes, "ann", datetime.now(UTC),
                           True)])  # fmt: skip
    said = stored("plan", "--detect", "5%", "--like", "run-a", "--json", "-")
    few, many = (each["metrics"]["faithfulness"] for each in (json.loads(said.out), assumed))
    assert many["correlation_with_people"] is None
    assert few["correlation_with_people"] > 0.8
    assert 20 <= few["labels"] < many["labels"]
    assert "the correlation of judge and people is measured" in said.err


def test_the_correlation_with_people_is_that_of_the_labelled_rows(stored: Command) -> None:
    with Store.open(PLACE) as store:
        run = store.load("run-a")
        judged = [row.scores["faithfulness"].value or 0.0 for row in run.rows]
        human = [n % 3 != 0 for n in range(24)]
        labels = [
            HumanLabel("run-a", n, f"q{n}", "faithfulness", None, yes, "ann", datetime.now(UTC),
                       True)
            for n, yes in enumerate(human)
        ]  # fmt: skip
    expected = np.corrcoef(np.array([judged, human], dtype=float))[0, 1]
    assert expected > 0.01
    assert human_correlations(run, labels) == {"faithfulness": pytest.approx(expected)}
    assert human_correlations(run, labels[:19]) == {}
    assert human_correlations(run, []) == {}


def test_metrics_without_a_judge_need_no_labels(ragstone: Command, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("".join(f"{n} 0 d{n} 1\n" for n in range(1, 9)))
    ranked = ((n, (n * n + k - 1) % 9 + 1, k) for n in range(1, 9) for k in range(1, 5))
    lines = [f"{n} Q0 d{document} {k} {9 - k} x\n" for n, document, k in ranked]
    (tmp_path / "r.run").write_text("".join(lines))
    said = ragstone("rank", "--qrels", "q.txt", "--ranking", "r.run", "--store", str(PLACE))
    assert said.code == 0, said.err
    said = ragstone("plan", "--detect", "0.1", "--like", "last", "-m", "hit", "--json", "-")
    found = json.loads(said.out)["metrics"]["hit@5"]
    assert found["labels"] is None
    assert found["questions"] > 100
    assert "people" not in said.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--detect", "0"], "the difference must be above 0"),
        (["--detect", "much"], "'much' is not a number"),
        (["--detect", "3"], "any metric differ by at most 1; write 3 percent as 0.03 or 3%"),
        (["--detect", "101%", "--like", "run-a"], "scores of faithfulness differ by at most 1;"),
        (["--detect", "5%", *["--like", "run-a"] * 2], "the scores of the two runs do not differ"),
        (["--detect", "0.1", "--power", "100%"], "use a share from 50% to 99%"),
        (["--detect", "0.1", "-m", "hit"], "--metric needs --like RUN"),
        (["--detect", "0.1", "--like", "flat"], "no metric of the run has scores that vary"),
        (["--detect", "0.1", "--like", "run-a", "-m", "faithfulnes"], "did you mean"),
        (["--detect", "0.1", *["--like", "run-a"] * 3], "--like is given 3 times"),
        (["--detect", "0.1", "--like", "run-a", "--json", "p.html"], "p.html"),
    ],
)
def test_what_cannot_be_planned_is_refused(stored: Command, arguments: list[str], why: str) -> None:
    said = stored("plan", *arguments)
    assert said.code == 2
    assert why in said.err
