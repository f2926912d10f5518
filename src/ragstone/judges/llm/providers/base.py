"""Model: a prompt to a completion. Embedder: texts to vectors. Neither knows questions."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragstone._internal.concurrency import AsyncResource
from ragstone.judges.batching import estimated_tokens
from ragstone.redaction import redact_known
from ragstone.types.reply import Usage


@dataclass(frozen=True)
class ModelPrompt:
    """A prompt for a model.

    Attributes:
        schema: the JSON schema of the reply, with `title`.
    """

    system: str
    user: str
    schema: Mapping[str, object] = field(repr=False)
    max_tokens: int

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.system + self.user) + self.max_tokens // 4


_NORMAL_END = re.compile(
    "(?:(?:hit)?stop|eos|eod|end|imend|finish|complete|done|success|toolcall|tooluse|functioncall)"
    "[a-z]*|none|null|"
)


_FILTERS = ("filter", "safety", "prohibited", "blocklist", "refusal", "recitation", "spii", "guard")


def is_filtered(finish_reason: str | None) -> bool:
    reason = (finish_reason or "").lower()
    return any(word in reason for word in _FILTERS)


def is_truncated(finish_reason: str | None) -> bool:
    reason = "".join(filter(str.isalpha, (finish_reason or "").lower()))
    return not _NORMAL_END.fullmatch(reason) and not is_filtered(finish_reason)


@dataclass(frozen=True)
class Completion:
    """A model's reply.

    Attributes:
        refusal: the text of the provider's refusal field or content filter.
        truncated: whether the token limit or an error cut the reply.
    """

    text: str
    refusal: str | None = None
    truncated: bool = False
    usage: Usage = field(default_factory=lambda: Usage(calls=1))

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", redact_known(self.text))
        object.__setattr__(self, "refusal", self.refusal and redact_known(self.refusal))


class Model(AsyncResource, ABC):
    """Completes prompts, within `async with model`.

    Attributes:
        name: provider and model, such as `openai:gpt-4o-mini`.
        identity: everything but the prompt that affects its replies: URL, model, options.
        url: its URL, for reports; "" if its provider implies it.
    """

    name: str
    identity: str
    url: str = ""

    @abstractmethod
    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete one prompt.

        Raises:
            CallError: there was no reply; `tries` is the number of calls.
            UsageError: the key was rejected or the model does not exist: the run stops.
        """


Vectors = tuple[tuple[float, ...], ...]
"""One vector per text."""


class Embedder(AsyncResource, ABC):
    """Embeds texts, within `async with embedder`."""

    name: str
    identity: str
    url: str = ""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Return the texts' vectors, and the usage.

        Raises:
            CallError: there was no valid reply; `tries` is the number of calls.
            UsageError: the key was rejected or the model does not exist: the run stops.
        """
