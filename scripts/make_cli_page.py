"""Write docs/cli.md from the commands' own help: `python scripts/make_cli_page.py`."""

import os
import re
from collections import Counter
from pathlib import Path

import click

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """# The command line

This page has the help of every command, with all options (as in `--help-all`); options of several
commands are described once, [at the end](#shared-options). [Exit codes](help.md#exit-codes) are the
same for all. `ragstone` and `python -m ragstone` are equivalent. The default command is `run`.

To complete commands and options with Tab, run the line for your shell once, then open a new
terminal. Zsh needs `autoload -Uz compinit; compinit` before it.

```bash
echo 'eval "$(_RAGSTONE_COMPLETE=bash_source ragstone)"' >> ~/.bashrc     # Bash 4.4 or newer
echo 'eval "$(_RAGSTONE_COMPLETE=zsh_source ragstone)"' >> ~/.zshrc       # Zsh
_RAGSTONE_COMPLETE=fish_source ragstone > ~/.config/fish/completions/ragstone.fish
```
"""
SHARED = "## Shared options\n"
Record = tuple[str, str]
LEFT_OUT = re.compile(r"\n\n(?:  Exit codes: |Commands:\n)(?:.+\n?)*|Usage: .*\[OPTIONS\]\n\n")
"""What is elsewhere: in the table of exit codes, and in the blocks of the commands of a group."""


def page() -> str:
    """Return the page: the help of the group and of every command, then what several share."""
    os.environ["NO_COLOR"] = "1"
    from ragstone.cli import COMMANDS, ragstone

    names = ["-h", "--help"]
    context = click.Context(
        ragstone, info_name="ragstone", max_content_width=80, help_option_names=names
    )
    contexts: list[click.Context] = []
    for name in COMMANDS:
        command = ragstone.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=80)
        below = command.commands.items() if isinstance(command, click.Group) else ()
        contexts += [inner] + [
            click.Context(each, info_name=of, parent=inner, max_content_width=80)
            for of, each in below
        ]
    counts = Counter(record for each in contexts for _, record in _options(each))
    shared = [record for record, count in counts.items() if count > 1]
    parts = [HEAD, _block("ragstone", LEFT_OUT.sub("", ragstone.get_help(context)))]
    parts += [_command(each, shared) for each in contexts]
    formatter = click.HelpFormatter(max_width=80)
    formatter.write_dl(sorted(shared, key=lambda record: record[0].lstrip("-")))
    return "\n".join([*parts, SHARED, _code(formatter.getvalue())])


def _options(context: click.Context) -> list[tuple[click.Option, Record]]:
    """Return the options of a command with the record of each in its help."""
    options = [
        each for each in context.command.get_params(context) if isinstance(each, click.Option)
    ]
    return [(each, record) for each in options if (record := each.get_help_record(context))]


def _command(context: click.Context, shared: list[Record]) -> str:
    """Return the help of a command without the options that it shares, and their names."""
    from ragstone.cli.options import full_help

    hidden = [(option, record) for option, record in _options(context) if record in shared]
    for option, _ in hidden:
        option.hidden = True
    text = _block(context.command_path, LEFT_OUT.sub("", full_help(context)))
    for option, _ in hidden:
        option.hidden = False
    names = sorted({option.opts[-1] for option, _ in hidden}, key=lambda name: name.lstrip("-"))
    listed = ", ".join(f"`{name}`" for name in names if name != "--help")
    return f"{text}\n[Shared](#shared-options): {listed}\n" if listed else text


def _block(title: str, text: str) -> str:
    return f"## {title}\n\n{_code(text)}"


def _code(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return f"```\n{lines}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
