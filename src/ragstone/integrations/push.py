"""Scores of a run, sent to the traces that its rows came from: Langfuse, Phoenix or LangSmith."""

import asyncio
from abc import ABC, abstractmethod
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, cast
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from pydantic_core import from_json

from ragstone._internal.http import Client, Connection
from ragstone._internal.rate_limit import Limits
from ragstone._internal.text import quoted
from ragstone.errors import CallError, Cause, UsageError
from ragstone.redaction import remember
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.sample import Sample
from ragstone.types.score import Score

LONGEST = 1000
"""Characters of a comment."""
AT_ONCE = 8
"""Requests at once."""


@dataclass(frozen=True)
class TracedScore:
    """One score to send.

    Attributes:
        id: the same each time for a run, a row and a metric, so that it is replaced, not repeated.
        trace: the id of the trace; for LangSmith, of the run.
        session: the id of LangSmith's project, if the data has it.
    """

    id: UUID
    run: str
    trace: str
    metric: str
    value: float
    comment: str | None
    metadata: Mapping[str, str]
    by_model: bool
    session: str | None = None


class Platform(ABC):
    """A service that stores scores of traces.

    Attributes:
        title: its name.
        url: where it is.
        at_once: how many scores a request has.
        trace_tags: the tags with the id of a trace, without case and underscores; the first counts.

    Raises:
        UsageError: an environment variable is missing.
    """

    title: ClassVar[str]
    at_once: ClassVar[int] = 100
    trace_tags: ClassVar[tuple[str, ...]] = ("traceid", "sourcetraceid")

    def __init__(self, environ: Mapping[str, str], *, needs_key: bool = True) -> None:
        self._environ, self._needs_key = environ, needs_key
        remember(environ)
        self.url, self._headers = self._settings()

    @abstractmethod
    def _settings(self) -> tuple[str, Mapping[str, str]]:
        """Return the URL and the headers, from environment variables."""

    @abstractmethod
    async def send(self, client: Client, scores: Sequence[TracedScore]) -> Sequence[str]:
        """Send scores; return a reason for each one that was refused.

        Raises:
            CallError: none of them was accepted.
            UsageError: the key was refused.
        """

    def _variable(self, *names: str, default: str | None = None) -> str:
        """Return the first of these environment variables that is set; the first is required."""
        found = next((v for n in names if (v := self._environ.get(n, "").strip())), default)
        if found is None and self._needs_key:
            raise UsageError(f"{self.title} needs the environment variable {names[0]}")
        return found or ""

    async def _post(self, client: Client, path: str, body: object, method: str = "POST") -> Any:
        url = f"{self.url.rstrip('/')}{path}"
        reply = await client.send(method, url, headers=self._headers, body=body)
        try:
            return from_json(reply.content)
        except ValueError:
            return None


class Langfuse(Platform):
    """Langfuse: https://api.reference.langfuse.com/#tag/ingestion."""

    title = "Langfuse"

    def _settings(self) -> tuple[str, Mapping[str, str]]:
        keys = map(self._variable, ("LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"))
        basic = b64encode(":".join(keys).encode()).decode()
        default = "https://cloud.langfuse.com"
        url = self._variable("LANGFUSE_HOST", "LANGFUSE_BASE_URL", default=default)
        return url, {"Authorization": f"Basic {basic}"}

    async def send(self, client: Client, scores: Sequence[TracedScore]) -> Sequence[str]:
        """Send events with new ids, as events that were seen before are ignored."""
        now = datetime.now(UTC).isoformat()
        batch = [
            {
                "id": str(uuid4()),
                "type": "score-create",
                "timestamp": now,
                "body": {
                    "id": str(score.id),
                    "traceId": score.trace,
                    "name": score.metric,
                    "value": score.value,
                    "dataType": "NUMERIC",
                    "comment": score.comment,
                    "metadata": dict(score.metadata),
                },
            }
            for score in scores
        ]
        reply = await self._post(client, "/api/public/ingestion", {"batch": batch})
        parts = cast("Mapping[str, Any]", reply if isinstance(reply, dict) else {})
        errors = cast("Sequence[Mapping[str, object]]", parts.get("errors") or ())
        return [quoted(str(each.get("message") or each.get("error") or each)) for each in errors]


class Phoenix(Platform):
    """Phoenix: https://arize.com/docs/phoenix/sdk-api-reference/rest-api (traces)."""

    title = "Phoenix"

    def _settings(self) -> tuple[str, Mapping[str, str]]:
        local = "http://localhost:6006"
        url = self._variable("PHOENIX_COLLECTOR_ENDPOINT", "PHOENIX_HOST", default=local)
        key = self._variable("PHOENIX_API_KEY", default="")  # none if there is no authentication
        url = url.partition("/v1/traces")[0]
        return url, {"Authorization": f"Bearer {key}"} if key else {}

    async def send(self, client: Client, scores: Sequence[TracedScore]) -> Sequence[str]:
        """Send all at once; one by one if a trace does not exist, because then none is stored."""
        data = [
            {
                "trace_id": score.trace,
                "name": score.metric,
                "annotator_kind": "LLM" if score.by_model else "CODE",
                "identifier": score.run,
                "result": {"score": score.value, "explanation": score.comment},
                "metadata": dict(score.metadata),
            }
            for score in scores
        ]
        try:
            await self._post(client, "/v1/trace_annotations?sync=true", {"data": data})
        except CallError as error:
            if error.status not in (404, 422):
                raise
            if len(scores) == 1:
                return [str(error)]
            return [why for score in scores for why in await self.send(client, [score])]
        return ()


