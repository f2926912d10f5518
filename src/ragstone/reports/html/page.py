"""The page of a run as one HTML file, and the templates and assets of all pages."""

import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ragstone._internal.files import write_file
from ragstone._internal.text import count, strip_controls
from ragstone.reports.format import (
    NO_VALUE,
    brief,
    cause_in_words,
    decimal,
    dollars,
    interval,
    margin,
    milliseconds,
    percent,
)
from ragstone.reports.html.charts import (
    OUTCOMES,
    Point,
    gauge,
    histogram,
    line,
    outcomes,
    reliability,
)
from ragstone.reports.html.samples import embed_samples
from ragstone.reports.view import Line, changed_settings, correction, summarize_run
from ragstone.reports.worst import excerpt, focus_of
from ragstone.results.run import Run
from ragstone.types.score import Correction

T = TypeVar("T")

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")
"""The page's scripts in order; they share one scope."""
STYLES = ("page.css",)
LEVELS = 5
"""Colours of scores, from the worst to the best."""
_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
_CUTOFF = re.compile(r"(.*)@(\d+)(.*)")
_FOLDER = Path(__file__).parent

Metrics = Mapping[str, Mapping[str, object]]
"""A run's metrics from its summary: figures by key, by the metric's name."""


def write_html(run: Run, path: Path) -> None:
    """Write a run as one HTML file that needs no network.

    Raises:
        UsageError: the file cannot be written.
    """
    write_file(path, partial(_write, run))


def _write(run: Run, path: Path) -> None:
    script, style = ("\n".join(map(read_asset, names)) for names in (SCRIPTS, STYLES))
    # the Content-Security-Policy allows exactly these two inline texts
    script_hash, style_hash = (
        b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    parts = render_parts(
        "file.html",
        **page_context(run),
        script_text=Markup(script),  # noqa: S704 - our own file
        script_hash=script_hash,
        style_text=Markup(style),  # noqa: S704 - our own file
        style_hash=style_hash,
    )
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(parts)


def page_context(run: Run, max_rows: int | None = None) -> dict[str, object]:
    """Return what the page of a run shows; if it has more rows, only the worst of them."""
    shown, notice = excerpt(run, max_rows)
    return {"run": summarize_run(run), "blocks": embed_samples(shown), "left_out": notice}


def render(template: str, **context: object) -> str:
    """Return a template filled with data; all texts are escaped and safe to show.

    Raises:
        UndefinedError: the template uses a name that the context does not have.
    """
    return _environment().get_template(template).render(context)


def render_parts(template: str, **context: object) -> Iterator[str]:
    return _environment().get_template(template).generate(context)


@cache
def read_asset(name: str) -> str:
    """Return a script or a style sheet.

    Raises:
        FileNotFoundError: there is no such file.
    """
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
        *(families, gaps, changed_settings, corrections, curves, figure, focus, level),
        *(count, dollars, milliseconds, percent, minus),
    )
    names: dict[str, object] = {each.__name__: each for each in filters}
    names |= {"decimal": _with_minus(decimal), "interval": _with_minus(interval)}
    cast("dict[str, object]", environment.filters).update(names)
    cast("dict[str, object]", environment.globals).update(
        {each.__name__: each for each in (gauge, histogram, outcomes, reliability, margin)},
        version=version("ragstone"),
        OUTCOMES=OUTCOMES,
        scripts=SCRIPTS,
        styles=STYLES,
    )
    return environment


def _strip_controls(value: object) -> object:
    return strip_controls(value) if type(value) is str else value  # Markup stays as it is


def minus(text: str) -> str:
    return _MINUS.sub("\N{MINUS SIGN}", text)


def _with_minus(write: Callable[[T], str]) -> Callable[[T], str]:
    return lambda value: minus(write(value))


def figure(value: float | str | None, *, sign: bool = False) -> str:
    if value is None or value == NO_VALUE:
        return NO_VALUE
    number = float(value)
    shown = "+" * (sign and number > 0) + brief(number)
    return Markup('<span title="{}">{}</span>').format(minus(decimal(number)), minus(shown))


def level(value: float | None, figures: Mapping[str, object]) -> str:
    low, high = cast("Sequence[float | None]", figures.get("range") or (None, None))
    if value is None or low is None or high is None or not 0 < high - low < math.inf:
        return ""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    good = share if figures["higher_is_better"] else 1 - share
    return f"level-{min(int(LEVELS * good), LEVELS - 1)}"


def focus(run: Mapping[str, object]) -> str | None:
    metrics = cast("Metrics", run["metrics"])
    gates = cast("Sequence[Mapping[str, object]]", run.get("gates") or ())
    judged = {name: figures.get("family") == "generation" for name, figures in metrics.items()}
    return focus_of(((str(gate["metric"]), bool(gate["passed"])) for gate in gates), judged)


def families(metrics: Metrics) -> dict[str, Metrics]:
    """Return the metrics of each family, in the run's order."""
    names = dict.fromkeys(str(figures.get("family", "")) for figures in metrics.values())
    return {
        family: {
            name: figures
            for name, figures in metrics.items()
            if str(figures.get("family", "")) == family
        }
        for family in names
    }


def curves(metrics: Metrics) -> dict[str, Markup]:
    """Return a chart of the mean by k for each metric that has several."""
    by_k: dict[str, dict[int, Mapping[str, object]]] = {}
    for name, figures in metrics.items():
        if (match := _CUTOFF.fullmatch(name)) and figures["mean"] is not None:
            by_k.setdefault(f"{match[1]}@k{match[3]}", {})[int(match[2])] = figures
    charts: dict[str, Markup] = {}
    for name, found in by_k.items():
        if len(found) > 1:
            points: list[Point] = []
            for k, figures in sorted(found.items()):
                ends = cast("Sequence[float] | None", figures["interval"])
                points.append(Point(str(k), cast("float", figures["mean"]), ends))
            ends = cast("Sequence[float | None]", next(iter(found.values()))["range"])
            charts[name] = line(points, ends, title=f"{name} by k")
    return charts


def corrections(found: Mapping[str, object]) -> list[Line]:
    return [*correction(Correction.model_validate(found))] if found else []


class Gap(NamedTuple):
    """Why scores are missing, and the titles of the metrics with this reason and number.

    `cause` is None for undefined scores.
    """

    cause: str | None
    why: str
    samples: int
    titles: tuple[str, ...]


def gaps(metrics: Metrics, titles: Mapping[str, str]) -> list[Gap]:
    found: dict[tuple[str | None, str, int], list[str]] = {}
    for name, figures in metrics.items():
        title = titles.get(name, name)
        failures = cast("Iterable[Mapping[str, object]]", figures.get("failures", ()))
        for each in failures:
            cause = cause_in_words(str(each["cause"]))
            key = (cause, f"first {each['first']}", cast("int", each["count"]))
            found.setdefault(key, []).append(title)
        reasons = cast("Mapping[str, int]", figures.get("reasons", {}))
        for reason, number in reasons.items():
            found.setdefault((None, reason, number), []).append(title)
    listed = [Gap(*key, tuple(names)) for key, names in found.items()]
    return sorted(listed, key=lambda gap: (gap.cause is None, -gap.samples))
