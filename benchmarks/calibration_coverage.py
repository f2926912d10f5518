"""How often the 95 % intervals of means corrected with human labels hold the true mean.

python benchmarks/calibration_coverage.py [SIMULATIONS] [--people DIR]

With --people: the offline judge against people's labels in DIR/SOURCE.jsonl.gz. A run is about
1,000 rows: whole sources (rows with the same contexts), drawn with replacement. Its truth is the
mean that people's labels give all rows of the data set. n rows are labelled, drawn at random. Each
line has coverage and mean width of the interval that ragstone shows (labels regressed on the
judge's probabilities), of one that uses the verdicts only, and of labels alone; then how often a
gate that tests the interval passes, if the truth is .03 below it, and .05 and .10 above it. Real
systems: how far the mean is off after the shift that labels of another system give, and coverage of
the difference of two systems with labels of the same questions.

Simulated systems follow: N = 1,000 rows are judged and n of them labelled. Each line has the
coverage and the mean width of the corrected interval, of labels alone, of PPI, PPI++ and
Rogan-Gladen.

The measured coverage must be at least 93 % (92 % for n = 20) and, for 100 independent simulated
rows, at most 97 % of the runs in which a label disagrees with the judge. The mean width must not
exceed that of labels alone, and at most 3 % of the gates may pass .03 too low. Exit 1 otherwise.
With 2,000 runs, the standard error of a coverage is 0.5 points.
"""

import argparse
import gzip
import json
import math
import sys
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.judge import OfflineJudge, verify_claims
from ragstone.results.stats import intervals
from ragstone.results.stats import labels as label_statistics
from ragstone.results.stats.intervals import NORMAL, effective, mean_interval
from ragstone.results.stats.labels import LabelledScores, corrected_difference, corrected_mean
from ragstone.types.claim import Label

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Ends = tuple[float, float]
Random = np.random.Generator
ROWS = 1000
SIZES = (20, 30, 50, 100, 200)
THRESHOLD = OfflineJudge().settings.threshold
Z = NORMAL.inv_cdf(0.975)
# fewer for speed; each run has its own draws, so that their errors average out
label_statistics.DRAWS, intervals.RESAMPLES = 1000, 500


@dataclass(frozen=True)
class People:
    """Claims that people labelled, in rows, the rows in sources: rows with the same contexts."""

    name: str
    support: Numbers  # the judge's probability for each claim
    label: Numbers
    row: Places  # of each claim
    source: Places  # of each row

    @classmethod
    def of(cls, name: str, rows: Sequence["PeopleRow"]) -> "People":
        """Number the rows and their sources."""
        claims = [(n, *claim) for n, row in enumerate(rows) for claim in row.claims]
        known = {source: n for n, source in enumerate(dict.fromkeys(row.source for row in rows))}
        row, support, label = (np.array(column) for column in zip(*claims, strict=True))
        return cls(name, support, label, row, np.array([known[each.source] for each in rows]))

    def mean(self, values: Numbers) -> Numbers:
        """Return the mean of each row's claims."""
        return np.bincount(self.row, values) / np.bincount(self.row)

    @property
    def truth(self) -> float:
        """The mean that people's labels give all rows."""
        return float(self.mean(self.label).mean())

    def sources(self) -> list[Places]:
        """Return the rows of each source."""
        order = np.argsort(self.source, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.source[order])) + 1)

    def labelled(
        self, rows: Places, units: Places, chosen: Places, *, verdicts: bool = False
    ) -> LabelledScores:
        """Return what the estimators see of a run of these rows; `chosen` ones are labelled."""
        figures = (self.support >= THRESHOLD).astype(float) if verdicts else self.support
        starts = np.searchsorted(self.row, np.arange(self.source.size + 1))
        judged: list[float] = []
        human: list[float] = []
        chances: list[float] = []
        keys: list[int] = []
        for place in chosen.tolist():
            here = slice(*starts[[rows[place], rows[place] + 1]].tolist())
            size = here.stop - here.start
            judged += figures[here].tolist()
            human += self.label[here].tolist()
            chances += [float(size)] * size
            keys += [int(units[place])] * size
        columns = (np.array(column) for column in (judged, human, chances))
        return LabelledScores(self.mean(figures)[rows], units.tolist(), *columns, keys)


class PeopleRow(NamedTuple):
    """A row: its source, its system, and probability and label of each claim."""

    source: str
    system: str
    claims: tuple[tuple[float, float], ...]


