import os

import pytest
from tests.cases import each_case

from ragstone._internal.secrets import HIDDEN, redact
from ragstone.errors import UsageError
from ragstone.judges.llm.model import LOCAL
from ragstone.judges.llm.openai import PROVIDERS, Provider

OPENAI, AZURE, VLLM = PROVIDERS["openai"], PROVIDERS["azure"], PROVIDERS["vllm"]
OLLAMA = PROVIDERS["ollama"]


@pytest.fixture(autouse=True)
def _no_setting_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AZURE_", "OLLAMA_", "LM_")) or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


@each_case("provider", PROVIDERS.values())
def test_every_provider_has_a_place_or_says_that_it_needs_one(provider: Provider) -> None:
    if provider.url is None:
        with pytest.raises(UsageError, match="base_url"):
            provider.api_url(None)
    else:
        place = provider.api_url(None)
        assert provider.url_of(place, "m", "chat/completions") == f"{place}/chat/completions"
    for end in ("API_BASE", "BASE_URL"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(f"{provider.name.upper()}_{end}", "http://gateway/v1")
            assert provider.api_url(None) == "http://gateway/v1"


@each_case("provider", PROVIDERS.values())
def test_a_missing_key_is_told_by_its_variable(provider: Provider) -> None:
    if provider.name in LOCAL:
        assert provider.read_key("m", elsewhere=False) is None
        return
    assert provider.key
    with pytest.raises(UsageError) as caught:
        provider.read_key("m", elsewhere=False)
    for said in (f"{provider.name}:m", provider.key, "base_url", "the judge offline"):
        assert said in str(caught.value)
    model = f"the embedding model {provider.name}:e needs a key.*{provider.key}"
    with pytest.raises(UsageError, match=model) as caught:
        provider.read_key("e", elsewhere=False, embeds=True)
    assert "judge" not in str(caught.value)


def test_a_blank_key_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for blank in ("", " \n"):
        monkeypatch.setenv("OPENAI_API_KEY", blank)
        with pytest.raises(UsageError, match="OPENAI_API_KEY"):
            OPENAI.read_key("m", elsewhere=False)
        assert OPENAI.read_key("m", elsewhere=True) is None
    monkeypatch.setenv("OPENAI_API_KEY", " sk-1\n")
    assert OPENAI.read_key("m", elsewhere=False) == "sk-1"


def test_the_place_that_is_said_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env/v1/")
    monkeypatch.setenv("OPENAI_API_BASE", "http://older/v1")
    assert OPENAI.api_url("http://said/v1/") == "http://said/v1"
    assert VLLM.api_url(None) == "http://localhost:8000/v1"  # it is OpenAI's setting alone
    assert OPENAI.api_url(None) == "http://env/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    assert OPENAI.api_url(None) == "http://older/v1"
    monkeypatch.delenv("OPENAI_API_BASE")
    assert OPENAI.api_url(None) == "https://api.openai.com/v1"


def test_the_place_of_chat_completions_is_also_one() -> None:
    for end in ("", "/", "/chat/completions", "/chat/completions/"):
        assert OPENAI.api_url(f"http://h/v1{end}") == "http://h/v1"


@each_case(
    ("variables", "place"),
    [
        ({}, "http://localhost:11434/v1"),
        ({"OLLAMA_HOST": "0.0.0.0:8080"}, "http://localhost:8080/v1"),
        ({"OLLAMA_HOST": "https://gpu/v1/"}, "https://gpu/v1"),
        ({"OLLAMA_BASE_URL": "http://gpu:8080"}, "http://gpu:8080/v1"),
        ({"OLLAMA_BASE_URL": "http://gpu/v1", "OLLAMA_HOST": "other"}, "http://gpu/v1"),
    ],
)
def test_ollama_is_where_its_own_variables_say(variables: dict[str, str], place: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        assert OLLAMA.api_url(None) == place
        assert OLLAMA.api_url("http://said/api") == "http://said/api"


@each_case("url", ["localhost:8000", "ftp://h/v1", "http://h/v1?key=sk-1", "http://h/v1#sk-1"])
def test_what_is_no_url_is_told(url: str) -> None:
    form = "URL must begin with http:// or https://|http://h/v1 must not contain"
    with pytest.raises(UsageError, match=f"base_url or OPENAI_BASE_URL.*({form})") as caught:
        OPENAI.api_url(url)
    assert url not in str(caught.value)  # a key may be in it


def test_azure_is_where_its_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="base_url or AZURE_OPENAI_ENDPOINT"):
        AZURE.api_url(None)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/")
    place = AZURE.api_url(None)
    url = f"{place}/openai/deployments/judge/chat/completions?api-version="
    assert AZURE.url_of(place, "judge", "chat/completions") == url + "2024-10-21"
    for name, version in (("", "2024-12-01"), ("AZURE_", "2025-01-01")):
        monkeypatch.setenv(f"{name}OPENAI_API_VERSION", version)
        assert AZURE.url_of(place, "judge", "chat/completions") == url + version
    newer = AZURE.api_url("https://me.openai.azure.com/openai/v1/")
    expected = "https://me.openai.azure.com/openai/v1/chat/completions"
    assert AZURE.url_of(newer, "judge", "chat/completions") == expected


def test_the_headers_carry_the_key_and_to_openai_the_account(monkeypatch: pytest.MonkeyPatch):
    bearer = {"Authorization": "Bearer k"}
    assert (OPENAI.headers("k"), AZURE.headers("k")) == (bearer, {"api-key": "k"})
    assert OPENAI.headers(None) == AZURE.headers(None) == {}
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "token-of-entra-1")
    assert AZURE.headers("k") == {"api-key": "k"}
    assert AZURE.headers(None) == {"Authorization": "Bearer token-of-entra-1"}
    assert redact("token-of-entra-1") == HIDDEN
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "")
    assert OPENAI.headers("k") == bearer | {"OpenAI-Organization": "org-1"}
    assert PROVIDERS["groq"].headers("k") == VLLM.headers("k") == bearer
