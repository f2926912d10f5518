"""What a run states, and in which words: lines and grids, from which every report is written."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import cast

from rich.text import Text

from ragstone._internal.fields import base_name
from ragstone._internal.text import count, join_by_reason
from ragstone.metrics import catalogue
from ragstone.reports.format import (
    CAUSES,
    NO_VALUE,
    brief,
    decimal,
    dollars,
    interval,
    milliseconds,
)
from ragstone.reports.worst import checked_metrics, focus_metric, threshold_metrics, worst_samples
from ragstone.results.grouping import Grouping
from ragstone.results.judge_test import load_test
from ragstone.results.outcomes import BY_CONTEXTS, Found, Outcome
from ragstone.results.run import Run
from ragstone.results.verdict import Verdict, percent
from ragstone.types.claim import ClaimIssue
from ragstone.types.config import Plan
from ragstone.types.questions import BY_SPELLING
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Correction, MetricInfo, Summary


class Tone(StrEnum):
    PLAIN = "plain"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True)
class Line:
    """A sentence about `label`; like every cell, it may have text from outside."""

    words: str
    tone: Tone = Tone.PLAIN
    label: str = ""


@dataclass(frozen=True)
class GridRow:
    """A row of a grid; the tone is that of its last cell."""

    cells: tuple[str | Text, ...]
    tone: Tone = Tone.PLAIN
    sample: tuple[str, int] | None = None  # of a comparison: a metric, and its place in A


@dataclass(frozen=True)
class Grid:
    """A table; `figures` names columns of numbers, `prose` columns of long texts."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    figures: frozenset[str] = frozenset()
    prose: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Section:
    """A heading, and the lines and grids below it; the `name` is for programs."""

    name: str
    title: str
    parts: tuple[Line | Grid, ...]


MISSED = 0.2  # of injected errors: a judge that misses more is a warning
CAPPED = ("precision", "f1")  # at rank k, these are below 1 if fewer documents are relevant
LISTED = 3  # reasons and notes; the rest are counted
CLAIM_PROBLEMS: Mapping[ClaimIssue, str] = {
    ClaimIssue.NOT_RETRIEVED: "missing because not retrieved",
    ClaimIssue.IGNORED: "missing although retrieved",
    ClaimIssue.CONTRADICTED: "contradicted by the contexts",
    ClaimIssue.NOT_FOUND: "not found in any context",
}
SHARED: Mapping[str, tuple[str, str]] = {  # what rows may share by default, in words
    "query": ("query", "queries"),
    "contexts": ("set of contexts", "sets of contexts"),
    "source": ("source", "sources"),
    "conversation": ("conversation", "conversations"),
}


def status(run: Run) -> Line | None:
    """Return whether the gates hold and the rows are complete; None without gates or trouble."""
    gates = run.gates()
    of = count(len(gates), "gate")
    if run.partial:
        return Line(f"✗ {partial_notice(run)}", Tone.BAD)
    if run.too_much_failed:
        return Line(f"✗ too many failures: {run.too_much_failed[0]}", Tone.BAD)
    if failed := [str(gate) for gate in gates if gate.passed is False]:
        return Line(f"✗ {len(failed):,} of {of} failed: {'; '.join(failed)}", Tone.BAD)
    if run.failed_tests:
        return Line(f"✗ {run.failed_tests}", Tone.BAD)
    if undecided := [str(gate) for gate in gates if gate.passed is None]:
        return Line(f"? {len(undecided):,} of {of} undecided: {'; '.join(undecided)}", Tone.WARNING)
    if run.stopped:
        return Line(f"? {run.stopped}: some answers are missing", Tone.WARNING)
    return Line(f"✓ {of} passed: {'; '.join(map(str, gates))}", Tone.GOOD) if gates else None


def headline(run: Run) -> list[Line]:
    """Return the first lines of every report: the gates, the verdict, and how far to trust it."""
    words = " ".join(filter(None, (finding(run), run.verdict.advice)))
    corrected = (
        Line(f"{name}: {line.words}")
        for name, each in run.summary().items()
        if each.corrected and not each.corrected.problem
        for line in correction(each.corrected)
    )
    lines = [status(run), *corrected, Line(words) if words else None, trust(run)]
    return [line for line in lines if line]