def read_people(path: Path) -> list[PeopleRow]:
    """Ask the offline judge about each labelled claim of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [*map(_people_row, map(json.loads, file))]


def _people_row(row: dict[str, Any]) -> PeopleRow:
    response, contexts = row["response"], row["contexts"]
    labels = {response: float(row["label"] == "SUPPORTED")}
    if spans := row.get("spans"):  # of RAGTruth: a claim with wrong words is wrong
        labels = {
            claim.text: float(
                all(
                    claim.span is None
                    or claim.span[1] <= wrong["start"]
                    or wrong["end"] <= claim.span[0]
                    for wrong in spans
                )
            )
            for claim in extract_claims(response)
        }
    elif spans is not None:
        labels = dict.fromkeys((claim.text for claim in extract_claims(response)), 1.0)
    verdicts = verify_claims((*labels,), contexts)
    yes = [v.label is Label.SUPPORTED for v in verdicts]
    support = [abs((not one) - (v.confidence or 0.0)) for one, v in zip(yes, verdicts, strict=True)]
    parts = row["id"].split("-")
    system = row.get("model") or (parts[-2] if row.get("source") == "faithdial_audit" else "")
    return PeopleRow(
        json.dumps(contexts), system, tuple(zip(support, labels.values(), strict=True))
    )


def people_cell(cell: tuple[People, int], *, simulations: int) -> tuple[str, bool]:
    """Return a line of the table of people's labels, and whether it is as it must be."""
    people, n = cell
    rng = np.random.default_rng([n, *people.name.encode()])
    truth, sources = people.truth, people.sources()
    whole = people.mean(people.label)
    intervals_of: dict[str, list[Ends]] = {"corrected": [], "verdicts only": [], "labels alone": []}
    for _ in range(simulations):
        label_statistics.SEED = intervals.SEED = int(rng.integers(2**31))
        rows, units = drawn_sources(sources, rng)
        chosen = rng.permutation(rows.size)[:n]
        for name, verdicts in (("corrected", False), ("verdicts only", True)):
            seen = people.labelled(rows, units, chosen, verdicts=verdicts)
            intervals_of[name].append(corrected_mean(seen).interval)
        alone = mean_interval(whole[rows[chosen]].tolist(), clusters=units[chosen].tolist())
        intervals_of["labels alone"].append(alone or (0.0, 1.0))
    ends = {name: np.array(each) for name, each in intervals_of.items()}
    covers = {
        name: float(np.mean((e[:, 0] <= truth) & (truth <= e[:, 1]))) for name, e in ends.items()
    }
    widths = {name: float(np.mean(e[:, 1] - e[:, 0])) for name, e in ends.items()}
    passes = [float(np.mean(ends["corrected"][:, 0] >= truth + gap)) for gap in (0.03, -0.05, -0.1)]
    wrong: list[str] = []
    if covers["corrected"] < (0.92 if n < 30 else 0.93):
        wrong.append("covers too little")
    if widths["corrected"] > widths["labels alone"]:
        wrong.append("wider than labels alone")
    if passes[0] > 0.03:
        wrong.append("passes too often")
    words = "  ".join(f"{name} {100 * covers[name]:5.1f} {widths[name]:.3f}" for name in ends)
    gates = " ".join(f"{100 * share:5.1f}" for share in passes)
    judge = float(people.mean((people.support >= THRESHOLD).astype(float)).mean())
    about = f"{people.name:22} people {truth:.3f} judge {judge:.3f} {n:4}"
    return f"{about}  {words}  passes {gates}  {', '.join(wrong).upper()}", not wrong


def drawn_sources(sources: Sequence[Places], rng: Random) -> tuple[Places, Places]:
    """Draw whole sources until there are about ROWS rows; return the rows and their units."""
    size = fmean(map(len, sources))
    chosen = rng.integers(0, len(sources), max(1, round(ROWS / size)))
    rows = [sources[place] for place in chosen]
    return np.concatenate(rows), np.repeat(np.arange(len(rows)), [each.size for each in rows])


def pair_cell(pair: tuple[People, People], *, simulations: int, n: int = 60) -> str:
    """Return how far labels of one system move the other's mean, and their difference's coverage.

    Both systems answered the questions of the same sources; of n sources all rows are labelled.
    """
    rng = np.random.default_rng([n, *pair[0].name.encode(), *pair[1].name.encode()])
    verdicts = [people.mean((people.support >= THRESHOLD).astype(float)) for people in pair]
    whole = [people.mean(people.label) for people in pair]
    by_source = [people.sources() for people in pair]
    gain = pair[1].truth - pair[0].truth
    errors: dict[str, list[float]] = {"judge": [], "shifted": []}
    inside: list[bool] = []
    for _ in range(simulations):
        label_statistics.SEED = int(rng.integers(2**31))
        drawn = rng.integers(0, len(by_source[0]), len(by_source[0]))
        runs: list[LabelledScores] = []
        means: list[tuple[float, float]] = []
        for people, sources, judge, human in zip(pair, by_source, verdicts, whole, strict=True):
            several = [sources[place] for place in drawn]
            rows = np.concatenate(several)
            units = np.repeat(np.arange(len(several)), [each.size for each in several])
            chosen = np.flatnonzero(units < n)
            runs.append(people.labelled(rows, units, chosen))
            means.append((judge[rows].mean(), (human - judge)[rows[chosen]].mean()))
        low, high = corrected_difference(*runs).interval
        inside.append(low <= gain <= high)
        judged = means[1][0]
        errors["judge"].append(abs(judged - pair[1].truth))
        errors["shifted"].append(abs(np.clip(judged + means[0][1], 0, 1) - pair[1].truth))
    words = "  ".join(f"{name} off by {fmean(each):.3f}" for name, each in errors.items())
    about = f"labels of {pair[0].name}, run of {pair[1].name}"
    return f"{about:34} {words}  difference {gain:+.3f} covered {100 * fmean(inside):5.1f}"


