"""`ragstone run --compare-legacy`: promptfoo's own way and RAGAS mode side by side."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.promptfoo_judge import ALL_BACKED, HALF, MILDLY, Run, Served, configuration


def test_both_ways_are_compared_on_the_same_responses(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY, threshold=0.6)
    done = run(config, "--compare-legacy")
    assert done.code == 0
    [line] = [line for line in done.out.splitlines() if line.startswith("│")]
    assert line.replace("│", " ").split() == ["3", "0.00", "1.00", "+1.00", "no", "/", "yes"]
    assert "same score: 2 of 3 samples" in done.out
    assert "same verdict, passed or not: 2 of 3 samples" in done.out
    said = "mean over the 3 scored both ways: legacy 0.5000, RAGAS mode 0.8333"
    assert said in done.out
    assert "judge: openai:m, 12 calls; nothing was stored" in done.out


@pytest.mark.parametrize(
    ("most", "asked", "finished", "ways"),
    [(4, 8, "only 2 of 3", ["RAGAS mode"]), (3, 6, "only 2 of 3", ["RAGAS mode", "legacy"])],
)
def test_a_comparison_that_a_budget_cut_short_says_so(
    run: Run, served: Served, most: int, asked: int, finished: str, ways: list[str]
) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY)
    words = ("--max-calls", str(most), "--concurrency", "1", "--no-cache")
    done = run(config, "--compare-legacy", *words)
    assert (done.code, len(served.asked)) == (3, asked)
    assert f"{finished} samples were finished" in done.out
    said = f"the budget of {most} calls (--max-calls) is spent"
    [line] = [line for line in done.err.splitlines() if line.startswith("Exit code 3: ")]
    assert re.findall(rf"(RAGAS mode|legacy): {re.escape(said)}", line) == ways


def test_a_budget_that_is_enough_cuts_nothing(run: Run, served: Served) -> None:
    config = configuration(served.url, ALL_BACKED, HALF, MILDLY)
    done = run(config, "--compare-legacy", "--max-calls", "6", "--concurrency", "1", "--no-cache")
    assert (done.code, len(served.asked), "only" in done.out) == (0, 12, False)


def test_a_comparison_is_traced_both_ways(
    run: Run, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", served.url)
    config = configuration(served.url, HALF)
    assert run(config, "--compare-legacy", "--no-cache", "--otel").code == 0
    spans = b"".join(served.traces)
    assert spans.count(b"ragstone sample") == 2


def test_a_comparison_whose_judge_does_not_answer_decides_nothing(run: Run, served: Served) -> None:
    served.status = 400
    done = run(configuration(served.url, HALF), "--compare-legacy", "--no-cache")
    assert done.code == 3
    assert "Exit code 3: RAGAS mode: 1 of 1 score of faithfulness" in done.err


def test_the_highest_of_several_marks_decides_what_passes_both_ways(
    run: Run, served: Served
) -> None:
    config = configuration(served.url, f"{ALL_BACKED}, {MILDLY}")
    asserted = [{"type": "context-faithfulness", "threshold": mark} for mark in (0.1, 0.9)]
    config["defaultTest"]["assert"] = asserted  # type: ignore[index]
    done = run(config, "--compare-legacy")
    [line] = [line for line in done.out.splitlines() if line.startswith("│")]
    assert line.replace("│", " ").split() == ["1", "0.67", "1.00", "+0.33", "no", "/", "yes"]


def test_both_ways_are_compared_on_any_data(
    run: Run, ragstone, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    row = {"query": "q", "response": MILDLY, "contexts": ["c"]}
    (tmp_path / "data.jsonl").write_text(json.dumps(row), encoding="utf-8")
    words = ("--compare-legacy", "--model", "m", "--base-url", f"{served.url}/v1")
    done = ragstone("run", "data.jsonl", *words)
    assert (done.code, "same score: 0 of 1 samples" in done.out) == (0, True)
    assert not (tmp_path / "results").exists()


def test_what_the_target_did_not_give_fails_both_ways(
    run: Run, ragstone, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    given = {"vars": {"query": "q", "context": "c"}, "prompt": {"raw": "q"}, "success": True}
    test = {"testIdx": 0, "promptIdx": 0, "provider": {"id": "p"}, "gradingResult": {}, **given}
    failed = {**test, "response": None, "success": False, "error": "API error: 500"}
    answered = [{**test, "testIdx": n, "response": {"output": HALF}} for n in range(1, 20)]
    document = {"evalId": "e", "results": {"version": 3, "results": [failed, *answered]}}
    words = ("--compare-legacy", "--model", "m", "--base-url", f"{served.url}/v1")
    (tmp_path / "out.json").write_text(json.dumps(document), encoding="utf-8")
    done = ragstone("run", "out.json", *words)
    assert (done.code, "same score: 20 of 20 samples" in done.out) == (0, True), done.err
    document["results"]["results"] = [failed]  # type: ignore[index]
    (tmp_path / "out.json").write_text(json.dumps(document), encoding="utf-8")
    done = ragstone("run", "out.json", *words)
    assert (done.code, "same score: 1 of 1 samples" in done.out) == (3, True), done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--compare-legacy", "--json", "-"), "--compare-legacy prints a table"),
        (("--compare-legacy", "--policy", "ragas"), "leave --policy and --preset out"),
        (
            ("--compare-legacy", "--fail-under", "faithfulness=1", "-v", "--gates-on", "mean"),
            "has no use for --verbose, --fail-under, --gates-on; leave that out",
        ),
        (("--compare-legacy", "--dry-run"), "has no use for --dry-run"),
        (("--compare-legacy", "--store", "runs.db"), "has no use for --store; leave that out"),
        (("--compare-legacy", "--fresh", "--no-transcript"), "for --fresh, --no-transcript; leave"),
        (("--compare-legacy", "-m", "hit"), "scores faithfulness, and --metric says hit"),
        (("--compare-legacy", "-m", "all"), "scores faithfulness, and --metric says all"),
        (("--compare-legacy", "-m", "faithfulness:strict"), "or name a mark"),
        (
            ("--compare-legacy", "-m", "faithfulness,threshold=1 faithfulness,threshold=0"),
            "--metric says faithfulness,threshold=0, faithfulness,threshold=1",
        ),
    ],
)
def test_what_a_comparison_has_no_use_for_is_refused(
    run: Run, served: Served, words: tuple[str, ...], said: str
) -> None:
    done = run(configuration(served.url, ALL_BACKED), *words)
    assert (done.code, served.asked) == (2, [])
    assert said in done.err


def test_a_store_that_every_run_has_is_no_reason_to_refuse(
    run: Run, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_STORE", str(tmp_path / "runs.db"))
    for words in ((), ("--no-store",)):
        assert run(configuration(served.url, HALF), "--compare-legacy", *words).code == 0
    assert not (tmp_path / "runs.db").exists()
