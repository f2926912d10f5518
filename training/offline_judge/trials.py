"""Trial: judges measured on rows that none of them was trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragstone.judges.offline.matching import CONFLICTS, Features
from training.offline_judge.fitting import alone, fit
from training.offline_judge.judges import answers, at_best, balanced_at, by_weights
from training.offline_judge.leaks import without_leaks
from training.offline_judge.measures import Answers, Figure, auroc, balanced_accuracy, measure
from training.offline_judge.rows import Row
from training.offline_judge.table import Table

TRAINED, REFITTED, OVERLAP = "judge", "its best threshold elsewhere", "plain overlap"
"""The judges compared: the trained one at the default threshold, and with that which is best on the
sources it was trained on, as for the third: the share of a claim's weight in the contexts."""
FEWEST = 50
"""The fewest rows of a source that are measured alone."""
SEVERAL = ("begin", "faithdial_audit", "summedits")
"""The sources with hundreds of responses that have several claims and are not pairs of an edit."""
STEPS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True, slots=True)
class Trial:
    """What two judges reach on one set of rows.

    Attributes:
        name: the source, and the split if it is one.
        rows: how many rows it has.
        supported: the share that people call supported.
        leaking: how many rows to train on were left out, since they share text with it.
        figures: name of the judge -> name of the measure -> figure.
        given: what the trained judge says.
    """

    name: str
    rows: int
    supported: float
    leaking: int
    figures: dict[str, dict[str, Figure]]
    given: Answers


def leave_one_out(rows: Sequence[Row], table: Table) -> Iterator[Trial]:
    """Yield a trial a source: trained on all other sources, measured on all rows of this one."""
    for source in sorted({row.source for row in rows}):
        inside = [number for number, row in enumerate(rows) if row.source == source]
        others = [number for number, row in enumerate(rows) if row.source != source]
        parts = {source: inside}
        dev = [number for number in inside if rows[number].split == "dev"]
        if FEWEST <= len(dev) < len(inside):
            parts[f"{source}, dev rows"] = dev
        yield from _trials(parts, others, inside, rows, table)


def mean_accuracy(trials: Sequence[Trial]) -> float:
    """Return the mean balanced accuracy of the judge over whole sources."""
    whole = [trial.figures[TRAINED] for trial in trials if "," not in trial.name]
    return float(np.mean([figures["balanced accuracy"].value for figures in whole]))


def on_dev(rows: Sequence[Row], table: Table) -> Iterator[Trial]:
    """Yield a trial a source with dev rows: trained on the training rows of all sources."""
    training = [number for number, row in enumerate(rows) if row.split == "train"]
    held_out = [number for number, row in enumerate(rows) if row.split == "dev"]
    parts = {
        source: [number for number in held_out if rows[number].source == source]
        for source in sorted({rows[number].source for number in held_out})
    }
    yield from _trials(parts, training, held_out, rows, table)


def _trials(
    parts: dict[str, list[int]],
    training: Sequence[int],
    held_out: Sequence[int],
    rows: Sequence[Row],
    table: Table,
) -> Iterator[Trial]:
    kept = without_leaks(training, held_out, rows)
    weights = fit(kept, rows, table)
    likely, labels = by_weights(weights, table)
    judged = {
        TRAINED: (likely, labels),
        REFITTED: at_best(likely, kept, rows, table),
        OVERLAP: at_best(table.overlap, kept, rows, table),
    }
    for name, numbers in parts.items():
        given = {judge: answers(numbers, rows, table, said) for judge, said in judged.items()}
        supported = float(given[TRAINED].supported.mean())
        figures = {judge: measure(each) for judge, each in given.items()}
        leaking = len(training) - len(kept)
        yield Trial(name, len(numbers), supported, leaking, figures, given[TRAINED])


GROUPS: Mapping[str, tuple[str, ...]] = {
    "nothing": (),
    "coverage": ("coverage",),
    "anywhere": ("anywhere",),
    "first person": ("first_person",),
    "figures": ("figure",),
    "names": ("name",),
    "negation": ("negation",),
    "all conflicts": CONFLICTS,
}
"""Groups of features and conflicts that are removed for an ablation."""


def ablations(rows: Sequence[Row], table: Table) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Yield each group, and source -> AUROC and balanced accuracy of the judge without it.

    Each source is left out of training in turn.
    """
    sources = sorted({row.source for row in rows} - {"med"})
    for group, names in GROUPS.items():
        features = table.features * [name not in names for name in Features._fields]
        conflicts = table.conflicts & np.array([kind not in names for kind in CONFLICTS])
        fewer = replace(table, features=features, conflicts=conflicts)
        found: dict[str, list[float]] = {}
        for source in sources:
            inside = [number for number, row in enumerate(rows) if row.source == source]
            others = [number for number, row in enumerate(rows) if row.source != source]
            given = answers(inside, rows, fewer, by_weights(fit(others, rows, fewer), fewer))
            found[source] = [auroc(given), balanced_accuracy(given)]
        yield group, found


def thresholds(rows: Sequence[Row], table: Table) -> Iterator[tuple[str, int, list[float]]]:
    """Yield each source with many responses of several claims, their number, and their accuracy.

    That is the balanced accuracy at each of `STEPS`, with the source left out of training.
    """
    several = np.bincount(table.row, minlength=len(rows)) > 1
    for source in SEVERAL:
        inside = [n for n, row in enumerate(rows) if row.source == source and several[n]]
        others = [n for n, row in enumerate(rows) if row.source != source]
        given = answers(inside, rows, table, by_weights(fit(others, rows, table), table))
        every = np.ones(len(inside), np.bool_)
        if len(set(given.supported)) == 2:
            yield source, len(inside), [balanced_at(given, step, every) for step in STEPS]


def reasons(rows: Sequence[Row], table: Table) -> Iterator[tuple[str, str, int, int, int]]:
    """Yield each reason and source, its claims, and those supported and contradicted."""
    single = alone(range(len(rows)), rows, table)
    columns = {kind: table.conflicts[:, number] for number, kind in enumerate(CONFLICTS)}
    columns["no word found"] = ~table.matched
    for reason, applies in columns.items():
        for source in sorted({row.source for row in rows}):
            those = [rows[number] for number in table.row[single[applies[single]]]]
            labels = [row.label for row in those if row.source == source]
            if labels:
                supported, contradicted = map(labels.count, ("SUPPORTED", "CONTRADICTED"))
                yield reason, source, len(labels), supported, contradicted
