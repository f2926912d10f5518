"""What becomes of a judge's test: JSON where it was asked for, and an exit code."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from ragstone.cli.codes import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.judge_test import JudgeTest
from ragstone.judge_test.gates import Mark, unmet
from ragstone.judge_test.result import MOST_FAILED
from ragstone.messages import count
from ragstone.reports.files import write_file


def write_test(file: str, result: JudgeTest, marks: Sequence[Mark]) -> None:
    """Write a test as JSON into a file; `-` is standard output.

    Raises:
        UsageError: the file system refuses.
    """
    told: dict[str, object] = result.model_dump(mode="json")
    told["kinds"] = [
        {**kind.model_dump(mode="json"), "share": kind.share, "interval": kind.interval}
        for kind in result.kinds
    ]
    told["gates"] = [
        {"kind": mark.kind, "mark": mark.least, "value": mark.held(result).share,
         "passed": mark.passed(result)}
        for mark in marks
    ]  # fmt: skip
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    if file == "-":
        click.echo(text, nl=False)
    else:
        write_file(Path(file), partial(_fill, text=text))


def _fill(path: Path, *, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def code_of(result: JudgeTest, marks: Sequence[Mark]) -> int:
    """Say what was missed, and return the exit code."""
    missed, blind = unmet(marks, result)
    for mark in missed:
        held = mark.held(result)
        click.echo(f"Gate FAILED: {mark.kind} {held.share:.1%} is under {mark.least:.0%}", err=True)
    troubles = [f"{mark.kind}: nothing was answered" for mark in blind]
    if result.stopped:
        tested = f"{result.claims:,} of {count(result.planned, 'claim')} tested"
        troubles.append(f"{result.stopped}, {tested}: nothing is kept")
    if result.failed > MOST_FAILED * result.asked:
        troubles.append(
            f"{result.failed:,} of {count(result.asked, 'question')} were not answered; "
            f"the first: {result.why}"
        )
    if result.claims and not result.supported:
        troubles.append("the judge called no claim supported, so none could be changed")
    if troubles:
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(troubles)}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if missed else 0
