"""OpenAICompatibleModel: OpenAI's chat completions and embeddings, wherever they are served."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from ragstone._internal.http import Client, Connection, HttpReply
from ragstone._internal.rate_limit import RetryingCaller
from ragstone._internal.text import count, public_url, quoted, redact
from ragstone.errors import CallError, Cause, UsageError
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.providers.base import Completion, Embedder, Model, ModelPrompt, Vectors
from ragstone.judges.llm.providers.catalog import Provider
from ragstone.types.reply import Usage

# Replies of OpenAI's protocol: chat completions and embeddings, as forgiving as is safe.


def _text_of(part: object) -> object:
    return cast("dict[str, object]", part).get("text") if isinstance(part, dict) else part


def _joined(content: object) -> object:
    """Return the text of content that came in parts."""
    if not isinstance(content, list):
        return content
    texts = [_text_of(part) for part in cast("list[object]", content)]
    return "".join(text for text in texts if isinstance(text, str))


def _count(given: object) -> object:
    return 0 if given is None else given


Count = Annotated[int, BeforeValidator(_count), Field(ge=0)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class PromptDetails(BaseModel):
    """What the prompt's tokens were."""

    cached_tokens: Count = 0


class CompletionDetails(BaseModel):
    """What the reply's tokens were."""

    reasoning_tokens: Count = 0


class Tokens(BaseModel):
    """What a call took, as far as the server says."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def as_ours(self, tries: int) -> Usage:
        """Return it as our record of a call that was made so many times."""
        prompt, completion = self.prompt_tokens_details, self.completion_tokens_details
        return Usage(
            calls=tries,
            retries=tries - 1,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            cached_tokens=prompt.cached_tokens if prompt else 0,
            reasoning_tokens=completion.reasoning_tokens if completion else 0,
        )


class Message(BaseModel):
    """What the model wrote; content may come in parts."""

    content: Annotated[str | None, BeforeValidator(_joined)] = None
    refusal: str | None = None


class Choice(BaseModel):
    """One of the replies; one is asked for."""

    message: Message
    finish_reason: str | None = None


MaybeUsage = Annotated[Tokens, BeforeValidator(lambda given: given or {})]


class Chat(BaseModel):
    """A chat completion."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: MaybeUsage = Tokens()


class Embedding(BaseModel):
    """One text's vector."""

    index: int
    embedding: Annotated[tuple[Finite, ...], Field(min_length=1)]


class Embeddings(BaseModel):
    """The vectors of several texts, in any order."""

    data: list[Embedding]
    usage: MaybeUsage = Tokens()


# Dialect: what of OpenAI's protocol a server takes.

_REASONING = re.compile(r"(o\d|gpt-5)\b")
"""Models that want `max_completion_tokens` and refuse a temperature."""


@dataclass(frozen=True)
class Dialect:
    """What of the protocol a server takes; found out by asking."""

    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    @classmethod
    def of(cls, provider: str, model: str) -> "Dialect":
        """Return what is tried first."""
        reasons = _REASONING.match(model) is not None
        newer = reasons and provider in ("openai", "azure")
        return cls(
            limit="max_completion_tokens" if newer else "max_tokens", temperature=not reasons
        )

    def simpler(self, refusal: str) -> "Dialect | None":
        """Return the dialect without what a refused request was refused for; None if nothing."""
        said = refusal.lower()
        if "max_completion_tokens" in said and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "max_completion_tokens" in said or "max_tokens" in said:
            other = "max_tokens" if self.limit == "max_completion_tokens" else None
            return replace(self, limit=other) if other else None
        if "temperature" in said and self.temperature:
            return replace(self, temperature=False)
        if re.search(r"response_?format|json_?schema|json_object|schema", said):
            return {
                "json_schema": replace(self, schema="json_object"),
                "json_object": replace(self, schema="none"),
            }.get(self.schema)
        return None


_FILTERED = re.compile(r"content[ _](filter|management policy)", re.IGNORECASE)
"""How a refused request says that it was the provider's filter that refused it."""
_NO_QUOTA = "insufficient_quota"
"""How a 429 says that waiting will not help: the account has nothing left."""
_REAL_KEY = 12
"""Characters from which a key is a secret; servers of one's own take any word, such as EMPTY."""

