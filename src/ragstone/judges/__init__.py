"""Judges: who answers questions, judges around judges, and `factory`, which combines them."""
