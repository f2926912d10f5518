"""Usage: what answering cost, in calls, tokens and dollars."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """What answering cost.

    Attributes:
        calls: calls of a service, `retries` of them again; `cached` are answers from the cache.
        prompt_tokens: as the provider counts them, `cached_tokens` of them at its cache's price.
        completion_tokens: as the provider counts them, `reasoning_tokens` of them not shown.
        cost_usd: an estimate in US dollars; None where no price is known.
        local_calls: runs of a model on this machine, of `local_tokens`: free, and no `calls`.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0
    local_calls: int = 0
    local_tokens: int = 0

    def __add__(self, more: "Usage") -> "Usage":
        unknown = self.cost_usd is None or more.cost_usd is None
        return Usage(
            self.calls + more.calls, self.cached + more.cached, self.retries + more.retries,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            self.cached_tokens + more.cached_tokens, self.reasoning_tokens + more.reasoning_tokens,
            None if unknown else (self.cost_usd or 0.0) + (more.cost_usd or 0.0),
            self.local_calls + more.local_calls, self.local_tokens + more.local_tokens,
        )  # fmt: skip


NOTHING_SPENT = Usage()
