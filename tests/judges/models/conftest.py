"""A model behind a socket of loopback."""

from collections.abc import AsyncIterator, Callable

import pytest

from ragstone.caller import Caller, Limits
from ragstone.judges.models.openai_compatible import OpenAICompatibleModel
from ragstone.judges.models.providers import PROVIDERS

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
            PROVIDERS[provider], name, base_url=url, caller=Caller(limits), **settings
        )

    return make


@pytest.fixture
async def model(
    faulty, model_at: Callable[..., OpenAICompatibleModel]
) -> AsyncIterator[OpenAICompatibleModel]:
    async with model_at(f"{faulty.url}/v1") as model:
        yield model
