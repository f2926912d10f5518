"""A model behind a socket of loopback."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from ragstone._internal.rate_limit import Limits, RetryingCaller
from ragstone.errors import CallError
from ragstone.judges.llm.model import ModelPrompt
from ragstone.judges.llm.openai import PROVIDERS, OpenAICompatibleModel

PROMPT = ModelPrompt("Be brief.", "What is it?", {"title": "Claims", "type": "object"}, 100)
KEY = "sk-a-key-that-nobody-may-see"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Set OpenAI's key, and nothing else of this machine."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_API_VERSION", raising=False)
    return KEY


@pytest.fixture
def model_at(key: str) -> Callable[..., OpenAICompatibleModel]:
    """Make the model that is served at a URL."""

    def make(
        url: str, *, provider: str = "openai", name: str = "mock", **options: object
    ) -> OpenAICompatibleModel:
        limits = Limits(**{"retries": 2, "concurrency": 64} | options.pop("limits", {}))
        settings = {"timeout": 5.0, "temperature": 0.0} | options
        return OpenAICompatibleModel(
            PROVIDERS[provider], name, base_url=url, caller=RetryingCaller(limits), **settings
        )

    return make


@pytest.fixture
async def model(
    faulty, model_at: Callable[..., OpenAICompatibleModel]
) -> AsyncIterator[OpenAICompatibleModel]:
    async with model_at(f"{faulty.url}/v1") as model:
        yield model


@pytest.fixture
def failure() -> Callable[[OpenAICompatibleModel], Awaitable[CallError]]:
    """Ask a model that cannot answer; gives why, which is told in one line."""

    async def ask(model: OpenAICompatibleModel) -> CallError:
        with pytest.raises(CallError) as caught:
            await model.complete(PROMPT)
        assert "\n" not in str(caught.value)
        return caught.value

    return ask
