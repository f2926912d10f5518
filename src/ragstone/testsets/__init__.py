"""Test sets and the documents behind them."""

from ragstone.testsets.check import Finding, RowCheck, SetCheck, check_questions
from ragstone.testsets.documents import Corpus, read_documents
from ragstone.testsets.generate import Generated, QuestionRequest, generate_questions

__all__ = [
    "Corpus",
    "Finding",
    "Generated",
    "QuestionRequest",
    "RowCheck",
    "SetCheck",
    "check_questions",
    "generate_questions",
    "read_documents",
]
