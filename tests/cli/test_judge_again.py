"""Judging stored rows again for the drift of a judge, over a real socket."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli import promptfoo_judge
from tests.cli.collected import json_lines, label
from tests.cli.conftest import Command
from tests.cli.promptfoo_judge import Served
from tests.cli.test_compare import PLACE

from ragstone.store import Store, find_run

ROWS = 24
PROBES = Path(".ragstone/probes")


def add_labels(*, wrong: int = 3, count: int = 2 * ROWS) -> str:
    """Label the two claims of each row of the newest run as the judge did, but for a few."""
    with Store.open(PLACE) as store:
        run = find_run(store, "last")
        labels = [
            label(run, n // 2, sample_id=str(n // 2), claim=n % 2, value=n >= wrong)
            for n in range(count)
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
def judge(ragstone: Command, served: Served, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """A run of 24 rows, judged by a model on loopback."""
    judge = Judge()
    monkeypatch.setattr(promptfoo_judge, "content", judge)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = [
        {"query": f"q{n}", "response": f"backed a{n}. backed b{n}.", "contexts": ["It is high."]}
        for n in range(ROWS)
    ]
    words = ("-m", "faithfulness", "--judge", "openai:m", "--base-url", f"{served.url}/v1")
    said = ragstone("run", json_lines("rows.jsonl", rows), *words, "--no-export")
    assert said.code == 0, said.err
    served.asked.clear()
    return judge


def test_nothing_is_recorded_that_was_not_measured(ragstone, judge: Judge, served: Served) -> None:
    add_labels()
    said = ragstone("judge", "probe", "last", "--dry-run")
    assert "24 calls" in said.out, "the claims are those of the run"
    assert not served.asked
    judge.broken = True
    said = ragstone("judge", "probe", "last")
    assert (said.code, said.err.rstrip().endswith("nothing was recorded")) == (3, True)
    judge.broken = False
    Path("ragstone.yaml").write_text("max_calls: 3\n")
    assert ragstone("judge", "probe", "last").code == 3
    assert not PROBES.exists()


def test_a_probe_asks_about_the_labelled_claims_and_finds_drift(ragstone, judge, served) -> None:
    run = add_labels()
    first = ragstone("judge", "probe", "last")
    assert first.code == 0, first.err
    assert len(served.asked) == ROWS, "the claims come from the run, the verdicts from the judge"
    assert "openai:m agrees with 94% of 48 labels in 1 probe." in first.out
    assert ragstone("judge", "probe", "last", "--repeat", "4").code == 0
    assert len((PROBES / f"{run}.jsonl").read_text().splitlines()) == 5

    judge.rejected = lambda claim: claim[7] == "b" and int(claim[8:]) % 3 == 0
    moved = ragstone("judge", "probe", "last", "--json", "-")
    assert moved.code == 1, moved.err
    found = json.loads(moved.out)
    assert found["drifted"] is True
    assert [round(each["supported"], 2) for each in found["probes"]] == [1.0] * 5 + [0.83]
    assert [round(each["agreement"], 2) for each in found["probes"]] == [0.94] * 5 + [0.81]
    assert "threshold 100) in its share of SUPPORTED: its model changed" in moved.err
    assert f"delete {PROBES / run}.jsonl to begin a new baseline" in moved.err

    judge.rejected = lambda _: False
    assert ragstone("judge", "probe", "last").code == 1, "drift is remembered"


@pytest.mark.usefixtures("judge")
def test_a_probe_with_a_few_labels_cannot_decide(ragstone: Command) -> None:
    add_labels(count=19)
    said = ragstone("judge", "probe", "last")
    why = "has 19 labels that can be compared with a verdict; at least 20 are needed"
    assert (said.code, why in said.err) == (3, True)