R = TypeVar("R", bound=BaseModel)


class OpenAICompatibleModel(Model, Embedder):
    """Asks a server that speaks OpenAI's protocol, over one session."""

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
    ) -> None:
        base = provider.place(base_url)
        key = provider.secret(model, elsewhere=base != provider.url, embeds=embeds)
        self.name = f"{provider.name}:{model}"
        self.place = public_url(base)
        self.identity = json.dumps(
            [provider.name, model, self.place, provider.version, temperature]
        )
        self._model = model
        self._chat = provider.url_of(base, model, "chat/completions")
        self._embeddings = provider.url_of(base, model, "embeddings")
        self._headers = provider.headers(key)
        self._temperature = temperature
        self._dialect = Dialect.of(provider.name, model)
        self._answered = False
        self._secrets = (key,) if key else ()
        self._with = f"with the key in {provider.key}" if key else "without a key"
        connection = Connection(
            timeout=timeout, again_if_late=True, hopeless=(_NO_QUOTA,), secrets=self._secrets
        )
        self._client = Client(connection, caller=caller)
        self._parts = (self._client,)

    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete one prompt; what the server does not take is left out from then on.

        Raises:
            CallError: there was no reply that can be read.
            UsageError: the key was rejected, or there is no such model.
        """
        spent = 0
        refused: set[Dialect] = set()
        dialect = self._dialect
        while True:
            try:
                reply = await self._send(self._chat, self._body(prompt, dialect), prompt.tokens)
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
                # what another call has found meanwhile saves the steps there
                dialect = simpler if self._dialect in refused else self._dialect
            else:
                if refused:
                    self._dialect = dialect
                return self._completion(reply, spent + reply.tries)

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Return the texts' vectors, in their order, and what they cost.

        Raises:
            CallError: there was no reply that can be read.
            UsageError: the key was rejected, or there is no such model.
        """
        tokens = sum(map(estimated_tokens, texts))
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        reply = await self._send(self._embeddings, body, tokens)
        told = self._read(Embeddings, "embeddings", reply, reply.tries)
        rows = sorted(told.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(len(texts))):
            said = f"{count(len(rows), 'embedding')} came back for {count(len(texts), 'text')}"
            raise CallError(Cause.COUNT_MISMATCH, said, tries=reply.tries)
        return tuple(row.embedding for row in rows), told.usage.as_ours(reply.tries)

    async def _send(self, url: str, body: object, tokens: int) -> HttpReply:
        try:
            reply = await self._client.send(
                "POST", url, headers=self._headers, body=body, tokens=tokens
            )
        except CallError as error:
            if error.status == 404 and not self._answered:
                raise UsageError(
                    f"{error}\nThere is no model {self._model!r} there, or no such interface; the "
                    "run stops. Check the model's name, and --base-url: most end in /v1."
                ) from None
            if error.status == 429 and not self._answered:
                raise UsageError(f"{error}\nThe account's quota is spent; the run stops.") from None
            raise
        except UsageError as error:
            raise UsageError(f"the judge {self.name}, {self._with}: {error}") from None
        self._answered = True
        return reply

    def _read(self, shape: type[R], noun: str, reply: HttpReply, tries: int) -> R:
        try:
            return shape.model_validate_json(reply.content)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            begins = redact(reply.content[:4000].decode("utf-8", "replace"), self._secrets)
            said = f"the reply holds no {noun} ({place or 'all of it'}: {fault['msg']})"
            said += f"; it begins {quoted(begins)!r}"
            raise CallError(Cause.MALFORMED, said, tries=tries) from None

    def _completion(self, reply: HttpReply, tries: int) -> Completion:
        chat = self._read(Chat, "chat completion", reply, tries)
        choice = chat.choices[0]
        refusal = choice.message.refusal or None
        if choice.finish_reason == "content_filter":
            refusal = refusal or "the provider's content filter stopped the reply"
        return Completion(
            text=self._safe(choice.message.content or ""),
            refusal=refusal and self._safe(refusal),
            truncated=choice.finish_reason == "length",
            usage=chat.usage.as_ours(tries),
        )

    def _safe(self, text: str) -> str:
        """Return what a model wrote, without the key: logs and reports quote it."""
        return redact(text, [key for key in self._secrets if len(key) >= _REAL_KEY])

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
