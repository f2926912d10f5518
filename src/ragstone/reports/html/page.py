"""The page of a run as one HTML file, and the templates and assets of all pages."""

import gzip
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import TypeAdapter

from ragstone._internal.fields import tag_text
from ragstone._internal.files import write_file
from ragstone._internal.text import count, one_line, strip_controls
from ragstone.errors import Cause, RagstoneError
from ragstone.metrics import Metric, get
from ragstone.metrics.claim_checks import Check, ClaimVerifier
from ragstone.reports import format as formats
from ragstone.reports.html import charts
from ragstone.reports.view import Line, changed_settings, correction, summarize_run, texts_read
from ragstone.reports.worst import excerpt
from ragstone.results.run import Run
from ragstone.results.systems import LETTERS
from ragstone.types.claim import JudgedClaim
from ragstone.types.reply import Exchange, Failure, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Correction, Score

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")  # share a scope
STYLES = ("page.css",)
LEVELS = 5  # colours of scores, from the worst to the best
MAX_TEXT = 1000  # characters of a query or a tag in the list of samples
CHUNK = 50  # samples in one block, which a browser unpacks to show one of them
_ANY: TypeAdapter[object] = TypeAdapter(object)
_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
_CUTOFF = re.compile(r"(.*)@(\d+)(.*)")
_FOLDER = Path(__file__).parent

Metrics = Mapping[str, Mapping[str, Any]]  # from a run's summary: metric -> figures by key


def write_html(run: Run, path: Path) -> None:
    write_file(path, lambda part: write_page(part, "file.html", **page_context(run)))


def write_page(path: Path, template: str, **context: object) -> None:
    for kind, names in (("script", SCRIPTS), ("style", STYLES)):
        text = "\n".join(map(read_asset, names))
        context[f"{kind}_text"] = Markup(text)  # noqa: S704 - our own file
        # the Content-Security-Policy allows exactly these two inline texts
        context[f"{kind}_hash"] = b64encode(sha256(text.encode()).digest()).decode()
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(_environment().get_template(template).generate(context))


def page_context(
    run: Run, max_rows: int | None = None, *, also: Row | None = None
) -> dict[str, object]:
    """Return what the page of a run shows; if it has more rows, the worst of them, and `also`."""
    shown, notice = excerpt(run, max_rows)
    if also is not None and all(row.index != also.index for row in shown.rows):
        shown = replace(shown, rows=[*shown.rows, also])
    return {"run": summarize_run(run), "blocks": embed_samples(shown), "left_out": notice}


def render(template: str, **context: object) -> str:
    """Return a template filled with data; all texts are escaped and safe to show."""
    return _environment().get_template(template).render(context)


