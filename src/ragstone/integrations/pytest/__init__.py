"""What the pytest plugin does once a test asks for it."""

SKIPPED = "ragstone: "
"""Prefix of our skip reasons."""