def title(run: Run) -> str:
    """Return the first line in one: the gates, and the finding without advice."""
    gates = status(run)
    words = finding(run) or "no metric was run"
    return f"{gates.words.partition(':')[0]}: {words}" if gates else words


def finding(run: Run) -> str:
    """Return the sentence of the verdict; without one, the most important mean in words."""
    if run.verdict.sentence:
        return run.verdict.sentence
    name = focus_metric(run)
    summary = run.summary()[name] if name else None
    if name is None or summary is None or summary.mean is None:
        return ""
    ends = f" ({' to '.join(map(brief, summary.interval))})" if summary.interval else ""
    label = metric_titles(run.metrics)[name]
    return f"{label}: {brief(summary.mean)}{ends}, the mean of {count(summary.scored, 'row')}."


def trust(run: Run) -> Line | None:
    """Return what is known about the judge of this run, in one line; None without a judge."""
    manifest = run.manifest
    if manifest.judge is None:
        return None
    note = (manifest.judge_note or "").partition(";")[0]
    words = f"{manifest.judge} ({note})" if note else manifest.judge
    corrected = [each.corrected for each in run.summary().values() if each.corrected]
    known = next((each for each in corrected if each.mean is not None and not each.problem), None)
    test = load_test(manifest.judge_key) if manifest.judge_key else None
    if known is not None:
        labels = count(known.labels, "labelled row")
        return Line(f"{words}; corrected with {labels} of people", label="Judge")
    if shifted := next((each for each in corrected if each.shifted is not None), None):
        means = f"{shifted.judge:.2f} would be {shifted.shifted:.2f} (unproven)"
        words = f"{words}; if it errs as in the run of calibration {shifted.calibration}, {means}"
        return Line(words, Tone.WARNING, "Judge")
    if test and (errors := test.total("rejected")).share is not None:
        kept = test.total("accepted")
        poor = any((part.share or 0) < 1 - MISSED for part in (errors, kept) if part.answered)
        share = f"it missed {1 - errors.share:.0%} of {errors.answered:,} injected errors"
        if kept.share is not None and poor:
            share += f" and rejected {1 - kept.share:.0%} of {kept.answered:,} true claims"
        tone = Tone.WARNING if poor else Tone.PLAIN
        return Line(f"{words}; {share} ({test.at:%Y-%m-%d})", tone, "Judge")
    return Line(f"{words}; this judge is untested", label="Judge")


def outcome_grid(run: Run) -> Grid | None:
    """Return what was found, by outcome; None if that adds nothing to the sentence."""
    found = run.verdict
    kinds = list(dict.fromkeys(cell.found for cell in found.cells if cell.count))
    if len(kinds) < 2:
        return None
    results = [each for each in Outcome if any(c.outcome is each and c.count for c in found.cells)]
    rows: list[GridRow] = []
    for kind in kinds:
        words = (
            f"{cell.count:,} ({percent(cell.count, found.judged, cell.interval)})"
            if (cell := found.cell(kind, each)) and cell.count
            else "0"
            for each in results
        )
        rows.append(GridRow((kind.value, *words)))
    heads = ("", *(outcome_word(each, found) for each in results))
    return Grid(heads, tuple(rows), frozenset(heads[1:]))


def outcome_word(outcome: Outcome, found: Verdict) -> str:
    """Return an outcome in the words of the metric that decided it."""
    if base_name(found.metric or "") != BY_CONTEXTS:
        return outcome.value
    known = {Outcome.RIGHT: "supported", Outcome.WRONG: "not supported"}
    return known.get(outcome, outcome.value)


def outcome_words(run: Run, row: Row) -> str:
    """Return a row's outcome and whether its documents were found, where this is known."""
    if (known := run.verdict.outcome_of(row)) is None:
        return ""
    outcome, found = known
    where = "" if found is Found.UNKNOWN else f", {found.value}"
    return outcome_word(outcome, run.verdict) + where


