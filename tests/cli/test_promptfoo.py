"""`ragstone run promptfooconfig.json`: whose word counts, what is asked, and the exit code."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command
from tests.cli.promptfoo_judge import ALL_BACKED, HALF, MILDLY, Run, Served, configuration


def test_a_test_under_its_threshold_is_exit_code_1(run: Run, served: Served) -> None:
    done = run(configuration(served.url, ALL_BACKED, HALF, threshold=0.8), "--no-store")
    assert done.code == 1
    assert "1 of 2 tests failed: 2 (faithfulness:promptfoo,threshold=0.8)" in done.err
    said = "promptfooconfig.json: 2 samples; RAGAS mode is off: scored as promptfoo 0.121.20 does"
    assert said in done.err
    done = run(configuration(served.url, ALL_BACKED, HALF, threshold=0.5), "--no-store")
    assert (done.code, "fail:" in done.err) == (0, False)
    assert run(None, "--no-store", "--fail-under", "faithfulness=0.9").code == 1


def test_options_go_before_the_file_and_it_before_ragstone_yaml(run: Run, served: Served) -> None:
    Path("ragstone.yaml").write_text(
        "policy: strict\npreset: deepeval\nmetrics: hit\njudge: openai:other\ntimeout: 7\n"
    )
    config = configuration(served.url, MILDLY, HALF)
    options = ("--no-store", "--limit", "1", "--json", "-")
    done = run(config, *options, "--no-cache", "--model", "mine", "-v")
    found = json.loads(done.out)
    assert (done.code, list(found["metrics"])) == (0, ["faithfulness:promptfoo"])
    assert found["options"]["timeout"] == 7
    assert served.models == {"mine"}
    done = run(None, *options, "--preset", "promptfoo-plan")
    assert list(json.loads(done.out)["metrics"]) == ["faithfulness:promptfoo-plan,batch_size=5"]


def test_a_dry_run_asks_nobody(run: Run, served: Served) -> None:
    done = run(configuration(served.url, ALL_BACKED, HALF), "--dry-run")
    assert (done.code, served.asked) == (0, [])
    told = " ".join(done.out.split())
    assert told.startswith("Dry run: no calls were made. Estimated judge usage: rows 2 calls ")
    assert "cost price unknown" in told


@each_case(
    ("words", "said"),
    [
        ("--judge offline --dry-run", "supports one model of openai"),
        ("--verify each --set strict_json=true", "strict_json, verify: promptfoo's own scoring"),
        ("--max-cost 1", "the price of openai:m at http:"),
        ("--map query=frage", "promptfooconfig.json has no columns, so --map cannot be used"),
    ],
)
def test_what_does_not_go_together_is_refused(run, served: Served, words: str, said: str) -> None:
    done = run(configuration(served.url, ALL_BACKED), "--no-store", *words.split())
    assert done.refuses(said)
    assert served.asked == []


PLAN = """
tests:
  - vars:
      question: 'What is the capital of France?'
      answer: 'The capital of France is Paris.'
      context: 'France is a country located in Western Europe. Its capital is Paris.'
    assert:
      - type: context-faithfulness
        grading:
          useRagas: true
"""


def test_the_basic_usage_of_the_plan_runs_as_written(ragstone: Command) -> None:
    Path("basic.yaml").write_text(PLAN, encoding="utf-8")
    done = ragstone("run", "basic.yaml", "--no-store", "--no-export", "-v")
    assert done.code == 0, done.err
    assert "basic.yaml: 1 sample; RAGAS mode is on (policy promptfoo-plan)" in done.err
    assert "passed by 1 of 1" in " ".join(done.out.split())
    Path("basic.yaml").write_text(PLAN.replace("useRagas:", "useRaga:"), encoding="utf-8")
    assert ragstone("validate", "basic.yaml").refuses("useRaga: is not supported")


def test_reports_show_the_tests_that_failed(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, "", threshold=0.8)
    words = "--no-store --json t.json --markdown t.md --html t.html --junit t.xml".split()
    done = run(config, *words)
    metric = "faithfulness:promptfoo,threshold=0.8"
    line = f"2 of 3 tests failed: 2 ({metric}), 3 ({metric})"
    assert line in done.err
    assert json.loads(Path("t.json").read_text(encoding="utf-8"))["failed_tests"] == line
    assert Path("t.md").read_text(encoding="utf-8").startswith("## ✗ 2 of 3 tests failed: ")
    assert f'<p class="status bad">✗ {line}</p>' in Path("t.html").read_text(encoding="utf-8")
    assert 'tests="3" failures="2"' in Path("t.xml").read_text(encoding="utf-8")


def test_both_modes_score_the_same_responses(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY, threshold=0.6)
    means: dict[str, float] = {}
    for words in (("--policy", "promptfoo"), ("--preset", "promptfoo-plan")):
        done = run(config, "--no-store", *words, "--json", "-")
        means |= {name: each["mean"] for name, each in json.loads(done.out)["metrics"].items()}
    assert means == {
        "faithfulness:promptfoo,threshold=0.6": 0.5,
        "faithfulness:promptfoo-plan,batch_size=5,threshold=0.6": pytest.approx(5 / 6),
    }
