"""OpenAICompatibleModel: OpenAI's chat completions and embeddings, on any server."""

import asyncio
import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

import jmespath
from pydantic import AliasPath, BaseModel, BeforeValidator, Field, FiniteFloat, ValidationError
from pydantic_core import from_json

from ragstone._internal.concurrency import LARGE, parse
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.http import Client, Connection, HttpReply
from ragstone._internal.rate_limit import RetryingCaller
from ragstone._internal.secrets import VARIABLE, remember
from ragstone._internal.text import count, public_url, quoted
from ragstone.errors import CallError, Cause, RagstoneError, UsageError
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.model import (
    LOCAL,
    Completion,
    Embedder,
    Model,
    ModelPrompt,
    Vectors,
    unbounded,
)
from ragstone.types.reply import Usage

_log = logging.getLogger("ragstone.judge")
AZURE_VERSION = "2024-10-21"  # Azure's API version, unless AZURE_OPENAI_API_VERSION is set


@dataclass(frozen=True)
class Provider:
    """A service with OpenAI's protocol, and the environment variables of its key and URL."""

    name: str
    url: str | None  # None if every user has their own
    key: str
    other_variable: str | None = None  # of its URL, beside those of all providers

    @property
    def url_variables(self) -> tuple[str, ...]:
        """As clients and gateways name them; the first that is set counts."""
        usual = tuple(f"{self.name.upper()}_{end}" for end in ("BASE_URL", "API_BASE"))
        return (*usual, self.other_variable) if self.other_variable else usual

    def custom_url(self, base_url: str | None) -> str | None:
        return base_url or next(filter(None, map(os.environ.get, self.url_variables)), None)

    def api_url(self, base_url: str | None) -> str:
        url = self.custom_url(base_url) or self.url
        setting = f"base_url or {self.other_variable or self.url_variables[0]}"
        if not url:
            raise UsageError(f"{self.name}: set its URL with {setting}")
        if not base_url and self.name == "ollama" and "://" not in url:  # as OLLAMA_HOST is
            url = f"[{url}]" if url.count(":") > 1 and "[" not in url else url
            has_port = re.search(r":\d+\Z", url) is not None
            host, _, port = url.rpartition(":") if has_port else (url, "", "11434")
            url = f"http://{'localhost' if host in ('', '0.0.0.0') else host}:{port}"  # noqa: S104 - not bound to
        if not base_url and self.name == "ollama" and url != self.url:
            url = url.rstrip("/").removesuffix("/v1") + "/v1"
        if not url.lower().startswith(("http://", "https://")):
            raise UsageError(f"{setting}: the URL must begin with http:// or https://")
        remember(url)
        if "?" in url or "#" in url:
            raise UsageError(f"{setting}: {public_url(url)} must not contain ? or #")
        return url.rstrip("/").removesuffix("/chat/completions")

    def read_key(self, model: str, *, elsewhere: bool, embeds: bool = False) -> str | None:
        key = os.environ.get(self.key, "").strip()
        remember(key, self.key)
        if not key and not elsewhere and self.name not in LOCAL:
            what, instead = "judge", "name your own server with base_url, or use the judge offline"
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
        older = os.environ.get("OPENAI_API_VERSION", AZURE_VERSION)
        return os.environ.get("AZURE_OPENAI_API_VERSION", older)

    def url_of(self, base: str, model: str, path: str) -> str:
        if self.name == "anthropic":
            return f"{base.removesuffix('/v1')}/v1/{path}"
        if self.name != "azure" or base.endswith("/v1"):
            return f"{base}/{path}"
        return f"{base}/openai/deployments/{model}/{path}?api-version={self.version}"

    def headers(self, key: str | None) -> dict[str, str]:
        if self.name == "azure" and key:
            return {"api-key": key}
        if self.name == "anthropic":
            return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
        if self.name == "azure" and (key := os.environ.get(_AZURE_TOKEN)):
            remember(key, _AZURE_TOKEN)
        sent = {"Authorization": f"Bearer {key}" if key else ""}
        if self.name == "openai":
            sent |= {header: os.environ.get(name, "") for header, name in _ACCOUNT.items()}
        return {header: value for header, value in sent.items() if value}


