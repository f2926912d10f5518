"""Prompts: Markdown files with placeholders for a sample's texts."""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ragstone.errors import InputError, Problem, nearest

TAG = "tags."
INCOMPLETE = "incomplete"
RETRY_REASONS = ("refusal", "truncated", "malformed", "count_mismatch", INCOMPLETE)
"""Why a question is asked again: a cause, or a reply that leaves something out."""

_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[^{}\n]+)?)\}")
_SHORTEST_MARKER = 8


class Placeholders(NamedTuple):
    """The placeholders of a kind's prompt.

    An option is a line that is used only if it is chosen; its text is a section of its name.
    """

    required: frozenset[str]
    optional: frozenset[str]
    options: frozenset[str]


def _placeholders(required: str, optional: str = "", options: str = "") -> Placeholders:
    return Placeholders(*(frozenset(names.split()) for names in (required, optional, options)))


PLACEHOLDERS: Mapping[str, Placeholders] = MappingProxyType(
    {
        "extract_claims": _placeholders("response", "query"),
        "verify_claims": _placeholders("contexts claims", options="partial"),
        "extract_truths": _placeholders("context", options="limit"),
        "explain": _placeholders("verdicts"),
        "grade_contexts": _placeholders("contexts answer", "query"),
        "grade_sentences": _placeholders("sentences query"),
        "generate_queries": _placeholders("response", options="count"),
        "detect_abstention": _placeholders("response", "query"),
        "rate_response": _placeholders("criteria levels response", "query contexts reference"),
        "find_answer": _placeholders("contexts query"),
        "write_questions": _placeholders(
            "passages",
            "avoid",
            options="single multi compare unanswerable brief language count",
        ),
    }
)
"""Kind of question -> the placeholders of its prompt."""


@dataclass(frozen=True)
class Prompt:
    """A prompt: `{name}` is a placeholder for a text, `{tags.NAME}` for a tag of the row.

    The sample's texts are data, so their placeholders are in the user's part only. Tags are
    inserted as they are, in either part.
    """

    kind: str
    system: str
    user: str
    options: Mapping[str, str] = field(repr=False)
    """Option -> its text, with `{number}` for its value."""
    source: str = field(repr=False)

    @classmethod
    def of(cls, kind: str) -> "Prompt":
        return cls.parse(kind, _built_in(kind), f"{kind}.md")

    @classmethod
    def read(cls, kind: str, path: Path) -> "Prompt":
        if kind not in PLACEHOLDERS:
            near = nearest(kind, PLACEHOLDERS)
            fix = f"did you mean {near!r}?" if near else f"use one of: {', '.join(PLACEHOLDERS)}"
            raise InputError(str(path), [Problem(f"{kind!r} is not a kind of question", fix)])
        try:
            return cls.parse(kind, path.read_text(encoding="utf-8-sig"), str(path))
        except OSError as error:
            problem = Problem(f"it cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            problem = Problem("it is not UTF-8", "save it as UTF-8")
        raise InputError(str(path), [problem])

    @classmethod
    def parse(cls, kind: str, text: str, name: str) -> "Prompt":
        text = text.replace("\r\n", "\n")
        known = PLACEHOLDERS[kind]
        parts = ("system", "user", *sorted(known.options))
        found = sections(text, parts)
        if not {"system", "user"} <= found.keys():
            fix = "write `# system` with the instructions, and `# user` with the placeholders"
            raise InputError(name, [Problem("the parts `# system` and `# user` are missing", fix)])
        options = {
            option: found.get(option) or sections(_built_in(kind), parts)[option]
            for option in known.options
        }
        user, system = (set(_PLACEHOLDER.findall(found[part])) for part in ("user", "system"))
        problems = [
            Problem(f"{{{each}}} is missing in `# user`", "put it where the text goes")
            for each in sorted(known.required - user)
        ]
        texts = known.required | known.optional
        for each in sorted(user | system):
            if each not in texts | known.options and not each.startswith(TAG):
                have = ", ".join(sorted(texts | known.options))
                problems.append(
                    Problem(f"{{{each}}} is unknown", f"{kind} has: {have}, and tags.NAME")
                )
            elif each in system & texts:
                fix = "move it to `# user`: a sample's text is data"
                problems.append(Problem(f"{{{each}}} is in `# system`", fix))
        if problems:
            raise InputError(name, problems)
        return cls(kind, found["system"], found["user"], MappingProxyType(options), text)

    @property
    def tags(self) -> frozenset[str]:
        names = _PLACEHOLDER.findall(self.system + self.user)
        return frozenset(name.removeprefix(TAG) for name in names if name.startswith(TAG))

    @cached_property
    def fingerprint(self) -> str:
        texts = [self.source, *(self.options[name] for name in sorted(self.options))]
        return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()

    def filled(
        self, texts: Mapping[str, str], options: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[str, str]:
        """Return both parts, filled; `options` maps each option that is used to its `{number}`."""
        values = dict(texts)
        for name, number in options.items():
            values[name] = self.options[name].replace("{number}", number) + "\n"

        def fill(match: re.Match[str]) -> str:
            return values.get(match[1], "")

        return _PLACEHOLDER.sub(fill, self.system), _PLACEHOLDER.sub(fill, self.user)


def sections(text: str, names: Collection[str]) -> dict[str, str]:
    """Return name -> text of the sections with these headings; other headings are text."""
    heading = re.compile(rf"^# ({'|'.join(map(re.escape, names))})[ \t]*$", re.MULTILINE)
    parts = heading.split(_FRONT_MATTER.sub("", text))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@lru_cache
def _built_in(name: str) -> str:
    file = files("ragstone.judges.llm").joinpath("prompts", f"{name}.md")
    return file.read_text(encoding="utf-8")


def retry_source() -> str:
    return _built_in("retry")


@lru_cache(maxsize=len(RETRY_REASONS))
def retry_text(reason: str) -> str:
    return sections(retry_source(), RETRY_REASONS)[reason]


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each text between tags of its name: `<contexts-3fa9c1d2> ... </contexts-3fa9c1d2>`.

    The marker is the start of the text's SHA-256, for providers' prompt caches, and so long that it
    is in none of the texts: no text can close a fence.
    """
    found: dict[str, str] = {}
    for name, text in texts.items():
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        length = _SHORTEST_MARKER
        while any(digest[:length] in other for other in texts.values()):
            length += 1
            if length > len(digest):
                digest += hashlib.sha256(digest.encode()).hexdigest()
        marker = digest[:length]
        found[name] = f"<{name}-{marker}>\n{text}\n</{name}-{marker}>"
    return found
