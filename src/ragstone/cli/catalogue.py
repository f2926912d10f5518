"""The list of metrics, for `--list-metrics`."""

from rich.console import Console
from rich.table import Table

from ragstone.metrics import GROUPS, catalogue
from ragstone.metrics.planned import NEEDS_LLM, PLANNED


def print_catalogue(console: Console) -> None:
    """Print every metric: its name, what it measures, and what it needs."""
    table = Table("metric", "what it measures", "needs", title="Metrics", title_justify="left")
    for info in catalogue().values():
        needs = ", ".join(info.needs)
        planned = f"; not in this version: {NEEDS_LLM}" if info.name in PLANNED else ""
        table.add_row(info.name, info.description, needs + planned, end_section=False)
    console.print(table)
    groups = ", ".join(GROUPS)
    console.print(f"Groups: {groups}. A cut-off of its own: hit@10. Your own: --plugin FILE.py.")
