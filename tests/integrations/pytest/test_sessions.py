"""A pytest session as a whole: its judge, limits, data files, workers and summary."""

from typing import Any

import pytest
from tests.cases import each_case

ONE_CALL_EACH = """
import pytest
from ragstone.integrations.pytest.plugin import assert_faithful

GUIDE = "The case is made of ash wood, says page {}."

@pytest.mark.parametrize("number", range(6))
def test_answer(number):
    context = GUIDE.format(number)
    config = {"claim_source": "sentences"}
    assert_faithful("The case is made of ash wood.", [context], config=config)
"""
OWN_JUDGE = """
import atexit

import pytest
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.judges.base import ScriptedJudge

class Once(ScriptedJudge):
    seen = []

    async def __aenter__(self):
        Once.seen.append("opened")
        return await super().__aenter__()

    async def __aexit__(self, *why):
        Once.seen.append("closed")
        await super().__aexit__(*why)

@pytest.fixture(scope="session")
def judge():
    claims, verdict = [Claim(text="It is so.")], Verdict(label=Label.SUPPORTED)
    return Once({"extract_claims": claims, "verify_claims": [verdict]}, name="mine")

atexit.register(lambda: print(Once.seen))
"""
WITH_FIXTURE = """
import pytest

@pytest.mark.rag(metric="faithfulness", fail_under=1)
@pytest.mark.parametrize("number", range(3))
def test_answer(evaluate_sample, number):
    evaluate_sample({"query": "So?", "response": f"{number}", "contexts": ["It is so."]})
"""
WITH_FILE = """
import pytest
from ragstone.integrations.pytest.plugin import assert_sample

@pytest.mark.rag_dataset("answers.jsonl"ARGUMENTS)
def test_answer(sample):
    assert_sample(sample, {"faithfulness": 0.8})
"""


def outcomes(ran: Any) -> list[str]:
    return [outcome for outcome, _ in ran.outcomes.values()]


def test_a_mark_that_reads_no_file_is_told_at_collection(project: Any) -> None:
    keyword = "got an unexpected keyword argument 'pages'"
    for arguments, said in (("", "rag_dataset: there is no file "), (", pages=3", keyword)):
        project.write("test_file.py", WITH_FILE.replace("ARGUMENTS", arguments))
        ran = project.run()
        assert ran.code == 2
        assert said in ran.text
        assert "src/ragstone" not in ran.text


def test_the_judge_is_opened_once_and_closed(project: Any) -> None:
    project.write("conftest.py", OWN_JUDGE)
    project.write("test_own.py", WITH_FIXTURE)
    ran = project.run("-s")
    assert outcomes(ran) == ["passed"] * 3
    assert "['opened', 'closed']" in ran.text
    assert ran.summary.splitlines()[:4] == [
        "judge: mine",
        "metric          mean     95% interval  scored  undefined  failed  imputed",
        "faithfulness  1.0000  0.2924 – 1.0000       3          0       0        0",
        "6 judge calls, about $0.0000",
    ]


def test_workers_keep_a_limit_together_and_are_summed_up(project: Any, model: Any) -> None:
    project.write("test_answers.py", ONE_CALL_EACH)
    ran = project.run("-n2", "--rag-max-calls=3", **model.environment)
    assert sorted(outcomes(ran)) == ["passed"] * 3 + ["skipped"] * 3, ran.text
    assert model.calls == 3
    assert "3 judge calls" in ran.summary
    assert " is spent; each worker has its share of the limit" in ran.summary
    row = ran.summary.splitlines()[2].split()
    assert row[1:6] == ["1.0000", "0.2924", "–", "1.0000", "3"]


def test_a_reply_is_kept_for_the_next_session(project: Any, model: Any) -> None:
    project.write("test_answers.py", ONE_CALL_EACH)
    assert project.run(**model.environment).code == 0
    again = project.run("--rag-max-calls=0", **model.environment)
    assert model.calls == 6
    assert outcomes(again) == ["passed"] * 6
    assert "0 judge calls, 6 more from the cache" in again.summary


