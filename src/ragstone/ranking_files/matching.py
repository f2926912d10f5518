"""Matching: a batch of what was returned, held against what is judged."""

from collections.abc import Iterator

import numpy as np

from ragstone.messages import quoted
from ragstone.ranking_files.batch import Batch, TieRule
from ragstone.ranking_files.block import Block
from ragstone.ranking_files.judgements import Judgements
from ragstone.ranking_files.problems import Problems
from ragstone.ranking_files.spans import CELLS
from ragstone.rankings import Rankings


def matched(
    batch: Batch,
    judgements: Judgements,
    problems: Problems,
    *,
    ties: TieRule = "trec_eval",
    depth: int | None = None,
) -> Iterator[tuple[list[str], Rankings]]:
    """Yield the judged queries of a batch, some at once, and their rankings.

    Rankings end at the depth, if there is one. A document that stands twice for a query is noted
    as a problem.
    """
    known = np.array([judgements.queries.get(name, -1) for name in batch.queries], np.int64)
    order = batch.order(ties)
    for queries in batch.spans.blocks(CELLS, judgements.spans.of_some(known)):
        block = Block.of(batch, judgements, queries=queries, known=known[queries], order=order)
        matches = block.matches()
        for copies in matches.copies:
            _note(batch, copies, problems)
        judged = np.flatnonzero(known[queries] >= 0) + queries.start
        places: list[int] = judged.tolist()
        names = [batch.queries[place] for place in places]
        if names:
            yield names, block.rankings(matches, depth)


def _note(batch: Batch, copies: tuple[int, int], problems: Problems) -> None:
    first, second = sorted(copies, key=lambda place: int(batch.lines[place]))
    query = quoted(batch.queries[batch.spans.owner(first)])
    told = f"document {quoted(batch.documents.text(first))} of query {query}"
    problems.add(
        f"{told} stands at {problems.unit} {batch.lines[first]} already",
        "a ranking has each document once",
        line=int(batch.lines[second]),
    )
