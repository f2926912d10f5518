"""TieRule: which of two documents with equal scores stands before the other."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragstone.ranking_files import Batch
from ragstone.ranking_files.texts import Integers

TieRule = Literal["trec_eval", "given"]
"""The one whose id is greater byte by byte, or the one that the file has first."""


def tied(batch: Batch, rule: TieRule) -> Batch:
    """Return a batch in which equal scores are ranked by that rule."""
    return batch if rule == "trec_eval" else _AsGiven(**vars(batch))


@dataclass(frozen=True)
class _AsGiven(Batch):
    """A batch in which documents with equal scores stay in the order of the file."""

    def order(self) -> Integers | None:
        """Return the documents' places by rank, query after query; None where they stand so."""
        scores = self.scores
        if scores is None:
            return None
        falls = np.ones(len(scores), dtype=np.bool_)
        falls[1:] = scores[1:] <= scores[:-1]
        falls[self.spans.starts[self.spans.sizes > 0]] = True
        if falls.all():
            return None
        owners = np.repeat(np.arange(len(self.queries)), self.spans.sizes)
        return np.lexsort((-scores, owners))
