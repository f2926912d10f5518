"""RAG systems that can be called: HTTP APIs and Python functions."""
