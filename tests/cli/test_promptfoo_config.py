"""`ragstone run promptfooconfig.json`: whose word counts, what is asked, and the exit code."""

import json
from pathlib import Path

import pytest
from tests.cli.promptfoo_judge import ALL_BACKED, HALF, MILDLY, Run, Served, configuration


def test_a_test_under_its_threshold_is_exit_code_1(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, threshold=0.8)
    done = run(config, "--no-store")
    assert done.code == 1
    assert "1 of 2 tests fail: 2 (faithfulness:promptfoo,threshold=0.8)" in done.err
    said = "promptfooconfig.json: 2 samples; RAGAS mode is off: scored as promptfoo 0.121.20 does"
    assert said in done.err
    assert "0.7500" in done.out
    assert served.models == {"m"}


def test_tests_that_reach_their_threshold_are_exit_code_0(run: Run, served: Served) -> None:
    done = run(configuration(served.url, ALL_BACKED, HALF, threshold=0.5), "--no-store")
    assert (done.code, "fail:" in done.err) == (0, False)
    done = run(None, "--no-store", "--fail-under", "faithfulness=0.9")
    assert done.code == 1


def test_an_unanswered_judge_is_exit_code_3(run: Run, served: Served) -> None:
    served.status = 400
    done = run(configuration(served.url, ALL_BACKED), "--no-store", "--no-cache")
    assert done.code == 3
    assert "1 of 1 tests fail" in done.err


def test_ragas_mode_is_the_plans_preset(run: Run, served: Served) -> None:
    config = configuration(served.url, MILDLY, threshold=1, grading={"useRagas": True})
    done = run(config, "--no-store")
    assert (done.code, "RAGAS mode is on (policy promptfoo-plan)" in done.err) == (0, True)
    assert "faithfulness:promptfoo-plan,batch_size=5,threshold=1 1.0000" in " ".join(
        done.out.split()
    )


def test_options_go_before_the_file_and_it_before_ragstone_yaml(
    run: Run, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "ragstone.yaml").write_text(
        "policy: strict\npreset: deepeval\nmetrics: hit\njudge: openai:other\ntimeout: 7\n"
    )
    config = configuration(served.url, MILDLY)
    done = run(config, "--no-store", "--no-cache", "--model", "mine", "--json", "-")
    found = json.loads(done.out)
    assert (done.code, list(found["metrics"])) == (0, ["faithfulness:promptfoo"])
    assert found["options"]["timeout"] == 7
    assert served.models == {"mine"}
    done = run(None, "--no-store", "--preset", "promptfoo-plan", "--json", "-")
    assert list(json.loads(done.out)["metrics"]) == ["faithfulness:promptfoo-plan,batch_size=5"]
    done = run(None, "--no-store", "-m", "faithfulness,threshold=0.9", "--json", "-")
    assert (done.code, list(json.loads(done.out)["metrics"])) == (
        1,
        ["faithfulness:promptfoo,threshold=0.9"],
    )


def test_a_spent_budget_leaves_the_run_to_the_same_command(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY)
    words = ("--concurrency", "1")
    done = run(config, *words, "--max-calls", "2")
    assert done.code == 3
    assert "the budget of 2 calls (--max-calls) is spent" in done.err
    assert "the same command goes on with it" in done.err
    asked = len(served.asked)
    done = run(None, *words)
    assert (done.code, "1 of 3 rows were finished" in done.err) == (0, True)
    assert (asked, len(served.asked)) == (2, 6)


def test_reports_name_the_file_and_the_tests_that_were_run(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY)
    done = run(config, "--no-store", "--limit", "2", "--json", "-")
    told = json.loads(done.out)["dataset"]
    assert (told["name"], told["rows"]) == ("promptfooconfig.json", 2)
    assert "Data set   promptfooconfig.json (2 rows evaluated)" in done.err


def test_a_dry_run_asks_nobody(run: Run, served: Served) -> None:
    done = run(configuration(served.url, ALL_BACKED, HALF), "--dry-run")
    assert (done.code, served.asked) == (0, [])
    assert " ".join(done.out.split()).startswith("Nobody was asked. The judge would take: rows 2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--judge", "offline"), "takes one model of openai"),
        (("--judge", "offline", "--dry-run"), "takes one model of openai"),
        (("--judge", "openai:a,openai:b"), "takes one model of openai"),
        (("--verify", "each", "--strict-json"), "strict_json, verify: promptfoo's own way"),
        (("--max-cost", "1"), "the price of openai:m is unknown"),
        (("--map", "query=frage"), "promptfooconfig.json has no columns to --map"),
        (("--sheet", "x"), "promptfooconfig.json has no sheets; remove --sheet x"),
    ],
)
def test_what_does_not_go_together_is_refused(
    run: Run, served: Served, words: tuple[str, ...], said: str
) -> None:
    done = run(configuration(served.url, ALL_BACKED), "--no-store", *words)
    assert (done.code, served.asked) == (2, [])
    assert said in done.err


def test_a_panel_may_judge_where_no_claims_are_asked_about(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, type="context-relevance", threshold=0.9)
    done = run(config, "--judge", "openai:a,openai:b", "--dry-run")
    assert (done.code, served.asked) == (0, [])
    assert "context-relevance is scored by ragstone's context_relevance, not by" in done.err
