"""Web pages of runs: one HTML file, and the templates and assets it shares with the viewer."""
