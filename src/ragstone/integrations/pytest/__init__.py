"""What the pytest plugin does once a test asks for it."""

SKIPPED = "ragstone: "  # begins our skip reasons
