"""How often the 95 % intervals of means corrected with human labels hold the true mean.

python benchmarks/calibration_coverage.py [SIMULATIONS] [--verdicts DIR]

People's labels against the offline judge (calibration_verdicts.json: for each source the claims by
tenth and twentieth of the judge's probability of support, people's "no" and then "yes"; --verdicts
counts them again from DIR/SOURCE.jsonl.gz), and simulated good systems. N = 1,000 rows are judged
and n of them labelled. Each line has the coverage and the mean width of the corrected interval, of
labels alone, of PPI, PPI++ and Rogan-Gladen. The measured coverage must be at least 93 % (92 % for
n = 20) and, from 100 independent rows on, at most 97 % of the runs in which a label disagrees with
the judge. The mean width must not exceed that of labels alone. Exit 1 otherwise. With 2,000 runs,
the standard error of a coverage is 0.5 points.
"""

import argparse
import gzip
import json
import math
import sys
from collections.abc import Callable, Hashable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragstone.results.stats import intervals
from ragstone.results.stats import labels as label_statistics
from ragstone.results.stats.intervals import NORMAL, effective, mean_interval
from ragstone.results.stats.labels import LabelledScores, corrected_difference, corrected_mean

Numbers = NDArray[np.float64]
Ends = tuple[float, float]
Random = np.random.Generator
VERDICTS = Path(__file__).with_name("calibration_verdicts.json")
ROWS = 1000
SIZES = (20, 30, 50, 100, 200)
Z = NORMAL.inv_cdf(0.975)
# fewer for speed; each run has its own draws, so that their errors average out
label_statistics.DRAWS, intervals.RESAMPLES = 1000, 500


