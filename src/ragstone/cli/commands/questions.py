"""`ragstone questions`: test sets from documents, and checks for any test set."""

import click


@click.group(name="questions")
def command() -> None:
    """Check test sets against the documents that they are about."""
