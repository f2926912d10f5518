"""HttpTarget: a RAG system behind HTTP, asked as its description says."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Self
from uuid import uuid4

from ragstone.errors import CallError, TargetError
from ragstone.exchanges import Failure
from ragstone.http import Client, Connection
from ragstone.rows import TargetCall
from ragstone.samples import Sample
from ragstone.targets.base import Answer, Target
from ragstone.targets.description import ApiDescription, CallDescription
from ragstone.targets.replies import fields_of
from ragstone.targets.templates import (
    Values,
    filled,
    filled_header,
    filled_url,
    filled_variables,
)


class HttpTarget(Target):
    """Asks an HTTP API; each row gets a session of its own, so no memory leaks between rows."""

    def __init__(
        self,
        name: str,
        description: ApiDescription,
        *,
        connection: Connection,
        k: int,
        threshold: float,
    ) -> None:
        self.name = name
        self.gives = frozenset(field for call in description.calls.values() for field in call.reply)
        self._description = description
        self._base = description.base or ""
        self._given = {"k": k, "threshold": threshold, "base": filled_variables(self._base)}
        self._secrets = description.secrets
        self._client = Client(replace(connection, secrets=self._secrets))
        self._parts = (self._client,)

    async def __aenter__(self) -> Self:
        """Open the session, and see whether the API is well."""
        await super().__aenter__()
        try:
            await self._check_health()
        except BaseException as error:
            await super().__aexit__(type(error), error, None)
            raise
        return self

    async def _check_health(self) -> None:
        health = self._description.health
        if health is None:
            return
        url = filled_url(health, {}, base=self._base)
        headers = _filled_headers(self._description.headers, self._given)
        try:
            await self._client.send("GET", url, headers=headers, retries=0)
        except CallError as error:
            if error.status in (404, 405):  # an API without a health check is no sick API
                return
            raise TargetError(
                f"the RAG system is not ready: {error}\nStart it, or name another with --api-url "
                "URL or --target; `ragstone demo-server` starts one to try."
            ) from error

    async def ask(self, sample: Sample, wanted: frozenset[str]) -> Answer:
        """Make the calls that give a wanted field; a call's fields always come together."""
        values = {
            **self._given,
            "query": sample.query,
            "id": sample.id,
            "reference": sample.reference,
            "session_id": f"ragstone-{uuid4()}",
            **{f"tags.{name}": value for name, value in sample.tags.items()},
        }
        fields: dict[str, object] = {}
        lacking: dict[str, Failure] = {}
        calls: list[TargetCall] = []
        for name, call in self._description.calls.items():
            if not wanted.intersection(call.reply):
                continue
            start = perf_counter()
            try:
                given, latency = await self._make(call, values)
            except CallError as error:
                failure = Failure(error.cause, f"{name}: {error}")
                lacking |= dict.fromkeys(call.reply, failure)
                calls.append(TargetCall(name, (perf_counter() - start) * 1000, failure))
            else:
                fields |= given
                calls.append(TargetCall(name, latency))
        return Answer(fields, lacking, tuple(calls))

    async def _make(self, call: CallDescription, values: Values) -> tuple[dict[str, object], float]:
        reply = await self._client.send(
            call.method,
            filled_url(call.url, values, base=self._base),
            headers=_filled_headers({**self._description.headers, **call.headers}, values),
            body=filled(call.body, values),
        )
        try:
            stream = call.stream is not None
            return fields_of(reply.content, {**call.reply}, stream=stream), reply.latency_ms
        except CallError as error:
            if not any(secret.encode() in reply.content for secret in self._secrets):
                raise
            said = "the reply cannot be read, nor be shown, as it quotes an environment variable"
            raise CallError(error.cause, said) from None


def _filled_headers(headers: Mapping[str, str], values: Values) -> dict[str, str]:
    return {name: filled_header(text, values) for name, text in headers.items()}
