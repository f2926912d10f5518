"""Prompts: how each kind of question is put to a model, and how its reply is parsed."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from ragstone._internal.sentences import Sentence, find_quote, split_sentences
from ragstone.errors import InputError, Problem, nearest
from ragstone.judges.llm import replies
from ragstone.judges.llm.replies import RawReply
from ragstone.judges.offline.claims import extract_claims
from ragstone.types import questions
from ragstone.types.claim import Claim

TAG = "tags."
INCOMPLETE = "incomplete"
RETRY_REASONS = ("refusal", "truncated", "malformed", "count_mismatch", INCOMPLETE)
"""Why a question is asked again: a cause, or a reply that leaves something out."""

_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^# ([a-z_]+)$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[^{}\n]+)?)\}")
_SHORTEST_MARKER = 8


@dataclass(frozen=True)
class Prompt:
    """A prompt: `{name}` is a placeholder for a text, `{tags.NAME}` for a tag of the row."""

    kind: str
    system: str
    user: str
    options: Mapping[str, str] = field(repr=False)  # lines used if chosen, with a `{number}`
    source: str = field(repr=False)

    @classmethod
    def of(cls, kind: str) -> "Prompt":
        return cls.parse(kind, built_in(kind), f"{kind}.md")

    @classmethod
    def read(cls, kind: str, path: Path) -> "Prompt":
        if kind not in TASKS:
            near = nearest(kind, TASKS)
            fix = f"did you mean {near!r}?" if near else f"use one of: {', '.join(TASKS)}"
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
        built_in_text = built_in(kind)
        parts = _HEADING.findall(built_in_text)
        default = sections(built_in_text, parts)
        options = default.keys() - {"system", "user"}
        texts = set(_PLACEHOLDER.findall(default["user"])) - options
        found = sections(text, parts)
        if not {"system", "user"} <= found.keys():
            fix = "write `# system` with the instructions, and `# user` with the placeholders"
            raise InputError(name, [Problem("the parts `# system` and `# user` are missing", fix)])
        user, system = (set(_PLACEHOLDER.findall(found[part])) for part in ("user", "system"))
        problems = [
            Problem(f"{{{each}}} is missing in `# user`", "put it where the text goes")
            for each in sorted(texts - user - set(TASKS[kind].optional))
        ]
        for each in sorted(user | system):
            if each not in texts | options and not each.startswith(TAG):
                have = ", ".join(sorted(texts | options))
                problems.append(
                    Problem(f"{{{each}}} is unknown", f"{kind} has: {have}, and tags.NAME")
                )
            elif each in system & texts:
                fix = "move it to `# user`: a sample's text is data"
                problems.append(Problem(f"{{{each}}} is in `# system`", fix))
        if problems:
            raise InputError(name, problems)
        lines = {option: found.get(option) or default[option] for option in options}
        return cls(kind, found["system"], found["user"], MappingProxyType(lines), text)

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
def built_in(name: str) -> str:
    file = files("ragstone.judges.llm").joinpath("prompts", f"{name}.md")
    return file.read_text(encoding="utf-8")


def retry_text(reason: str) -> str:
    return sections(built_in("retry"), RETRY_REASONS)[reason]


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each text between tags of its name: `<contexts-3fa9c1d2> ... </contexts-3fa9c1d2>`."""
    found: dict[str, str] = {}
    for name, text in texts.items():
        # a hash, for providers' prompt caches; no text has the marker, so none can close a fence
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        length = _SHORTEST_MARKER
        while any(digest[:length] in other for other in texts.values()):
            length += 1
            if length > len(digest):
                digest += hashlib.sha256(digest.encode()).hexdigest()
        marker = digest[:length]
        found[name] = f"<{name}-{marker}>\n{text}\n</{name}-{marker}>"
    return found


Schema: TypeAlias = Mapping[str, object]

_TEXT, _NUMBER, _YES_NO = ({"type": name} for name in ("string", "integer", "boolean"))


def _object(**keys: Schema) -> dict[str, object]:
    return {
        "additionalProperties": False,
        "properties": keys,
        "required": list(keys),
        "type": "object",
    }


def _list(items: Schema) -> Schema:
    return {"items": items, "type": "array"}


def _reply(title: str, **keys: Schema) -> Schema:
    return {"title": title, **_object(**keys)}


def verdict_schema(partial: bool) -> Schema:
    some = ["PARTIALLY_SUPPORTED"] if partial else []
    labels = ["SUPPORTED", *some, "CONTRADICTED", "NOT_ENOUGH_INFO"]
    label = {"enum": labels, "type": "string"}
    verdict = _object(claim=_NUMBER, reason=_TEXT, evidence=_list(_QUOTE), label=label)
    return _reply("verdicts", verdicts=_list(verdict))