_AZURE_TOKEN = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - its name
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
_GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"
_PROVIDERS = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider("azure", None, "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    Provider("gemini", _GOOGLE, "GEMINI_API_KEY"),
    Provider("google", _GOOGLE, "GOOGLE_API_KEY"),
    Provider("bedrock", None, "AWS_BEARER_TOKEN_BEDROCK"),
    Provider("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY", "OLLAMA_HOST"),
    Provider("lmstudio", "http://localhost:1234/v1", "LM_API_TOKEN"),
    Provider("vllm", "http://localhost:8000/v1", "VLLM_API_KEY"),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _PROVIDERS})

R = TypeVar("R", bound=BaseModel)

_OWN_FIELDS = frozenset(
    ("max_completion_tokens", "max_tokens", "messages", "model", "n", "stream", "temperature")
)
_TOO_LARGE = (400, 413, 422, 500)  # statuses of a prompt that is longer than the window
_REFUSING = (400, 422, 500)  # statuses of a request with a part that the server does not support
_NARROW = (
    "start the server with a larger window (num_ctx in Ollama), or set context_window to {window}, "
    "so that contexts are split"
)

_FILTERED = re.compile(r"content[ _](filter|management policy)", re.IGNORECASE)  # in a 400
_BLOCKED = re.compile(r"safety|block_?reason|prohibited|content_?filter", re.IGNORECASE)
_INVALID_JSON = "json_validate_failed"  # the server checked the model's reply: ask again
_NO_MODEL = re.compile(
    r"(?:invalid|unknown|no such) model|model\W.{0,80}(?:not found|not exist|n't exist|is unknown)",
    re.IGNORECASE,
)
_SPENT = re.compile(
    r"insufficient_quota|crossed budget|budget_?(?: has been )?exceeded"
    r"|insufficient (?:credit|fund|balance)|credit balance is too low",
    re.IGNORECASE,
)
_FORM = re.compile(
    r"response_?format|schema|json.?(?:object|mode|output)|structured.?output|guided|grammar|maxItems|minItems|maxLength"
    r"|['\"`](?:maximum|minimum)['\"`]",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"(?:system|developer)\W*(?:role|message|prompt)|role\W*system|does not support .?system"
    r"|roles must alternate|only user and assistant",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|maximum context|too many tokens|prompt is too long",
    re.IGNORECASE,
)


def _is_permanent(status: int, text: str) -> bool:
    """Whether no retry helps against a 429 or 5xx: account, form or model are at fault."""
    said = error_text(text)
    if _SPENT.search(said):
        return True
    faults = (_FORM, _NO_MODEL, _NO_SYSTEM, _TOO_LONG)
    return status == 500 and any(each.search(said) for each in faults)


_WORDS = jmespath.compile(  # of an error, or of the first in a list
    "[[0], @][?@].[error.message, error.type, error.code, error.param, error.metadata.raw, error,"
    " message, detail, detail[*].[to_string(loc), msg][]][][]"
)


def error_text(body: str) -> str:
    """Return the words of an error, without a request that it repeats; a text as it is."""
    try:
        value = cast("object", from_json(body, allow_partial=True))
    except ValueError:
        return body
    words: list[object] = _WORDS.search(value) or []
    return " ".join(text for text in words if isinstance(text, str))


_WINDOWS = frozenset(1024 * 2**n for n in range(1, 10))  # tokens, if a server does not tell
_REST = 2  # tokens below its window that a server may leave when it cuts a prompt
_MARGIN = 1.5  # times the window, above which a prompt is too long: its tokens are estimated
_LEAST_ROOM = 256  # tokens for a reply
_MODELS_TIMEOUT = 5.0  # seconds to wait for a server's description of its models
MOST_TOKENS = 2**40  # tokens of one reply from which a count is an error of the server
REASONING = re.compile(r"(o\d|gpt-5)\b")  # models that reject `max_tokens` and a temperature


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


Count = Annotated[int, BeforeValidator(_counted)]


def _detail(of: str, name: str) -> Any:
    return Field(0, validation_alias=AliasPath(f"{of}_tokens_details", f"{name}_tokens"))


class _Tokens(BaseModel):
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = _detail("prompt", "cached")
    reasoning_tokens: Count = _detail("completion", "reasoning")
    accepted_prediction_tokens: Count = _detail("completion", "accepted_prediction")
    rejected_prediction_tokens: Count = _detail("completion", "rejected_prediction")

    def usage(self, tries: int) -> Usage:
        return Usage(calls=tries, retries=tries - 1, **dict(self))


_MaybeTokens = Annotated[
    _Tokens, BeforeValidator(lambda value: cast("object", value) if isinstance(value, dict) else {})
]


class _ToolCall(BaseModel):
    arguments: object = Field(None, validation_alias=AliasPath("function", "arguments"))


