"""Judging stored rows again: the noise of a judge, and its drift, over a real socket."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli import promptfoo_judge
from tests.cli.promptfoo_judge import Served
from tests.cli.test_compare import PLACE, put

from ragstone.store import Store, find_run
from ragstone.types.label import HumanLabel

Command = Callable[..., Any]
ROWS = 24
PROBES = Path(".ragstone/probes")


def label(store: Store, *, wrong: int = 3, count: int = 2 * ROWS) -> str:
    """Label the two claims of each row of the newest run as the judge did, but for a few."""
    run = find_run(store, "last")
    labels = [
        HumanLabel(
            run=run,
            position=number // 2,
            sample_id=str(number // 2),
            metric="faithfulness",
            claim=number % 2,
            value=number >= wrong,
            annotator="ann",
            at=datetime.now(UTC),
            probability=1.0,
            blind=True,
        )
        for number in range(count)
    ]
    store.add_labels(run, labels)
    return run


class Judge:
    """Content of the served judge: supports every claim, unless it is to reject `rejected` ones."""

    def __init__(self) -> None:
        self.rejected: Callable[[str], bool] = lambda _: False
        self.broken = False

    def __call__(self, request: dict[str, Any]) -> str:
        user = request["messages"][1]["content"]
        found = re.findall(r"\bbacked \w+", user)
        if self.broken:
            return "I would rather not."
        if "label" not in json.dumps(request["response_format"]):
            return json.dumps({"claims": found})
        labels = ["CONTRADICTED" if self.rejected(claim) else "SUPPORTED" for claim in found]
        said = [{"claim": n, "reason": "so", "label": each} for n, each in enumerate(labels, 1)]
        return json.dumps({"verdicts": said})


@pytest.fixture
def judge(
    ragstone: Command, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Judge:
    """A run of 24 rows, judged by a model on loopback."""
    judge = Judge()
    monkeypatch.setattr(promptfoo_judge, "content", judge)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [
        {"query": f"q{n}", "response": f"backed a{n}. backed b{n}.", "contexts": ["It is high."]}
        for n in range(ROWS)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words = ("-m", "faithfulness", "--judge", "openai:m", "--base-url", f"{served.url}/v1")
    said = ragstone("run", "rows.jsonl", *words, "--no-export")
    assert said.code == 0, said.err
    served.asked.clear()
    return judge


def test_the_noise_of_a_judge_is_apart_from_the_variance_of_rows(
    ragstone: Command, judge: Judge, served: Served
) -> None:
    asked: dict[str, int] = {}

    def rejected(claim: str) -> bool:
        """Reject the second claim of every other row, and the first one in each third judgment."""
        asked[claim] = asked.get(claim, 0) + 1
        number = int(claim[8:])
        return (claim[7] == "b" and number % 2 == 1) or (claim[7] == "a" and asked[claim] == 3)

    judge.rejected = rejected
    said = ragstone("judge", "noise", "last", "--rows", "20", "--json", "noise.json")
    assert said.code == 0, said.err
    assert "Judging 20 rows" in said.err
    assert "3 times with openai:m, without the reply cache: 120 calls" in said.err
    assert len(served.asked) == 120, "extraction and verification, three times"
    found = json.loads(Path("noise.json").read_text())
    noise = found["metrics"]["faithfulness"]
    assert (noise["rows"], noise["unchanged"]) == (20, 0.0)
    assert noise["judge"] == pytest.approx(0.25 / 3)  # of 1, 1, 0.5 and 0.5, 0.5, 0
    assert 0.02 < noise["sampling"] < 0.1
    widths = noise["half_widths"]
    assert widths["twice_the_rows"] == pytest.approx(widths["now"] / 2**0.5)
    assert widths["twice_the_rows"] < widths["one_more_judgment"] < widths["now"]


def test_a_plan_knows_what_more_judgments_would_save(ragstone: Command, judge: Judge) -> None:
    count = iter(range(10_000))
    judge.rejected = lambda _: next(count) % 3 == 0
    assert ragstone("judge", "noise", "last").code == 0
    with Store.open(PLACE) as store:
        run = find_run(store, "last")
        put(store, "varied", [(n * 7 % 24) / 24 for n in range(24)])
    noise = Path(f".ragstone/noise/{run}.json")
    document = json.loads(noise.read_text())
    document["metrics"]["faithfulness"]["judge"] = 0.03
    Path(".ragstone/noise/varied.json").write_text(json.dumps(document))
    said = ragstone("plan", "--detect", "0.05", "--like", "varied", "--json", "-")
    found = json.loads(said.out)["metrics"]["faithfulness"]
    assert found["repeats"] > 1
    assert found["questions"] == found["by_repeats"][str(found["repeats"])]
    assert found["by_repeats"]["5"] < found["by_repeats"]["1"]
    assert "the judge's noise is measured" in said.err


def test_a_dry_run_makes_no_calls(ragstone: Command, judge: Judge, served: Served) -> None:
    said = ragstone("judge", "noise", "last", "--repeat", "2", "--dry-run")
    assert said.code == 0
    assert said.out.startswith("Dry run: no calls were made. Judging 24 rows of run")
    with Store.open(PLACE) as store:
        label(store)
    said = ragstone("judge", "probe", "last", "--dry-run")
    assert "24 calls" in said.out, "the claims are those of the run"
    assert not served.asked
    assert not PROBES.exists()


def test_the_offline_judge_has_no_noise(ragstone: Command, tmp_path: Path) -> None:
    rows = [{"query": "q", "response": f"It weighs {n} g.", "contexts": ["It weighs 3 g."]}
            for n in range(1, 6)]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert ragstone("run", "rows.jsonl", "-m", "faithfulness", "--no-export").code == 0
    said = ragstone("judge", "noise", "last")
    assert said.code == 0
    assert "Warning: offline always gives the same answer, so its noise is 0" in said.err
    assert "100%" in said.out


def test_a_spent_budget_measures_nothing(ragstone: Command, judge: Judge) -> None:
    Path("ragstone.yaml").write_text("max_calls: 3\n")
    said = ragstone("judge", "noise", "last")
    assert said.code == 3
    assert "the budget of 3 calls (max_calls) is spent" in said.err
    assert not Path(".ragstone/noise").exists()
    with Store.open(PLACE) as store:
        label(store)
    said = ragstone("judge", "probe", "last")
    assert said.code == 3
    assert "nothing was recorded" in said.err
    assert not PROBES.exists()


def test_a_probe_asks_about_the_labelled_claims_and_finds_drift(
    ragstone: Command, judge: Judge, served: Served
) -> None:
    with Store.open(PLACE) as store:
        run = label(store)
    first = ragstone("judge", "probe", "last")
    assert first.code == 0, first.err
    assert len(served.asked) == ROWS, "the claims come from the run, the verdicts from the judge"
    assert "openai:m agrees with 94% of 48 labels in 1 probe." in first.out
    assert "Mean agreement of a row: 68% to 100% (95%, however often you probe)" in first.out
    assert "This is the first probe" in first.out
    assert ragstone("judge", "probe", "last", "--repeat", "4").code == 0
    assert len((PROBES / f"{run}.jsonl").read_text().splitlines()) == 5

    judge.rejected = lambda claim: claim[7] == "b" and int(claim[8:]) % 3 == 0
    moved = ragstone("judge", "probe", "last", "--json", "-")
    assert moved.code == 1, moved.err
    found = json.loads(moved.out)
    assert found["drifted"] is True
    assert found["p"] < 0.05
    assert [round(each["agreement"], 2) for each in found["probes"]] == [0.94] * 5 + [0.81]
    widths = [high - low for low, high in (each["interval"] for each in found["probes"])]
    assert widths[:5] == sorted(widths[:5], reverse=True)
    assert "The judge has drifted (evidence" in moved.err
    assert "its model changed" in moved.err
    assert f"delete {PROBES / run}.jsonl to begin a new baseline" in moved.err

    judge.rejected = lambda _: False
    assert ragstone("judge", "probe", "last").code == 1, "drift is remembered"


def test_a_probe_with_a_few_labels_cannot_decide(ragstone: Command, judge: Judge) -> None:
    said = ragstone("judge", "probe", "last")
    assert said.code == 3
    assert "has 0 labels that can be compared with a verdict; at least 20 are needed" in said.err
    with Store.open(PLACE) as store:
        label(store, count=19)
    assert ragstone("judge", "probe", "last").code == 3


def test_a_budget_that_is_just_enough_suffices(ragstone: Command, judge: Judge) -> None:
    with Store.open(PLACE) as store:
        label(store)
    Path("ragstone.yaml").write_text(f"max_calls: {ROWS}\n")
    assert ragstone("judge", "probe", "last").code == 0


def test_labels_of_other_claims_begin_with_the_next_probe(ragstone: Command, judge: Judge) -> None:
    with Store.open(PLACE) as store:
        run = label(store)
    assert ragstone("judge", "probe", "last").code == 0
    path = PROBES / f"{run}.jsonl"
    path.write_text(path.read_text().replace(" faithfulness", " correctness"))
    said = ragstone("judge", "probe", "last", "--json", "-")
    assert said.code == 0, said.err
    assert [each["agreement"] for each in json.loads(said.out)["probes"]] == [None, 0.9375]
    assert "1 earlier: of other claims" in said.err


def test_a_probe_without_answers_is_not_recorded(ragstone: Command, judge: Judge) -> None:
    with Store.open(PLACE) as store:
        label(store)
    judge.broken = True
    said = ragstone("judge", "probe", "last")
    assert said.code == 3
    assert "failed 5 times in the same way and answered nothing" in said.err
    assert said.err.rstrip().endswith("nothing was recorded")
    assert not PROBES.exists()


def test_what_cannot_be_judged_again_is_refused(ragstone: Command, judge: Judge) -> None:
    with Store.open(PLACE) as store:
        run = label(store)
        put(store, "unjudged", [1.0, 0.5], judge=None)
    said = ragstone("judge", "probe", "unjudged")
    assert said.code == 2
    assert "run unjudged has no metric that asks a judge" in said.err
    PROBES.mkdir()
    (PROBES / f"{run}.jsonl").write_text("{}\n")
    said = ragstone("judge", "probe", run)
    assert said.code == 2
    assert "not a probe" in said.err
