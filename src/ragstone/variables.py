"""Variables: `${NAME}` in a text stands for a variable of the environment."""

import os
import re

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
VARIABLE = re.compile(rf"\$\{{({NAME})\}}")
NO_VARIABLE = re.compile(rf"\$\{{(?!{NAME}\}})[^{{}}]*\}}?")
"""What begins as `${NAME}` does and is none, such as `${KEY:-default}`."""


def expanded(text: str) -> str:
    """Return the text with the value of each variable in its place, in one pass.

    Raises:
        ValueError: a variable is not set, or something only looks like one; the message names
            all of them, and no value.
    """
    problems = [
        f"the environment variable {name} is not set"
        for name in dict.fromkeys(VARIABLE.findall(text))
        if name not in os.environ
    ]
    problems += [f"{found} is no variable; write ${{NAME}}" for found in NO_VARIABLE.findall(text)]
    if problems:
        raise ValueError("; ".join(problems))
    return VARIABLE.sub(lambda found: os.environ[found[1]], text)