def common_sources(a: Sequence[PeopleRow], b: Sequence[PeopleRow]) -> set[str]:
    """Return the sources of both."""
    return {row.source for row in a} & {row.source for row in b}


def measure_people(folder: Path, simulations: int) -> list[bool]:
    """Print the tables of people's labels; return for each line whether it is as it must be."""
    with ProcessPoolExecutor() as pool:
        files = sorted(folder.glob("*.jsonl.gz"))
        found = dict(
            zip((f.name.split(".")[0] for f in files), pool.map(read_people, files), strict=True)
        )
        everyone = [People.of(name, rows) for name, rows in found.items()]
        systems: dict[str, list[PeopleRow]] = {}
        for row in found.get("faithdial_audit", ()):
            systems.setdefault(row.system, []).append(row)
        everyone += [People.of(f"faithdial, {name}", rows) for name, rows in systems.items()]
        cells = [(people, n) for people in everyone for n in (20, 30, 60, 100)]
        print("\npeople's labels: coverage in % and width; gates that pass, in %", flush=True)
        fine: list[bool] = []
        for line, passed in pool.map(partial(people_cell, simulations=simulations), cells):
            print(line, flush=True)
            fine.append(passed)
        pairs: list[tuple[People, People]] = []
        for a, b in permutations(sorted(systems), 2):
            both = common_sources(systems[a], systems[b])
            if len(both) >= 100:
                one, two = (
                    People.of(name, sorted(r for r in systems[name] if r.source in both))
                    for name in (a, b)
                )
                pairs.append((one, two))
        print("\nreal systems on the same sources, labels of 60 sources", flush=True)
        for line in pool.map(partial(pair_cell, simulations=simulations), pairs):
            print(line, flush=True)
    return fine


@dataclass(frozen=True)
class Cells:
    """A population of claims: the judge's verdict, the label, and how common they are."""

    verdict: Numbers
    label: Numbers
    share: Numbers

    @property
    def truth(self) -> float:
        """The share of claims with the label yes."""
        return float(self.share @ self.label)

    @classmethod
    def simulated(cls, truth: float, sensitivity: float, specificity: float) -> "Cells":
        """Return a population with this share of yes and a judge of this quality."""
        share = [truth * sensitivity, truth * (1 - sensitivity)]
        share += [(1 - truth) * (1 - specificity), (1 - truth) * specificity]
        verdict, label = [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]
        return cls(np.array(verdict), np.array(label), np.array(share))

    def draw(self, rng: Random, n: int) -> tuple[Numbers, Numbers]:
        """Draw the verdicts and labels of n claims."""
        chosen = rng.choice(self.share.size, n, p=self.share)
        return self.verdict[chosen], self.label[chosen]

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
    verdicts, labels = cells.draw(rng, ROWS)
    return Drawn.simple(verdicts, labels, n, cells.truth)


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
    verdicts, labels = cells.draw(rng, ROWS)
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
    """Print the tables; return 1 where a figure is out of its bounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("simulations", nargs="?", type=int, default=2000)
    parser.add_argument("--people", type=Path, metavar="DIR")
    given = parser.parse_args()
    simulations: int = given.simulations
    fine = measure_people(given.people, simulations) if given.people else []
    simulated = {
        "good system, good judge": Cells.simulated(0.93, 0.95, 0.8),
        "good system, fair judge": Cells.simulated(0.9, 0.9, 0.6),
        "fair system, weak judge": Cells.simulated(0.75, 0.8, 0.5),
        "fair system, useless judge": Cells.simulated(0.7, 0.6, 0.4),
        "near-perfect judge": Cells.simulated(0.85, 0.99, 0.97),
    }
    few = {name: simulated[name] for name in [*simulated][:2]}

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
        "verdicts": (0.97, cells_of(claims, simulated, SIZES, verdicts=True)),
        "responses of 1 to 6 claims": (0.97, cells_of(responses, simulated, (20, 30, 100))),
        "the same, claims labelled": (
            0.97,
            cells_of(claims_of_responses, simulated, (20, 30, 100)),
        ),
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