def queries_schema(count: int) -> Schema:
    # each has a key, so that none can be left out
    queries = _object(**{str(number): _TEXT for number in range(1, count + 1)})
    return _reply("queries", commits=_YES_NO, queries=queries)


def rating_schema(levels: Sequence[int]) -> Schema:
    level = {"enum": list(levels), "type": "integer"}
    return _reply("rating", reason=_TEXT, level=level)


_QUOTE = _object(context=_NUMBER, quote=_TEXT)
_PASSAGE = _object(passage=_NUMBER, quote=_TEXT)
_DRAFT = _object(query=_TEXT, reference=_TEXT, claims=_list(_TEXT), quotes=_list(_PASSAGE))
_REASONED = _object(number=_NUMBER, reason=_TEXT, relevant=_YES_NO)
_GRADE = _object(number=_NUMBER, relevant=_YES_NO)

Q = TypeVar("Q")

FEWEST_WORDS = 3  # content words below which a sentence is too short to need a claim
LEAST_SHARE = 0.25  # share of a sentence's content words that the claims must have
BEGINNING = 5  # letters in which forms of a word agree

_CONTENT = re.compile(r"\b(?:\w{4,}|\d+)\b")


@dataclass(frozen=True)
class JudgeTask(Generic[Q]):
    texts: Callable[[Q], dict[str, str]]  # fill the placeholders; the sample's texts are fenced
    parse: Callable[[RawReply, Q], object]
    schema: Callable[[Q | None], Schema]  # of the reply; None: the example in a judge's identity
    optional: tuple[str, ...] = ()  # placeholders that a prompt may leave out
    options: Callable[[Q], dict[str, str]] = lambda _: {}  # the used ones, with their number or ""
    doubt: Callable[[Q, Any], str | None] = lambda _question, _value: None
    """What a parsed reply seems to leave out, for the one retry."""


def uncovered(sentences: Sequence[Sentence], claims: Sequence[str]) -> tuple[str, ...]:
    """Estimate which sentences state something and have no claim, and rather miss one."""
    covered = {word for claim in claims for word in _CONTENT.findall(claim.casefold())}
    begun = {word[:BEGINNING] for word in covered}
    contents = [set(_CONTENT.findall(sentence.text.casefold())) for sentence in sentences]
    number = Counter(word for words in contents for word in words)
    left: list[str] = []
    for sentence, words in zip(sentences, contents, strict=True):
        # claims must also have one of the words that only this sentence has, or its beginning
        own = {word[:BEGINNING] for word in words if number[word] == 1}
        shared = len(words & covered) >= LEAST_SHARE * len(words)
        has_claim = shared and (len(own) < 2 or not own.isdisjoint(begun))
        if len(words) >= FEWEST_WORDS and not has_claim and extract_claims(sentence.text):
            left.append(sentence.text)
    return tuple(left)


def _numbered_texts(texts: Iterable[str]) -> str:
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1))


def _numbered_lines(texts: Iterable[str]) -> str:
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))


_sentences = lru_cache(maxsize=1)(split_sentences)  # a reply is parsed, and then doubted


def _parse_claims(reply: RawReply, question: questions.ExtractClaims) -> tuple[Claim, ...]:
    spans = [(sentence.start, sentence.end) for sentence in _sentences(question.response)]
    return tuple(
        Claim(text=claim, span=find_quote(claim, question.response, spans))
        for claim in replies.parse_claims(reply, question.response)
    )


def _doubt_claims(question: questions.ExtractClaims, claims: Sequence[Claim]) -> str | None:
    if not claims:
        states = extract_claims(question.response)
        return "no claim was found in a response that seems to make statements" if states else None
    left = uncovered(_sentences(question.response), [claim.text for claim in claims])
    return f"no claim was found in: {' '.join(left)}" if left else None


def _verdict_lines(question: questions.Explain) -> str:
    claims = zip(question.claims, question.labels, question.reasons, strict=True)
    return _numbered_lines(
        f"{label}: {claim}" + (f" ({' '.join(reason.split())})" if reason else "")
        for claim, label, reason in claims
    )


def _grade_texts(question: questions.GradeContexts) -> dict[str, str]:
    contexts = _numbered_texts(question.contexts)
    texts = {"contexts": contexts, "query": question.query, "statements": question.answer}
    found = fenced(texts)
    return {"answer": found.pop("statements"), **found}


def _rating_texts(question: questions.RateResponse) -> dict[str, str]:
    texts = {"query": question.query, "response": question.response}
    if question.contexts is not None:
        texts["contexts"] = _numbered_texts(question.contexts)
    if question.reference is not None:
        texts["reference"] = question.reference
    found = fenced(texts)
    for optional in ("contexts", "reference"):
        found[optional] = f"{found[optional]}\n\n" if optional in found else ""
    levels = "\n".join(f"{level}: {meaning}" for level, meaning in question.levels)
    return {**found, "criteria": question.criteria, "levels": levels}


