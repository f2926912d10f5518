"""Model: turns a prompt into a completion. Embedder: turns texts into vectors.

Both know the wire, and nothing of questions.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragstone._internal.lifecycle import AsyncResource
from ragstone.judges.batching import estimated_tokens
from ragstone.types.reply import Usage


@dataclass(frozen=True)
class ModelPrompt:
    """What a model is asked.

    Attributes:
        schema: the JSON schema that the reply should have, with `title`.
        max_tokens: the most that the reply may take.
    """

    system: str
    user: str
    schema: Mapping[str, object] = field(repr=False)
    max_tokens: int

    @property
    def tokens(self) -> int:
        """About what it takes of a minute's tokens; few replies are as long as they may be."""
        return estimated_tokens(self.system + self.user) + self.max_tokens // 4


@dataclass(frozen=True)
class Completion:
    """What a model wrote.

    Attributes:
        text: "" where it wrote nothing.
        refusal: what the provider's own refusal field or content filter says; None if nothing.
        truncated: the token limit cut the reply.
    """

    text: str
    refusal: str | None = None
    truncated: bool = False
    usage: Usage = field(default_factory=lambda: Usage(calls=1))


class Model(AsyncResource, ABC):
    """Completes prompts, within `async with model`.

    Attributes:
        name: provider and model, such as `openai:gpt-4o-mini`.
        identity: all that shapes its completions beside the prompt: endpoint, model, options.
        place: where it is served, as a report may show it; "" where its provider says.
    """

    name: str
    identity: str
    place: str = ""

    @abstractmethod
    async def complete(self, prompt: ModelPrompt) -> Completion:
        """Complete one prompt.

        Raises:
            CallError: there was no reply; `tries` says how many calls were made.
            UsageError: the key was rejected or the model does not exist: the run stops.
        """


Vectors = tuple[tuple[float, ...], ...]
"""One vector a text, in the texts' order."""


class Embedder(AsyncResource, ABC):
    """Embeds texts, within `async with embedder`.

    Attributes:
        name, identity, place: as a Model's.
    """

    name: str
    identity: str
    place: str = ""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Return the texts' vectors, and what they cost.

        Raises:
            CallError: there was no reply that can be read; `tries` says how many calls were made.
            UsageError: the key was rejected or the model does not exist: the run stops.
        """
