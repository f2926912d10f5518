"""Trial: judges measured on rows that none of them was trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragstone.judges.offline.conflicts import CONFLICTS
from ragstone.judges.offline.features import Features
from training.offline_judge.fitting import LEARNED, fit
from training.offline_judge.judges import answers, by_overlap, by_weights
from training.offline_judge.leaks import without_leaks
from training.offline_judge.measures import Answers, Figure, auroc, balanced_accuracy, measure
from training.offline_judge.rows import Row
from training.offline_judge.table import Table

FEWEST = 50
"""The fewest rows of a source that are measured alone."""


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
    judged = {
        "trained": by_weights(weights, table),
        "plain overlap": by_overlap(kept, rows, table),
    }
    for name, numbers in parts.items():
        given = {judge: answers(numbers, rows, table, said) for judge, said in judged.items()}
        supported = float(given["trained"].supported.mean())
        figures = {judge: measure(each) for judge, each in given.items()}
        leaking = len(training) - len(kept)
        yield Trial(name, len(numbers), supported, leaking, figures, given["trained"])


GROUPS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "coverage": ("coverage",),
    "anywhere": ("anywhere",),
    "second sentence": ("second_sentence",),
    "triples": ("triples",),
    "pieces": ("pieces",),
    "first and last word": ("first_missing", "last_missing"),
    "function words": ("missing_function_words",),
    "figures": ("missing_figures", "figure"),
    "names": ("missing_names", "name"),
    "negation": ("negation",),
    "opposites": ("opposite",),
    "all caps": CONFLICTS,
}
"""Groups of features and caps that are removed for an ablation."""


def ablations(rows: Sequence[Row], table: Table) -> Iterator[tuple[str, dict[str, list[float]]]]:
    """Yield each group, and source -> AUROC and balanced accuracy of the judge without it.

    Each source is left out of training in turn.
    """
    sources = sorted({row.source for row in rows})
    for group, names in GROUPS.items():
        features = table.features * [name not in names for name in Features._fields]
        conflicts = table.conflicts & np.array([kind not in names for kind in CONFLICTS])
        fewer = replace(table, features=features, conflicts=conflicts)
        found: dict[str, list[float]] = {}
        for source in sources:
            inside = [number for number, row in enumerate(rows) if row.source == source]
            others = [number for number, row in enumerate(rows) if row.source != source]
            if source not in (*LEARNED, "bump", "fever_dev", "summedits"):
                continue
            given = answers(inside, rows, fewer, by_weights(fit(others, rows, fewer), fewer))
            found[source] = [auroc(given), balanced_accuracy(given)]
        yield group, found


def reasons(rows: Sequence[Row], table: Table) -> Iterator[tuple[str, str, int, int, int]]:
    """Yield each reason and source, its claims, and those supported and contradicted."""
    alone = np.bincount(table.row, minlength=len(rows))[table.row] == 1
    columns = {kind: table.conflicts[:, number] for number, kind in enumerate(CONFLICTS)}
    columns |= {"CONTRADICTED": table.contradicted, "no word found": ~table.matched}
    for reason, applies in columns.items():
        for source in sorted({row.source for row in rows}):
            those = [rows[number] for number in table.row[alone & applies]]
            labels = [row.label for row in those if row.source == source]
            if labels:
                supported, contradicted = map(labels.count, ("SUPPORTED", "CONTRADICTED"))
                yield reason, source, len(labels), supported, contradicted
