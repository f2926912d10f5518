"""Providers with OpenAI's protocol: their URLs, keys and headers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragstone._internal.text import public_url
from ragstone.errors import UsageError

AZURE_VERSION = "2024-10-21"
"""Azure's API version, unless AZURE_OPENAI_API_VERSION is set."""

_VERSION = "AZURE_OPENAI_API_VERSION"


@dataclass(frozen=True)
class Provider:
    """A service with OpenAI's protocol.

    Attributes:
        url: its URL; None if every user has their own.
        key: the environment variable of its key; None if it needs none.
        url_variable: the environment variable of its URL.
    """

    name: str
    url: str | None
    key: str | None
    url_variable: str | None = None

    def said(self, base_url: str | None) -> str | None:
        """Return the URL that `base_url` or the environment sets, if any."""
        variable = os.environ.get(self.url_variable, "") if self.url_variable else ""
        return base_url or variable or None

    def place(self, base_url: str | None) -> str:
        """Return the URL of its API, without a slash at the end.

        Raises:
            UsageError: the URL is not set, or is not valid.
        """
        url = self.said(base_url) or self.url
        setting = " or ".join(filter(None, ("--base-url", self.url_variable)))
        if not url:
            raise UsageError(f"{self.name}: set its URL with {setting}")
        if not url.lower().startswith(("http://", "https://")):
            raise UsageError(f"{setting}: the URL must begin with http:// or https://")
        if "?" in url or "#" in url:
            raise UsageError(f"{setting}: {public_url(url)} must not contain ? or #")
        return url.rstrip("/")

    def secret(self, model: str, *, elsewhere: bool, embeds: bool = False) -> str | None:
        """Return the key; None if none is needed, for example at another URL (`elsewhere`).

        `embeds` tells the error message that the model makes embeddings.

        Raises:
            UsageError: the key is not set.
        """
        if self.key is None:
            return None
        key = os.environ.get(self.key, "").strip()
        if not key and not elsewhere:
            what, instead = (
                ("embedding model", "or leave --embedding-model out")
                if embeds
                else ("judge", "name your own server with --base-url, or use --judge offline")
            )
            raise UsageError(
                f"the {what} {self.name}:{model} needs a key in the environment variable "
                f"{self.key}; set it, {instead} (no key)"
            )
        return key or None

    def url_of(self, base: str, model: str, path: str) -> str:
        """Return the URL of a call, such as `chat/completions`."""
        if self.name != "azure":
            return f"{base}/{path}"
        return f"{base}/openai/deployments/{model}/{path}?api-version={self.version}"

    @property
    def version(self) -> str:
        """The API version; "" if there is only one."""
        return "" if self.name != "azure" else os.environ.get(_VERSION, AZURE_VERSION)

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that carry the key."""
        if key is None:
            return {}
        return {"api-key": key} if self.name == "azure" else {"Authorization": f"Bearer {key}"}


_ALL = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    Provider("azure", None, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    Provider(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
    Provider("ollama", "http://localhost:11434/v1", None),
    Provider("lmstudio", "http://localhost:1234/v1", None),
    Provider("vllm", "http://localhost:8000/v1", None),
)

PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _ALL})
