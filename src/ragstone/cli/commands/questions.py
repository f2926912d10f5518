"""`ragstone questions`: test sets from documents, and checks for any test set."""

import click

from ragstone.cli.commands.check import check
from ragstone.cli.commands.generate import generate, vary


@click.group(name="questions")
def command() -> None:
    """Write test sets from documents, and check test sets against them.

    \b
    ragstone questions generate docs/ --n 100 --model gpt-4o-mini -o questions.xlsx
    ragstone questions vary questions.xlsx -o noisy.xlsx
    ragstone questions check questions.xlsx --docs docs/
    """


command.add_command(generate)
command.add_command(vary)
command.add_command(check)
