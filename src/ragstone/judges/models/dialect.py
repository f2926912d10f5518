"""Dialect: what of OpenAI's protocol a server takes."""

import re
from dataclasses import dataclass, replace
from typing import Literal

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