class LangSmith(Platform):
    """LangSmith: https://api.smith.langchain.com/redoc (feedback)."""

    title = "LangSmith"
    at_once = 1
    trace_tags = ("runid", "traceid", "sourcerunid")

    def _settings(self) -> tuple[str, Mapping[str, str]]:
        default = "https://api.smith.langchain.com"
        url = self._variable("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT", default=default)
        headers = {"x-api-key": self._variable("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")}
        if workspace := self._variable("LANGSMITH_WORKSPACE_ID", default=""):
            headers["X-Tenant-Id"] = workspace
        return url, headers

    async def send(self, client: Client, scores: Sequence[TracedScore]) -> Sequence[str]:
        """Create feedback, or replace the feedback with this id; numbers have four decimals."""
        [score] = scores
        update = {"score": round(score.value, 4), "comment": score.comment}
        source = {"type": "model" if score.by_model else "api", "metadata": dict(score.metadata)}
        made = {**update, "id": str(score.id), "run_id": score.trace, "key": score.metric}
        made |= {"feedback_source": source}
        made |= {"session_id": score.session} if score.session else {}
        try:
            await self._post(client, "/feedback", made)
        except CallError as error:
            if error.status != 409:
                raise
            await self._post(client, f"/feedback/{score.id}", update, method="PATCH")
        return ()


PLATFORMS: Mapping[str, type[Platform]] = MappingProxyType(
    {"langfuse": Langfuse, "phoenix": Phoenix, "langsmith": LangSmith}
)
"""Name on the command line -> its platform."""


@dataclass
class Pushed:
    """What was sent, and what was not.

    Attributes:
        sent: how many scores were accepted.
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
    run: Run, platform: type[Platform], counts: Pushed, *, tag: str | None = None
) -> Iterator[TracedScore]:
    """Yield the scores of a run that are numbers and whose rows name their trace; count the others.

    The trace is in the tag, by default in one of the platform's usual tags; otherwise the id of a
    row is the id of its trace if it looks like one, as in files of spans.
    """
    models = {name: info.calls > 0 for name, info in run.metrics.items()}
    judge = run.manifest.judge or ""
    for row in run.rows:
        trace = _trace_of(row.sample, platform, tag)
        counts.untraced += trace is None
        for name, score in row.scores.items():
            if score.value is None:
                counts.unscored[score.state.value] += 1
            elif trace is not None:
                by_model = models.get(name, False) and not judge.startswith("offline")
                session = _tag(row.sample, "sessionid") or ""
                yield TracedScore(
                    id=uuid5(NAMESPACE_URL, f"ragstone:{run.manifest.run_id}/{row.index}/{name}"),
                    run=run.manifest.run_id,
                    trace=trace,
                    metric=name,
                    value=score.value,
                    comment=_comment(score),
                    metadata={
                        "ragstone_run": run.manifest.run_id,
                        "sample": row.sample.id,
                        **({"judge": judge} if models.get(name) else {}),
                        **({"imputed": "true"} if score.fallback else {}),
                    },
                    by_model=by_model,
                    session=session if _is_id(session) else None,
                )


async def push(
    run: Run, platform: Platform, *, tag: str | None = None, limits: Limits | None = None
) -> Pushed:
    """Send the scores of a run; those that are refused are counted.

    Failed and undefined scores are never sent, because they are not numbers.

    Raises:
        UsageError: the key was refused.
    """
    counts = Pushed()
    scores = traced_scores(run, type(platform), counts, tag=tag)
    connection = Connection(limits=limits or Limits(concurrency=AT_ONCE))
    async with Client(connection) as client:

        async def send(batch: Sequence[TracedScore]) -> None:
            try:
                refused = await platform.send(client, batch)
            except CallError as error:
                down = error.cause in (Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.UNREACHABLE)
                if down and error.status is None:
                    counts.stopped = str(error)
                    return
                refused = [str(error)] * len(batch)
            counts.refused.update(refused)
            counts.sent += len(batch) - len(refused)

        while not counts.stopped and (some := [*islice(scores, AT_ONCE * platform.at_once)]):
            starts = range(0, len(some), platform.at_once)
            await asyncio.gather(*(send(some[n : n + platform.at_once]) for n in starts))
    for _ in scores:  # counts the rest
        pass
    return counts


def _trace_of(sample: Sample, platform: type[Platform], tag: str | None) -> str | None:
    if tag is not None:
        value = sample.tags.get(tag)
        return None if value is None else str(value)
    found = (_tag(sample, name) for name in platform.trace_tags)
    known = next(filter(None, found), None)
    own = sample.id if _is_id(sample.id) else None
    # a run of LangSmith has its own id, beside that of its trace
    return (own or known) if platform is LangSmith else (known or own)


def _tag(sample: Sample, plain: str) -> str | None:
    for name, value in sample.tags.items():
        if name.rpartition(".")[2].replace("_", "").casefold() == plain and value:
            return str(value)
    return None


def _is_id(text: str) -> bool:
    """Return whether a text is 32 hex digits, with or without hyphens."""
    try:
        return UUID(text).hex == text.replace("-", "").casefold()
    except ValueError:
        return False


def _comment(score: Score) -> str | None:
    """Return the reason of a score, and the claims that are not supported."""
    claims = [
        f"{claim.label.value}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
        for claim in score.claims
        if claim.label is not Label.SUPPORTED
    ]
    lines = [*([score.reason] if score.reason else []), *claims]
    return "\n".join(lines)[:LONGEST] or None


def place_of(platform: Platform) -> str:
    """Return the host of a platform."""
    return urlsplit(platform.url).netloc or platform.url
