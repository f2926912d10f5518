"""A run, written for people and for machines: workbooks, the terminal, JSON."""
