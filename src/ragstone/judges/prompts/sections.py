"""Sections: the parts of a prompt's file, each under a heading with its name."""

import re
from collections.abc import Collection

_FRONT = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


def sections(text: str, names: Collection[str]) -> dict[str, str]:
    """Return name -> text of the sections of these names; any other heading is text.

    What stands before the first one, such as the version, is left out. Of a name that stands
    twice the last one counts.
    """
    heading = re.compile(rf"^# ({'|'.join(map(re.escape, names))})[ \t]*$", re.MULTILINE)
    parts = heading.split(_FRONT.sub("", text))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
