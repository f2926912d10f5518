"""OpenAICompatibleModel: OpenAI's chat completions and embeddings, on any server."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import AliasPath, BaseModel, BeforeValidator, Field, FiniteFloat, ValidationError

from ragstone._internal.concurrency import LARGE, parse
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.http import Client, Connection, HttpReply
from ragstone._internal.rate_limit import RetryingCaller
from ragstone._internal.secrets import remember
from ragstone._internal.text import count, public_url, quoted
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.batches import NO_QUOTA, BatchQueue, BatchRun, OpenAIBatches
from ragstone.judges.llm.model import Completion, Embedder, Model, ModelPrompt, Vectors
from ragstone.types.reply import Usage

AZURE_VERSION = "2024-10-21"  # Azure's API version, unless AZURE_OPENAI_API_VERSION is set


@dataclass(frozen=True)
class Provider:
    """A service with OpenAI's protocol, and the environment variables of its key and URL."""

    name: str
    url: str | None  # None if every user has their own
    key: str | None
    url_variable: str | None = None

    def custom_url(self, base_url: str | None) -> str | None:
        variable = os.environ.get(self.url_variable, "") if self.url_variable else ""
        return base_url or variable or None

    def api_url(self, base_url: str | None) -> str:
        url = self.custom_url(base_url) or self.url
        setting = f"base_url or {self.url_variable}" if self.url_variable else "base_url"
        if not url:
            raise UsageError(f"{self.name}: set its URL with {setting}")
        if not url.lower().startswith(("http://", "https://")):
            raise UsageError(f"{setting}: the URL must begin with http:// or https://")
        remember(url)
        if "?" in url or "#" in url:
            raise UsageError(f"{setting}: {public_url(url)} must not contain ? or #")
        return url.rstrip("/")

    def read_key(self, model: str, *, elsewhere: bool, embeds: bool = False) -> str | None:
        if self.key is None:
            return None
        key = os.environ.get(self.key, "").strip()
        remember(key, self.key)
        if not key and not elsewhere:
            what, instead = "judge", "name your own server with base_url, or use judge=offline"
            if embeds:
                what, instead = "embedding model", "or leave embedding_model out"
            raise UsageError(
                f"the {what} {self.name}:{model} needs a key in the environment variable "
                f"{self.key}; set it, {instead} (no key)"
            )
        return key or None

    @property
    def version(self) -> str:
        if self.name != "azure":
            return ""
        return os.environ.get("AZURE_OPENAI_API_VERSION", AZURE_VERSION)

    def url_of(self, base: str, model: str, path: str) -> str:
        if self.name != "azure":
            return f"{base}/{path}"
        return f"{base}/openai/deployments/{model}/{path}?api-version={self.version}"

    def headers(self, key: str | None) -> dict[str, str]:
        if key is None:
            return {}
        return {"api-key": key} if self.name == "azure" else {"Authorization": f"Bearer {key}"}


_PROVIDERS = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    Provider("azure", None, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    Provider("ollama", "http://localhost:11434/v1", None),
    Provider("lmstudio", "http://localhost:1234/v1", None),
    Provider("vllm", "http://localhost:8000/v1", None),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _PROVIDERS})

R = TypeVar("R", bound=BaseModel)

_FILTERED = re.compile(r"content[ _](filter|management policy)", re.IGNORECASE)  # in a 400
MOST_TOKENS = 2**40  # tokens of one reply from which a count is an error of the server
_REASONING = re.compile(r"(o\d|gpt-5)\b")  # models that reject `max_tokens` and a temperature


def _joined(content: object) -> object:
    if not is_list(content):
        return content
    fields = [part if is_object(part) else {"text": part} for part in content]
    texts = [f.get("text") for f in fields if f.get("type", "text") in ("text", "output_text")]
    return "".join(text for text in texts if isinstance(text, str))


def _counted(value: object) -> int:
    # anything else must not cost a good reply
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < MOST_TOKENS and value % 1 == 0 else 0


_ERROR_WORDS = (
    (400, "context.?length|maximum context|invalid.?request"),
    (401, "authentication|api.?key|unauthorized|permission"),
    (429, "rate.?limit|too many requests"),
)


