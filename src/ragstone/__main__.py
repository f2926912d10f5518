"""The entry point of the command `ragstone`: it handles what happens around the command itself.

Importing the command takes a moment, in which Ctrl-C may come; standard output may be closed, or
its disk full, when the last text is written.
"""

import os
import sys
from pathlib import Path

INTERRUPTED, UNUSABLE = 130, 2  # exit codes; see `ragstone.cli`, which is not imported yet


def main() -> None:
    if sys.stdout is None or sys.stderr is None:  # closed by the caller, as in `ragstone run >&-`
        nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    try:
        from ragstone.cli import main as command

        code = command()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        code = INTERRUPTED
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes again
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"Error: cannot write to standard output: {error.strerror}\n")
            code = UNUSABLE
    sys.exit(code)


if __name__ == "__main__":
    main()
