"""Comparisons of two runs: what changed, and whether by more than chance."""
