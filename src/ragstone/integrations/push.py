"""Scores of a run, sent to the traces that its rows came from: Langfuse, Phoenix or LangSmith."""

import asyncio
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType
from typing import ClassVar, cast
from uuid import NAMESPACE_URL, uuid4, uuid5

from pydantic_core import from_json

from ragstone._internal.http import Client, Connection
from ragstone._internal.rate_limit import Limits
from ragstone._internal.secrets import remember
from ragstone._internal.text import quoted
from ragstone.datasets.columns import plain_name
from ragstone.errors import CallError, Cause, UsageError
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.sample import Sample
from ragstone.types.score import Score

LONGEST = 1000
"""Characters of a comment."""
AT_ONCE = 8
"""Requests at once."""
OWN_ID = ""
"""In a list of tags: the id of the row itself."""
_DOWN = (Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.UNREACHABLE)
"""Causes of errors after which sending stops, unless a server answered with a status below 500."""

Send = Callable[[str, str, object], Awaitable[object]]
"""Takes a method, a path and a body, and returns the reply's JSON."""


@dataclass(frozen=True)
class TracedScore:
    """One score to send.

    Attributes:
        id: the same each time for a run, a row and a metric, so that it is replaced, not repeated.
        trace: the id of the trace; for LangSmith, of the run.
        session: the id of LangSmith's project, if the data has it.
        by_model: whether a language model judged it.
    """

    id: str
    run: str
    trace: str
    session: str | None
    metric: str
    value: float
    comment: str | None
    metadata: Mapping[str, str]
    by_model: bool


class Platform(ABC):
    """A service that stores scores of traces; its URL and keys are environment variables.

    Attributes:
        urls: the variables with its URL; the first that is set counts.
        at_once: how many scores a request has.
        trace_tags: the tags with the id of a trace, without case and underscores, in order.
            `OWN_ID` is the id of the row, if it looks like one.
    """

    title: ClassVar[str]
    urls: ClassVar[tuple[str, ...]]
    default_url: ClassVar[str]
    at_once: ClassVar[int] = 100
    trace_tags: ClassVar[tuple[str, ...]] = ("traceid", "sourcetraceid", OWN_ID)

    def __init__(self, environ: Mapping[str, str]) -> None:
        remember(environ)
        self._environ = environ
        self.url = self.variable(*self.urls, default=self.default_url).partition("/v1/traces")[0]

    def variable(self, *names: str, default: str | None = None) -> str:
        """Return the first of these environment variables that is set.

        Raises:
            UsageError: none is set, and there is no default.
        """
        found = next((v for n in names if (v := self._environ.get(n, "").strip())), default)
        if found is None:
            raise UsageError(f"{self.title} needs the environment variable {names[0]}")
        return found

    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """Return the headers with the key."""

    @abstractmethod
    async def send(self, scores: Sequence[TracedScore], send: Send) -> Sequence[str]:
        """Send scores; return a reason for each one that was refused.

        Raises:
            CallError: none of them was accepted.
        """


