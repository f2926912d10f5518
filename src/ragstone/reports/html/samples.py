"""Samples as plain data for the pages' script: short for a list, in full, or embedded in a file."""

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Literal, cast

from pydantic import TypeAdapter

from ragstone._internal.fields import tag_text
from ragstone._internal.text import one_line
from ragstone.errors import RagstoneError
from ragstone.evaluation.rescore import PolicyScores, policy_scores
from ragstone.metrics import Metric, get
from ragstone.metrics.claim_checks import Check, ClaimVerifier
from ragstone.reports.format import CAUSES, finite
from ragstone.reports.view import texts_read
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.reply import Exchange, Failure, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

MAX_TEXT = 1000
"""Characters of a query or a tag in the list of samples."""
_ANY: TypeAdapter[object] = TypeAdapter(object)


def sample_summary(row: Row) -> dict[str, object]:
    """Return a sample as listed: its place, id, query, tags and scores.

    Scores have `passed` and `fallback` only if there is something to show, for short files.
    """
    sample = row.sample
    return {
        "place": row.index,
        "id": sample.id,
        "query": one_line(sample.query[: 2 * MAX_TEXT], MAX_TEXT),
        "tags": {
            name: tag_text(value)[:MAX_TEXT]
            for name, value in sample.tags.items()
            if value is not None
        },
        "scores": {
            name: {"state": score.state, "value": score.value}
            | ({} if score.passed is None else {"passed": score.passed})
            | ({"fallback": True} if score.fallback else {})
            for name, score in row.scores.items()
        },
    }


def sample_document(row: Row, policies: PolicyScores) -> dict[str, object]:
    keys = (
        "query", "response", "reference", "reference_claims", "relevance", "notes", "blame",
        "usage",
    )  # fmt: skip
    fields, sample = row.to_dict(), row.sample
    scores = {name: _score_document(name, score, sample) for name, score in row.scores.items()}
    graded = any(score["reads"] == "ranking" for score in scores.values())
    document: dict[str, object] = {
        **sample_summary(row),
        **{key: fields[key] for key in keys},
        "history": [each.model_dump() for each in sample.history or ()],
        "contexts": sample.contexts and list(map(_context_document, sample.contexts)),
        "ranking": list(sample.ranked_ids),
        "ranking_texts": [_context_document(each) for each in sample.ranking or () if graded],
        "latency_ms": row.latency_ms,
        "failures": {
            name: f"{CAUSES[why.cause]}: {why.message}" for name, why in row.failures.items()
        },
        "scores": scores,
        "policies": {
            name: {
                policy: {"state": score.state.value, "value": score.value, "passed": score.passed}
                for policy, score in scores.items()
            }
            for name, scores in policies.items()
        },
        "transcript": [_exchange_document(exchange) for exchange in row.exchanges],
    }
    return cast("dict[str, object]", finite(document))


def _context_document(context: Context) -> dict[str, object]:
    # six digits, because more are noise
    score = None if context.score is None else float(f"{context.score:.6g}")
    return {"id": context.id, "text": context.text, "score": score}


def _score_document(name: str, score: Score, sample: Sample) -> dict[str, object]:
    document = score.model_dump(mode="json", exclude={"truths"})  # the transcript has them
    sources = claim_sources(name, score.claims)
    claims = [{**claim, "of": of} for claim, of in zip(document["claims"], sources, strict=True)]
    metric = _find_metric(name)
    reads, _ = texts_read(sample, metric.needs if metric else ())
    cause = score.cause and CAUSES[score.cause]
    return {**document, "claims": claims, "reads": reads, "cause": cause}


def _exchange_document(exchange: Exchange) -> dict[str, object]:
    outcome = exchange.outcome
    reply = outcome if isinstance(outcome, Reply) else None
    failure = outcome if isinstance(outcome, Failure) else None
    # `raw` is the same answer as the model wrote it
    value = _ANY.dump_python(reply.value, mode="json") if reply and not reply.raw else None
    return {
        "kind": exchange.kind,
        "latency_ms": round(exchange.latency_ms, 1),
        "attempts": outcome.attempts,
        "askers": exchange.askers,
        "raw": outcome.raw,
        "value": value,
        "notes": list(reply.notes) if reply else [],
        "failure": failure and {"cause": CAUSES[failure.cause], "message": failure.message},
        "usage": {name: number for name, number in vars(outcome.usage).items() if number},
    }


def claim_sources(
    metric: str, claims: Sequence[JudgedClaim]
) -> list[Literal["response", "reference"]]:
    """Return whether each claim of a score comes from the response or the reference.

    A stored score does not record it, but lists the claims of one check after another, and
    neighboring checks compare claims with different texts.
    """
    found = _find_metric(metric) if claims else None
    checks = iter(found.active_checks if isinstance(found, ClaimVerifier) else ())
    sources: list[Literal["response", "reference"]] = []
    check: Check | None = None
    for claim in claims:
        while check is None or check.against != claim.against:
            # for an unknown metric, the usual check against these texts
            usual = "reference" if claim.against == "response" else "response"
            check = next(checks, None) or Check(usual, claim.against)
        sources.append(check.of)
    return sources


@lru_cache(maxsize=256)
def _find_metric(name: str) -> Metric | None:
    try:
        return get(name)
    except RagstoneError:
        return None


CHUNK = 50
"""Samples in one block, which a browser unpacks to show one of them."""


@dataclass(frozen=True)
class Block:
    """A block of samples: ASCII JSON, compressed with gzip, in base64.

    Attributes:
        number: index of a chunk of full samples, from 0; None for the list of all samples.
        rows: samples in one chunk.
    """

    number: int | None
    text: str
    rows: int = CHUNK


def embed_samples(run: Run) -> Iterator[Block]:
    rows, number, listing = iter(run.rows), 0, _GzipList()
    while chunk := list(islice(rows, CHUNK)):
        block = _GzipList()
        for row, scores in zip(chunk, policy_scores(chunk, run.metrics), strict=True):
            block.append(sample_document(row, scores))
            listing.append(sample_summary(row))
        yield Block(number, block.finish())
        number += 1
    yield Block(None, listing.finish())


class _GzipList:
    """A JSON list that is compressed while it grows."""

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS, memLevel=9)
        self._parts: list[bytes] = []
        self._separator = "["

    def append(self, item: object) -> None:
        # ASCII with escapes, because a lone surrogate has no UTF-8
        text = json.dumps(item, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        self._parts.append(self._gzip.compress((self._separator + text).encode()))
        self._separator = ","

    def finish(self) -> str:
        end = "[]" if self._separator == "[" else "]"
        self._parts.append(self._gzip.compress(end.encode()) + self._gzip.flush())
        return b64encode(b"".join(self._parts)).decode()
