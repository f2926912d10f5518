"""The judges of a session: asked as a test's options say, and opened once, whatever they are."""

from typing import Any

ASKED_OTHERWISE = """
from ragstone.integrations.pytest.plugin import assert_faithful

CLAIM = "The case is made of ash wood."

S = {"claim_source": "sentences"}

def ask(number, **options):
    assert_faithful(CLAIM, [f"{CLAIM} {number}"], **{"config": S, **options})

def test_as_the_settings_say():
    ask(1)

def test_by_name():
    config = {**S, "temperature": 0.7, "max_tokens": 77, "votes": 3}
    ask(2, judge="openai:gpt-4o-mini", config=config)

def test_the_judge_of_the_settings():
    ask(3, config={**S, "temperature": 0.3})

def test_the_fixture(evaluate_sample):
    sample = {"query": "Q?", "response": CLAIM, "contexts": [CLAIM]}
    evaluate_sample(sample, metrics=["faithfulness"], config={**S, "temperature": 0.2})

def test_as_before():
    ask(4)
"""


def test_a_judge_with_a_name_is_asked_as_the_options_of_the_test_say(
    project: Any, model: Any
) -> None:
    project.write("test_it.py", ASKED_OTHERWISE)
    ran = project.run(**model.environment)
    assert ran.code == 0, ran.text
    assert [body["temperature"] for body in model.bodies] == [0, 0.7, 0.7, 0.7, 0.3, 0.2, 0]
    lengths = [body["max_tokens"] for body in model.bodies]
    assert lengths == [578, 77, 77, 77, 578, 578, 578]


NOT_FOR_ONE_TEST = """
import pytest
from ragstone.integrations.pytest.plugin import assert_faithful
from ragstone.judges.offline import OfflineJudge
from ragstone.types.config import Plan

CLAIM = "The case is made of ash wood."
OPTIONS = {
    "cost": {"max_cost": 3},
    "config": {"config": "ragstone.yaml"},
    "preset": {"preset": "ragas"},
    "plan": {"plan": Plan(max_calls=3)},
    "object": {"judge": OfflineJudge(), "config": {"votes": 3, "temperature": 0.7}},
    "none": {"judge": 5},
    "good": {"plan": Plan(claim_source="sentences")},
}

@pytest.mark.parametrize("name", OPTIONS)
def test_it(name):
    assert_faithful(CLAIM, [CLAIM], **OPTIONS[name])
"""


def test_options_that_could_not_be_kept_are_refused(project: Any) -> None:
    project.write("test_it.py", NOT_FOR_ONE_TEST)
    ran = project.run()
    once = "UsageError: these apply to the whole session, not to one test: set "
    for name, said in {
        "cost": f"{once}max_cost with --rag-max-cost",
        "config": f"{once}config with --rag-config",
        "preset": f"{once}preset with the file of --rag-config",
        "plan": f"{once}max_calls with --rag-max-calls",
        "object": "temperature, votes: only for judges given by name; configure the Judge object",
        "none": "judge must be a name or a Judge, got 5",
    }.items():
        outcome, message = ran.outcomes[f"test_it[{name}]"]
        assert outcome == "failure"
        assert said in message
    assert ran.outcomes["test_it[good]"][0] == "passed", ran.text
    assert "src/ragstone" not in ran.text


IN_THREADS = """
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.integrations.pytest.plugin import assert_sample
from ragstone.judges.base import ScriptedJudge

SAMPLE = {"query": "So?", "response": "It is so.", "contexts": ["It is so."]}
MADE = []

class Slow(ScriptedJudge):
    opened = 0
    __hash__ = None

    def __init__(self):
        claims, verdict = [Claim(text="It is so.")], Verdict(label=Label.SUPPORTED)
        super().__init__({"extract_claims": claims, "verify_claims": [verdict]}, name="slow")
        MADE.append(self)

    async def __aenter__(self):
        self.opened += 1
        await asyncio.sleep(0.05)
        return await super().__aenter__()

def four_times(function):
    with ThreadPoolExecutor(4) as threads:
        rows = [*threads.map(lambda _: function(), range(4))]
    assert [row.scores["faithfulness"].value for row in rows] == [1] * 4

def test_one_judge():
    slow = Slow()
    four_times(lambda: assert_sample(SAMPLE, {"faithfulness": 1}, judge=slow))
    assert slow.opened == 1

def test_judges_of_their_own():
    four_times(lambda: assert_sample(SAMPLE, {"faithfulness": 1}, judge=Slow()))

@pytest.fixture
def judge():
    time.sleep(0.05)
    return Slow()

@pytest.mark.rag(metric="faithfulness", fail_under=1)
def test_fixture(evaluate_sample):
    MADE.clear()
    four_times(lambda: evaluate_sample(SAMPLE))
    assert [made.opened for made in MADE if made.opened] == [1]
"""


