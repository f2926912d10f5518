"""Progress of a run: a bar on a terminal, a plain line now and then elsewhere."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ragstone.messages import count
from ragstone.rows import Row
from ragstone.scores import State

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(console: Console) -> Generator[Callable[[Row, int], None], None, None]:
    """Show how far a run is; gives what to call with each finished row and the rows in all."""
    if console.is_terminal:
        with _bar(console) as on_row:
            yield on_row
    else:
        yield _lines(console)


@contextmanager
def _bar(console: Console) -> Generator[Callable[[Row, int], None], None, None]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("evaluating", total=None)
        failed = 0

        def on_row(row: Row, total: int) -> None:
            nonlocal failed
            failed += _failed(row)
            said = f"evaluating ({failed} failed)" if failed else "evaluating"
            bar.update(task, advance=1, total=total, description=said)

        yield on_row


def _lines(console: Console) -> Callable[[Row, int], None]:
    done, failed, last = 0, 0, monotonic()

    def on_row(row: Row, total: int) -> None:
        nonlocal done, failed, last
        done += 1
        failed += _failed(row)
        if monotonic() - last >= SECONDS_BETWEEN_LINES and done < total:
            last = monotonic()
            console.print(f"{done} of {count(total, 'row')} done, {failed} failed", highlight=False)

    return on_row


def _failed(row: Row) -> bool:
    return any(score.state is State.FAILED for score in row.scores.values())