class Langfuse(Platform):
    """https://api.reference.langfuse.com/#tag/ingestion ."""

    title, default_url = "Langfuse", "https://cloud.langfuse.com"
    urls = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")

    def headers(self) -> Mapping[str, str]:
        keys = map(self.variable, ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"))
        return {"Authorization": f"Basic {b64encode(':'.join(keys).encode()).decode()}"}

    async def send(self, scores: Sequence[TracedScore], send: Send) -> Sequence[str]:
        """Send events with new ids, because events that were seen before are ignored."""
        now = datetime.now(UTC).isoformat()
        batch: list[Mapping[str, object]] = []
        for score in scores:
            body = {"id": score.id, "traceId": score.trace, "name": score.metric}
            body |= {"value": score.value, "dataType": "NUMERIC", "comment": score.comment}
            body |= {"metadata": dict(score.metadata)}
            event = {"id": str(uuid4()), "type": "score-create", "timestamp": now, "body": body}
            batch.append(event)
        reply = await send("POST", "/api/public/ingestion", {"batch": batch})
        _list_in(reply, "successes")
        refused: list[str] = []
        for error in _list_in(reply, "errors")[: len(scores)]:
            is_object = isinstance(error, dict)
            known = cast("Mapping[str, object]", error).get("message") if is_object else None
            refused.append(quoted(str(known or error)))
        return refused


class Phoenix(Platform):
    """https://arize.com/docs/phoenix/sdk-api-reference/rest-api ."""

    title, default_url = "Phoenix", "http://localhost:6006"
    urls = ("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_HOST")

    def headers(self) -> Mapping[str, str]:
        key = self.variable("PHOENIX_API_KEY", default="")
        return {"Authorization": f"Bearer {key}"} if key else {}

    async def send(self, scores: Sequence[TracedScore], send: Send) -> Sequence[str]:
        data: list[Mapping[str, object]] = []
        for score in scores:
            kind = "LLM" if score.by_model else "CODE"
            result = {"score": score.value, "explanation": score.comment}
            made = {"trace_id": score.trace, "name": score.metric, "annotator_kind": kind}
            made |= {"identifier": score.run, "metadata": dict(score.metadata), "result": result}
            data.append(made)
        _list_in(await send("POST", "/v1/trace_annotations?sync=true", {"data": data}), "data")
        return ()


class LangSmith(Platform):
    """https://api.smith.langchain.com/redoc (feedback)."""

    title, default_url = "LangSmith", "https://api.smith.langchain.com"
    urls = ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT")
    at_once = 1
    trace_tags = ("runid", "sourcerunid", OWN_ID, "traceid")  # a run has an id beside its trace's

    def headers(self) -> Mapping[str, str]:
        key = {"x-api-key": self.variable("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")}
        workspace = self.variable("LANGSMITH_WORKSPACE_ID", default="")
        return {**key, "X-Tenant-Id": workspace} if workspace else key

    async def send(self, scores: Sequence[TracedScore], send: Send) -> Sequence[str]:
        [score] = scores
        update = {"score": round(score.value, 4), "comment": score.comment}
        source = {"type": "model" if score.by_model else "api", "metadata": dict(score.metadata)}
        made = {**update, "id": score.id, "run_id": score.trace, "key": score.metric}
        made |= {"feedback_source": source}
        made |= {"session_id": score.session} if score.session else {}
        try:
            reply = await send("POST", "/feedback", made)
            if not isinstance(reply, dict) or "id" not in reply:
                raise CallError(Cause.MALFORMED, f"the reply has no id; {_FIX}")
        except CallError as error:
            if error.status != 409:
                raise
            await send("PATCH", f"/feedback/{score.id}", update)
        return ()


_FIX = "is this the URL of the API?"


def _list_in(reply: object, name: str) -> Sequence[object]:
    """Return a list that a reply must have; a CallError without it."""
    found = cast("Mapping[str, object]", reply).get(name) if isinstance(reply, dict) else None
    if not isinstance(found, list):
        raise CallError(Cause.MALFORMED, f"the reply has no list {name!r}; {_FIX}")
    return cast("list[object]", found)


PLATFORMS: Mapping[str, type[Platform]] = MappingProxyType(
    {"langfuse": Langfuse, "phoenix": Phoenix, "langsmith": LangSmith}
)
"""Name on the command line -> its platform."""


@dataclass
class Pushed:
    """How many scores were sent, and why others were not.

    Attributes:
        unscored: state -> how many scores have no number.
        untraced: how many rows name no trace.
        refused: reason -> how many scores were refused for it.
        stopped: why sending stopped before all were sent.
    """

    sent: int = 0
    unscored: Counter[str] = field(default_factory=Counter[str])
    untraced: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    stopped: str | None = None


def traced_scores(
    run: Run, platform: Platform, counts: Pushed, *, tag: str | None = None
) -> Iterator[TracedScore]:
    """Yield the scores of a run that are numbers and whose rows name their trace; count the others.

    The trace is in the tag, by default in one of the platform's usual tags; otherwise the id of a
    row is the id of its trace if it looks like one, as in files of spans.
    """
    judged = {name for name, info in run.metrics.items() if info.calls}
    run_id, judge = run.manifest.run_id, run.manifest.judge or ""
    for row in run.rows:
        trace = _trace_of(row.sample, platform, tag)
        counts.untraced += trace is None
        session = _tags(row.sample).get("sessionid", "")
        about = {"ragstone_run": run_id, "sample": row.sample.id}
        for name, score in row.scores.items():
            if score.value is None:
                counts.unscored[score.state.value] += 1
            elif trace is not None:
                by_judge = {"judge": judge} if name in judged else {}
                imputed = {"imputed": "true"} if score.fallback else {}
                yield TracedScore(
                    id=str(uuid5(NAMESPACE_URL, f"ragstone:{run_id}/{row.index}/{name}")),
                    run=run_id,
                    trace=trace,
                    session=session if _is_id(session) else None,
                    metric=name,
                    value=score.value,
                    comment=_comment(score),
                    metadata={**about, **by_judge, **imputed},
                    by_model=name in judged and not judge.startswith("offline"),
                )


async def push(
    run: Run, platform: Platform, *, tag: str | None = None, retries: int = Limits.retries
) -> Pushed:
    """Send the scores of a run; those that are refused are counted.

    Failed and undefined scores are never sent, because they are not numbers.

    Raises:
        UsageError: the key is missing, or was refused.
    """
    counts, headers, base = Pushed(), platform.headers(), platform.url.rstrip("/")
    scores = traced_scores(run, platform, counts, tag=tag)
    async with Client(Connection(limits=Limits(concurrency=AT_ONCE, retries=retries))) as client:

        async def send(method: str, path: str, body: object) -> object:
            reply = await client.send(method, f"{base}{path}", headers=headers, body=body)
            try:
                return from_json(reply.content) if reply.content.strip() else None
            except ValueError as error:
                raise CallError(Cause.MALFORMED, f"the reply is not JSON; {_FIX}") from error

        async def send_batch(batch: Sequence[TracedScore]) -> None:
            try:
                refused = await platform.send(batch, send)
            except CallError as error:
                if error.status is None and error.cause in _DOWN:
                    counts.stopped = str(error)
                    return
                if len(batch) > 1 and error.cause is not Cause.MALFORMED:  # one may be the reason
                    for score in batch:
                        await send_batch([score])
                    return
                refused = [str(error)] * len(batch)
            counts.refused.update(refused)
            counts.sent += len(batch) - len(refused)

        size = platform.at_once
        while not counts.stopped and (some := [*islice(scores, AT_ONCE * size)]):
            starts = range(0, len(some), size)
            await asyncio.gather(*(send_batch(some[at : at + size]) for at in starts))
    for _ in scores:  # counts the rest
        pass
    return counts


def _trace_of(sample: Sample, platform: Platform, tag: str | None) -> str | None:
    if tag is not None:
        return str(sample.tags[tag]) if tag in sample.tags else None
    known = {**_tags(sample), OWN_ID: sample.id if _is_id(sample.id) else None}
    return next(filter(None, map(known.get, platform.trace_tags)), None)


def _tags(sample: Sample) -> Mapping[str, str]:
    tags = sample.tags.items()
    return {plain_name(name.rpartition(".")[2]): str(value) for name, value in tags if value}


def _is_id(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", text.replace("-", "").casefold()) is not None


def _comment(score: Score) -> str | None:
    claims = [
        f"{claim.label.value}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
        for claim in score.claims
        if claim.label is not Label.SUPPORTED
    ]
    return "\n".join(filter(None, [score.reason, *claims]))[:LONGEST] or None