def test_threads_share_what_is_open(project: Any) -> None:
    project.write("test_threads.py", IN_THREADS)
    ran = project.run()
    assert [outcome for outcome, _ in ran.outcomes.values()] == ["passed"] * 3, ran.text


ELSEWHERE = """
from ragstone.integrations.pytest.plugin import assert_faithful

def test_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {"claim_source": "sentences"}
    assert_faithful("The case is made of ash wood.", ["Of ash wood."], config=config)
    assert [*tmp_path.iterdir()] == []
"""


def test_replies_are_kept_in_the_rootdir_wherever_a_test_works(project: Any, model: Any) -> None:
    project.write("test_it.py", ELSEWHERE)
    ran = project.run("--basetemp=work", **model.environment)
    assert ran.code == 0, ran.text
    assert (project.path / ".ragstone" / "replies.db").is_file()


ABSTENTIONS = """
import pytest
from ragstone.integrations.pytest.plugin import assert_faithful

MANUAL = ["The case is made of ash wood."]
KNOWS_NOT = "I do not know what the case is made of."

def test_abstains():
    row = assert_faithful(KNOWS_NOT, MANUAL, allow_abstention=True)
    assert row.scores["faithfulness"].value is None
    assert_faithful("I'm sorry, the documents do not say.", [], allow_abstention=True)
    assert_faithful(MANUAL[0], MANUAL, allow_abstention=True)

def test_abstains_with_a_plan():
    from ragstone.types.config import Plan
    assert_faithful(KNOWS_NOT, MANUAL, allow_abstention=True, plan=Plan(policy="ragas"))

def test_not_allowed():
    with pytest.raises(AssertionError, match="faithfulness is undefined"):
        assert_faithful(KNOWS_NOT, MANUAL)

def test_wrong_answers_and_blank_ones_still_fail():
    with pytest.raises(AssertionError, match="0 of 1 claim supported"):
        assert_faithful("The case is made of 3 mm steel.", MANUAL, allow_abstention=True)
    with pytest.raises(AssertionError, match="the response is blank: it neither states nor dec"):
        assert_faithful(" \\n", MANUAL, allow_abstention=True)
"""


def test_assert_faithful_can_allow_abstention(project: Any) -> None:
    project.write("test_it.py", ABSTENTIONS)
    ran = project.run()
    assert [outcome for outcome, _ in ran.outcomes.values()] == ["passed"] * 4, ran.text


NEEDS_AN_LLM = """
from ragstone.integrations.pytest.plugin import assert_sample

SAMPLE = {"query": "What is it of?", "response": "It is of ash."}

def test_first():
    assert_sample(SAMPLE, {"response_relevancy": 0.5})

def test_second():
    assert_sample(SAMPLE, {"response_relevancy": 0.5})

def test_offline():
    assert_sample(SAMPLE, {"response_relevancy": 0.5}, judge="offline")
"""


def test_a_metric_by_name_that_offline_cannot_answer_uses_an_llm_and_warns_once(
    project: Any, model: Any
) -> None:
    project.write("test_it.py", NEEDS_AN_LLM)
    keys = {"OPENAI_BASE_URL": model.environment["OPENAI_BASE_URL"], "OPENAI_API_KEY": "k"}
    without = project.run().outcomes["test_first"]
    assert without[0] == "skipped"
    assert "RAGSTONE_JUDGE, or set OPENAI_API_KEY" in without[1]
    offline = project.run("--rag-judge=offline", **keys)
    assert {outcome for outcome, _ in offline.outcomes.values()} == {"skipped"}
    assert model.calls == 0
    ran = project.run("-Wdefault::UserWarning", **keys)
    outcomes = {name: outcome for name, (outcome, _) in ran.outcomes.items()}
    skipped = {"test_offline": "skipped"}
    assert outcomes == {"test_first": "passed", "test_second": "passed"} | skipped, ran.text
    text = " ".join(ran.text.split())
    reason = "because the offline judge cannot score response_relevancy and OPENAI_API_KEY is set"
    assert text.count(reason) == 1
    assert "for this sample, 1 call, price unknown. To avoid this, use --rag-judge offline." in text
    assert model.calls == 1


READS_TEXT = """
from ragstone.integrations.pytest.plugin import assert_sample

CLAIM = "The case is made of ash wood."
SAMPLE = {"query": "Q?", "response": CLAIM, "contexts": [CLAIM]}

def test_json():
    assert_sample(SAMPLE, {"faithfulness": 1.0})

def test_text():
    assert_sample(SAMPLE, {"faithfulness": 1.0}, policy="promptfoo-plan")
    assert_sample(SAMPLE, {"faithfulness:promptfoo-plan": 1.0})
"""


def test_a_judge_that_reads_text_is_another(project: Any, model: Any) -> None:
    project.write("test_it.py", READS_TEXT)
    ran = project.run(**model.environment)
    assert ran.code == 0, ran.text
    assert model.calls == 6  # the replies of one are not kept for the other
