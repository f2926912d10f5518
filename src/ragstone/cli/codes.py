"""Exit codes: what a command says to the script that called it."""

GATE_FAILED = 1
UNUSABLE = 2
"""Usage, input or key error: nothing was scored."""
TOO_MUCH_FAILED = 3
"""Or a gate had nothing scored, or the budget was spent."""
BROKEN = 70
"""A bug, ours or a plugin's (EX_SOFTWARE of sysexits.h)."""
INTERRUPTED = 130
