"""Two runs, compared: what changed, what moved, and whether by more than chance."""
