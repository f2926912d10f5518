"""Replies of OpenAI's protocol: chat completions and embeddings, as forgiving as is safe."""

from typing import Annotated, cast

from pydantic import BaseModel, BeforeValidator, Field

from ragstone.usage import Usage


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
