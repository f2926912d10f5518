"""One sample as plain data, as the pages' script reads it: short in a list, or whole."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal, cast

from pydantic import TypeAdapter

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.fields import tag_text
from ragstone._internal.text import one_line
from ragstone.errors import QuestionNotSupportedError, RagstoneError
from ragstone.evaluation.scoring import rescore_row
from ragstone.metrics import ClaimMetric, get
from ragstone.metrics.claim_checks import Check, ClaimVerifier
from ragstone.reports.table_rows import finite
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.policy import POLICIES
from ragstone.types.reply import Exchange, Failure, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Context
from ragstone.types.score import MetricInfo, Score

# SideBySide: what each policy makes of a row's verdicts, from its ledger; nobody is asked.

Sides = Mapping[str, Mapping[str, Score]]
"""Metric name -> policy -> the score under it."""


class SideBySide:
    """Scores rows by every policy, for those of a run's metrics that have one."""

    def __init__(self, metrics: Mapping[str, MetricInfo]) -> None:
        found = {name: _known(name) for name, info in metrics.items() if info.policy}
        self._metrics = {
            name: {
                policy: replace(metric, policy=policy, include_reason=False) for policy in POLICIES
            }
            for name, metric in found.items()
            if metric is not None
        }

    def of(self, rows: Sequence[Row]) -> list[Sides]:
        """Return the scores of each row; none where its ledger does not hold what it takes."""
        told: list[Sides] = []

        async def score() -> None:
            told.extend([await self._sides(row) for row in rows])

        if not self._metrics:
            return [{} for _ in rows]
        finish_in_thread(score)
        return told

    async def _sides(self, row: Row) -> Sides:
        outcomes = [exchange.outcome for exchange in row.exchanges]
        if any(isinstance(outcome, Reply) and outcome.value is None for outcome in outcomes):
            return {}  # stored without its transcript
        every = [each for policies in self._metrics.values() for each in policies.values()]
        try:
            again = await rescore_row(row, every)
        except QuestionNotSupportedError:
            return {}
        return {
            name: {policy: again.scores[str(metric)] for policy, metric in policies.items()}
            for name, policies in self._metrics.items()
        }


def _known(name: str) -> ClaimMetric | None:
    """Return the metric of that name; None if it is a stranger's that is not loaded."""
    try:
        metric = get(name)
    except RagstoneError:
        return None
    return metric if isinstance(metric, ClaimMetric) else None


# Repeats: what a sample's claims say again of its texts, left out where space is dear.

Data = Mapping[str, object]


def without_repeats(told: Data) -> dict[str, object]:
    """Return a whole sample with null for each claim and quote that a text has at their place.

    The page's script puts them back.
    """
    scores = cast("Mapping[str, Data]", told["scores"])
    return {
        **told,
        "scores": {
            name: {**score, "claims": [_claim(each, told) for each in _several(score["claims"])]}
            for name, score in scores.items()
        },
    }


def _claim(claim: Data, told: Data) -> Data:
    text = cast("str | None", told[str(claim["of"])])
    quotes = [_quote(each, claim, told) for each in _several(claim["evidence"])]
    same = _stands(claim["text"], text, claim["span"])
    return {**claim, "text": None if same else claim["text"], "evidence": quotes}


def _quote(item: Data, claim: Data, told: Data) -> Data:
    contexts = _several(told["contexts"])
    place = cast("int", item["context"])
    if claim["against"] != "contexts" or place >= len(contexts):
        return item
    text = cast("str", contexts[place]["text"])
    same = _stands(item["quote"], text, (item["start"], item["end"]))
    return {**item, "quote": None} if same else item


def _stands(words: object, text: str | None, span: object) -> bool:
    """Tell whether a text has these very words at that place."""
    start, end = cast("Sequence[int | None]", span or (None, None))
    return text is not None and start is not None and end is not None and text[start:end] == words


def _several(found: object) -> Sequence[Data]:
    return cast("Sequence[Data]", found or ())


# ClaimOrigins: whose claims a score's are, the response's or the reference's.

Of = Literal["response", "reference"]


def origins(metric: str, claims: Sequence[JudgedClaim]) -> list[Of]:
    """Return for each claim of a metric's score whose it is.

    Scores hold the claims of one check after the other's, and checks that follow one another
    differ in what their claims are held against.
    """
    if not claims:
        return []
    checks = iter(_checks(metric))
    return list(_told(claims, checks))


def _told(claims: Sequence[JudgedClaim], checks: Iterator[Check]) -> Iterator[Of]:
    check: Check | None = None
    for claim in claims:
        while check is None or check.against != claim.against:
            check = next(checks, None) or _likely(claim)
        yield check.of


def _likely(claim: JudgedClaim) -> Check:
    """Return the commonest check against those texts: for a metric that is not loaded."""
    return Check("reference" if claim.against == "response" else "response", claim.against)


@lru_cache(maxsize=256)
def _checks(name: str) -> tuple[Check, ...]:
    try:
        metric = get(name)
    except RagstoneError:
        return ()
    return metric.active_checks if isinstance(metric, ClaimVerifier) else ()


