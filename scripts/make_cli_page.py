"""Write docs/cli.md from the commands' own help: `python scripts/make_cli_page.py`."""

import os
from pathlib import Path

import click

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """# The command line

Help for every command, with all options (as in `--help-all`).
`python scripts/make_cli_page.py` writes this page.

`ragstone` and `python -m ragstone` are equivalent. The default command is `run`.
`-m` accepts several metrics: `-m hit recall`.

To complete commands and options with Tab, run the line for your shell once, then open a new
terminal. Zsh needs `autoload -Uz compinit; compinit` before it.

```sh
echo 'eval "$(_RAGSTONE_COMPLETE=bash_source ragstone)"' >> ~/.bashrc     # Bash 4.4 or newer
echo 'eval "$(_RAGSTONE_COMPLETE=zsh_source ragstone)"' >> ~/.zshrc       # Zsh
_RAGSTONE_COMPLETE=fish_source ragstone > ~/.config/fish/completions/ragstone.fish
```
"""


def page() -> str:
    """Return the page: the help of the group and of every command."""
    os.environ["NO_COLOR"] = "1"
    from ragstone.cli import COMMANDS, ragstone
    from ragstone.cli.options import full_help

    names = ["-h", "--help"]
    context = click.Context(
        ragstone, info_name="ragstone", max_content_width=80, help_option_names=names
    )
    parts = [HEAD, _block("ragstone", ragstone.get_help(context))]
    for name in COMMANDS:
        command = ragstone.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, max_content_width=80)
        parts.append(_block(f"ragstone {name}", full_help(inner)))
        for below in command.commands.values() if isinstance(command, click.Group) else ():
            within = click.Context(below, info_name=below.name, parent=inner, max_content_width=80)
            parts.append(_block(f"ragstone {name} {below.name}", full_help(within)))
    return "\n".join(parts)


def _block(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```\n{lines}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
