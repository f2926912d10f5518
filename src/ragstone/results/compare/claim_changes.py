"""ClaimChanges: which claims appeared, vanished, lost or gained support from run A to run B."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragstone.results.compare.pairing import MetricColumn, Pair, claim_key
from ragstone.results.run import Run
from ragstone.types.claim import Label


class Kind(StrEnum):
    """How a claim changed; the worst first."""

    LOST = "no longer supported"
    GAINED = "now supported"
    APPEARED = "appeared"
    VANISHED = "vanished"


@dataclass(frozen=True)
class ClaimChange:
    """One claim that changed: the sample's id, and the label in each run that has the claim.

    `reason` is from B's judge, or from A's for a claim that vanished. `pair` has the sample's
    places in the rows of A and B.
    """

    sample_id: str
    text: str
    a: Label | None
    b: Label | None
    reason: str | None
    pair: Pair


@dataclass(frozen=True)
class ClaimChanges:
    """How the claims of one metric changed, over the pairs that both runs scored.

    Claims are the same if they have the same words, except for width, case and white space, and
    if both were compared with the same texts.

    Attributes:
        unchanged: claims of both runs that are supported in both or in neither.
        counts: number of changed claims by kind.
        appeared_unsupported: number of claims that appeared and are not supported.
        first: the first few of each kind, in the order of the rows. Of claims that appeared,
            unsupported ones come first.
    """

    metric: str
    unchanged: int
    counts: Mapping[Kind, int]
    appeared_unsupported: int
    first: Mapping[Kind, tuple[ClaimChange, ...]]

    def to_dict(self) -> dict[str, object]:
        fields = ("sample_id", "text", "a", "b", "reason")
        return {
            "kept": self.unchanged,
            **{kind.name.lower(): self.counts[kind] for kind in Kind},
            "appeared_unsupported": self.appeared_unsupported,
            "first": {
                kind.name.lower(): [
                    {name: getattr(each, name) for name in fields} for each in self.first[kind]
                ]
                for kind in Kind
            },
        }


def claim_changes(
    metric: str,
    columns: tuple[MetricColumn, MetricColumn],
    *,
    runs: tuple[Run, Run],
    pairs: Sequence[Pair],
    top: int,
) -> ClaimChanges:
    unchanged = appeared_unsupported = 0
    counts = dict.fromkeys(Kind, 0)
    found: dict[Kind, list[tuple[Pair, int]]] = {kind: [] for kind in Kind}
    appeared_supported: list[tuple[Pair, int]] = []
    for pair in pairs:
        a, b = columns[0].claims(pair[0]), columns[1].claims(pair[1])
        changed: list[tuple[Kind, int]] = []
        for key, label in b.items():
            supported = label is Label.SUPPORTED
            if key not in a:
                changed.append((Kind.APPEARED, key))
                appeared_unsupported += not supported
            elif (a[key] is Label.SUPPORTED) == supported:
                unchanged += 1
            else:
                changed.append((Kind.GAINED if supported else Kind.LOST, key))
        changed += [(Kind.VANISHED, key) for key in a if key not in b]
        for kind, key in changed:
            counts[kind] += 1
            appeared = kind is Kind.APPEARED and b[key] is Label.SUPPORTED
            some = appeared_supported if appeared else found[kind]
            if len(some) < top:
                some.append((pair, key))
    found[Kind.APPEARED] = [*found[Kind.APPEARED], *appeared_supported][:top]
    return ClaimChanges(
        metric=metric,
        unchanged=unchanged,
        counts=counts,
        appeared_unsupported=appeared_unsupported,
        first={
            kind: tuple(_claim_change(metric, runs, pair, key) for pair, key in some)
            for kind, some in found.items()
        },
    )


def _claim_change(metric: str, runs: tuple[Run, Run], pair: Pair, key: int) -> ClaimChange:
    rows = runs[0].rows[pair[0]], runs[1].rows[pair[1]]
    a, b = (
        next((c for c in row.scores[metric].claims if claim_key(c.text, c.against) == key), None)
        for row in rows
    )
    shown = b or a
    assert shown is not None
    return ClaimChange(
        sample_id=rows[1].sample.id,
        text=shown.text,
        a=a and a.label,
        b=b and b.label,
        reason=shown.reason,
        pair=pair,
    )
