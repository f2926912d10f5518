"""The command line: it parses, calls and prints. One file a command, loaded when it is needed."""

import os
import signal
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType

import click

from ragstone.cli.arguments import completed
from ragstone.cli.codes import BROKEN, INTERRUPTED, UNUSABLE
from ragstone.cli.logs import logs
from ragstone.errors import RagstoneError

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("ragstone.cli.run", "Evaluate a RAG system, or answers it gave before."),
        "rank": ("ragstone.cli.ranking", "Evaluate rankings of many queries, from files."),
        "resume": ("ragstone.cli.resume", "Go on with a stored run."),
        "runs": ("ragstone.cli.runs", "List the stored runs; show, tag, delete or export one."),
        "report": ("ragstone.cli.report", "Write again what a stored run wrote."),
        "view": ("ragstone.cli.view", "Look at the stored runs in a browser."),
        "rescore": ("ragstone.cli.rescore", "Score a stored run again, without asking anybody."),
        "compare": ("ragstone.cli.compare", "Compare two stored runs, sample by sample."),
        "metrics": ("ragstone.cli.metrics", "List the metrics, or print the definition of one."),
        "policies": ("ragstone.cli.policies", "Print what each policy makes of each situation."),
        "collect": ("ragstone.cli.collect", "Ask a RAG system now, to judge its answers later."),
        "validate": ("ragstone.cli.validate", "Read data files, and tell all that is wrong."),
        "convert": ("ragstone.cli.convert", "Write a data set in another format."),
        "judge": ("ragstone.cli.judge", "Test the judge: are errors put into claims noticed?"),
        "demo": ("ragstone.cli.demo", "Evaluate the demo RAG system: no key, nothing to start."),
        "demo-server": ("ragstone.cli.demo_server", "Serve the demo RAG system over HTTP."),
    }
)
"""Command -> the module that holds it as `command`, and its help in a line."""


def later(name: str) -> ModuleType:
    """Return a module of this package that few calls of a command need, loaded when one does."""
    return import_module(f"ragstone.cli.{name}")


class _Commands(click.Group):
    """Loads a command's module when the command is called, not when help names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found: object = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Without a command it is `run`: see `ragstone run --help`.",
)
@click.version_option(package_name="ragstone", message="%(package)s %(version)s")
def ragstone() -> None:
    """Evaluate RAG systems, and say how far the numbers can be trusted.

    \b
    ragstone demo                                    see it work, in a minute
    ragstone data.xlsx --api-url http://localhost:8000
    ragstone answers.jsonl -m faithfulness --fail-under faithfulness=0.8
    ragstone answers.jsonl -m faithfulness --model gpt-4o-mini
    """


def main() -> None:
    """Run the command line and leave with its exit code.

    0 is fine, and `cli.codes` has the others. SIGTERM ends a run as Ctrl-C does: what was finished
    is kept. LOG_LEVEL=debug shows the judge's prompts and replies.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with logs():
            code = ragstone.main(completed(sys.argv[1:], COMMANDS), standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except RagstoneError as error:
        _print_refusal(error)
        code = UNUSABLE
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        code = INTERRUPTED
    except Exception:  # noqa: BLE001 - told whole, with a code that no gate has
        traceback.print_exc()
        code = BROKEN
    sys.exit(code)


def _print_refusal(error: RagstoneError) -> None:
    """Print why nothing was scored; in GitHub Actions also as an annotation."""
    from ragstone.reports.github import no_commands, refusal_to_github

    with no_commands(sys.stderr, os.environ):
        click.echo(f"Error: {error}", err=True)
    if said := refusal_to_github(error, os.environ):
        click.echo(said, err=True)
