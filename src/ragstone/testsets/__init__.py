"""Test sets and the documents behind them."""

from ragstone.testsets.check import Finding, RowCheck, SetCheck, check_questions
from ragstone.testsets.documents import Corpus, read_documents

__all__ = ["Corpus", "Finding", "RowCheck", "SetCheck", "check_questions", "read_documents"]
