"""The page of a run as one HTML file, and the templates and assets of all pages."""

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Literal, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import TypeAdapter

from ragstone._internal.fields import tag_text
from ragstone._internal.files import write_file
from ragstone._internal.text import count, one_line, strip_controls
from ragstone.errors import RagstoneError
from ragstone.metrics import Metric, get
from ragstone.metrics.claim_checks import Check, ClaimVerifier
from ragstone.reports import format as formats
from ragstone.reports import view
from ragstone.reports.html import charts
from ragstone.reports.view import metric_lines, scale, texts_read
from ragstone.reports.worst import excerpt
from ragstone.results.outcomes import FOUND, OUTCOMES
from ragstone.results.run import Run
from ragstone.results.systems import LETTERS
from ragstone.results.verdict import Cell, Verdict
from ragstone.types.claim import JudgedClaim
from ragstone.types.reply import Exchange, Failure, Reply
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")  # share a scope
STYLES = ("page.css",)
LEVELS = 5  # colors of scores, from the worst to the best
MAX_TEXT = 1000  # characters of a query or a tag in the list of samples
CHUNK = 50  # samples in one block, which a browser unpacks to show one of them
_ANY: TypeAdapter[object] = TypeAdapter(object)
_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
_CUTOFF = re.compile(r"(.*)@(\d+)(.*)")
_FOLDER = Path(__file__).parent


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
    return {"run": run, "blocks": embed_samples(shown, run.verdict), "left_out": notice}


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
    filters = by_cutoff, count, figure, formats.decimal, level, minus, view.changed_settings
    cast("dict[str, object]", environment.filters).update({each.__name__: each for each in filters})
    cast("dict[str, object]", environment.globals).update(
        {each.__name__: each for each in (charts.gauge, curves, metric_notes, scale)},
        view=view,
        LABELS=formats.LABELS,
        OUTCOMES=OUTCOMES,
        FOUND=FOUND,
        ends=formats.ends,
        interval=formats.interval,
        version=version("ragstone"),
        CHUNK=CHUNK,
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


def level(value: float | None, run: Run, name: str) -> str:
    if value is None or (ends := scale(run, name)) is None:
        return ""
    share = min(max((value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)
    good = share if run.metrics[name].higher_is_better else 1 - share
    return f"level-{min(int(LEVELS * good), LEVELS - 1)}"


def by_cutoff(names: Iterable[str]) -> dict[str, dict[int | None, str]]:
    """Return the metrics that differ in k alone by their name without it, and by k."""
    found: dict[str, dict[int | None, str]] = {}
    for name in names:
        match = _CUTOFF.fullmatch(name)
        base, k = (f"{match[1]}{match[3]}", int(match[2])) if match else (name, None)
        found.setdefault(base, {})[k] = name
    return found


def metric_notes(run: Run) -> dict[str, str]:
    """Return the notes on each metric's means, by its name without k."""
    notes = {str(row.cells[0]): str(row.cells[-1]) for row in metric_lines(run)}
    return {
        base: "; ".join(dict.fromkeys(notes[name] for name in names.values() if notes[name]))
        for base, names in by_cutoff(run.metrics).items()
    }


def curves(*runs: Run) -> Iterator[tuple[str, Markup]]:
    """Yield a chart of the mean by k for each metric that has several, with all runs."""
    for base, names in by_cutoff(runs[0].metrics).items():
        by_k = {str(k): names[k] for k in sorted(k for k in names if k is not None)}
        found: dict[str, list[charts.Point]] = {}
        for letter, run in zip(LETTERS, runs, strict=False):
            means = {k: run.summary().get(name) for k, name in by_k.items()}
            found[letter] = [
                # several intervals in one chart would hide each other
                charts.Point(k, each.mean, each.interval if len(runs) == 1 else None)
                for k, each in means.items()
                if each and each.mean is not None
            ]
        if all(len(points) > 1 for points in found.values()):
            ends = runs[0].metrics[next(iter(names.values()))].range
            yield base, charts.lines(found, ends, title=f"{base} by k")


def sample_summary(row: Row, cell: Cell | None = None) -> dict[str, object]:
    """Return a sample as listed; what is not set is left out of scores and outcomes."""
    sample = row.sample
    return {
        **({"outcome": cell.outcome, "found": cell.found} if cell else {}),
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


def embed_samples(run: Run, verdict: Verdict) -> Iterator[tuple[int | None, str]]:
    """Yield samples as gzipped JSON in base64: numbered chunks, then the list (None)."""
    rows, listing = iter(run.rows), list[dict[str, object]]()
    cells = {place: cell for cell in verdict.cells for place in cell.rows}
    for number, chunk in enumerate(iter(lambda: list(islice(rows, CHUNK)), [])):
        yield number, _packed(list(map(sample_document, chunk)))
        listing += (sample_summary(row, cells.get(row.index)) for row in chunk)
    yield None, _packed(listing)


def _packed(documents: Sequence[object]) -> str:
    # ASCII with escapes, because a lone surrogate has no UTF-8
    text = json.dumps(documents, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()