def shown_mean(summary: Summary) -> tuple[float | None, tuple[float, float] | None]:
    """Return the mean to trust and its interval: corrected with labels, if there are any."""
    found = summary.corrected
    if found and found.mean is not None and not found.problem:
        return found.mean, found.interval
    return summary.mean, summary.interval


def scale(run: Run, name: str) -> tuple[float, float] | None:
    """Return a metric's range if it shows how good a score is, for bars and colors; else None.

    Some metrics cannot reach 1 with few relevant documents. A score outside the range shows that
    the metric's author did not declare it.
    """
    (low, high), seen = run.metrics[name].range, run.summary()[name]
    outside = [
        x for x in (seen.low, seen.high) if x is not None and not low - 1e-6 <= x <= high + 1e-6
    ]
    if outside or base_name(name) in CAPPED or not 0 < high - low < math.inf:
        return None
    return low, high


METRIC_HEADS = ("metric", "mean", "95% interval", "notes")


def metric_lines(run: Run) -> Iterator[GridRow]:
    """Yield a row for each metric, with METRIC_HEADS; the mean is the one to trust."""
    for name, each in run.summary().items():
        mean, ends = shown_mean(each)
        notes: list[str] = []
        if mean != each.mean and each.mean is not None:
            notes.append(f"judge alone {brief(each.mean)}")
        if each.scored < each.n:
            notes.append(f"{each.scored:,} of {each.n:,} rows")
        notes += [f"{each.failed:,} failed"] * bool(each.failed)
        notes += [f"{each.flagged:,} imputed"] * bool(each.flagged)
        notes += [] if run.metrics[name].higher_is_better else ["lower is better"]
        notes += [BY_SPELLING] * (BY_SPELLING in str(run.counts.scores[name].note))
        words = "{:.2f} to {:.2f}".format(*ends) if ends else ""
        value = NO_VALUE if mean is None else brief(mean)
        tone = Tone.BAD if each.failed or each.mean is None else Tone.PLAIN
        yield GridRow((name, value, words, ", ".join(notes)), tone)


def partial_notice(run: Run) -> str:
    why = f": {run.stopped}" if run.stopped else ""
    rows = count(run.manifest.source.rows, "row")
    return f"the run stopped early{why}; {len(run.rows):,} of {rows} evaluated"


def decisions(run: Run, names: Collection[str] | None = None) -> Iterator[Line]:
    """Return the means that people's labels correct (of `names` only), and all gates."""
    summaries = run.summary()
    for name, summary in summaries.items():
        if summary.corrected and (names is None or name in names):
            for line in correction(summary.corrected):
                yield replace(line, words=f"{name}: {line.words}")
    for gate in run.gates():
        state = {True: "passed", False: "FAILED", None: "UNDECIDED"}[gate.passed]
        if gate.passed and run.troubles:
            state = "INCONCLUSIVE"
        words = f"{state}: {gate} ({coverage(summaries[gate.metric])})"
        yield Line(words, Tone.GOOD if state == "passed" else Tone.BAD, "Gate")


def coverage(summary: Summary) -> str:
    flagged = f", {summary.flagged:,} imputed by the policy" if summary.flagged else ""
    return f"{summary.scored:,} of {summary.n:,} scored{flagged}"


def correction(found: Correction) -> Iterator[Line]:
    if found.mean is not None and found.interval is not None and found.judge is not None:
        low, high = found.interval
        kind = f"{count(found.labels, 'labelled row')}, calibration {found.calibration}"
        if found.of == "responses":
            kind += "; shares of faithful responses, not mean scores"
        words = f"{found.mean:.2f} corrected ({low:.2f} to {high:.2f})"
        yield Line(f"{words}; judge alone {found.judge:.2f} ({kind})", label="Corrected")
    if found.problem:
        effect = "does not apply" if found.mean is None else "decides no gate"
        words = f"calibration {found.calibration} {effect}: {found.problem}"
        yield Line(words, Tone.BAD, "Calibration")


