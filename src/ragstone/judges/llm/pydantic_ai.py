"""PydanticAiModel: Anthropic, Google, Bedrock, Mistral and others, through pydantic-ai.

The library is an extra and imports slowly: it is loaded when a model is made.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from ragstone._internal.http import REJECTED
from ragstone._internal.rate_limit import LATE, RetryableError, RetryingCaller, retry_after
from ragstone._internal.secrets import remember
from ragstone._internal.text import public_url, quoted
from ragstone.errors import CallError, Cause, RagstoneError, UnknownNameError, UsageError
from ragstone.judges.llm.model import FILTERED, Completion, Model, ModelPrompt, unbounded
from ragstone.types.reply import Usage

if TYPE_CHECKING:
    from pydantic_ai import ModelResponse
    from pydantic_ai.exceptions import AgentRunError
    from pydantic_ai.models import Model as Wire
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.providers import Provider


EXTRAS = ("anthropic", "bedrock", "google", "mistral")  # of ragstone; others are pydantic-ai's

_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GOOGLE_API_KEY or GEMINI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
}
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)`")
_AWS_CONNECTIONS = 50


def connect(provider: str, model: str, *, timeout: float, base_url: str | None = None) -> "Wire":
    name = f"{provider}:{model}"
    remember({**os.environ, "": base_url})
    make = provider_class(name)
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return infer_model(name, lambda _: _provider(make, name, timeout, base_url))
    except (UserError, *aws_errors(name)) as error:
        named = dict.fromkeys(_VARIABLE.findall(str(error)))
        key = isinstance(error, UserError) and (_KEYS.get(provider) or " or ".join(named))
        if not key:
            raise UsageError(f"the judge {name} cannot be used: {quoted(str(error))}") from None
        fix = f"set {key} in the environment, or use judge=offline"
        raise UsageError(f"the judge {name} has no key: {fix}") from error


def provider_class(name: str) -> "Callable[..., Provider[Any]]":
    provider = name.partition(":")[0]
    try:
        from pydantic_ai.providers import infer_provider_class

        return cast("Callable[..., Provider[Any]]", infer_provider_class(provider))
    except ImportError as error:
        extra = f"ragstone[{provider}]" if provider in EXTRAS else f"pydantic-ai-slim[{provider}]"
        raise UsageError(f"the judge {name} needs an extra: pip install '{extra}'") from error
    except ValueError:
        from pydantic_ai.models import known_model_names

        known = {other.partition(":")[0] for other in known_model_names() if ":" in other}
        raise UnknownNameError("provider of models", provider, known) from None


def aws_errors(name: str) -> tuple[type[Exception], ...]:
    if not name.startswith("bedrock:"):
        return ()
    errors: type[Exception] = import_module("botocore.exceptions").BotoCoreError
    return (errors,)


def _provider(
    make: "Callable[..., Provider[Any]]", name: str, timeout: float, base_url: str | None
) -> "Provider[Any]":
    if name.startswith("bedrock:"):  # its retries can only be switched off in AWS's own client
        config = import_module("botocore.config").Config(
            retries={"total_max_attempts": 1},
            read_timeout=timeout,
            max_pool_connections=_AWS_CONNECTIONS,
        )
        session = import_module("boto3").Session()
        return make(
            bedrock_client=session.client("bedrock-runtime", config=config, endpoint_url=base_url)
        )
    if base_url is None:
        return make()
    if "base_url" not in signature(make).parameters:
        raise UsageError(f"the judge {name} does not support base_url")
    return make(base_url=base_url)


_UNSENT = frozenset(  # names of the errors of httpx, aiohttp and botocore before a request was sent
    ("ConnectError", "ConnectTimeout", "ClientConnectorError", "EndpointConnectionError")
)
_UNREADABLE = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What SDKs raise for a reply of another shape, such as `content: null`."""
_NO_TEMPERATURE = "disallows_sampling_settings"  # how such keys of a model's profile end