LONGEST = 1000
"""Characters of a query, and of a tag, that a list tells."""

_ANYTHING: TypeAdapter[object] = TypeAdapter(object)


def listed(row: Row) -> dict[str, object]:
    """Return what a list of samples tells of one: its place, id and query, and its scores."""
    sample = row.sample
    tags = {
        name: tag_text(value)[:LONGEST] for name, value in sample.tags.items() if value is not None
    }
    return {
        "place": row.index,
        "id": sample.id,
        "query": one_line(sample.query[: 2 * LONGEST], LONGEST),
        "tags": tags,
        "scores": {
            name: {
                "state": score.state.value,
                "value": score.value,
                "passed": score.passed,
                "fallback": score.fallback,
                "cause": score.cause,
            }
            for name, score in row.scores.items()
        },
    }


def whole(row: Row, policies: Sides) -> dict[str, object]:
    """Return all that is known of a sample; `policies` is what `SideBySide` makes of the row."""
    told, sample = row.to_dict(), row.sample
    kept = (
        "query",
        "response",
        "reference",
        "reference_claims",
        "relevance",
        "notes",
        "blame",
        "usage",
        "contexts",
    )
    data: dict[str, object] = {
        **listed(row),
        **{name: told[name] for name in kept},
        "contexts": None
        if sample.contexts is None
        else [_context(each) for each in sample.contexts],
        "ranking": list(sample.ranked_ids),
        "latency_ms": row.latency_ms,
        "lacking": {name: f"{why.cause}: {why.message}" for name, why in row.lacking.items()},
        "scores": {name: _score(name, score) for name, score in row.scores.items()},
        "policies": {
            name: {policy: _side(score) for policy, score in scores.items()}
            for name, scores in policies.items()
        },
        "transcript": [_exchange(exchange) for exchange in row.exchanges],
    }
    return cast("dict[str, object]", finite(data))


def _context(context: Context) -> dict[str, object]:
    """Return a context; its score to six digits, as more are noise."""
    score = context.score
    rounded = None if score is None else float(f"{score:.6g}")
    return {"id": context.id, "text": context.text, "score": rounded}


def _score(name: str, score: Score) -> dict[str, object]:
    """Return a score whole; each claim of it says of which text it is."""
    told = score.model_dump(mode="json")
    of = origins(name, score.claims)
    claims = [{**claim, "of": whose} for claim, whose in zip(told["claims"], of, strict=True)]
    return {**told, "claims": claims}


def _side(score: Score) -> Mapping[str, object]:
    return {"state": score.state.value, "value": score.value, "passed": score.passed}


def _exchange(exchange: Exchange) -> dict[str, object]:
    """Return what was asked and came back; `value` where there is no `raw` that says the same."""
    outcome = exchange.outcome
    reply = outcome if isinstance(outcome, Reply) else None
    failure = outcome if isinstance(outcome, Failure) else None
    return {
        "kind": exchange.kind,
        "latency_ms": round(exchange.latency_ms, 1),
        "attempts": outcome.attempts,
        "askers": exchange.askers,
        "raw": outcome.raw,
        "value": _ANYTHING.dump_python(reply.value, mode="json")
        if reply and not reply.raw
        else None,
        "notes": list(reply.notes) if reply else [],
        "failure": failure and {"cause": failure.cause, "message": failure.message},
        "usage": {name: number for name, number in vars(outcome.usage).items() if number},
    }


# EmbeddedRows: a run's samples as compressed blocks of text, for a page without a server.

CHUNK = 50
"""Samples in one block: what a browser unpacks to show one of them."""
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True)
class Block:
    """One block: JSON in ASCII, by gzip, in base64.

    Attributes:
        number: which chunk of whole samples it is, from 0; None for the list of all.
        rows: samples in one chunk.
    """

    number: int | None
    text: str
    rows: int = CHUNK


def blocks(run: Run) -> Iterator[Block]:
    """Return the samples, some a block as they are read, and at last the list of them all."""
    sides = SideBySide(run.metrics)
    left, number, every = iter(run.rows), 0, _Packed()
    while rows := list(islice(left, CHUNK)):
        packed = _Packed()
        for row, policies in zip(rows, sides.of(rows), strict=True):
            packed.add(without_repeats(whole(row, policies)))
            every.add(listed(row))
        yield Block(number, packed.text())
        number += 1
    yield Block(None, every.text())


class _Packed:
    """A JSON list that is compressed as it grows."""

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(9, wbits=_GZIP, memLevel=9)
        self._done: list[bytes] = []
        self._before = "["

    def add(self, item: object) -> None:
        # ASCII with escapes, because a lone surrogate in the data has no UTF-8
        text = json.dumps(item, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        self._done.append(self._gzip.compress((self._before + text).encode()))
        self._before = ","

    def text(self) -> str:
        end = "[]" if self._before == "[" else "]"
        self._done.append(self._gzip.compress(end.encode()) + self._gzip.flush())
        return b64encode(b"".join(self._done)).decode()