class _Message(BaseModel):
    content: Annotated[str | None, BeforeValidator(_joined)] = None
    refusal: str | None = None
    reasoning: object = None
    reasoning_content: object = None
    tool_calls: Annotated[list[_ToolCall], BeforeValidator(lambda v: v if is_list(v) else [])] = []

    @property
    def text(self) -> str:
        """The reply; some servers send it as a tool's arguments, or as the model's thoughts."""
        arguments = self.tool_calls[0].arguments if len(self.tool_calls) == 1 else None
        written = (self.content, arguments, self.reasoning_content, self.reasoning)
        texts = [each for each in written if isinstance(each, str)]
        return next((text for text in texts if text.strip()), texts[0] if texts else "")


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Chat(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=100, fail_fast=True)]
    model: object = None
    usage: _MaybeTokens = _Tokens()


_MODELS = jmespath.compile(  # what vLLM, llama.cpp, LM Studio and Ollama (`/api/ps`) tell of each
    "(data || models)[].[id || model, max_model_len || loaded_context_length || context_length"
    " || meta.n_ctx]"
)


class _Embedding(BaseModel):
    index: int
    embedding: Annotated[tuple[FiniteFloat, ...], Field(min_length=1, fail_fast=True)]


class _Embeddings(BaseModel):
    data: Annotated[list[_Embedding], Field(fail_fast=True)]
    usage: _MaybeTokens = _Tokens()


@dataclass(frozen=True)
class Dialect:
    """The parts of the protocol that a server accepts; found out by asking."""

    # with all limits, those of numbers and lists alone, none; JSON without a schema; neither
    schema: Literal["bounded", "counted", "json_schema", "json_object", "none"] = "bounded"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    system: bool = True

    @classmethod
    def of(cls, provider: str, model: str) -> "Dialect":
        reasons = REASONING.match(model) is not None
        newer = reasons and provider in ("openai", "azure")
        limit = "max_completion_tokens" if newer else "max_tokens"
        levels = {"openai": "counted", "azure": "json_schema"}  # as documented
        return cls(cast("Any", levels.get(provider, "bounded")), limit, temperature=not reasons)

    def simpler(self, refusal: str) -> "Dialect | None":
        text = refusal.lower()
        if self.schema != "none" and _FORM.search(text):
            levels = get_args(Dialect.__annotations__["schema"])
            at = levels.index(self.schema) + 1
            named = levels.index("json_object") if "json_object" in text else 0
            return replace(self, schema=levels[max(at, named)])
        if self.limit == "max_tokens" and "max_completion_tokens" in text:
            return replace(self, limit="max_completion_tokens")
        if "too large" in text or "maximum context" in text:
            return None
        if "max_completion_tokens" in text or "max_tokens" in text:
            return None if self.limit == "max_tokens" else replace(self, limit="max_tokens")
        if "temperature" in text and self.temperature:
            return replace(self, temperature=False)
        if self.system and _NO_SYSTEM.search(text):
            return replace(self, system=False)
        return None

    def changes(self, usual: "Dialect") -> str:
        parts = {
            "counted": "a JSON schema without limits of texts",
            "json_schema": "a JSON schema without limits",
            "json_object": "JSON without a schema",
            "none": "no JSON mode",
        }
        found = [parts[self.schema]] if self.schema in parts and self.schema != usual.schema else []
        found += [] if self.temperature == usual.temperature else ["no temperature"]
        found += [] if self.system else ["no system role"]
        found += [] if self.limit == usual.limit else [self.limit]
        return " and ".join(found)


