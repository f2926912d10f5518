"""Prompt: the text that puts one kind of question to a model, with places for a sample's texts."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from ragstone.errors import InputError, Problem, nearest

# Sections: the parts of a prompt's file, each under a heading with its name.

_FRONT = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)


def sections(text: str, names: Collection[str]) -> dict[str, str]:
    """Return name -> text of the sections of these names; any other heading is text.

    What stands before the first one, such as the version, is left out. Of a name that stands
    twice the last one counts.
    """
    heading = re.compile(rf"^# ({'|'.join(map(re.escape, names))})[ \t]*$", re.MULTILINE)
    parts = heading.split(_FRONT.sub("", text))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@dataclass(frozen=True)
class Places:
    """What a kind's prompt has places for: texts it must show, texts it may, and options.

    An option is a line that stands there only where it is chosen; its words are a section of its
    name.
    """

    needed: frozenset[str]
    possible: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()

    @property
    def all(self) -> list[str]:
        """The names of all places."""
        return sorted(self.needed | self.possible | self.options)


PLACES: Mapping[str, Places] = MappingProxyType(
    {
        "extract_claims": Places(frozenset({"response"}), possible=frozenset({"query"})),
        "verify_claims": Places(frozenset({"contexts", "claims"}), options=frozenset({"partial"})),
        "extract_truths": Places(frozenset({"context"}), options=frozenset({"limit"})),
        "explain": Places(frozenset({"verdicts"})),
        "grade_contexts": Places(frozenset({"contexts", "answer"}), possible=frozenset({"query"})),
        "grade_sentences": Places(frozenset({"sentences", "query"})),
        "generate_queries": Places(frozenset({"response"}), options=frozenset({"count"})),
        "detect_abstention": Places(frozenset({"response"}), possible=frozenset({"query"})),
        "rate_response": Places(
            frozenset({"criteria", "levels", "response"}),
            possible=frozenset({"query", "contexts", "reference"}),
        ),
    }
)
"""Kind of question -> the places of its prompt."""

TAG = "tags."
_PLACE = re.compile(r"\{([a-z_]+(?:\.[^{}\n]+)?)\}")
_MEND = "write the line `# system`, what the judge is told, `# user`, and the places"
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Prompt:
    """A prompt's two parts; `{name}` is a place for a text, `{tags.NAME}` for a tag of the row.

    The sample's texts have places in the user's part only: they are data, not orders. Tags go in
    as they are, in either part, so whoever names one trusts its values.

    Attributes:
        options: option -> its words, with `{number}` for what was chosen.
        source: the whole file; its lines end with LF, wherever it was saved.
    """

    kind: str
    system: str
    user: str
    options: Mapping[str, str] = field(repr=False)
    source: str = field(repr=False)

    @classmethod
    def of(cls, kind: str) -> "Prompt":
        """Return the prompt that comes with ragstone."""
        text = (
            files("ragstone.judges.llm")
            .joinpath("prompts", f"{kind}.md")
            .read_text(encoding="utf-8")
        )
        return cls.parse(kind, text, f"{kind}.md")

    @classmethod
    def read(cls, kind: str, path: Path) -> "Prompt":
        """Read a prompt of the user's own.

        Raises:
            InputError: the file cannot be read, or is no prompt for that kind of question.
        """
        if kind not in PLACES:
            near = nearest(kind, PLACES)
            fix = f"did you mean {near!r}?" if near else f"there are: {', '.join(PLACES)}"
            raise InputError(str(path), [Problem(f"{kind!r} is no kind of question", fix)])
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
        """Read a prompt from its text: `# system`, then `# user`, then options' words.

        An option without words of its own has ours.

        Raises:
            InputError: a part or a place is missing, or a place is unknown; all of it at once.
        """
        text = text.replace("\r\n", "\n")
        options = PLACES[kind].options
        found = sections(text, ("system", "user", *sorted(options)))
        if not {"system", "user"} <= found.keys():
            problem = Problem("there are no parts `# system` and `# user`", _MEND)
            raise InputError(name, [problem])
        words = {option: found.get(option) or _ours(kind, option) for option in options}
        prompt = cls(kind, found["system"], found["user"], MappingProxyType(words), text)
        if problems := prompt._problems():
            raise InputError(name, problems)
        return prompt

    def _problems(self) -> list[Problem]:
        places = PLACES[self.kind]
        user, system = (set(_PLACE.findall(part)) for part in (self.user, self.system))
        problems = [
            Problem(f"the place {{{name}}} is missing in `# user`", "write it where the text goes")
            for name in sorted(places.needed - user)
        ]
        for name in sorted(user | system):
            if name not in places.all and not name.startswith(TAG):
                fix = f"{self.kind} has: {', '.join(places.all)}, and tags.NAME"
                problems.append(Problem(f"there is no place {{{name}}}", fix))
            elif name in system & (places.needed | places.possible):
                fix = "move it to `# user`: a sample's text is data"
                problems.append(Problem(f"the place {{{name}}} stands in `# system`", fix))
        return problems

    @property
    def tags(self) -> frozenset[str]:
        """The names of the row's tags that it uses."""
        places = _PLACE.findall(self.system + self.user)
        return frozenset(name.removeprefix(TAG) for name in places if name.startswith(TAG))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that it may say."""
        said = [self.source, *(self.options[name] for name in sorted(self.options))]
        return hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()

    def filled(
        self, texts: Mapping[str, str], chosen: Mapping[str, str] = _NO_OPTIONS
    ) -> tuple[str, str]:
        """Return both parts with every place filled; a place without a text becomes empty.

        `chosen` is option -> what stands for `{number}` in its words.
        """
        lines = {
            name: self.options[name].replace("{number}", value) + "\n"
            for name, value in chosen.items()
        }
        values = {**texts, **lines}

        def fill(match: re.Match[str]) -> str:
            return values.get(match[1], "")

        return _PLACE.sub(fill, self.system), _PLACE.sub(fill, self.user)


def _ours(kind: str, option: str) -> str:
    text = (
        files("ragstone.judges.llm").joinpath("prompts", f"{kind}.md").read_text(encoding="utf-8")
    )
    return sections(text, ("system", "user", option))[option]


# Again: what a model is told when its first reply could not be used.

INCOMPLETE = "incomplete"
"""What a reply was that leaves something out; the other reasons are causes."""

REASONS = ("refusal", "truncated", "malformed", "count_mismatch", INCOMPLETE)


@lru_cache(maxsize=1)
def source() -> str:
    """Return the file's text, which is part of what shapes a reply."""
    return files("ragstone.judges.llm").joinpath("prompts", "again.md").read_text(encoding="utf-8")


@lru_cache(maxsize=len(REASONS))
def again(reason: str) -> str:
    """Return what is said for a reason; it quotes nothing of the reply."""
    return sections(source(), REASONS)[reason]


# Fences: tags around a sample's texts, with a marker that stands in none of them.

SHORTEST = 8
"""Hex digits of the shortest marker."""


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each text between tags of its name: `<contexts-3fa9c1d2> ... </contexts-3fa9c1d2>`.

    The marker is the beginning of the text's SHA-256, lengthened until it stands in none of the
    texts: no text can close a fence, and the same contexts begin every prompt about them alike,
    which is what providers' caches of prompts go by.
    """
    return {name: _between(name, text, texts) for name, text in texts.items()}


def _between(name: str, text: str, texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    length = SHORTEST
    while any(digest[:length] in other for other in texts.values()):
        length += 1
        if length > len(digest):
            digest += hashlib.sha256(digest.encode()).hexdigest()
    marker = digest[:length]
    return f"<{name}-{marker}>\n{text}\n</{name}-{marker}>"