class PydanticAiModel(Model):
    """A model of any provider in pydantic-ai, with our retries instead of its own."""

    def __init__(
        self,
        provider: str,
        model: str,
        *,
        caller: RetryingCaller,
        timeout: float,
        temperature: float | None,
        base_url: str | None = None,
    ) -> None:
        self.name = f"{provider}:{model}"
        wire = self._wire = connect(provider, model, timeout=timeout, base_url=base_url)
        from pydantic_ai.exceptions import UserError  # `connect` says which extra is missing

        settings: dict[str, object] = {
            "framing_announcement": "never",  # the prompt is sent as it is written
            # our own retries; the timeout is for the whole request, the SDK's own may be shorter
            "max_retries": 0,
            "request_timeout": timeout,
            "timeout": timeout,
        }
        if temperature is not None and not any(
            on for name, on in wire.profile.items() if name.endswith(_NO_TEMPERATURE)
        ):
            settings["temperature"] = temperature
        self._settings = {k: v for k, v in settings.items() if k not in wire.unsupported_settings}
        self._timeout = timeout
        self._caller = caller
        self._answered = False
        try:
            url = public_url(wire.base_url) if wire.base_url else None
        except (AttributeError, UserError):  # it has several
            url = None
        options = {
            "base_url": url,
            "model": model,
            "provider": provider,
            "temperature": self._settings.get("temperature"),
        }
        self.identity = json.dumps(options)
        self._parts = (wire,)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        call = await self._caller.make(partial(self._once, prompt), tokens=prompt.tokens)
        usage = replace(call.value.usage, calls=call.tries, retries=call.tries - 1)
        return replace(call.value, usage=usage)

    async def _once(self, prompt: ModelPrompt) -> Completion:
        from pydantic_ai import ModelRequest, UserPromptPart
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, ModelHTTPError, UserError

        request = ModelRequest(parts=[UserPromptPart(prompt.user)], instructions=prompt.system)
        options: dict[str, Any] = {
            "model_settings": {**self._settings, "max_tokens": prompt.max_tokens},
            "model_request_parameters": _parameters(self._wire, unbounded(prompt.schema)),
        }
        try:
            made = _completion(await model_request(self._wire, [request], **options))
            self._answered = True
            return made
        except AgentRunError as error:
            failed = self._translated(error)
            if isinstance(failed, CallError):
                failed.lost = not isinstance(error, ModelHTTPError) and _was_sent(error)
            raise failed from None
        except (UserError, *aws_errors(self.name)) as error:
            message = f"{self.name} cannot be called: {quoted(str(error))}"
            if self._answered:
                raise CallError(Cause.UNREACHABLE, message) from None
            raise UsageError(message) from None
        except _UNREADABLE as error:
            seen = f"{type(error).__name__}: {quoted(str(error))}"
            message = f"{self.name} sent a reply that its SDK cannot read ({seen})"
            failed = CallError(Cause.MALFORMED, message)
            failed.lost = True
            raise failed from None

    def _translated(self, error: "AgentRunError") -> RagstoneError:
        from pydantic_ai import exceptions as foreign

        if isinstance(error, foreign.ModelRequestTimeout | foreign.ModelTimeoutError):
            late = f"{self.name}: {LATE.format(timeout=self._timeout)}"
            return RetryableError(Cause.TIMEOUT, late)
        status = error.status_code if isinstance(error, foreign.ModelHTTPError) else None
        did = f"returned {status}" if status else "did not answer"
        match getattr(error, "body", None):
            case {"error": {"message": str(text)}} | {"message": str(text)}:
                pass
            case {"Error": {"Message": str(text)}} | str(text):  # AWS, or not JSON
                pass
            case _:
                text = error.message
        message = f"{self.name} {did}: {quoted(text)}"
        if not self._answered and isinstance(error, foreign.ModelAuthenticationError):
            message += "\nThe key or its permissions were rejected; the run stops."
            return UsageError(message)
        if not self._answered and isinstance(error, foreign.ModelNotFoundError):
            return UsageError(f"{message}\nThere is no such model at that URL; the run stops.")
        unsorted = type(error) is foreign.ModelHTTPError and status not in (408, 429)
        rejected = unsorted and status is not None and status < 500
        if rejected or isinstance(error, foreign.ModelRequestRejectedError):
            cause = Cause.REJECTED if status in REJECTED else Cause.UNREACHABLE
            return CallError(cause, message, status=status)
        if isinstance(error, foreign.ModelQuotaExceededError):  # waiting does not help
            return CallError(Cause.RATE_LIMITED, message, status=status)
        limited = status == 429 or isinstance(error, foreign.ModelRateLimitError)
        cause = Cause.RATE_LIMITED if limited else Cause.UNREACHABLE
        wait = error.retry_after if isinstance(error, foreign.ModelAPIError) else None
        return retry_after(cause, message, wait)


def _parameters(wire: "Wire", schema: Mapping[str, object]) -> "ModelRequestParameters":
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    name = re.sub(r"\W+", "_", str(schema.get("title") or "reply"), flags=re.ASCII)
    native = wire.profile.get("supports_json_schema_output", False)
    if native or not wire.profile.get("supports_tools", True):
        return ModelRequestParameters(
            output_mode="native" if native else "prompted",
            output_object=OutputObjectDefinition(json_schema=dict(schema), name=name),
        )
    tool = ToolDefinition(
        name=name,
        parameters_json_schema=dict(schema),
        description="Returns the reply.",
        kind="output",
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _was_sent(error: BaseException | None) -> bool:
    while error is not None:
        if type(error).__name__ in _UNSENT:
            return False
        error = error.__cause__ or error.__context__
    return True


def _completion(response: "ModelResponse") -> Completion:
    from pydantic_ai import TextPart, ThinkingPart, ToolCallPart

    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    used = response.usage
    made = Completion.ended(
        response.finish_reason,
        calls[0].args_as_json_str() if calls else "".join(texts),
        Usage(
            calls=1,
            prompt_tokens=used.input_tokens,
            completion_tokens=used.output_tokens,
            cached_tokens=used.cache_read_tokens,
            reasoning_tokens=used.output_reasoning_tokens,
        ),
        filtered=str((response.provider_details or {}).get("refusal") or FILTERED),
    )
    thinks = any(isinstance(part, ThinkingPart) for part in response.parts)
    return replace(made, thinks=thinks or made.usage.reasoning_tokens > 0)