def _passage_texts(question: questions.WriteQuestions) -> dict[str, str]:
    queries = {"queries": _numbered_lines(question.avoid)} if question.avoid else {}
    texts = fenced({"passages": _numbered_texts(question.passages), **queries})
    avoid = f"\n\n{texts['queries']}" if queries else ""
    return {"passages": texts["passages"], "avoid": avoid}


TASKS: Mapping[str, JudgeTask[Any]] = {
    questions.ExtractClaims.kind: JudgeTask[questions.ExtractClaims](
        texts=lambda q: fenced({"query": q.query, "response": q.response}),
        optional=("query",),
        parse=_parse_claims,
        schema=lambda _: _reply("claims", claims=_list(_TEXT)),
        doubt=_doubt_claims,
    ),
    questions.VerifyClaims.kind: JudgeTask[questions.VerifyClaims](
        texts=lambda q: fenced(
            {"contexts": _numbered_texts(q.contexts), "claims": _numbered_lines(q.claims)}
        ),
        parse=replies.parse_verdicts,
        schema=lambda q: verdict_schema(partial=bool(q and q.partial)),
        options=lambda q: {"partial": ""} if q.partial else {},
    ),
    questions.ExtractTruths.kind: JudgeTask[questions.ExtractTruths](
        texts=lambda q: fenced({"context": q.context}),
        parse=lambda reply, q: replies.parse_claims(reply, q.context)[: q.limit],
        schema=lambda _: _reply("truths", truths=_list(_TEXT)),
        options=lambda q: {"limit": str(q.limit)} if q.limit else {},
    ),
    questions.Explain.kind: JudgeTask[questions.Explain](
        texts=lambda q: fenced({"verdicts": _verdict_lines(q)}),
        parse=lambda reply, _: replies.parse_explanation(reply),
        schema=lambda _: _reply("explanation", explanation=_TEXT),
    ),
    questions.GradeContexts.kind: JudgeTask[questions.GradeContexts](
        texts=_grade_texts,
        optional=("query",),
        parse=lambda reply, q: replies.parse_grades(reply, len(q.contexts), of="contexts"),
        schema=lambda _: _reply("grades", grades=_list(_REASONED)),
    ),
    questions.GradeSentences.kind: JudgeTask[questions.GradeSentences](
        texts=lambda q: fenced({"sentences": _numbered_lines(q.sentences), "query": q.query}),
        parse=lambda reply, q: replies.parse_grades(reply, len(q.sentences), of="sentences"),
        schema=lambda _: _reply("grades", grades=_list(_GRADE)),
    ),
    questions.GenerateQueries.kind: JudgeTask[questions.GenerateQueries](
        texts=lambda q: fenced({"response": q.response}),
        parse=lambda reply, _: replies.parse_queries(reply),
        schema=lambda q: queries_schema(q.count if q else 1),
        options=lambda q: {"count": str(q.count)},
    ),
    questions.DetectAbstention.kind: JudgeTask[questions.DetectAbstention](
        texts=lambda q: fenced({"query": q.query, "response": q.response}),
        optional=("query",),
        parse=lambda reply, _: replies.parse_abstention(reply),
        schema=lambda _: _reply(
            "abstention", label={"enum": ["ANSWERS", "ABSTAINS"], "type": "string"}
        ),
    ),
    questions.RateResponse.kind: JudgeTask[questions.RateResponse](
        texts=_rating_texts,
        optional=("query", "contexts", "reference"),
        parse=lambda reply, _: replies.parse_rating(reply),
        schema=lambda q: rating_schema([level for level, _ in q.levels] if q else [1, 2]),
    ),
    questions.FindAnswer.kind: JudgeTask[questions.FindAnswer](
        texts=lambda q: fenced({"contexts": _numbered_texts(q.contexts), "query": q.query}),
        parse=replies.parse_found,
        schema=lambda _: _reply("found", answer=_TEXT, evidence=_list(_QUOTE), found=_YES_NO),
    ),
    questions.WriteQuestions.kind: JudgeTask[questions.WriteQuestions](
        texts=_passage_texts,
        optional=("avoid",),
        parse=lambda reply, q: replies.parse_drafts(reply)[: q.count],
        schema=lambda _: _reply("questions", questions=_list(_DRAFT)),
        options=lambda q: {
            q.type: "",
            "count": str(q.count),
            **({"brief": q.brief} if q.brief else {}),
            **({"language": q.language} if q.language else {}),
        },
    ),
}