def scores(run: Run) -> Iterator[Line | Grid]:
    summaries = run.summary()
    if not summaries:
        yield Line("No metrics were run.")
        return
    heads = ("metric", "mean", "95% interval", "n", "scored", "undefined", "failed", "imputed")
    if not any(summary.flagged for summary in summaries.values()):
        heads = heads[:-1]
    rows: list[GridRow] = []
    for name, each in summaries.items():
        numbers = (each.n, each.scored, each.undefined, each.failed, each.flagged)
        cells = name, decimal(each.mean), interval(each.interval), *(f"{n:,}" for n in numbers)
        rows.append(GridRow(cells[: len(heads)]))
    yield Grid(heads, tuple(rows), frozenset(heads[1:]), frozenset({"metric"}))


def missing(run: Run) -> Iterator[Line]:
    """Return why scores are missing, by metric; metrics with the same reason share a line."""
    labels: dict[tuple[str, Tone], list[str]] = {}
    for name, summary in run.summary().items():
        reasons: list[tuple[str, Tone]] = []
        if summary.mean is None:
            states = f"{summary.undefined:,} undefined, {summary.failed:,} failed"
            reasons.append((f"no score: {states if summary.n else 'no rows'}", Tone.BAD))
        if undefined := why_undefined(run, name):
            reasons.append((f"undefined: {undefined}", Tone.WARNING))
        if failed := why_failed(run, name):
            reasons.append((f"failed: {failed}", Tone.BAD))
        if summary.failed and summary.bounds is not None and summary.mean is not None:
            low, high = map(decimal, summary.bounds)
            rows = count(summary.failed, "failed row")
            words = f"mean between {low} and {high}, depending on {rows}"
            reasons.append((words, Tone.WARNING))
        for reason in reasons:
            labels.setdefault(reason, []).append(name)
    for (words, tone), names in labels.items():
        yield Line(f"{', '.join(names)}: {words}", tone)


def why_undefined(run: Run, name: str) -> str:
    reasons = run.counts.scores[name].undefined
    listed = [f"{reason} ({number:,})" for reason, number in reasons.most_common(LISTED)]
    if (rest := len(reasons) - LISTED) > 0:
        listed.append(f"and {count(rest, 'other reason')}")
    return "; ".join(listed)


def why_failed(run: Run, name: str) -> str:
    counts = run.counts.scores[name]
    return "; ".join(
        f"{CAUSES[cause]} ({number:,}, first {counts.failed[cause]})"
        for cause, number in counts.causes.most_common()
    )


def failures(run: Run) -> Iterator[Grid]:
    rows = tuple(
        GridRow((name, CAUSES[cause], f"{number:,}", str(counts.failed[cause])))
        for name, counts in run.counts.scores.items()
        for cause, number in counts.causes.most_common()
    )
    if rows:
        yield Grid(("metric", "cause", "samples", "first"), rows, frozenset({"samples"}))


def worst(run: Run) -> Iterator[Grid]:
    rows: list[GridRow] = []
    for name in threshold_metrics(run) or filter(None, [focus_metric(run)]):
        for sample in worst_samples(run, name, None):
            if sample.value is not None:  # failures are a section of their own
                value = decimal(sample.value) + (" (imputed)" if sample.imputed else "")
                cells = (name, sample.id, value, sample.query, sample.why or NO_VALUE)
                rows.append(GridRow(cells))
    if rows:
        heads = ("metric", "sample", "score", "query", "why")
        yield Grid(heads, tuple(rows), frozenset({"score"}), frozenset({"query", "why"}))


def bad_by_value(run: Run, tag: str) -> list[tuple[int, int]]:
    """Return how many answers are wrong or declined, of how many judged, for each value of a tag.

    The values are those of `run.slices`; empty if no answer was judged.
    """
    judged = run.verdict.rows_with(*Outcome)
    bad = run.verdict.rows_with(Outcome.WRONG, Outcome.DECLINED)
    rows = run.counts.rows_by_value(tag) if judged else ()
    among = [judged.intersection(run.counts.places[chosen].tolist()) for _, chosen in rows]
    return [(len(each & bad), len(each)) for each in among]


