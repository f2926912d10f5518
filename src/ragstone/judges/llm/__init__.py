"""Judges that call a language model."""
