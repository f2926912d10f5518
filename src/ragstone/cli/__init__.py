"""The command line: it parses, calls and prints. One file a command, loaded when it is needed."""

import gc
import os
import re
import signal
import sys
import traceback
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from ragstone._internal.files import explain_path_error
from ragstone._internal.logs import logs
from ragstone._internal.secrets import redact, remember
from ragstone.errors import RagstoneError, UsageError, nearest, other_name

METRIC = re.compile(r"[a-z][\w-]*(@\d+)?(:[a-z-]+)?(,[a-z_]+=[\w.-]+)*", re.IGNORECASE)
"""A word after `-m` that is or was meant to be a metric's name."""
_LIMIT = re.compile(METRIC.pattern + r"=[\d.]+%?", re.IGNORECASE)
_SEVERAL: Mapping[str, re.Pattern[str]] = {  # option -> a word after its value that is one too
    **dict.fromkeys(("-m", "--metric"), METRIC),
    **dict.fromkeys(("--fail-under", "--fail-over", "--min-coverage"), _LIMIT),
}


def completed(given: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return the arguments with `run` if no command is named, and an option for each value.

    `run` with rankings from files is `rank`, and `help COMMAND` is `COMMAND --help`.

    `-m hit recall` becomes `-m hit -m recall`: words after `-m` that look like metric names and
    are not existing files. `--fail-under hit=0.5 recall=0.5` is the same for gates.
    """
    first = given[0] if given else ""
    if first == "help" and not Path(first).exists():
        return [*given[1:], "--help"]
    unknown = first[:1].isalpha() and not Path(first).suffix and not Path(first).exists()
    if unknown and first not in commands and (near := nearest(first, commands)):
        raise UsageError(f"there is no file and no command {first!r}; did you mean {near!r}?")
    named = first in commands or first in ("-h", "--help", "--version")
    if first == "eval" and not Path(first).exists():  # rag_evaluation's name of `run`
        given, named = ["run", *given[1:]], True
    words = list(given if named else ["run", *given])
    if words[0] == "collect":  # whose DATA has no option
        words = [word.removeprefix("--test-data=") for word in words if word != "--test-data"]
    rankings = ("--qrels", "--ranking")
    if words[0] == "run" and any(word.partition("=")[0] in rankings for word in words):
        words[0] = "rank"
    flag = before = ""
    result: list[str] = []
    for word in words:
        name = word.partition("=")[0]
        if before in _SEVERAL or (name in _SEVERAL and name != word):
            flag = before if before in _SEVERAL else name
        elif flag and _SEVERAL[flag].fullmatch(word) and not Path(word).is_file():
            result.append(flag)
        else:
            flag = ""
        result.append(word)
        before = word
    return result


GATE_FAILED = 1
UNUSABLE = 2  # usage, input or API key error: nothing was scored
TOO_MUCH_FAILED = 3  # too many scores failed, a gate had nothing scored, or the budget was spent
BROKEN = 70  # a bug, ours or a plugin's (EX_SOFTWARE of sysexits.h)
INTERRUPTED = 130


COMMANDS: Mapping[str, str] = {
    "init": "Write a settings file and a data template.",
    "run": "Evaluate a RAG system, or saved answers.",
    "rank": "Evaluate rankings for many queries, from files.",
    "resume": "Resume a stored run.",
    "runs": "List the stored runs; show, rescore, tag or delete one.",
    "view": "Show the stored runs in a browser.",
    "labels": "Label claims of a run yourself; compare the judge with the labels.",
    "compare": "Compare two stored runs sample by sample.",
    "plan": "Plan how many questions and labels a comparison needs.",
    "metrics": "List metrics and policies, or define one metric.",
    "questions": "Write test sets from documents, and check them.",
    "collect": "Save a RAG system's answers to judge later.",
    "validate": "Check data files, report all problems; write one in another format.",
    "judge": "Test the judge: errors, drift.",
    "demo": "Evaluate the demo RAG system; no key or server needed.",
}
"""Command -> its help in one line. Its module is named after it, but `run` has three."""


def say(text: str) -> None:
    """Print on standard error: standard output may be data."""
    click.echo(text, err=True)


def load(name: str) -> ModuleType:
    gc.disable()  # importing creates next to no garbage, and searching for it takes time
    try:
        return import_module(f"ragstone.{name}")
    finally:
        gc.enable()


class _Commands(click.Group):
    """Loads a command's module when the command is called, not when help names it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        in_run = cmd_name in ("resume", "collect")
        module = load(f"cli.commands.{'run' if in_run else cmd_name}")
        found: object = getattr(module, cmd_name if in_run else "command")
        assert isinstance(found, click.Command)
        for each in found.commands.values() if isinstance(found, click.Group) else [found]:
            if (trust := load("cli.options").TRUST) not in each.params:
                each.params.append(trust)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="The default command is `run`. `ragstone help COMMAND` shows a command's options.",
)
@click.version_option(package_name="ragstone", message="%(package)s %(version)s")
def ragstone() -> None:
    """Evaluate RAG systems and show how far you can trust the scores.

    \b
    ragstone demo                                    try it in a minute
    ragstone data.xlsx --api-url http://localhost:8000
    ragstone answers.jsonl -m faithfulness --fail-under faithfulness=0.8
    ragstone answers.jsonl -m faithfulness --model gpt-4o-mini
    """


def main() -> int:
    """Run the command line and return its exit code.

    SIGTERM ends a run as Ctrl-C does: finished rows are stored. LOG_LEVEL=debug shows the judge's
    prompts and replies.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stdout = sys.stdout
    remember([os.environ, *(word.partition("=")[2] or word for word in sys.argv)])
    try:
        with logs():
            return ragstone.main(completed(sys.argv[1:], COMMANDS), standalone_mode=False) or 0
    except SystemExit as done:
        if sys.stdout is not stdout or isinstance(done.__context__, BrokenPipeError):
            return 0  # the reader stopped early: click replaced the stream, or rich left
        return done.code if isinstance(done.code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            _hint_at_setting(error)
        vars(error)["message"] = redact(error.message)
        error.show()
        return error.exit_code
    except RagstoneError as error:
        from ragstone.reports.markdown import error_annotation, no_commands

        with no_commands(sys.stderr, os.environ):
            say(f"Error: {error}")
        if annotation := error_annotation(error, os.environ):
            say(annotation)
        return UNUSABLE
    except (KeyboardInterrupt, click.Abort):
        say("Interrupted.")
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - printed with its traceback; no gate has this code
        if seen := explain_path_error(error):
            say(f"Error: {seen}")
            return UNUSABLE
        say(redact(traceback.format_exc()))
        return BROKEN


def _hint_at_setting(error: click.NoSuchOption) -> None:
    """Name the option to use, or the way to change a setting that has no option of its own."""
    from ragstone.types.config import SETTINGS

    name = error.option_name.lstrip("-").removeprefix("no-").replace("-", "_")
    takes_set = error.ctx and any(param.name == "set_" for param in error.ctx.command.params)
    if name in SETTINGS and not SETTINGS[name].option and takes_set:
        hint = f"{error.message} Use --set {name}=VALUE, or `{name}: VALUE` in ragstone.yaml."
        vars(error).update(message=hint, possibilities=None)
    elif hint := other_name("setting", name):
        vars(error).update(message=f"{error.message.rstrip('.')}; {hint}.", possibilities=None)


@contextmanager
def silent_pipes() -> Generator[None, None, None]:
    """Print no error if the reader of standard output stops early, as `head` does."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich makes the one the other
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
