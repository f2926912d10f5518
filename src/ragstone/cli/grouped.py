"""GroupedCommand: a command whose many options stand under headings in its help."""

from collections.abc import Callable, Mapping, Sequence

import click

Groups = Mapping[str, Sequence[click.Option]]
"""Heading -> the options under it."""


class GroupedCommand(click.Command):
    """A command with groups of options; those of no group come last."""

    def __init__(
        self,
        name: str | None,
        *,
        callback: Callable[..., object],
        params: Sequence[click.Parameter],
        groups: Groups,
        help: str | None = None,  # noqa: A002 - click's name for it
        epilog: str | None = None,
    ) -> None:
        options = [option for group in groups.values() for option in group]
        super().__init__(
            name, callback=callback, params=[*params, *options], help=help, epilog=epilog
        )
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading and its options."""
        grouped = [option for group in self._groups.values() for option in group]
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rest = [option for option in options if option not in grouped]
        for heading, options in {**self._groups, "Help": rest}.items():
            records = [record for option in options if (record := option.get_help_record(ctx))]
            with formatter.section(heading):
                formatter.write_dl(records)
