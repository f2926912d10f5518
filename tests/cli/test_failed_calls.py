"""Calls that failed by what another tool's file says: no score, and what helps."""

import json


def test_calls_that_failed_in_another_tools_file_are_failed(ragstone, tmp_path) -> None:
    run = {"run_type": "chain", "inputs": {"question": "q"}}
    given = {"answer": "The sky is blue.", "documents": ["The sky is blue."]}
    good = json.dumps({**run, "outputs": given})
    bad = json.dumps({**run, "outputs": None, "error": "TimeoutError()"})
    (tmp_path / "runs.jsonl").write_text("\n".join([good] * 3 + [bad] * 7), encoding="utf-8")
    arguments = ("runs.jsonl", "-m", "faithfulness", "--fail-under", "faithfulness=0.8")
    said = ragstone("run", *arguments, "--no-export")
    assert said.code == 3
    assert "TimeoutError()" in said.out
    assert "7 of 10 scores of faithfulness failed, more than 10%" in said.err
    words = " ".join(said.out.split())
    told = "Next: 7 scores failed as calls had failed before, by what runs.jsonl says: collect"
    assert told in words
    assert "--retry-failed" not in words
