"""Concurrency, HTTP, files and text, for all other packages."""