def refuse_long(error: CallError, spent: int) -> None:
    """Raise that a prompt is longer than the model's window, if the server refused it for that."""
    said = error_text(error.body) or str(error)
    is_long = error.status in _TOO_LARGE and _TOO_LONG.search(said)
    if is_long and "max_tokens" not in said and "max_completion_tokens" not in said:
        longer = f"{error}: {_NARROW.format(window='its size')}"
        raise CallError(Cause.TRUNCATED, longer, tries=spent) from None


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
        headers: Mapping[str, str] = MappingProxyType({}),
        body: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        base = provider.api_url(base_url)
        key = provider.read_key(model, elsewhere=base != provider.url, embeds=embeds)
        self.name = f"{provider.name}:{model}"
        self.url = public_url(base)
        options = [provider.name, model, self.url, provider.version, temperature]
        self.identity = json.dumps([*options, dict(body)] if body else options, sort_keys=True)
        self._model, self._temperature = model, temperature
        self._url = partial(provider.url_of, base, model)
        self._headers = provider.headers(key) | cast("dict[str, str]", expanded(headers))
        self._extra_body = cast("dict[str, object]", expanded(body))
        if own := _OWN_FIELDS & body.keys():
            raise UsageError(f"judge_body: {', '.join(sorted(own))} has a setting of its own")
        self._dialect = Dialect.of(provider.name, model)
        self._is_own = (base != provider.url or provider.name in LOCAL) and provider.url is not None
        self._window: int | None = None  # that the server states
        self._describing, self._asked = asyncio.Lock(), 0
        self._root = base.removesuffix("/v1")
        self._answered = False
        self._with = f"with the key in {provider.key}" if key else "without a key"
        given = headers if key else self._headers
        if not {"authorization", "api-key", "x-api-key"}.isdisjoint(map(str.lower, given)):
            self._with = "with a key in the headers"
        connection = Connection(
            timeout=timeout,
            retry_timeouts=True,
            permanent=_is_permanent,
            error_status=_error_status,
            from_environment=True,
        )
        self._client = Client(connection, caller=caller)
        self._parts = (self._client,)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        spent = 0
        refused: set[Dialect] = set()
        dialect = self._dialect
        await self._check_window(prompt)
        while True:
            try:
                reply = await self._send(
                    "chat/completions", self._body(prompt, dialect), prompt.tokens
                )
            except CallError as error:
                spent += error.tries
                usage = Usage(calls=spent, retries=spent - 1)
                said = error_text(error.body) or str(error)
                if error.status == 400 and _FILTERED.search(said):
                    return Completion("", refusal=str(error), usage=usage)
                if error.status == 400 and _INVALID_JSON in error.body:
                    failed = f"the server found that the model's JSON is invalid: {error}"
                    raise CallError(Cause.MALFORMED, failed, tries=spent) from None
                refuse_long(error, spent)
                refused.add(dialect)
                simpler = dialect.simpler(said) if error.status in _REFUSING else None
                if simpler is None or simpler in refused:
                    error.tries = spent
                    raise
                # another call may have found the right one meanwhile
                dialect = simpler if self._dialect in refused else self._dialect
            else:
                if refused and self._dialect != dialect:
                    changes = dialect.changes(self._dialect)
                    _log.warning("%s refused the usual request; it now gets %s", self.name, changes)
                    self._dialect = dialect
                spent += reply.tries
                if self._asked == 1 and not self._window:
                    self._asked = 2  # Ollama knows the window of a model that is loaded
                    self._window = await self._ask_window()
                read = partial(self._completion, reply, spent, prompt)
                return await parse(reply.content, read)

    async def _check_window(self, prompt: ModelPrompt) -> None:
        """Refuse a prompt that is longer than the window that the server states, asked once."""
        if not self._is_own:
            return
        async with self._describing:
            if not self._asked:
                self._window = await self._ask_window()
                self._asked = 1
        window = self._window
        tokens = estimated_tokens(prompt.system + prompt.user)
        if window and tokens > _MARGIN * window:
            raise CallError(
                Cause.TRUNCATED,
                f"the prompt has about {tokens:,} tokens, and the server's window for "
                f"{self._model} is {window:,}: {_NARROW.format(window=window)}",
                tries=0,
            )

    async def _ask_window(self) -> int | None:
        for url in (self._url("models"), f"{self._root}/api/ps"):
            try:
                reply = await self._client.ask(url, self._headers, seconds=_MODELS_TIMEOUT)
                models: list[tuple[object, object]] = _MODELS.search(from_json(reply.content)) or []
            except (RagstoneError, ValueError, TimeoutError):
                continue  # many servers do not describe their models
            named = [model for model in models if _same_model(str(model[0]), self._model)]
            named.sort(key=lambda model: model[0] != self._model)
            # /api/ps lists what is loaded: maybe another model alone
            if not named and len(models) == 1 and not url.endswith("/ps"):
                named = models
            window = named[0][1] if named else None
            if isinstance(window, int) and window > 0:
                return window
        return None

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
            reply = await self._client.send(
                "POST", self._url(path), headers=self._headers, body=body, tokens=tokens
            )
        except CallError as error:
            said = error_text(error.body) or str(error)
            unknown = error.status == 404 or (error.status and _NO_MODEL.search(said))
            if error.status == 402 or _SPENT.search(said):
                message = f"{error}; the account's budget is spent"
                raise CallError(
                    Cause.BUDGET, message, status=error.status, tries=error.tries
                ) from None
            if self._answered or not unknown:
                raise
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

    def _completion(self, reply: HttpReply, tries: int, prompt: ModelPrompt) -> Completion:
        try:
            chat = self._read(_Chat, "a chat completion", reply, tries)
        except CallError as error:
            start = reply.content[:4000].decode("utf-8", "replace")
            if '"choices"' in start and _BLOCKED.search(start):
                usage = Usage(calls=tries, retries=tries - 1)
                return Completion("", refusal=str(error), usage=usage)
            raise
        choice = chat.choices[0]
        if len({each.message.text for each in chat.choices}) > 1:
            message = f"the server sent {len(chat.choices)} different replies at once"
            raise CallError(Cause.MALFORMED, message, tries=tries)
        text, refusal = choice.message.text, choice.message.refusal or None
        usage = chat.usage.usage(tries)
        if self._is_own:
            self._check_cut(prompt, usage)
        named = chat.model if isinstance(chat.model, str) else ""
        # Azure names the model, not the deployment
        if named and not _same_model(named, self._model) and not self.name.startswith("azure:"):
            _warn_once(f"{self.name}: the replies are from the model {quoted(named)!r}")
        thoughts = choice.message.reasoning or choice.message.reasoning_content
        thinks = usage.reasoning_tokens > 0 or bool(thoughts)
        made = Completion.ended(choice.finish_reason, text, usage, refusal=refusal)
        return replace(made, thinks=thinks)

    def _check_cut(self, prompt: ModelPrompt, usage: Usage) -> None:
        """Refuse a reply to a prompt that the server cut: it did not read all contexts."""
        read, sent = usage.prompt_tokens, estimated_tokens(prompt.system + prompt.user)
        window = self._window
        # such a prompt leaves no room for a reply either
        is_cut = read >= window - _REST if window else read in _WINDOWS and read <= sent
        if is_cut:
            raise CallError(
                Cause.TRUNCATED,
                f"the server read {read:,} tokens of a prompt of about {sent:,}, which fill its "
                f"window: {_NARROW.format(window=read)}",
                tries=usage.calls,
            )

    def _room(self, prompt: ModelPrompt) -> int:
        """Return the tokens of a reply: no more than the prompt leaves of a known window."""
        if not self._window:
            return prompt.max_tokens
        left = self._window - int(_MARGIN * estimated_tokens(prompt.system + prompt.user))
        return min(prompt.max_tokens, max(left, _LEAST_ROOM))

    def _body(self, prompt: ModelPrompt, dialect: Dialect) -> dict[str, object]:
        system = prompt.system
        schema = prompt.schema
        if dialect.schema != "bounded":
            schema = unbounded(schema, lengths_alone=dialect.schema == "counted")
        if dialect.schema in ("json_object", "none"):
            system += "\nThe JSON has this schema: " + json.dumps(schema)
        body: dict[str, object] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": prompt.user},
            ],
            dialect.limit: self._room(prompt),
        }
        if not dialect.system:
            body["messages"] = [{"role": "user", "content": f"{system}\n\n{prompt.user}"}]
        if dialect.temperature and self._temperature is not None:
            body["temperature"] = self._temperature
        if dialect.schema in ("bounded", "counted", "json_schema"):
            named = {"name": schema["title"], "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif dialect.schema == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body | self._extra_body


def expanded(value: object) -> object:
    """Return a value with `${NAME}` in its texts replaced by environment variables."""

    def value_of(match: re.Match[str]) -> str:
        if (found := os.environ.get(match[1])) is None:
            raise UsageError(f"the environment variable {match[1]} of the settings is not set")
        remember(found, "key", in_replies=False)
        return found

    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {name: expanded(each) for name, each in fields.items()}
    if is_list(value):
        return [expanded(each) for each in value]
    return VARIABLE.sub(value_of, value) if isinstance(value, str) else value


def _same_model(one: str, two: str) -> bool:
    """Whether both name the same model: `gpt-4o-2024-08-06` is a version of `gpt-4o`."""
    short, long = sorted((name.lower().rpartition("/")[2] for name in (one, two)), key=len)
    version = r"[-@:](?:\d{3,4}(?:-\d\d){0,2}|\d{8}|latest)"
    return re.fullmatch(rf"{re.escape(short)}(?:{version})?", long) is not None


@cache
def _warn_once(message: str) -> None:
    _log.warning("%s", message)
