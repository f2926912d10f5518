"""A small real RAG service over a smartphone-support corpus, and the data to evaluate it with."""
