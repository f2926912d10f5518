"""Prices are computed from the package's own data: no figure here ages."""

from math import inf

import pytest
from genai_prices import Usage as Tokens
from genai_prices import calc_price
from tests.cases import each_case

from ragstone.judges.llm.model import FREE, price_of
from ragstone.types.reply import Usage

MILLION = 1_000_000


def listed(provider: str, model: str, **tokens: int) -> float:
    return float(calc_price(Tokens(**tokens), model, provider_id=provider).total_price)


def test_tokens_cost_their_share_of_what_a_million_costs():
    prompt, completion = (
        listed("openai", "gpt-4o-mini", **{f"{kind}_tokens": MILLION})
        for kind in ("input", "output")
    )
    usage = Usage(prompt_tokens=1000, completion_tokens=50, reasoning_tokens=20)
    due = (1000 * prompt + 50 * completion) / MILLION
    for place in (None, "https://api.openai.com/v1"):
        assert price_of("openai:gpt-4o-mini", place).cost(usage) == pytest.approx(due)


@each_case(
    ("name", "until"),
    [
        ("openai:gpt-4o-mini", inf),
        ("anthropic:claude-haiku-4-5", inf),
        ("anthropic:claude-sonnet-4-5", 200_000),
        ("deepseek:deepseek-chat", -1),
        ("perplexity:sonar", -1),
    ],
)
def test_every_kind_of_price_is_what_the_package_says(name, until):
    price = price_of(name)
    assert price.until == until
    for prompt in (900, 200_000, 200_001, 300_000):
        tokens = {"input_tokens": prompt, "cache_read_tokens": 100, "output_tokens": 70}
        usage = Usage(prompt_tokens=prompt, cached_tokens=100, completion_tokens=70)
        assert price.cost(usage) == pytest.approx(listed(*name.split(":"), **tokens))
    assert price.cost(Usage(calls=1)) is None, "of a reply without counts"
    odd = Usage(prompt_tokens=5, cached_tokens=9, completion_tokens=5, reasoning_tokens=9)
    most = Usage(prompt_tokens=5, cached_tokens=5, completion_tokens=5, reasoning_tokens=5)
    assert price.cost(odd) == price.cost(most)


@each_case(
    ("name", "base_url"),
    [
        *(("openai:mock", None), ("nobody:gpt-4o-mini", None), ("offline", None)),
        ("openai:gpt-4o-mini", "http://127.0.0.1:8900/v1"),
        ("openai:gpt-4o-mini", "https://llm.example.org/v1"),
    ],
)
def test_what_is_not_known_has_no_price(name, base_url):
    assert price_of(name, base_url) is None


@pytest.mark.parametrize("name", ["ollama:llama3.2", "lmstudio:x", "vllm:x"])
def test_ones_own_machine_costs_nothing(name):
    price = price_of(name, "http://127.0.0.1:11434/v1")
    assert price == FREE
    assert price.cost(Usage(prompt_tokens=9)) == 0.0


@pytest.mark.usefixtures("socket_disabled")
def test_nothing_is_looked_up_in_the_network():
    price_of.cache_clear()
    price = price_of("mistral:mistral-small-latest")
    assert price
    assert price.cost(Usage(prompt_tokens=1000, completion_tokens=10))