def counted(folder: Path) -> dict[str, list[list[int]]]:
    """Count the offline judge's probabilities of support on labelled claims, and write them."""
    from ragstone.judges.offline.judge import verify_claims

    found: dict[str, list[list[int]]] = {}
    for source in json.loads(VERDICTS.read_text()):
        counts = [[0] * 20, [0] * 20]
        with gzip.open(folder / f"{source}.jsonl.gz", "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                verdict = verify_claims((row["response"],), row["contexts"])[0]
                confidence = verdict.confidence or 0.0
                support = confidence if verdict.label == "SUPPORTED" else 1 - confidence
                counts[row["label"] == "SUPPORTED"][min(19, int(support * 20))] += 1
        found[source] = counts
    lines = ",\n".join(f' "{name}": {json.dumps(counts)}' for name, counts in found.items())
    VERDICTS.write_text(f"{{\n{lines}\n}}\n")
    return found


@dataclass(frozen=True)
class Cells:
    """A population of claims: the judge's probability of support, the label, and how common."""

    support: Numbers
    label: Numbers
    share: Numbers

    @property
    def verdict(self) -> Numbers:
        """The judge's verdict, 0 or 1."""
        return (self.support >= 0.5).astype(float)

    @property
    def truth(self) -> float:
        """The share of claims with the label yes."""
        return float(self.share @ self.label)

    @property
    def wrong(self) -> float:
        """The share of claims on which judge and label disagree."""
        return float(self.share @ (self.verdict != self.label))

    @classmethod
    def of_counts(cls, counts: list[list[int]]) -> "Cells":
        """Return the population of a source."""
        flat = np.array(counts, dtype=float).ravel()
        support = np.tile((np.arange(20) + 0.5) / 20, 2)
        return cls(support, np.repeat([0.0, 1.0], 20), flat / flat.sum())

    @classmethod
    def simulated(cls, truth: float, sensitivity: float, specificity: float) -> "Cells":
        """Return a population with this share of yes and a judge of this quality."""
        share = [truth * sensitivity, truth * (1 - sensitivity)]
        share += [(1 - truth) * (1 - specificity), (1 - truth) * specificity]
        support, label = [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]
        return cls(np.array(support), np.array(label), np.array(share))

    def draw(self, rng: Random, n: int) -> tuple[Numbers, Numbers, Numbers]:
        """Draw the verdicts, labels and probabilities of n claims."""
        chosen = rng.choice(self.share.size, n, p=self.share)
        return self.verdict[chosen], self.label[chosen], self.support[chosen]

    def judged(self, rng: Random, labels: Numbers) -> Numbers:
        """Draw the judge's verdicts on claims with these labels."""
        verdicts = np.empty(labels.size)
        for value in (0.0, 1.0):
            here, share = labels == value, np.where(self.label == value, self.share, 0)
            chosen = rng.choice(share.size, int(here.sum()), p=share / share.sum())
            verdicts[here] = self.verdict[chosen]
        return verdicts


@dataclass(frozen=True)
class Drawn:
    """A simulated run: N scores, n of its rows labelled, and the true mean.

    `first` has the labelled positions, `groups` a key of each row.
    """

    scores: Numbers
    labels: Numbers
    first: NDArray[np.int64]
    chances: Numbers
    truth: float
    groups: NDArray[np.int64]

    def labelled(self) -> LabelledScores:
        """Return what the estimators see."""
        here, keys = self.first, self.groups.tolist()
        return LabelledScores(
            scores=self.scores,
            units=keys,
            judged=self.scores[here],
            human=self.labels[here],
            chances=self.chances,
            labelled=[keys[place] for place in here],
        )

    @classmethod
    def simple(cls, scores: Numbers, labels: Numbers, n: int, truth: float) -> "Drawn":
        """Return a run whose first n rows, in random order, are labelled."""
        rows = np.arange(scores.size)
        return cls(scores, labels, rows[:n], np.ones(n), truth, rows)


def claims(cells: Cells, n: int, rng: Random) -> Drawn:
    """Draw rows with one claim and one verdict."""
    verdicts, labels, _ = cells.draw(rng, ROWS)
    return Drawn.simple(verdicts, labels, n, cells.truth)


def supports(cells: Cells, n: int, rng: Random) -> Drawn:
    """Draw rows with one claim, scored by its probability of support."""
    _, labels, support = cells.draw(rng, ROWS)
    return Drawn.simple(support, labels, n, cells.truth)


@dataclass(frozen=True)
class DrawnClaims(Drawn):
    """A run whose rows have several claims, `sizes` each, that were labelled one by one."""

    sizes: NDArray[np.int64]
    judged: Numbers
    human: Numbers

    def labelled(self) -> LabelledScores:
        """Return the labelled claims; the rows are the units."""
        keys: list[Hashable] = np.repeat(self.first, self.sizes[self.first]).tolist()
        n, chances = len(keys), self.sizes[keys].astype(float)
        rows = range(ROWS)
        few = self.judged[:n], self.human[:n], chances
        return LabelledScores(self.scores, rows, *few, keys)


def claims_of_responses(cells: Cells, n: int, rng: Random) -> DrawnClaims:
    """Draw rows of 1 to 6 claims that are right together; the claims are labelled."""
    sizes = rng.integers(1, 7, ROWS)
    row = np.repeat(np.arange(ROWS), sizes)
    likely = rng.beta(3 * cells.truth, 3 - 3 * cells.truth, ROWS)
    right = (rng.random(row.size) < likely[row]).astype(float)
    verdicts = cells.judged(rng, right)
    scores, labels = (np.bincount(row, each) / sizes for each in (verdicts, right))
    rows = np.arange(ROWS)
    drawn = scores, labels, rows[:n], np.ones(n), cells.truth, rows
    return DrawnClaims(*drawn, sizes, verdicts, right)


def responses(cells: Cells, n: int, rng: Random) -> Drawn:
    """Draw the same rows; the labels are the supported shares."""
    drawn = claims_of_responses(cells, n, rng)
    return Drawn.simple(drawn.scores, drawn.labels, n, cells.truth)


def planned(cells: Cells, n: int, rng: Random) -> Drawn:
    """Draw rows with one claim; those that the judge calls unsupported are labelled more often."""
    verdicts, labels, _ = cells.draw(rng, ROWS)
    wish = np.where(verdicts == 1, 1.0, 3.0)
    chances = wish / wish.sum() * n
    chosen = np.flatnonzero(rng.random(ROWS) < chances)
    rows = np.arange(ROWS)
    return Drawn(verdicts, labels, chosen, chances[chosen], cells.truth, rows)


def sources(cells: Cells, n: int, rng: Random) -> Drawn:
    """Draw rows about sources of 1 to 5 rows that are right together."""
    sizes = rng.integers(1, 6, ROWS)
    group = np.repeat(np.arange(ROWS), sizes)[:ROWS]
    right = rng.beta(4 * cells.truth, 4 - 4 * cells.truth, ROWS)
    labels = (rng.random(ROWS) < right[group]).astype(float)
    rows = np.arange(ROWS)
    scores = cells.judged(rng, labels)
    return Drawn(scores, labels, rows[:n], np.ones(n), cells.truth, group)


def wilson(labels: Numbers, n: float) -> Ends:
    """Return Wilson's interval (1927)."""
    share = float(labels.mean())
    middle, half = share + Z * Z / 2 / n, Z * math.sqrt(share * (1 - share) / n + (Z / 2 / n) ** 2)
    return (middle - half) / (1 + Z * Z / n), (middle + half) / (1 + Z * Z / n)


def labels_alone(run: Drawn) -> Ends:
    """Return the interval without a judge: Wilson's, or that of a mean of graded scores."""
    labels = run.labels[run.first]
    if np.isin(labels, (0, 1)).all() and np.unique(run.groups[run.first]).size == labels.size:
        weights = 1 / run.chances
        share = np.array([labels @ weights / weights.sum()])
        return wilson(share, effective(weights))
    keys = run.groups[run.first].tolist()
    return mean_interval(labels.tolist(), clusters=keys) or (0.0, 1.0)


def ppi(labels: Numbers, judged: Numbers, others: Numbers, *, tuned: bool) -> Ends:
    """Return the interval of prediction-powered inference, of PPI++ if it is tuned.

    Sources: Angelopoulos et al. (2023), arXiv 2301.09633 and 2311.01453.
    """
    n, rest = labels.size, others.size
    scale = 1.0
    if tuned:
        spread = float(np.concatenate([judged, others]).var(ddof=1))
        both = float(np.cov(labels, judged, ddof=0)[0, 1])  # as ppi-python
        scale = min(1.0, max(0.0, both / ((1 + n / rest) * spread))) if spread else 0.0
    mean = float((scale * others).mean() + (labels - scale * judged).mean())
    error = math.sqrt((scale * others).var() / rest + (labels - scale * judged).var() / n)
    return mean - Z * error, mean + Z * error


def rogan_gladen(labels: Numbers, judged: Numbers, others: Numbers) -> Ends:
    """Return the interval of Lee et al. (2025), arXiv 2511.21140, with both uncertainties."""
    m1, m0, n = labels.sum(), (1 - labels).sum(), others.size
    p = (others.sum() + Z * Z / 2) / (n + Z * Z)
    q1 = (labels @ judged + 1) / (m1 + 2)
    q0 = ((1 - labels) @ (1 - judged) + 1) / (m0 + 2)
    if q0 + q1 <= 1:
        return 0.0, 1.0
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    shift = 2 * Z * Z * (-(1 - theta) * q0 * (1 - q0) / (m0 + 2) + theta * q1 * (1 - q1) / (m1 + 2))
    noise = p * (1 - p) / (n + Z * Z)
    noise += (1 - theta) ** 2 * q0 * (1 - q0) / (m0 + 2) + theta**2 * q1 * (1 - q1) / (m1 + 2)
    half = Z * math.sqrt(noise) / (q0 + q1 - 1)
    return max(0.0, theta + shift - half), min(1.0, theta + shift + half)


def rivals(run: Drawn, *, verdicts: bool) -> dict[str, Ends]:
    """Return the intervals of other methods for rows drawn with equal chances."""
    labels, judged = run.labels[run.first], run.scores[run.first]
    others = np.delete(run.scores, run.first)
    found = {
        "PPI": ppi(labels, judged, others, tuned=False),
        "PPI++": ppi(labels, judged, others, tuned=True),
    }
    if verdicts:
        found["Rogan-Gladen"] = rogan_gladen(labels, judged, others)
    return found


Once = Callable[[Random], tuple[float, dict[str, Ends], bool]]
"""Simulates a run: returns the truth, the intervals, and whether a label disagrees."""


def measured(cell: tuple[str, int, Once], *, simulations: int, most: float) -> tuple[str, bool]:
    """Return a line of the table, and whether it is as it must be.

    `most` is the highest coverage allowed from n = 100 on, in runs where a label disagrees.
    """
    name, n, once = cell
    rng = np.random.default_rng([n, *name.encode()])
    seen: dict[str, list[tuple[bool, float]]] = {}
    differ: list[bool] = []
    for _ in range(simulations):
        label_statistics.SEED = intervals.SEED = int(rng.integers(2**31))
        truth, found, differs = once(rng)
        differ.append(differs)
        for method, (low, high) in found.items():
            seen.setdefault(method, []).append((low <= truth <= high, high - low))
    covers, widths = zip(*(np.mean(each, axis=0) for each in seen.values()), strict=True)
    figures = dict(zip(seen, zip(covers, widths, strict=True), strict=True))
    ours, alone = figures["corrected"], figures.get("labels alone")
    wrong: list[str] = []
    if ours[0] < (0.92 if n < 30 else 0.93):
        wrong.append("covers too little")
    covered = [one for (one, _), each in zip(seen["corrected"], differ, strict=True) if each]
    if n >= 100 and np.mean(covered or [False]) > most:
        wrong.append("covers too much")
    if alone and ours[1] > alone[1]:
        wrong.append("wider than labels alone")
    words = "  ".join(f"{method} {100 * c:5.1f} {w:.4f}" for method, (c, w) in figures.items())
    return f"{name:34} {n:4}  {words}  {', '.join(wrong).upper()}", not wrong


def one_run(
    draw: Callable[[Random], Drawn], rng: Random, *, verdicts: bool, equal: bool
) -> tuple[float, dict[str, Ends], bool]:
    """Return the true mean of a simulated run, all intervals, and whether a label disagrees."""
    run = draw(rng)
    seen = run.labelled()
    found = {"corrected": corrected_mean(seen).interval, "labels alone": labels_alone(run)}
    found |= rivals(run, verdicts=verdicts) if equal else {}
    return run.truth, found, bool(np.any(seen.judged != seen.human))


def differing(
    cells: Cells, fixed: float, n: int, rng: Random
) -> tuple[float, dict[str, Ends], bool]:
    """Return the gain of a system that gets a share of the wrong answers right; labels of both."""
    before = claims(cells, n, rng)
    again = rng.random(ROWS) < fixed
    labels = np.where(again, 1.0, before.labels)
    scores = np.where(labels != before.labels, cells.judged(rng, labels), before.scores)
    after = Drawn.simple(scores, labels, n, cells.truth + fixed * (1 - cells.truth))
    found = corrected_difference(before.labelled(), after.labelled())
    gain = after.truth - before.truth
    both = np.sqrt(before.labels[:n].var(ddof=1) / n + after.labels[:n].var(ddof=1) / n)
    middle = float(after.labels[:n].mean() - before.labels[:n].mean())
    apart = middle - Z * float(both), middle + Z * float(both)
    return gain, {"corrected": found.interval, "labels, unpaired": apart}, True


def main() -> int:
    """Print the table; return 1 where a figure is out of its bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("simulations", nargs="?", type=int, default=2000)
    parser.add_argument("--verdicts", type=Path, metavar="DIR")
    given = parser.parse_args()
    counts = counted(given.verdicts) if given.verdicts else json.loads(VERDICTS.read_text())
    simulations: int = given.simulations
    people = {name: Cells.of_counts(each) for name, each in counts.items()}
    simulated = {
        "good system, good judge": Cells.simulated(0.93, 0.95, 0.8),
        "good system, fair judge": Cells.simulated(0.9, 0.9, 0.6),
        "fair system, weak judge": Cells.simulated(0.75, 0.8, 0.5),
        "fair system, useless judge": Cells.simulated(0.7, 0.6, 0.4),
        "near-perfect judge": Cells.simulated(0.85, 0.99, 0.97),
    }
    both = people | simulated
    some = {name: both[name] for name in ("begin", "wice_dev", *simulated)}
    few = {
        name: both[name] for name in ("begin", "good system, good judge", "good system, fair judge")
    }

    def cells_of(
        draw: Callable[..., Drawn],
        of: dict[str, Cells],
        sizes: tuple[int, ...],
        *,
        verdicts: bool = False,
        equal: bool = True,
    ) -> list[tuple[str, int, Once]]:
        return [
            (name, n, partial(one_run, partial(draw, cells, n), verdicts=verdicts, equal=equal))
            for name, cells in of.items()
            for n in sizes
        ]

    # 100 rows of sources are about 33 independent ones
    tables: dict[str, tuple[float, list[tuple[str, int, Once]]]] = {
        "verdicts": (0.97, cells_of(claims, both, SIZES, verdicts=True)),
        "probabilities": (0.97, cells_of(supports, people, SIZES)),
        "responses of 1 to 6 claims": (0.97, cells_of(responses, some, (20, 30, 100))),
        "the same, claims labelled": (0.97, cells_of(claims_of_responses, some, (20, 30, 100))),
        "planned, 3 times as often if unsupported": (
            0.97,
            cells_of(planned, few, (30, 100), equal=False),
        ),
        "sources of 1 to 5 rows": (1.0, cells_of(sources, few, (30, 100), equal=False)),
        "difference of two runs, the same questions labelled": (
            1.0,
            [
                (name, n, partial(differing, cells, 0.3, n))
                for name, cells in few.items()
                for n in (30, 100)
            ],
        ),
    }
    fine: list[bool] = []
    with ProcessPoolExecutor() as pool:
        found = {
            title: pool.map(partial(measured, simulations=simulations, most=most), cells)
            for title, (most, cells) in tables.items()
        }
        for title, lines in found.items():
            print(f"\n{title}: coverage in % and width", flush=True)
            for line, passed in lines:
                print(line, flush=True)
                fine.append(passed)
    print(f"\n{len(fine)} cells, {fine.count(False)} out of bounds")
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