class _ErrorBody(BaseModel):
    """A 2xx body that is an error, as gateways send it."""

    error: dict[str, object] | str
    choices: Annotated[list[object], Field(max_length=0)] | None = None
    data: None = None


def _error_status(content: bytes) -> int | None:
    if b'"error"' not in content or len(content) > LARGE:
        return None
    try:
        error = _ErrorBody.model_validate_json(content).error
    except ValidationError:
        return None
    fields = error if isinstance(error, dict) else {}
    codes = [str(fields.get(key)) for key in ("code", "status", "status_code")]
    statuses = [int(code) for code in codes if re.fullmatch("[45][0-9]{2}", code)]
    statuses += [of for of, words in _ERROR_WORDS if re.search(words, str(error), re.IGNORECASE)]
    return next(iter(statuses), 500 if error else None)


_Count = Annotated[int, BeforeValidator(_counted)]


def _detail(of: str, name: str) -> Any:
    return Field(0, validation_alias=AliasPath(f"{of}_tokens_details", f"{name}_tokens"))


class _Tokens(BaseModel):
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0
    cached_tokens: _Count = _detail("prompt", "cached")
    reasoning_tokens: _Count = _detail("completion", "reasoning")
    accepted_prediction_tokens: _Count = _detail("completion", "accepted_prediction")
    rejected_prediction_tokens: _Count = _detail("completion", "rejected_prediction")

    def usage(self, tries: int) -> Usage:
        return Usage(calls=tries, retries=tries - 1, **dict(self))


_MaybeTokens = Annotated[
    _Tokens, BeforeValidator(lambda value: cast("object", value) if isinstance(value, dict) else {})
]


class _Message(BaseModel):
    content: Annotated[str | None, BeforeValidator(_joined)] = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Chat(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=100, fail_fast=True)]
    usage: _MaybeTokens = _Tokens()


class _Embedding(BaseModel):
    index: int
    embedding: Annotated[tuple[FiniteFloat, ...], Field(min_length=1, fail_fast=True)]


class _Embeddings(BaseModel):
    data: Annotated[list[_Embedding], Field(fail_fast=True)]
    usage: _MaybeTokens = _Tokens()


@dataclass(frozen=True)
class Dialect:
    """The parts of the protocol that a server accepts; found out by asking."""

    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    @classmethod
    def of(cls, provider: str, model: str) -> "Dialect":
        reasons = _REASONING.match(model) is not None
        newer = reasons and provider in ("openai", "azure")
        limit = "max_completion_tokens" if newer else "max_tokens"
        return cls(limit=limit, temperature=not reasons)

    def simpler(self, refusal: str) -> "Dialect | None":
        text = refusal.lower()
        if self.limit == "max_tokens" and "max_completion_tokens" in text:
            return replace(self, limit="max_completion_tokens")
        if "max_completion_tokens" in text or "max_tokens" in text:
            return None if self.limit == "max_tokens" else replace(self, limit="max_tokens")
        if "temperature" in text and self.temperature:
            return replace(self, temperature=False)
        if self.schema != "none" and re.search(r"response_?format|schema|json_object", text):
            simpler = "json_object" if self.schema == "json_schema" else "none"
            return replace(self, schema=simpler)
        return None