def test_messages_name_the_options_of_pytest(project: Any, model: Any) -> None:
    project.write("test_answers.py", ONE_CALL_EACH)
    ran = project.run("--rag-max-cost=0.01", **model.environment)
    assert outcomes(ran) == ["failure"] * 6
    assert "the price of openai:gpt-4o-mini at http://127.0.0.1:" in ran.text
    assert "so max_cost cannot be enforced; use max_calls" in ran.text
    skipped = project.run("--rag-judge=groq:m")
    for name in ("GROQ_API_KEY", "the judge offline"):
        assert name in skipped.outcomes["test_answer[0]"][1]


@each_case(
    ("option", "ini"),
    [
        ("--rag-max-cost=nan", ""),
        ("--rag-max-calls=-1", ""),
        ("", "rag_max_cost = ten"),
        ("", "rag_max_calls = 1.5"),
    ],
)
def test_a_limit_that_is_none_ends_the_session_before_its_tests(
    project: Any, option: str, ini: str
) -> None:
    project.write("test_answers.py", ONE_CALL_EACH)
    project.write("pytest.ini", f"[pytest]\n{ini}\n")
    ran = project.run(*([option] if option else []))
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert ": expected a number of at least 0, got " in ran.text
    assert not ran.outcomes


def test_settings_may_stand_in_files_and_tests_are_skipped_once_the_calls_are_spent(
    project: Any, model: Any
) -> None:
    project.write("ragstone.yaml", "judge: openai:gpt-4o\nclaim_source: sentences\nmax_calls: 5\n")
    ini = (project.path / "pytest.ini").read_text(encoding="utf-8")
    project.write("pytest.ini", f"{ini}rag_config = ragstone.yaml\nrag_max_calls = 2\n")
    project.write("test_answers.py", ONE_CALL_EACH.replace(", config=config", ""))
    ran = project.run(OPENAI_BASE_URL=model.environment["OPENAI_BASE_URL"])
    assert outcomes(ran) == ["passed"] * 2 + ["skipped"] * 4, ran.text
    assert model.calls == 2
    for said in (
        "judge: openai:gpt-4o\n",
        "2 judge calls",
        "4 tests skipped: the budget of 2 calls",
    ):
        assert said in ran.summary


UNUSED = """
import sys

def test_nothing_heavy_is_imported():
    from_ragstone = {name for name in sys.modules if name.startswith("ragstone")}
    packages = {"ragstone", "ragstone.integrations", "ragstone.integrations.pytest"}
    ours = {*packages, "ragstone.integrations.pytest.plugin"}
    assert from_ragstone == ours
    assert not {"pydantic", "numpy", "aiohttp", "sqlalchemy"} & sys.modules.keys()
"""


def test_a_session_that_asks_for_nothing_imports_one_file(project: Any) -> None:
    project.write("test_unused.py", UNUSED)
    ran = project.run(anew=True)
    assert ran.code == 0, ran.text
    assert " ragstone ==" not in ran.text


NOT_SET_UP = """
from ragstone.integrations.pytest.plugin import assert_faithful, assert_sample

CLAIM = "The case is made of ash wood."

def test_no_key():
    assert_faithful(CLAIM, [CLAIM], judge="openai:gpt-4o-mini")

def test_not_answered():
    sample = {"query": "Q?", "response": CLAIM, "contexts": [CLAIM]}
    assert_sample(sample, {"response_relevancy": 0.5})

def test_offline():
    assert_faithful(CLAIM, [CLAIM])
"""


def test_what_would_be_skipped_fails_where_nothing_may_be(project: Any) -> None:
    project.write("test_it.py", NOT_SET_UP)
    skipped = project.run()
    assert (skipped.code, outcomes(skipped)) == (0, ["skipped", "skipped", "passed"])
    failed = project.run("--rag-no-skip")
    assert (failed.code, outcomes(failed)) == (1, ["failure", "failure", "passed"])
    for name, said in (("test_no_key", "OPENAI_API_KEY"), ("test_not_answered", "--rag-judge")):
        _, message = failed.outcomes[name]
        assert said in message
        assert "not skipped: rag_no_skip" in message
    ini = (project.path / "pytest.ini").read_text(encoding="utf-8")
    project.write("pytest.ini", f"{ini}rag_no_skip = true\n")
    assert project.run().outcomes["test_no_key"][0] == "failure"
