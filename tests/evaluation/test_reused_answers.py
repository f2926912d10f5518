"""A second run of the same data and target uses the answers of the first."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.test_init import GermanApi, german_api  # noqa: F401 - a fixture

from ragstone import evaluate
from ragstone.evaluation import resume
from ragstone.results.run import Run


@pytest.fixture
def ask(tmp_path: Path, german_api: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    contexts = "ergebnis.fundstellen[].{id: dok.nr, text: auszug}"
    call = {
        "url": german_api,
        "headers": {"X-Mandant": "acme"},
        "body": {"eingabe": {"frage": "{query}", "anzahl": "{k}"}},
        "reply": {"response": "ergebnis.antwort.text", "contexts": contexts},
    }
    Path("api.json").write_text(json.dumps({"calls": {"ask": call}}), encoding="utf-8")
    Path("a.csv").write_text("query\nEins?\nZwei?\n", encoding="utf-8")

    def run(metrics: str = "faithfulness", target: object = "api.json", **options: object) -> Run:
        return evaluate("a.csv", metrics=metrics, target=target, store="runs.db", **options)

    return run


def calls(run: Run) -> int:
    return sum(len(row.calls) for row in run.rows)


def test_more_metrics_use_the_answers_of_the_first_run(ask: Callable[..., Run]) -> None:
    notices: list[str] = []
    first = ask()
    second = ask("faithfulness,abstention".split(","), on_notice=notices.append)
    assert (calls(first), calls(second)) == (2, 0)
    run_id = first.manifest.run_id
    reused = f"Reusing 2 answers of run {run_id} (just now); --fresh asks the target again"
    assert sum(reused in notice for notice in notices) == 1
    assert second.manifest.answers_from == run_id
    assert [row.sample for row in second.rows] == [row.sample for row in first.rows]
    third = ask("abstention")
    assert third.manifest.answers_from == run_id


@pytest.mark.parametrize("change", ["fresh", "gate", "k", "data", "target", "late", "tenant"])
def test_otherwise_the_target_is_asked_again(ask, change: str, monkeypatch) -> None:
    monkeypatch.setenv("MANDANT", "acme")
    api = Path("api.json")
    if change == "tenant":
        api.write_text(api.read_text().replace('"acme"', '"${MANDANT}"'))
    ask()
    if change == "data":
        Path("a.csv").write_text("query\nEins?\nDrei?\n", encoding="utf-8")
    if change == "target":
        api.write_text(api.read_text().replace("anzahl", "zahl"))
    if change == "late":
        monkeypatch.setattr(resume, "REUSED_FOR", timedelta(0))
    options = {"fresh": {"fresh": True}, "gate": {"fail_under": {"faithfulness": 0.5}}}
    again = ask("faithfulness", **{**options, "k": {"k": 7}}.get(change, {}))
    assert calls(again) == 2
    assert again.manifest.answers_from is None


def test_a_failed_answer_is_asked_for_again(ask: Callable[..., Run], monkeypatch) -> None:
    real = GermanApi.do_POST
    failing = [True]

    def post(self: GermanApi) -> None:
        if failing and failing.pop():
            self.send_response(400)
            self.end_headers()
        else:
            real(self)

    monkeypatch.setattr(GermanApi, "do_POST", post)
    first = ask(concurrency=1)
    assert sum(bool(row.failures) for row in first.rows) == 1
    second = ask("abstention")
    assert calls(second) == 1
    assert not any(row.failures for row in second.rows)