@cache
def read_asset(name: str) -> str:
    folder = _FOLDER / "assets"
    if name not in {path.name for path in folder.iterdir()}:
        raise FileNotFoundError(f"there is no asset {name!r}")
    return (folder / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_strip_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (
        *(families, gaps, changed_settings, corrections, curves, figure, level),
        *(count, formats.decimal, formats.dollars, formats.interval, formats.milliseconds),
        *(formats.percent, minus),
    )
    cast("dict[str, object]", environment.filters).update({each.__name__: each for each in filters})
    drawn = charts.gauge, charts.histogram, charts.outcomes, charts.reliability
    cast("dict[str, object]", environment.globals).update(
        {each.__name__: each for each in (*drawn, formats.margin)},
        version=version("ragstone"),
        CHUNK=CHUNK,
        OUTCOMES=charts.OUTCOMES,
        scripts=SCRIPTS,
        styles=STYLES,
    )
    return environment


def _strip_controls(value: object) -> object:
    return strip_controls(value) if type(value) is str else value  # Markup stays as it is


def minus(text: str) -> str:
    return _MINUS.sub("\N{MINUS SIGN}", text)


def figure(value: float | str | None, *, sign: bool = False) -> str:
    if value is None or value == formats.NO_VALUE:
        return formats.NO_VALUE
    number = float(value)
    shown = "+" * (sign and number > 0) + formats.brief(number)
    return Markup('<span title="{}">{}</span>').format(minus(formats.decimal(number)), minus(shown))


def level(value: float | None, figures: Mapping[str, Any]) -> str:
    low, high = figures.get("range") or (None, None)
    if value is None or low is None or high is None or not 0 < high - low < math.inf:
        return ""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    good = share if figures["higher_is_better"] else 1 - share
    return f"level-{min(int(LEVELS * good), LEVELS - 1)}"


def families(metrics: Metrics) -> Mapping[str, Metrics]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, figures in metrics.items():
        found.setdefault(figures.get("family", ""), {})[name] = figures
    return found


def curves(metrics: Metrics, *more: Metrics) -> dict[str, Markup]:
    """Return a chart of the mean by k for each metric that has several, with all systems."""
    by_k: dict[str, dict[str, dict[int, charts.Point]]] = {}
    ranges: dict[str, charts.Ends] = {}
    for letter, system in zip(LETTERS, (metrics, *more), strict=False):
        for name, figures in system.items():
            if (match := _CUTOFF.fullmatch(name)) and figures["mean"] is not None:
                curve, k = f"{match[1]}@k{match[3]}", match[2]
                point = charts.Point(k, figures["mean"], figures["interval"])
                by_k.setdefault(curve, {}).setdefault(letter, {})[int(k)] = point
                ranges.setdefault(curve, figures["range"])
    return {
        name: charts.lines(
            {letter: [points[k] for k in sorted(points)] for letter, points in found.items()},
            ranges[name],
            title=f"{name} by k",
        )
        for name, found in by_k.items()
        if len(found["a"]) > 1
    }


def corrections(found: Mapping[str, object]) -> list[Line]:
    return [*correction(Correction.model_validate(found))] if found else []


class Gap(NamedTuple):
    """Why scores of some metrics are missing; `cause` is None for undefined scores."""

    cause: str | None  # None for undefined scores
    why: str
    samples: int
    titles: tuple[str, ...]


def gaps(metrics: Metrics, titles: Mapping[str, str]) -> list[Gap]:
    found: dict[tuple[str | None, str, int], list[str]] = {}
    for name, figures in metrics.items():
        title = titles.get(name, name)
        for each in figures.get("failures", ()):
            key = formats.CAUSES[Cause(each["cause"])], f"first {each['first']}", each["count"]
            found.setdefault(key, []).append(title)
        for reason, number in figures.get("reasons", {}).items():
            found.setdefault((None, reason, number), []).append(title)
    listed = [Gap(*key, tuple(names)) for key, names in found.items()]
    return sorted(listed, key=lambda gap: (gap.cause is None, -gap.samples))


def sample_summary(row: Row) -> dict[str, object]:
    """Return a sample as listed; scores omit `passed` and `fallback` if not set, to be short."""
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


def sample_document(row: Row) -> dict[str, object]:
    fields, sample = row.to_dict(), row.sample
    keys = "query response reference reference_claims relevance notes blame usage".split()
    scores = {name: _score_document(name, score, sample) for name, score in row.scores.items()}
    graded = any(score["reads"] == "ranking" for score in scores.values())
    document: dict[str, object] = {
        **sample_summary(row),
        **{key: fields[key] for key in keys},
        "reference": sample.closest_reference,
        "accepted_answers": list(sample.references),
        "history": [each.model_dump() for each in sample.history or ()],
        "contexts": sample.contexts and list(map(_context_document, sample.contexts)),
        "ranking": list(sample.ranked_ids),
        "ranking_texts": [_context_document(each) for each in sample.ranking or () if graded],
        "latency_ms": row.latency_ms,
        "failures": {
            name: f"{formats.CAUSES[why.cause]}: {why.message}"
            for name, why in row.failures.items()
        },
        "scores": scores,
        "transcript": list(map(_exchange_document, row.exchanges)),
    }
    return cast("dict[str, object]", formats.finite(document))


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
    cause = score.cause and formats.CAUSES[score.cause]
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
        "failure": failure and {"cause": formats.CAUSES[failure.cause], "message": failure.message},
        "usage": {name: number for name, number in vars(outcome.usage).items() if number},
    }


def claim_sources(
    metric: str, claims: Sequence[JudgedClaim]
) -> list[Literal["response", "reference"]]:
    # a stored score does not record it, but lists the claims of one check after another, and
    # neighboring checks compare claims with different texts
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


def embed_samples(run: Run) -> Iterator[tuple[int | None, str]]:
    """Yield samples as gzipped JSON in base64: numbered chunks, then the list (None)."""
    rows, listing = iter(run.rows), list[dict[str, object]]()
    for number, chunk in enumerate(iter(lambda: list(islice(rows, CHUNK)), [])):
        yield number, _packed(list(map(sample_document, chunk)))
        listing += map(sample_summary, chunk)
    yield None, _packed(listing)


def _packed(documents: Sequence[object]) -> str:
    # ASCII with escapes, because a lone surrogate has no UTF-8
    text = json.dumps(documents, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()
