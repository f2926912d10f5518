"""AnthropicModel: Anthropic's messages, with a JSON schema, or a tool where models have none."""

import json
import logging
import re
from dataclasses import replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from ragstone._internal.concurrency import parse
from ragstone._internal.http import HttpReply
from ragstone.errors import CallError
from ragstone.judges.llm.model import FILTERED, Completion, ModelPrompt, unbounded
from ragstone.judges.llm.openai import (
    Count,
    OpenAICompatibleModel,
    Provider,
    error_text,
    refuse_long,
)
from ragstone.types.reply import Usage

ANTHROPIC = Provider("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY")
_log = logging.getLogger("ragstone.judge")
_REFUSABLE = {  # part of a request -> the words of a refusal; a tool replaces the schema
    "temperature": re.compile("temperature", re.IGNORECASE),
    "schema": re.compile("output.?(?:config|format)|structured|schema", re.IGNORECASE),
}
_INSTEAD = {"schema": "a tool instead of a JSON schema", "temperature": "no temperature"}


class _Block(BaseModel):
    type: str
    text: str = ""
    input: object = None


class _Details(BaseModel):
    explanation: str | None = None


class _Tokens(BaseModel):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0


class _Message(BaseModel):
    content: list[_Block]
    stop_reason: str | None = None
    stop_details: _Details | None = None
    usage: _Tokens = _Tokens()


class AnthropicModel(OpenAICompatibleModel):
    """Sends other requests than OpenAI's to a server with the same errors."""

    _refused: frozenset[str] = frozenset()  # parts that the model does not support

    async def complete(self, prompt: ModelPrompt) -> Completion:
        spent, refused = 0, self._refused
        while True:
            try:
                body = self._body_without(refused, prompt)
                reply = await self._send("messages", body, prompt.tokens)
            except CallError as error:
                spent += error.tries
                refuse_long(error, spent)
                said = error_text(error.body) if error.status == 400 else ""
                part = next((name for name, words in _REFUSABLE.items() if words.search(said)), "")
                if not part or part in refused:
                    error.tries = spent
                    raise
                refused |= {part}
                continue
            if refused - self._refused:
                changes = " and ".join(_INSTEAD[part] for part in sorted(refused))
                _log.warning("%s refused the usual request; it now gets %s", self.name, changes)
                self._refused |= refused
            return await parse(reply.content, partial(self._message, reply, spent + reply.tries))

    def _body_without(self, refused: frozenset[str], prompt: ModelPrompt) -> dict[str, object]:
        schema: Any = unbounded(prompt.schema)
        body: dict[str, object] = {
            "model": self._model,
            "max_tokens": prompt.max_tokens,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
        }
        if self._temperature is not None and "temperature" not in refused:
            body["temperature"] = self._temperature
        if "schema" in refused:
            name = re.sub(r"\W+", "_", schema["title"], flags=re.ASCII)
            tool = {"name": name, "description": "Returns the reply.", "input_schema": schema}
            body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": name}}
        else:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body | self._extra_body

    def _message(self, reply: HttpReply, tries: int) -> Completion:
        read = self._read(_Message, "a message of Anthropic's protocol", reply, tries)
        uses = [json.dumps(block.input) for block in read.content if block.type == "tool_use"]
        texts = [block.text for block in read.content if block.type == "text"]
        used = read.usage
        cached = used.cache_read_input_tokens
        made = Completion.ended(
            read.stop_reason,
            uses[0] if uses else "".join(texts),
            Usage(
                calls=tries,
                retries=tries - 1,
                prompt_tokens=used.input_tokens + cached + used.cache_creation_input_tokens,
                completion_tokens=used.output_tokens,
                cached_tokens=cached,
            ),
            filtered=(read.stop_details and read.stop_details.explanation) or FILTERED,
        )
        return replace(made, thinks=any("thinking" in block.type for block in read.content))
