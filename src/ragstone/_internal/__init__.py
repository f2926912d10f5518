"""Concurrency, HTTP, files and text: what every package may use."""
