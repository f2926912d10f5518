"""Families: what metrics of one kind share, each in a file of its own."""
