"""Ranking files, read in blocks of queries and joined with judgments."""
