"""Messages that are written for the command line name what a test can say."""

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.evaluation.preflight import resolve_gates
from ragstone.integrations.pytest.messages import in_tests
from ragstone.judges.factory import make_judge
from ragstone.metrics import select
from ragstone.types.config import Plan
from ragstone.types.gate import gate


@each_case(
    ("said", "told"),
    [
        ("the budget of 3 calls (--max-calls) is spent", "(--rag-max-calls)"),
        ("name it with --base-url, or use --judge offline", "--rag-base-url, or use --rag-judge o"),
        ("an LLM does (--model or --judge)", "(--rag-judge)"),
        (
            "so --max-cost cannot be kept; use --max-calls",
            "--rag-max-cost cannot be kept; use --ra",
        ),
        ("use --rag-max-calls", "use --rag-max-calls"),
        ("or leave --embedding-model out", "leave embedding_model out"),
        ("go without it: --no-cache", "cache=False"),
        ("collect with --mode chat", "collect with --mode chat"),
        ("did you mean --map query=the question?", "columns={'query': 'the question'}?"),
        ("did you mean --map query=so??; more", "columns={'query': 'so?'}?; more"),
        ("--map a=b: there is no column 'b'", "columns={'a': 'b'}: there is no column 'b'"),
        ("a\nchoose: --map query=COLUMN\nb", "a\nchoose: columns={'query': 'COLUMN'}\nb"),
    ],
)
def test_flags_become_what_a_test_says(said: str, told: str) -> None:
    assert told in in_tests(said)


def test_a_mark_that_looks_the_wrong_way_names_the_other() -> None:
    plan = Plan(gates=(gate("faithfulness=0.8", "<="),))
    with pytest.raises(UsageError) as caught:
        resolve_gates(plan, select(["faithfulness"], **plan.parameters))
    assert in_tests(str(caught.value)).endswith("use fail_under")


def test_why_no_price_is_known_of_a_model_is_told() -> None:
    plan = Plan(judge="openai:gpt-4o-mini", base_url="http://127.0.0.1:1/v1", max_cost=1)
    with pytest.raises(UsageError) as caught:
        make_judge(plan)
    said = "no price is known of openai:gpt-4o-mini at http://127.0.0.1:1/v1, so --rag-max-cost"
    assert said in in_tests(str(caught.value))
