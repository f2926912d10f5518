"""A ranking's run on the terminal: the metrics' table, what it covers, and how the gates went."""

from rich.console import Console

from ragstone.reports.console_text import shown
from ragstone.reports.facts import why_failed
from ragstone.reports.figures import decimal
from ragstone.reports.metric_table import print_metrics
from ragstone.reports.worst import focus
from ragstone.run import Run


def print_ranking(run: Run, console: Console) -> None:
    """Print what a ranking from a file came to, and the queries that did worst."""
    console.print(shown(run.manifest.source.name, console, "bold"))
    print_metrics(run, console)
    for note in run.manifest.source.notes:
        console.print(shown(note, console))
    for name in run.metrics:
        if why := why_failed(run, name):
            console.print(shown(f"{name}: failed: {why}", console, "red"))
    for result in run.gates():
        word = {True: "passed", False: "FAILED", None: "NOT TOLD"}[result.passed]
        style = "" if result.passed else "bold red"
        console.print(shown(f"Gate {word}: {result}", console, style))
    _print_worst(run, console)


def _print_worst(run: Run, console: Console) -> None:
    """Print the queries that did worst: id, value, and the text where there is one."""
    name = focus(run)
    if name is None:
        return
    info, tally = run.metrics[name], run.tally.scores[name]
    best = info.high if info.higher_is_better else info.low
    found = tally.worst(higher_is_better=info.higher_is_better)
    lowest = [placed for placed in found if placed.value != best]
    if lowest:
        console.print(shown(f"Worst by {name}", console, "bold"))
    for placed in lowest:
        line = shown(placed.sample_id, console, "bold", limit=60).append("  ")
        line.append_text(shown(decimal(placed.value), console))
        query = run.rows[placed.place].sample.query
        if query != placed.sample_id:
            line.append("  ").append_text(shown(query, console, limit=120))
        console.print(line)
