"""ClaimChanges: which claims appeared, vanished, lost or gained support from run A to run B."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from ragstone.results.compare.pairing import MetricColumn, Pair, claim_key
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.row import Row


class Kind(StrEnum):
    """What became of a claim; the worst first."""

    LOST = "no longer supported"
    GAINED = "now supported"
    APPEARED = "appeared"
    VANISHED = "vanished"


class Seen(NamedTuple):
    """Where a claim changed: the pair, and the claim's key."""

    pair: Pair
    key: int


@dataclass(frozen=True)
class ClaimChange:
    """One claim that changed: the sample's id, and the label on each side where it stands.

    `reason` is that of B's judge, or of A's for a claim that vanished.
    """

    sample_id: str
    text: str
    a: Label | None
    b: Label | None
    reason: str | None

    def to_dict(self) -> dict[str, object]:
        """Return the change as plain data."""
        return vars(self)


@dataclass(frozen=True)
class ClaimChanges:
    """What became of one metric's claims, over the pairs that both scored.

    Claims are the same if their words are, whatever the width, case and white space, and if both
    are held against the same texts.

    Attributes:
        kept: claims that stand on both sides, supported on both or on neither.
        counts: how many changed, by what became of them.
        appeared_unsupported: how many of those that appeared are not supported.
        first: the first few of each kind, in the order of the rows; of those that appeared, the
            ones that are not supported come first.
    """

    metric: str
    kept: int
    counts: Mapping[Kind, int]
    appeared_unsupported: int
    first: Mapping[Kind, tuple[ClaimChange, ...]]

    def to_dict(self) -> dict[str, object]:
        """Return the changes as plain data."""
        return {
            "kept": self.kept,
            **{kind.name.lower(): self.counts[kind] for kind in Kind},
            "appeared_unsupported": self.appeared_unsupported,
            "first": {
                kind.name.lower(): [change.to_dict() for change in self.first[kind]]
                for kind in Kind
            },
        }


class ClaimCount:
    """Counts what became of claims, pair by pair, and remembers where the first few stand."""

    def __init__(self, top: int) -> None:
        self.kept = self.appeared_unsupported = 0
        self.counts = dict.fromkeys(Kind, 0)
        self._seen: dict[Kind, list[Seen]] = {kind: [] for kind in Kind}
        self._appeared_supported: list[Seen] = []
        self._top = top

    @property
    def first(self) -> Mapping[Kind, Sequence[Seen]]:
        """The first few of each kind; those that appeared unsupported before those that did not."""
        appeared = [*self._seen[Kind.APPEARED], *self._appeared_supported]
        return {**self._seen, Kind.APPEARED: appeared[: self._top]}

    def add(self, pair: Pair, a: Mapping[int, Label], b: Mapping[int, Label]) -> None:
        """Count the claims of one pair."""
        if a == b:
            self.kept += len(a)
            return
        for key, label in b.items():
            if key not in a:
                supported = label is Label.SUPPORTED
                self.appeared_unsupported += not supported
                seen = self._appeared_supported if supported else self._seen[Kind.APPEARED]
                self._see(Kind.APPEARED, Seen(pair, key), seen)
            elif (a[key] is Label.SUPPORTED) == (label is Label.SUPPORTED):
                self.kept += 1
            else:
                lost = a[key] is Label.SUPPORTED
                self._see(Kind.LOST if lost else Kind.GAINED, Seen(pair, key))
        for key in a:
            if key not in b:
                self._see(Kind.VANISHED, Seen(pair, key))

    def _see(self, kind: Kind, found: Seen, seen: list[Seen] | None = None) -> None:
        self.counts[kind] += 1
        seen = self._seen[kind] if seen is None else seen
        if len(seen) < self._top:
            seen.append(found)


def claim_changes(
    metric: str,
    columns: tuple[MetricColumn, MetricColumn],
    *,
    runs: tuple[Run, Run],
    pairs: Sequence[Pair],
    top: int,
) -> ClaimChanges:
    """Return what became of a metric's claims; only the rows that are told of are read."""
    count = ClaimCount(top)
    for pair in pairs:
        count.add(pair, columns[0].claims(pair[0]), columns[1].claims(pair[1]))
    return ClaimChanges(
        metric=metric,
        kept=count.kept,
        counts=count.counts,
        appeared_unsupported=count.appeared_unsupported,
        first={
            kind: tuple(_told(metric, runs, found) for found in seen)
            for kind, seen in count.first.items()
        },
    )


def _told(metric: str, runs: tuple[Run, Run], seen: Seen) -> ClaimChange:
    rows = runs[0].rows[seen.pair[0]], runs[1].rows[seen.pair[1]]
    a, b = (_claim(row, metric, seen.key) for row in rows)
    shown = b or a
    assert shown is not None
    return ClaimChange(
        sample_id=rows[1].sample.id,
        text=shown.text,
        a=a and a.label,
        b=b and b.label,
        reason=shown.reason,
    )


def _claim(row: Row, metric: str, key: int) -> JudgedClaim | None:
    claims = row.scores[metric].claims
    return next((each for each in claims if claim_key(each.text, each.against) == key), None)
