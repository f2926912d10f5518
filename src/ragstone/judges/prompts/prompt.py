"""Prompt: the text that puts one kind of question to a model, with places for a sample's texts."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from ragstone.errors import InputError, Problem, nearest

PLACES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = MappingProxyType(
    {
        "extract_claims": (frozenset({"response"}), frozenset({"query"})),
        "verify_claims": (frozenset({"contexts", "claims"}), frozenset({"partial"})),
        "extract_truths": (frozenset({"context"}), frozenset({"limit"})),
        "explain": (frozenset({"verdicts"}), frozenset()),
    }
)
"""Kind of question -> the places that its prompt must have, and those that it may have."""

_PLACE = re.compile(r"\{([a-z_]+(?:\.[^{}\n]+)?)\}")
_PARTS = re.compile(
    r"\A(?:---\n.*?^---\n)?\s*^# system\n(.*?)^# user\n(.*)\Z", re.DOTALL | re.MULTILINE
)
TAG = "tags."
_ANYWHERE = frozenset({"partial", "limit"})
"""Places that hold words of ours, not of the sample."""


@dataclass(frozen=True)
class Prompt:
    """A prompt's two parts; `{name}` is a place for a text, `{tags.NAME}` for a tag of the row.

    Only the user's part has places for the sample's texts: they are data, not orders.
    """

    kind: str
    system: str
    user: str

    @classmethod
    def of(cls, kind: str) -> "Prompt":
        """Return the prompt that comes with ragstone."""
        text = files("ragstone.judges.prompts").joinpath(f"{kind}.md").read_text(encoding="utf-8")
        return cls.parse(kind, text, f"{kind}.md")

    @classmethod
    def read(cls, kind: str, path: Path) -> "Prompt":
        """Read a prompt of the user's own.

        Raises:
            InputError: the file cannot be read, or is no prompt for that kind of question.
        """
        if kind not in PLACES:
            near = nearest(kind, PLACES)
            mend = f"did you mean {near!r}?" if near else f"there are: {', '.join(PLACES)}"
            raise InputError(str(path), [Problem(f"{kind!r} is no kind of question", mend)])
        try:
            return cls.parse(kind, path.read_text(encoding="utf-8-sig"), str(path))
        except OSError as error:
            raise InputError(
                str(path), [Problem(f"it cannot be read: {error.strerror}")]
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(str(path), [Problem("it is not UTF-8", "save it as UTF-8")]) from error

    @classmethod
    def parse(cls, kind: str, text: str, name: str) -> "Prompt":
        """Read a prompt from its text: `# system`, then `# user`.

        Raises:
            InputError: a part or a place is missing, or a place is unknown; all of it at once.
        """
        match = _PARTS.match(text.replace("\r\n", "\n"))
        if not match:
            mend = "write the line `# system`, what the judge is told, `# user`, and the places"
            raise InputError(name, [Problem("there are no parts `# system` and `# user`", mend)])
        prompt = cls(kind, match[1].strip(), match[2].strip())
        if problems := prompt._problems():
            raise InputError(name, problems)
        return prompt

    def _problems(self) -> list[Problem]:
        needed, possible = PLACES[self.kind]
        known = sorted(needed | possible)
        user = set(_PLACE.findall(self.user))
        problems = [
            Problem(f"the place {{{name}}} is missing in `# user`", "write it where the text goes")
            for name in sorted(needed - user)
        ]
        system = set(_PLACE.findall(self.system))
        for name in sorted(user | system):
            if name not in known and not name.startswith(TAG):
                mend = f"{self.kind} has: {', '.join(known)}, and tags.NAME"
                problems.append(Problem(f"there is no place {{{name}}}", mend))
            elif name in known and name in system - _ANYWHERE:
                mend = "move it to `# user`: a sample's text is data"
                problems.append(Problem(f"the place {{{name}}} stands in `# system`", mend))
        return problems

    @property
    def tags(self) -> frozenset[str]:
        """The names of the row's tags that it uses."""
        places = _PLACE.findall(self.system + self.user)
        return frozenset(name.removeprefix(TAG) for name in places if name.startswith(TAG))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of both parts."""
        return hashlib.sha256(f"{self.system}\0{self.user}".encode()).hexdigest()

    def filled(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return both parts with every place filled; a place without a text becomes empty."""

        def fill(match: re.Match[str]) -> str:
            return texts.get(match[1], "")

        return _PLACE.sub(fill, self.system), _PLACE.sub(fill, self.user)
