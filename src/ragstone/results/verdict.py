"""Verdict: how many answers are wrong, and whether retrieval or the answers are to blame.

Each row has one outcome; the verdict counts them, and words the counts in one sentence and one
piece of advice. A cause is named only if its interval separates it from the other:
what the data cannot show is never guessed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import base_name, cutoff_of
from ragstone._internal.text import count
from ragstone.results.outcomes import (
    BY_CONTEXTS,
    FOUND,
    OUTCOMES,
    Found,
    Outcome,
    deciding_metrics,
    found_by_claims,
    found_by_ids,
    outcome,
)
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.results.stats.intervals import (
    Ends,
    mean_interval,
    mid_p_interval,
    proportion_interval,
)
from ragstone.types.row import Row

RETRIEVAL = ("hit", "recall", "mrr", "map", "ndcg", "precision", "f1")
"""Metrics that are 0 exactly if no relevant document is among the first k."""
MAX_ROWS = 1000  # of a cell in JSON; `--rows` has the outcome of each row
MIN_GROUP = 5  # rows of a group that can be named as the weakest
_BAD = (Outcome.WRONG, Outcome.DECLINED)


@dataclass(frozen=True)
class Cell:
    """The rows with one outcome; `interval` is of their share of all judged rows."""

    found: Found
    outcome: Outcome
    count: int
    interval: Ends | None
    rows: Sequence[int]  # their places in the data set, from 0


@dataclass(frozen=True)
class Verdict:
    """The finding of a run.

    Attributes:
        sentence: the finding, in words.
        advice: what to do first; empty if the data favors nothing.
        metric: the metric that decided which answers are right; None if none could.
        rows: number of rows.
        judged: rows with an outcome.
        bad: answers that are wrong or declined; by faithfulness, those with a claim that the
            contexts do not support; of rankings, queries without a relevant document.
        interval: 95% interval of the share of bad answers; None if it is unknown.
        cells: what was found, by outcome; empty without answers.
        by_ids: whether the user's relevant ids decide what was found; else claims do.
        depth: how many ranks of a ranking count, if there are no contexts.
    """

    sentence: str
    advice: str = ""
    metric: str | None = None
    rows: int = 0
    judged: int = 0
    bad: int = 0
    interval: Ends | None = None
    cells: tuple[Cell, ...] = ()
    by_ids: bool = True
    depth: int | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.sentence, self.advice)))

    @classmethod
    def of(
        cls, counts: RunSummaryBuilder, *, ranked: bool = False, warning: str | None = None
    ) -> "Verdict":
        """Return the verdict of rows, of a ranking file if `ranked`; a `warning` comes first."""
        if ranked or not counts.outcomes.by_metric:
            found = _of_rankings(counts, independent=ranked)
        else:
            found = _Answers(counts).verdict()
        first = f"{warning[0].upper()}{warning[1:]}. " if warning else ""
        return replace(found, sentence=first + found.sentence)

    def outcome_of(self, row: Row) -> tuple[Outcome, Found] | None:
        """Return a row's outcome and whether its documents were found; None without answers."""
        if self.metric not in deciding_metrics(row.scores):
            return None
        found = found_by_ids(row.sample, self.depth) if self.by_ids else Found.UNKNOWN
        found = found_by_claims(row) if found is Found.UNKNOWN else found
        return outcome(row, self.metric), found

    def cell(self, found: Found, outcome: Outcome) -> Cell | None:
        """Return one cell of the table; None if no row is in it."""
        return next((c for c in self.cells if (c.found, c.outcome) == (found, outcome)), None)

    def rows_with(self, *outcomes: Outcome) -> frozenset[int]:
        """Return the places of the rows with one of these outcomes."""
        cells = (cell.rows for cell in self.cells if cell.outcome in outcomes)
        return frozenset(chain.from_iterable(cells))

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain data, with at most MAX_ROWS rows of each cell."""
        cells = [{**vars(cell), "rows": list(cell.rows[:MAX_ROWS])} for cell in self.cells]
        return {**vars(self), "cells": cells}


def _share(
    flags: NDArray[np.bool_],
    groups: NDArray[np.int64] | None,
    of_proportion: Callable[[int, int], Ends] = proportion_interval,
) -> Ends | None:
    """Return the 95% interval of a share: that of a proportion, unless rows are grouped."""
    if groups is not None and np.unique(groups).size < groups.size:
        return mean_interval(flags.astype(np.float64), clusters=groups)
    return of_proportion(int(flags.sum()), flags.size) if flags.size else None


def percent(number: int, n: int, interval: Ends | None) -> str:
    """Return a share with its interval, such as `40%, 26% to 56%`."""
    ends = "" if interval is None else f", {interval[0]:.0%} to {interval[1]:.0%}"
    return f"{number / n:.0%}{ends}"


def _listed(counts: dict[str, int]) -> str:
    """Return the counts that are not 0, in brackets; `all` instead of the only number."""
    some = {words: number for words, number in counts.items() if number}
    if len(some) == 1 < len(counts):
        return f" (all {next(iter(some))})" if sum(some.values()) > 1 else f" ({next(iter(some))})"
    return f" ({', '.join(f'{number:,} {words}' for words, number in some.items())})" * bool(some)


def _of_rankings(counts: RunSummaryBuilder, *, independent: bool) -> Verdict:
    found: list[tuple[int, int, str]] = []
    for name in counts.scores:
        k, head = cutoff_of(name), base_name(name)
        if head in RETRIEVAL and k is not None and counts.scores[name].summary().scored:
            found.append((-k, RETRIEVAL.index(head), name))
    if not found:
        return Verdict("", rows=counts.rows)
    k, _, name = min(found)
    scores = counts.scores[name]
    bad, n = scores.zeros, scores.summary().scored
    groups = None if independent else scores.scored_groups(counts.grouping.labels)
    if groups is None:
        interval = proportion_interval(bad, n)
    else:
        interval = _share(np.frombuffer(scores.values) == 0, groups)
    queries = "query" if n == 1 else "queries"
    sentence = f"For {bad:,} of {n:,} {queries} no relevant document is in the top {-k}"
    if not bad:
        sentence = f"For all {n:,} {queries} a relevant document is in the top {-k}"
    sentence += f" ({percent(bad or n, n, interval if bad else _mirrored(interval))})."
    return Verdict(sentence, "", name, counts.rows, n, bad, interval)


def _mirrored(interval: Ends | None) -> Ends | None:
    return None if interval is None else (1 - interval[1], 1 - interval[0])


class _Answers:
    """The outcomes of a run with answers, counted and worded."""

    def __init__(self, counts: RunSummaryBuilder) -> None:
        self.counts = counts
        groups = counts.grouping.labels  # this also puts the rows in order
        outcomes = counts.outcomes
        none = OUTCOMES.index(Outcome.NOT_JUDGED)
        able = [name for name, codes in outcomes.by_metric.items() if (codes != none).any()]
        self.metric = (able or [*outcomes.by_metric])[0]
        self.outcomes = outcomes
        self.by_reference = base_name(self.metric) != BY_CONTEXTS
        self.ids_differ = counts.ids.differ
        codes = outcomes.by_metric[self.metric]
        self.judged = codes != none
        self.n = int(self.judged.sum())
        self.places = counts.places[self.judged]
        self.codes = codes[self.judged]
        self.found = outcomes.found(by_ids=not self.ids_differ)[self.judged]
        self.groups = None if groups is None else groups[self.judged]
        bad = _BAD if self.by_reference else (Outcome.WRONG,)
        self.bad = np.isin(self.codes, [OUTCOMES.index(each) for each in bad])

    def verdict(self) -> Verdict:
        cells = [
            Cell(
                *(kind, result, int(flags.sum()), _share(flags, self.groups)),
                rows=tuple(self.places[flags].tolist()),
            )
            for kind, result in product(FOUND, OUTCOMES[:-1])
            if self._are(kind).any()
            for flags in [self._are(kind, result)]
        ]
        return Verdict(
            sentence=self._sentence(),
            advice=self._advice(),
            metric=self.metric,
            rows=self.counts.rows,
            judged=self.n,
            bad=int(self.bad.sum()),
            interval=_share(self.bad, self.groups),
            cells=tuple(cells),
            by_ids=self.outcomes.ids_known and not self.ids_differ,
            depth=self.outcomes.depth,
        )

    def _are(self, found: Found | None = None, outcome: Outcome | None = None) -> NDArray[np.bool_]:
        flags = np.ones(self.n, dtype=np.bool_)
        if found is not None:
            flags &= self.found == FOUND.index(found)
        if outcome is not None:
            flags &= self.codes == OUTCOMES.index(outcome)
        return flags

    def _number(self, found: Found | None, outcome: Outcome) -> int:
        return int(self._are(found, outcome).sum())

    def _sentence(self) -> str:
        unjudged = self._unjudged()
        if not self.n:
            return f"Whether the answers are right is unknown: {unjudged}"
        bad, answers = int(self.bad.sum()), count(self.n, "answer")
        interval = _share(self.bad, self.groups)
        good = percent(self.n, self.n, _mirrored(interval))
        if not self.by_reference:
            verb = "makes" if bad == 1 else "make"
            words = f"{bad:,} of {answers} {verb} a claim that the contexts do not support"
            words += f" ({percent(bad, self.n, interval)})."
            if not bad:
                words = f"The contexts support all claims of {answers} ({good})."
            if declined := self._number(None, Outcome.DECLINED):
                words += f" {count(declined, 'answer')} declined."
        elif not bad:
            kind = "judged answer" if unjudged else "answer"
            all_of = f"All {count(self.n, kind)} are right ({good})."
            words = all_of if self.n > 1 else f"The {kind} is right."
        else:
            verb = "is" if bad == 1 else "are"
            words = f"{bad:,} of {answers} {verb} wrong ({percent(bad, self.n, interval)})"
            words += "".join(self._causes())
        return f"{words} {unjudged}".strip()

    def _causes(self) -> list[str]:
        """Return how many of the wrong answers have each cause, as sentences."""
        known = [self._number(kind, each) for kind in FOUND[:2] for each in _BAD]
        unknown = {"answered wrongly": self._number(Found.UNKNOWN, Outcome.WRONG)}
        unknown["declined"] = self._number(Found.UNKNOWN, Outcome.DECLINED)
        declines = self.outcomes.declines_known
        if not any(known):
            return [f"{_listed(unknown) if declines else ''}."]
        found_wrong, found_declined, missed_wrong, missed_declined = known
        ids = self.outcomes.ids_known and not self.ids_differ
        missed, there, it_is_there = (
            "the contexts do not have the answer",
            "the contexts have the answer",
            "they have it",
        )
        if ids:
            missed, there, it_is_there = (
                "no relevant document was retrieved",
                "a relevant document was retrieved",
                "it was retrieved",
            )
        parts: list[str] = []
        if total := missed_wrong + missed_declined:
            why = _listed({"invented": missed_wrong, "declined": missed_declined})
            parts.append(f"{total:,}: {missed}{why if declines else ''}.")
        if total := found_wrong + found_declined:
            why = _listed({"answered wrongly": found_wrong, "declined": found_declined})
            words = it_is_there if parts else there
            parts.append(f"{total:,}: {words}{why if found_declined else ''}.")
        if total := sum(unknown.values()):
            parts.append(f"{total:,}: whether one was retrieved is unknown.")
        return [".", *(f" {part}" for part in parts)]

    def _unjudged(self) -> str:
        missing = len(self.judged) - self.n
        if not missing:
            return ""
        scores = self.counts.scores[self.metric]
        why = [f"the judge gave no answer ({cause.value})" for cause in scores.causes]
        why += [reason for reason, _ in scores.undefined.most_common(1)]
        why = why or ["whether it abstains is unknown, because the judge did not reply"]
        reason = f", for example because {why[0]}" if len(why) > 1 else f": {why[0]}" if why else ""
        return f"{count(missing, 'answer')} {'was' if missing == 1 else 'were'} not judged{reason}."

    def _advice(self) -> str:
        parts = [self._cause()] if self.by_reference and self.bad.any() else []
        if self.bad.any() and (group := self._weakest()):
            parts.append(f"weakest group: {group}")
        compared = any(base_name(name) != BY_CONTEXTS for name in self.outcomes.by_metric)
        if self.outcomes.references and not compared:
            parts.append("measure answer_correctness to see whether they are right")
        words = "; ".join(filter(None, parts))
        return f"{words[0].upper()}{words[1:]}." if words else ""

    def _cause(self) -> str:
        """Return what to fix first, if an interval separates it from the other cause."""
        known = self.bad & (self.found != FOUND.index(Found.UNKNOWN))
        n = int(known.sum())
        if not n:
            return ""
        missed = self.found[known] == FOUND.index(Found.NOT_FOUND)
        groups = None if self.groups is None else self.groups[known]
        low, high = _share(missed, groups, mid_p_interval) or (0.0, 1.0)
        if low > 0.5:
            return "fix retrieval first"
        if high >= 0.5:
            return f"the larger cause, retrieval or answers, is unclear from {count(n, 'answer')}"
        return self._doubt_of_references(known) or "fix the answers first, not retrieval"

    def _doubt_of_references(self, known: NDArray[np.bool_]) -> str:
        """Return that answers are supported by a relevant document, and yet differ from theirs."""
        by_contexts = self.outcomes.by_metric
        name = next((each for each in by_contexts if base_name(each) == BY_CONTEXTS), None)
        if name is None:
            return ""
        supported = by_contexts[name][self.judged] == OUTCOMES.index(Outcome.RIGHT)
        among = known & self._are(Found.FOUND, Outcome.WRONG)
        flags = supported[among]
        if flags.size and mid_p_interval(int(flags.sum()), flags.size)[0] > 0.5:
            return (
                f"check the references first: {int(flags.sum()):,} of {flags.size:,} of these "
                "answers are supported by the contexts"
            )
        return ""

    def _weakest(self) -> str:
        """Return the group of rows with the most wrong answers, if more than by chance."""
        counts = self.counts
        groups = [
            (tag, value, rows[self.judged])
            for tag in counts.tags
            for value, rows in counts.rows_by_value(tag)
        ]
        groups = [each for each in groups if MIN_GROUP <= each[2].sum() < self.n]
        worst, named = 0.0, ""
        for tag, value, rows in groups:
            bad, n = int(self.bad[rows].sum()), int(rows.sum())
            others = float(self.bad[~rows].mean())
            low, _ = proportion_interval(bad, n, 1 - 0.05 / len(groups))
            if low > others and bad / n > worst:
                worst, named = bad / n, f"{tag} = {value}, {bad:,} of {n:,}"
        return named
