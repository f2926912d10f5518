"""The options that say how a data file is read, of the commands that do nothing else with it."""

from types import MappingProxyType

import click

from ragstone.cli.setting import Setting
from ragstone.errors import UsageError

COLUMNS = Setting(
    "columns",
    "--map",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Where a column has a name of its own: --map query=Frage.",
)
SHEET = Setting("sheet", help="The workbook's sheet.  [default: the first]")
LIMIT = click.Option(["--limit"], type=click.IntRange(1), metavar="N", help="Only the first rows.")
READING = (COLUMNS, SHEET, LIMIT)

FORMS = MappingProxyType(
    {
        "--map": "FIELD=COLUMN, such as query=Frage",
        "--prompt": "KIND=FILE, such as verify_claims=my.md",
    }
)
"""How each option with pairs is written."""


def pairs_of(said: tuple[str, ...], flag: str = "--map", *, form: str = "") -> dict[str, str]:
    """Return field -> column, for what --map says; kind -> file, for --prompt.

    `form` stands in for what is usually said of how such an option is written.

    Raises:
        UsageError: it says something else.
    """
    pairs: dict[str, str] = {}
    for text in said:
        field, equals, column = text.partition("=")
        if not equals or not field.strip() or not column.strip():
            raise UsageError(f"{flag} {text}: write {form or FORMS[flag]}")
        pairs[field.strip()] = column.strip()
    return pairs
