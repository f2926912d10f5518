"""The web pages over the store: all runs, one run with its samples, two runs compared."""
