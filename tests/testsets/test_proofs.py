"""Proofs are asked of a panel."""

from pathlib import Path

import pytest

from ragstone.judges.base import ScriptedJudge
from ragstone.judges.panel import PanelJudge
from ragstone.testsets.documents import read_documents
from ragstone.testsets.index import ChunkIndex
from ragstone.testsets.proofs import Prover, UnprovenError
from ragstone.types.claim import FoundAnswer


async def test_a_split_panel_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Case\n\nThe Gamma case is deep blue.", encoding="utf-8")
    index = ChunkIndex(read_documents(tmp_path))
    found = (FoundAnswer(found=True, answer="Blue."), FoundAnswer(found=False))
    prover = Prover(index, PanelJudge([ScriptedJudge({"find_answer": each}) for each in found]))
    (chunk,) = index.corpus.chunks
    query = "What colour is the Gamma case?"
    for proof in (
        prover.check_answer(query, "Deep blue."),
        prover.check_insufficient(query, chunk),
        prover.check_unanswerable(query),
        prover.other_answers(query, ["It is deep blue."], []),
    ):
        with pytest.raises(UnprovenError, match="judges disagree"):
            await proof
