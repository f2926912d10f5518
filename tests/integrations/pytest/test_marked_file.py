"""Tests of a file's rows: each comes to what it would in a run of the whole file."""

import json
from typing import Any

import pytest

TESTS = """
import pytest
from ragstone.integrations.pytest.plugin import assert_sample

@pytest.mark.rag_dataset("answers.jsonARGUMENTS)
def test_answer(sample):
    assert_sample(sample, {"faithfulness": 0.8})

@pytest.mark.rag_dataset("answers.jsonARGUMENTS)
def test_answered_now(sample):
    filled = {"response": "It is of ash wood.", "contexts": ["It is of ash wood."]}
    assert_sample({"query": sample.query, **filled}, {"faithfulness": 0.8})
"""
LATE = {"cause": "timeout", "message": "no reply within 60 s; raise the limit with --timeout"}


def saved(mode: str, *rows: dict[str, object]) -> str:
    """Return a file of saved responses."""
    responses = [{"query_index": n, "query": "Of what?", **row} for n, row in enumerate(rows)]
    return json.dumps({"metadata": {"mode": mode}, "responses": responses})


def asking(kind: str, arguments: str = "") -> str:
    return TESTS.replace("ARGUMENTS", f'{kind}"{arguments}')


@pytest.mark.parametrize(
    "others", [(), ({"response": "It is of ash wood.", "retrieved_contexts": ["Ash."]},)]
)
def test_a_row_whose_call_failed_says_why(project: Any, others: Any) -> None:
    failures = {"response": LATE, "contexts": LATE}
    late = {"response": None, "retrieved_contexts": None, "failures": failures}
    project.write("answers.json", saved("chat", late, *others))
    project.write("test_it.py", asking(""))
    ran = project.run()
    outcome, said = ran.outcomes["test_answer[1]"]
    assert outcome == "failure"
    assert (
        "ScoreMissingError: faithfulness has no score, timed out: no reply within 60 s; timeout"
        in said
    )
    assert "faithfulness failed, timed out: 1" in ran.summary
    assert ran.outcomes["test_answered_now[1]"][0] == "passed"


def test_that_a_file_has_no_responses_by_its_mode_is_told(project: Any) -> None:
    row = {"response": None, "retrieved_contexts": ["Ash."], "retrieved_ids": ["a"]}
    project.write("answers.json", saved("search", row))
    project.write("test_it.py", asking(""))
    outcome, said = project.run().outcomes["test_answer[1]"]
    assert outcome == "failure"
    assert "answers.json was collected with --mode search, so no row has response" in said


def test_a_row_without_a_response_beside_some_that_have_one_is_counted(project: Any) -> None:
    rows = [
        {
            "id": "full",
            "query": "Of what?",
            "response": "It is of ash wood.",
            "contexts": ["It is of ash wood."],
        }
    ]
    rows += [{"id": "bare", "query": "Of what?", "contexts": ["It is of ash wood."]}]
    project.write("answers.jsonl", "\n".join(map(json.dumps, rows)))
    project.write("test_it.py", asking("l"))
    ran = project.run("-k", "test_answer and not now")
    outcome, said = ran.outcomes["test_answer[bare]"]
    assert outcome == "failure"
    assert "faithfulness is undefined, so >= 0.8 cannot be checked: the row has no response" in said
    scored, undefined, failed, _ = ran.summary.splitlines()[2].split()[-4:]
    assert (scored, undefined, failed) == ("1", "1", "0")


def test_what_a_file_leaves_out_is_told_once(project: Any) -> None:
    project.write(
        "answers.csv", ",query,response,contexts\n0,a,It is of ash wood.,It is of ash wood.\n"
    )
    project.write("test_it.py", asking("").replace("answers.json", "answers.csv"))
    ran = project.run()
    assert ran.code == 0, ran.text
    told = [line for line in ran.summary.splitlines() if line.startswith("note: ")]
    assert told == ["note: answers.csv: left out for want of a name: column 1"]


def test_a_column_is_chosen_as_a_test_says_it(project: Any) -> None:
    project.write(
        "answers.jsonl", json.dumps({"querry": "Of what?", "response": "It is of ash wood."})
    )
    project.write("test_it.py", asking("l", ', sheet="one"'))
    assert "has no sheets; leave sheet one out" in project.run().text
    project.write("test_it.py", asking("l"))
    assert "did you mean columns={'query': 'querry'}?" in project.run().text
