"""Model: turns a prompt into a completion. Knows the wire, and nothing of questions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from ragstone.usage import Usage


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


class Model(ABC):
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

    async def __aenter__(self) -> Self:
        """Open the connection."""
        return self

    async def __aexit__(  # noqa: B027 - a stand-in has nothing to close
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
