"""Statistics on plain numbers: intervals, bounds, paired tests. NumPy only, and deterministic."""
