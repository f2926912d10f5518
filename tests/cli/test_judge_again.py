"""Judging stored rows again for the drift of a judge, over a real socket."""

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


def test_a_dry_run_makes_no_calls(ragstone: Command, judge: Judge, served: Served) -> None:
    with Store.open(PLACE) as store:
        label(store)
    said = ragstone("judge", "probe", "last", "--dry-run")
    assert "24 calls" in said.out, "the claims are those of the run"
    assert not served.asked
    assert not PROBES.exists()


def test_a_spent_budget_measures_nothing(ragstone: Command, judge: Judge) -> None:
    Path("ragstone.yaml").write_text("max_calls: 3\n")
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
    assert "It calls 100% of these claims SUPPORTED." in first.out
    assert "Agreement with people on the whole run: 82% to 100% (95% interval)" in first.out
    assert "This is the first probe" in first.out
    assert ragstone("judge", "probe", "last", "--repeat", "4").code == 0
    assert len((PROBES / f"{run}.jsonl").read_text().splitlines()) == 5

    judge.rejected = lambda claim: claim[7] == "b" and int(claim[8:]) % 3 == 0
    moved = ragstone("judge", "probe", "last", "--json", "-")
    assert moved.code == 1, moved.err
    found = json.loads(moved.out)
    assert found["drifted"] is True
    assert found["p"] < 0.01
    assert [round(each["supported"], 2) for each in found["probes"]] == [1.0] * 5 + [0.83]
    assert found["evidence_of"].keys() == {
        "its agreement with people", "its share of SUPPORTED", "its single verdicts"
    }  # fmt: skip
    assert [round(each["agreement"], 2) for each in found["probes"]] == [0.94] * 5 + [0.81]
    assert all(low < 0.94 < high for low, high in (p["interval"] for p in found["probes"][:5]))
    assert "The judge has drifted (evidence" in moved.err
    assert "threshold 100) in its share of SUPPORTED: its model changed" in moved.err
    assert "It calls 83% of these claims SUPPORTED; 5 earlier: 100%." in moved.err
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