def slices(run: Run) -> Iterator[Grid]:
    """Return a grid for each tag; its first head is the tag."""
    figures = ("mean", "95% interval", "scored", "undefined", "failed")
    for by_tag in run.slices:
        rows: list[GridRow] = []
        for each in by_tag["values"]:
            for name in checked_metrics(run):
                score = each["metrics"][name]
                numbers = [f"{score[state]:,}" for state in ("scored", "undefined", "failed")]
                ends = decimal(score["mean"]), interval(score["interval"])
                rows.append(GridRow((f"{each['value']} ({each['n']:,})", name, *ends, *numbers)))
        yield Grid((by_tag["tag"], "metric", *figures), tuple(rows), frozenset(figures))


def details(run: Run, names: Sequence[str] | None = None) -> Iterator[Line]:
    """Return what the scores of these metrics were made from: data, target, judge and notes."""
    names = list(run.metrics) if names is None else names
    manifest, counts = run.manifest, run.counts.scores
    families = {run.metrics[name].family for name in names}
    words = f"{manifest.source.name} ({count(len(run.rows), 'row')} evaluated)"
    yield Line(words, label="Data set")
    health, target = run.counts.health(), manifest.target
    words = f"{target}: not called" if target else "none (the data has the answers)"
    if health is not None:
        words = (
            f"{target or 'unnamed'}: {count(sum(health.asked.values()), 'call')}, "
            f"{sum(health.failed.values()):,} failed ({health.error_rate:.1%}), "
            f"latency p50 {milliseconds(health.p50_ms)}, p95 {milliseconds(health.p95_ms)}"
        )
    yield Line(words, label="Target")

    ranked = [name for name in names if "ranking" in run.metrics[name].needs]
    if rows := max((counts[name].unranked for name in ranked), default=0):
        words = f"the order of the contexts in {count(rows, 'row')} without a ranking of texts"
        yield Line(words, label="Ranking")
    if "retrieval" in families and (warning := run.counts.ids.warning("row")):
        yield Line(warning, Tone.BAD, "Ids")
    if "generation" in families:
        yield from _judge_facts(run, names)
    known = catalogue() if manifest.not_run else dict[str, MetricInfo]()
    others = {info.family for info in run.metrics.values()} - families  # in a file of their own
    not_run = {
        name: why
        for name, why in manifest.not_run.items()
        if (metric := known.get(base_name(name))) is None or metric.family not in others
    }
    for words in join_by_reason(not_run):
        yield Line(words, label="Not run")
    for words in grouping_lines(run.counts.grouping):
        yield Line(words, label="Intervals")
    for words in _notes(run, names):
        yield Line(words, label="Note")
    for name in names:
        if first := counts[name].imputed:
            words = f"{count(counts[name].flagged, 'score')} imputed by the policy, first {first}"
            yield Line(f"{name}: {words}", Tone.BAD, "Imputed")


def _notes(run: Run, names: Sequence[str]) -> Iterator[str]:
    yield from run.manifest.source.notes
    notes = run.counts.notes
    for note, number in notes.most_common(LISTED):
        yield f"{note} ({count(number, 'row')})"
    if (rest := len(notes) - LISTED) > 0:
        yield f"{count(rest, 'more note')} in the rows"
    for name in names:
        counts = run.counts.scores[name]
        if counts.note:
            yield f"{name}: {count(counts.noted, 'score')} with a note, first {counts.note}"