class OpenAICompatibleModel(Model, Embedder):
    def __init__(
        self,
        provider: Provider,
        model: str,
        *,
        caller: RetryingCaller,
        timeout: float,
        temperature: float | None,
        base_url: str | None = None,
        embeds: bool = False,
        batches: BatchRun | None = None,
        vote: int = 1,
    ) -> None:
        base = provider.api_url(base_url)
        key = provider.read_key(model, elsewhere=base != provider.url, embeds=embeds)
        self.name = f"{provider.name}:{model}"
        self.url = public_url(base)
        self.identity = json.dumps([provider.name, model, self.url, provider.version, temperature])
        self._model, self._temperature = model, temperature
        self._url = partial(provider.url_of, base, model)
        self._headers = provider.headers(key)
        self._dialect = Dialect.of(provider.name, model)
        self._answered = False
        self._with = f"with the key in {provider.key}" if key else "without a key"
        connection = Connection(
            timeout=timeout, retry_timeouts=True, permanent=(NO_QUOTA,), error_status=_error_status
        )
        self._client = Client(connection, caller=caller)
        self._parts = (self._client,)
        self._batches: BatchQueue | None = None
        if batches:
            api = OpenAIBatches(base, self._headers, retries=batches.retries)
            self._batches = BatchQueue(api, self.name, self.identity, vote, batches)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        spent = 0
        refused: set[Dialect] = set()
        dialect = self._dialect
        if self._batches:
            for refusal in self._batches.refusals:
                known = {self._dialect, dialect}
                simpler = dialect.simpler(refusal)
                dialect = simpler if simpler and simpler not in known else dialect
        while True:
            try:
                reply = await self._send(
                    "chat/completions", self._body(prompt, dialect), prompt.tokens
                )
            except CallError as error:
                spent += error.tries
                if error.status == 400 and _FILTERED.search(str(error)):
                    usage = Usage(calls=spent, retries=spent - 1)
                    return Completion("", refusal=str(error), usage=usage)
                refused.add(dialect)
                simpler = dialect.simpler(str(error)) if error.status in (400, 422) else None
                if simpler is None or simpler in refused:
                    raise CallError(
                        error.cause, str(error), status=error.status, tries=spent
                    ) from None
                # another call may have found the right one meanwhile
                dialect = simpler if self._dialect in refused else self._dialect
            else:
                if refused:
                    self._dialect = dialect
                spent += reply.tries
                return await parse(reply.content, partial(self._completion, reply, spent))

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        tokens = sum(map(estimated_tokens, texts))
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        reply = await self._send("embeddings", body, tokens)
        found = self._read(_Embeddings, "a list of embeddings", reply, reply.tries)
        rows = sorted(found.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(len(texts))):
            message = f"got {count(len(rows), 'embedding')} for {count(len(texts), 'text')}"
            raise CallError(Cause.COUNT_MISMATCH, message, tries=reply.tries)
        return tuple(row.embedding for row in rows), found.usage.usage(reply.tries)

    async def _send(self, path: str, body: Mapping[str, object], tokens: int) -> HttpReply:
        try:
            if self._batches:
                reply = await self._batches.send(body)
            else:
                reply = await self._client.send(
                    "POST", self._url(path), headers=self._headers, body=body, tokens=tokens
                )
        except CallError as error:
            if self._answered or error.status not in (404, 429):
                raise
            if self._batches:
                self._batches.forgive(error.status)
            why = "The account's quota is exhausted; the run stops."
            if error.status == 404:
                why = (
                    f"The model {self._model!r} does not exist, or the API is not at that URL; the "
                    "run stops. Check the model's name and base_url (most end in /v1)."
                )
            raise UsageError(f"{error}\n{why}") from None
        except UsageError as error:
            raise UsageError(f"the judge {self.name}, {self._with}: {error}") from None
        self._answered = True
        return reply

    def _read(self, shape: type[R], noun: str, reply: HttpReply, tries: int) -> R:
        try:
            return shape.model_validate_json(reply.content)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, fault["loc"])) or "all of it"
            begins = quoted(reply.content[:4000].decode("utf-8", "replace"))
            message = f"the reply is not {noun} ({field}: {fault['msg']}); it begins {begins!r}"
            raise CallError(Cause.MALFORMED, message, tries=tries) from None

    def _completion(self, reply: HttpReply, tries: int) -> Completion:
        chat = self._read(_Chat, "a chat completion", reply, tries)
        choice = chat.choices[0]
        text, refusal = choice.message.content or "", choice.message.refusal or None
        usage = chat.usage.usage(tries)
        return Completion.ended(choice.finish_reason, text, usage, refusal=refusal)

    def _body(self, prompt: ModelPrompt, dialect: Dialect) -> dict[str, object]:
        system = prompt.system
        if dialect.schema != "json_schema":
            system += "\nThe JSON has this schema: " + json.dumps(prompt.schema)
        body: dict[str, object] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt.user},
            ],
            dialect.limit: prompt.max_tokens,
        }
        if dialect.temperature and self._temperature is not None:
            body["temperature"] = self._temperature
        if dialect.schema == "json_schema":
            named = {"name": prompt.schema["title"], "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif dialect.schema == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body
