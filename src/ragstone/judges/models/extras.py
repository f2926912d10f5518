"""Extras: providers that pydantic-ai knows, each with what is to be installed and its key."""

import os
import re
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from ragstone.errors import UnknownNameError, UsageError
from ragstone.messages import quoted, redact

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Wire
    from pydantic_ai.providers import Provider

EXTRAS = ("anthropic", "bedrock", "google", "mistral")
"""Providers that ragstone has an extra for; for others, pydantic-ai itself has one."""

_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
}
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_SECRET = re.compile(r"_(KEY|TOKEN|SECRET|PASSWORD|BEDROCK)$", re.IGNORECASE)
_SHORTEST_SECRET = 8
_AWS_CONNECTIONS = 50


def connect(provider: str, model: str, *, timeout: float, base_url: str | None = None) -> "Wire":
    """Make pydantic-ai's model, with its key from the environment; nothing is sent.

    Raises:
        UsageError: the extra is not installed, the provider is not known, or it has no key.
    """
    try:
        return _connected(f"{provider}:{model}", timeout, base_url)
    except ImportError as error:
        raise _lacking(f"{provider}:{model}") from error


def _lacking(name: str) -> UsageError:
    provider = name.partition(":")[0]
    extra = f"ragstone[{provider}]" if provider in EXTRAS else f"pydantic-ai-slim[{provider}]"
    return UsageError(f"the judge {name} needs an extra: pip install '{extra}'")


def check(provider: str, model: str) -> None:
    """See that a model could be made, whatever keys there are; nothing is sent.

    Raises:
        UsageError: the extra is not installed, or the provider is not known.
    """
    name = f"{provider}:{model}"
    try:
        _provider_class(provider)
    except ImportError as error:
        raise _lacking(name) from error


def aws_errors(name: str) -> tuple[type[Exception], ...]:
    """Return what AWS's own chain raises, where there is no region or no credentials."""
    if not name.startswith("bedrock:"):
        return ()
    errors: type[Exception] = import_module("botocore.exceptions").BotoCoreError
    return (errors,)


def shown(text: str) -> str:
    """Return a foreign text as a message may show it: one line, and no key of ours in it."""
    secrets = {
        value
        for name, value in os.environ.items()
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET
    }
    return quoted(redact(text, secrets))


def _connected(name: str, timeout: float, base_url: str | None) -> "Wire":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    provider = name.partition(":")[0]
    try:
        return infer_model(name, lambda _: _provider(name, timeout, base_url))
    except UserError as error:
        variables = dict.fromkeys(_VARIABLE.findall(str(error)))
        key = _KEYS.get(provider) or " or ".join(variables)
        if not key:
            raise UsageError(f"the judge {name} cannot be used: {shown(str(error))}") from error
        to_do = f"set {key} in the environment, or use --judge offline"
        raise UsageError(f"the judge {name} has no key: {to_do}") from error
    except aws_errors(name) as error:
        raise UsageError(f"the judge {name} cannot be used: {shown(str(error))}") from error


def _provider_class(provider: str) -> "Callable[..., Provider[Any]]":
    from pydantic_ai.models import known_model_names
    from pydantic_ai.providers import infer_provider_class

    try:
        return cast("Callable[..., Provider[Any]]", infer_provider_class(provider))
    except ValueError:
        known = {other.partition(":")[0] for other in known_model_names() if ":" in other}
        raise UnknownNameError("provider of models", provider, known) from None


def _provider(name: str, timeout: float, base_url: str | None) -> "Provider[Any]":
    provider = name.partition(":")[0]
    make = _provider_class(provider)
    if provider == "bedrock":
        return make(bedrock_client=_bedrock_client(timeout, base_url))
    if base_url is None:
        return make()
    if "base_url" not in signature(make).parameters:
        raise UsageError(f"the judge {name} takes no --base-url")
    return make(base_url=base_url)


def _bedrock_client(timeout: float, base_url: str | None) -> object:
    """Make AWS's client: pydantic-ai has no setting that switches its retries off."""
    once = import_module("botocore.config").Config(
        retries={"total_max_attempts": 1},
        read_timeout=timeout,
        max_pool_connections=_AWS_CONNECTIONS,
    )
    session = import_module("boto3").Session()
    return session.client("bedrock-runtime", config=once, endpoint_url=base_url)