def _judge_facts(run: Run, names: Sequence[str]) -> Iterator[Line]:
    manifest = run.manifest
    note = f": {manifest.judge_note}" if manifest.judge_note else ""
    yield Line(f"{manifest.judge}{note}" if manifest.judge else "none needed", label="Judge")
    for words in _usage(run):
        yield Line(words, label="Usage")
    lower = [name for name in names if not run.metrics[name].higher_is_better]
    facts = {
        "Judge test": manifest.judge_test,
        "Policy": ", ".join(run.policies),
        "Lower is better": ", ".join(lower),
    }
    yield from (Line(words, label=label) for label, words in facts.items() if words)
    for name in names:
        counts = run.counts.scores[name]
        if counts.threshold is not None:
            sign = ">=" if run.metrics[name].higher_is_better else "<="
            share = counts.passed / counts.marked
            words = f"passed by {counts.passed:,} of {counts.marked:,} scored ({share:.1%})"
            yield Line(f"{name} {sign} {counts.threshold:g}: {words}", label="Threshold")
        if lost := counts.quotes_not_found:
            words = f"{lost:,} of {count(counts.quotes, 'quote')} from the judge"
            words += " were not found in the texts; review these verdicts first"
            yield Line(f"{name}: {words}", Tone.BAD, "Quotes")
    blame = run.counts.blame
    if problems := [f"{blame[b]:,} {words}" for b, words in CLAIM_PROBLEMS.items() if blame.get(b)]:
        yield Line("; ".join(problems), label="Claim problems")


def _usage(run: Run) -> Iterator[str]:
    usage, latency = run.usage(), run.counts.judge_latencies.percentiles()
    if usage.local_calls:
        calls = f"{count(usage.local_calls, 'call')} to a local model"
        yield f"{calls}, {usage.local_tokens:,} tokens (no cost; limits do not apply)"
    replies = "1 reply" if usage.cached == 1 else f"{usage.cached:,} replies"
    if usage.calls:
        retries = f" ({usage.retries:,} retries)" if usage.retries else ""
        saved = f" ({run.counts.calls_saved:,} saved by sharing)" if run.counts.calls_saved else ""
        cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
        silent = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
        cost = "price unknown"
        if usage.cost_usd is not None:
            cost = f"about {dollars(usage.cost_usd)} at list prices"
        if usage.prompt_tokens or usage.retries or usage.cached:
            yield (
                f"{count(usage.calls, 'call')}{retries}{saved}, {replies} from the cache; "
                f"{usage.prompt_tokens:,} prompt tokens{cached}, "
                f"{usage.completion_tokens:,} completion tokens{silent}; {cost}; "
                f"p50 {milliseconds(latency['p50_ms'])}, p95 {milliseconds(latency['p95_ms'])} "
                "per answer"
            )
    elif usage.cached or (not usage.local_calls and (usage.prompt_tokens or usage.retries)):
        calls = "no remote calls" if usage.local_calls else "no calls"
        yield f"{calls}; {replies} from the cache"


def grouping_lines(grouping: Grouping, unit: str = "row") -> Iterator[str]:
    if grouping.by:
        words = f"{count(grouping.rows, unit)} grouped into {grouping.groups:,} by"
        if grouping.explicit:
            yield f"{words} {grouping.by[0]}"
        else:
            names = " and ".join(SHARED[kind][1] for kind in grouping.by)
            yield f"{words} shared {names} (`cluster=id` treats rows as independent)"
    for kind, (rows, values) in grouping.fixed.items():
        one, several = SHARED[kind]
        if kind != "source" or values > 1 or rows < grouping.rows:  # else the data have one source
            yield (
                f"{count(rows, unit)} share {values:,} {one if values == 1 else several}, too "
                f"few for grouping: intervals do not generalize to other {several}"
            )


def metric_titles(metrics: Mapping[str, MetricInfo]) -> dict[str, str]:
    labels = Counter(info.label for info in metrics.values())
    return {name: info.label if labels[info.label] == 1 else name for name, info in metrics.items()}


def texts_read(sample: Sample, needs: Collection[str]) -> tuple[str, tuple[Context, ...] | None]:
    grades = "ranking" in needs and "relevance" not in needs
    return sample.graded_texts if grades else ("contexts", sample.contexts)


def changed_settings(
    options: Mapping[str, object], *, exclude: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    elsewhere = {"metrics", "gates", "judge", "target", "fallback_target", *exclude}
    defaults = Plan().model_dump(mode="json")

    def text(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            return ", ".join(f"{name}={given}" for name, given in pairs)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return ", ".join(map(str, cast("Sequence[object]", value)))
        return str(value)

    return tuple(
        (name.replace("_", " "), text(value))
        for name, value in options.items()
        if name not in elsewhere and value != defaults.get(name)
    )
