"""A finished run: its rows, its summaries, its statistics, and comparisons of two runs."""
