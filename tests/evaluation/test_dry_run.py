from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.evaluation.scoring import Estimate
from ragstone.judges.base import ScriptedJudge

CLOSED = "http://127.0.0.1:9/v1"
"""Nothing listens there: whoever calls, fails."""
NAMES = ("river", "mountain", "engine", "council", "harbour")


def sample(number: int, sentences: int = 5) -> dict[str, object]:
    """Make a row as benchmarks have it: five sentences, three contexts of 100 words."""
    said = [
        f"The {name} of sample {number} has a recorded museum near the lantern in year 1830."
        for name in NAMES
    ]
    query = f"What is recorded about sample {number} and its river?"
    contexts = [" ".join([f"Page {n}.", *said]) for n in range(3)]
    return {"query": query, "response": " ".join(said[:sentences]), "contexts": contexts}


ROWS = [sample(number) for number in range(4)]


def estimated(rows: list[dict[str, object]] = ROWS, **options: object) -> Estimate:
    said: Options = {
        "metrics": "faithfulness",
        "judge": "openai:gpt-4o-mini",
        "base_url": CLOSED,
        "on_notice": lambda _: None,
        **options,
    }  # type: ignore[typeddict-item]
    if said["judge"] == "offline":
        del said["base_url"]
    return Evaluation.estimate(rows, **said)


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_two_calls_a_sample_and_their_tokens_within_15_per_cent() -> None:
    """Also within a running loop."""
    found = estimated()
    assert (found.rows, found.calls) == (4, (8, 8))
    least, most = found.prompt_tokens
    assert least == pytest.approx(5124, rel=0.15)  # a quarter of the characters of the prompts
    assert least <= most <= 1.3 * least
    assert least / 4 <= 1400
    assert 0 < found.completion_tokens[0] < found.completion_tokens[1]
    assert found.notes == ("cached replies are not requested again",)
    assert estimated(cache=False).notes == ()
    found = estimated(judge="offline")
    assert (found.rows, found.calls) == (4, (0, 0))
    assert (found.prompt_tokens, found.completion_tokens) == ((0, 0), (0, 0))
    assert (found.cost_usd, found.notes) == ((0, 0), ())


@each_case(
    ("options", "calls"),
    [
        ({"verify": "each"}, (1 + 5, 1 + 10)),
        ({"config": {"batch_size": 2}}, (1 + 3, 1 + 5)),
        ({"verify": "truths"}, (1 + 3 + 1, 1 + 3 + 1)),
        ({"config": {"claim_source": "sentences"}}, (1, 1)),
        ({"config": {"include_reason": True}}, (3, 3)),
        ({"config": {"votes": 3}}, (1 + 3, 1 + 3)),
        ({"judge": "openai:gpt-4o-mini,openai:gpt-4o"}, (1 + 2, 1 + 2)),
        ({"metrics": ["faithfulness", "faithfulness,verify=each"]}, (7, 12)),
        ({"max_calls": 1}, (2, 2)),  # a budget is made by an estimate
    ],
)
def test_calls_of_every_way_of_asking(
    options: dict[str, object], calls: tuple[int, int], tmp_path: Path
) -> None:
    row = {**ROWS[0], "ranking": ["a"], "relevance": ["a"]}
    assert estimated([row, ROWS[1]], limit=1, **options).calls == calls
    assert list(tmp_path.iterdir()) == []


@each_case(
    ("row", "calls"),
    [
        ({"query": "q", "response": "", "contexts": ["c"]}, (0, 0)),
        # no claims, or a judge takes it for one
        ({"query": "q", "response": "Sure!", "contexts": ["c"]}, (1, 2)),
        ({"query": "q", "response": "The case is made of metal.", "contexts": []}, (1, 1)),
        ({"query": "q", "response": "The case is made of metal.", "contexts": [" "]}, (0, 0)),
    ],
)
def test_a_row_that_asks_less_takes_less(row: dict[str, object], calls: tuple[int, int]) -> None:
    least, most = calls
    assert estimated([ROWS[0], row]).calls == (2 + least, 2 + most)


def test_rows_without_an_answer_are_assumed_to_get_one(module_file: Callable[..., str]) -> None:
    target = module_file("rag.py", "def answer(query):\n    raise AssertionError(query)\n")
    rows: list[dict[str, object]] = [{"query": f"q{number}"} for number in range(3)]
    found = estimated(rows, target=f"{target.removesuffix('.py')}:answer", k=4)
    assert found.calls == (6, 6)
    assert "3 rows have no response or no contexts yet" in found.notes[-1]
    assert found.prompt_tokens[0] / 3 > 4 * 100


def test_a_cost_is_told_where_a_price_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ROWS[:1]
    local = estimated(rows, base_url="http://localhost:11434/v1", judge="ollama:m")
    assert local.cost_usd == (0, 0)
    assert estimated(rows, judge="openai:no-such-model-at-all").cost_usd is None
    monkeypatch.setenv("OPENAI_API_KEY", "not a key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    said = Evaluation.estimate(ROWS, metrics="faithfulness", judge="openai:gpt-4o-mini")
    assert said.cost_usd
    assert 0 < said.cost_usd[0] < said.cost_usd[1] < 0.01


@each_case(
    ("options", "told"),
    [
        ({"judge": "offline", "verify": "truths"}, "offline does not support extract_truths"),
        ({"judge": ScriptedJudge({})}, "a judge given by name"),
    ],
)
def test_what_cannot_run_has_no_estimate(options: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        estimated(**options)
