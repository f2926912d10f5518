"""The list of metrics, for `--list-metrics`."""

from rich.console import Console
from rich.table import Table

from ragstone.metrics import GROUPS, catalogue, planned
from ragstone.metrics.planned import NOT_YET


def print_catalogue(console: Console) -> None:
    """Print every metric: its name, what it measures, and what it needs."""
    table = Table("metric", "what it measures", "needs", title="Metrics", title_justify="left")
    for info in catalogue().values():
        needs = ", ".join(info.needs)
        waits = f"; {NOT_YET}" if info.name in planned() else ""
        table.add_row(info.name, info.description, needs + waits)
    console.print(table)
    groups = ", ".join(GROUPS)
    console.print(f"Groups: {groups}. A cut-off of its own: hit@10. Your own: --plugin FILE.py.")
