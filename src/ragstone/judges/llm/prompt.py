"""Prompts: how each kind of question is put to a model, and how its reply is parsed."""

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

from ragstone._internal.sentences import find_quote, split_sentences
from ragstone._internal.text import quoted
from ragstone.errors import Cause, InputError, JudgeError, Problem, nearest
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm import replies
from ragstone.judges.llm.coverage import invented, uncovered
from ragstone.judges.llm.replies import RawReply
from ragstone.types import questions
from ragstone.types.claim import Claim

TAG = "tags."
INCOMPLETE, INVENTED = "incomplete", "invented"
RETRY_REASONS = ("refusal", "truncated", "malformed", "count_mismatch", INCOMPLETE, INVENTED)
"""Why a question is asked again: a cause, or claims that are missing or not in the response."""

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

        return _filled(self.system, values), _filled(self.user, values)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), text)


def sections(text: str, names: Collection[str]) -> dict[str, str]:
    """Return name -> text of the sections with these headings; other headings are text."""
    heading = re.compile(rf"^# ({'|'.join(map(re.escape, names))})[ \t]*$", re.MULTILINE)
    parts = heading.split(_FRONT_MATTER.sub("", text))
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@lru_cache
def built_in(name: str) -> str:
    file = files("ragstone.judges.llm").joinpath("prompts", f"{name}.md")
    return file.read_text(encoding="utf-8")


def retry_text(reason: str, **listed: Iterable[str]) -> str:
    """Return the text with its lists, for example `{omitted}`."""
    texts = fenced({name: _numbered_lines(lines) for name, lines in listed.items()})
    return _filled(sections(built_in("retry"), RETRY_REASONS)[reason], texts)


class InventedClaimError(JudgeError):
    """A claim that does not come from the response."""

    def __init__(self, claim: str) -> None:
        self.claim = claim
        super().__init__(Cause.MALFORMED, f"the claim {quoted(claim)!r} is not in the response")


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

LONG, SHORT, FEW = 1000, 300, 2  # characters of a text, of a quote or reason; quotes
_FACTS = 12  # of a question's reference, at most

_YES_NO: Schema = {"type": "boolean"}


def _text(longest: int = LONG) -> Schema:
    return {"maxLength": longest, "type": "string"}


def _number(most: int) -> Schema:
    return {"maximum": max(1, most), "minimum": 1, "type": "integer"}


def _one_of(*values: str | int) -> Schema:
    return {"enum": list(values), "type": "integer" if isinstance(values[0], int) else "string"}


def _list(items: Schema, most: int, least: int = 0) -> Schema:
    return {"items": items, "maxItems": most, "minItems": least, "type": "array"}


def _object(**keys: Schema) -> dict[str, object]:
    return {
        "additionalProperties": False,
        "properties": keys,
        "required": list(keys),
        "type": "object",
    }


def _reply(title: str, **keys: Schema) -> Schema:
    return {"title": title, **_object(**keys)}


def longest_reply(schema: Any) -> int:
    """Return the tokens of the longest reply that a schema allows, two characters each."""
    if schema["type"] == "object":
        return 4 + sum(8 + longest_reply(each) for each in schema["properties"].values())
    if schema["type"] == "array":
        return 4 + schema["maxItems"] * longest_reply(schema["items"])
    return schema.get("maxLength", 16) // 2


def _quotes(of: str, texts: int, most: int = FEW) -> Schema:
    return _list(_object(**{of: _number(texts), "quote": _text(SHORT)}), most)


def _statements(name: str, source: str, most: int | None = None) -> Schema:
    text = _text(min(LONG, 200 + 2 * len(source)))
    return _reply(name, **{name: _list(text, most or most_statements(source))})


def most_statements(source: str) -> int:
    return 4 + estimated_tokens(source) // 2


def verdict_schema(claims: int = 1, contexts: int = 1, *, partial: bool = False) -> Schema:
    some = ["PARTIALLY_SUPPORTED"] if partial else []
    verdict = _object(
        claim=_number(claims),
        evidence=_quotes("context", contexts),
        label=_one_of("SUPPORTED", *some, "CONTRADICTED", "NOT_ENOUGH_INFO"),
        reason=_text(SHORT),
    )
    return _reply("verdicts", verdicts=_list(verdict, claims, claims))


def grade_schema(texts: int, **more: Schema) -> Schema:
    grade = _object(number=_number(texts), relevant=_YES_NO, **more)
    return _reply("grades", grades=_list(grade, texts, texts))


def queries_schema(count: int) -> Schema:
    # each has a key, so that none can be left out
    queries = _object(**{str(number): _text() for number in range(1, count + 1)})
    return _reply("queries", commits=_YES_NO, queries=queries)


def drafts_schema(passages: int, count: int) -> Schema:
    claims, quotes = _list(_text(), _FACTS), _quotes("passage", passages, _FACTS)
    draft = _object(query=_text(), reference=_text(), claims=claims, quotes=quotes)
    return _reply("questions", questions=_list(draft, count))


Q = TypeVar("Q")


@dataclass(frozen=True)
class JudgeTask(Generic[Q]):
    texts: Callable[[Q], dict[str, str]]  # fill the placeholders; the sample's texts are fenced
    parse: Callable[[RawReply, Q], object]
    schema: Callable[[Q], Schema]  # of the reply, with limits that fit the question
    optional: tuple[str, ...] = ()  # placeholders that a prompt may leave out
    options: Callable[[Q], dict[str, str]] = lambda _: {}  # the used ones, with their number or ""
    omitted: Callable[[Q, Any], tuple[str, ...]] = lambda _question, _value: ()
    """The sentences that a parsed reply seems to leave out, for the one retry."""


def _numbered_texts(texts: Iterable[str]) -> str:
    return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(texts, 1))


def _numbered_lines(texts: Iterable[str]) -> str:
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))


_sentences = lru_cache(maxsize=1)(split_sentences)  # of a reply that is parsed, and then checked


def _parse_claims(reply: RawReply, question: questions.ExtractClaims) -> tuple[Claim, ...]:
    texts = replies.parse_claims(reply, question.response)
    if len(texts) > (most := most_statements(question.response)):
        raise reply.malformed(f"it has {len(texts):,} claims, more than {most:,}")
    if claim := invented(texts, question.response, question.query):
        raise InventedClaimError(claim)
    spans = [(sentence.start, sentence.end) for sentence in _sentences(question.response)]
    return tuple(
        Claim(text=text, span=find_quote(text, question.response, spans)) for text in texts
    )


def _verdict_lines(question: questions.Explain) -> str:
    claims = zip(question.claims, question.labels, question.reasons, strict=True)
    return _numbered_lines(
        f"{label}: {claim}" + (f" ({' '.join(reason.split())})" if reason else "")
        for claim, label, reason in claims
    )


def _verify_texts(question: questions.VerifyClaims) -> dict[str, str]:
    texts = {"contexts": _numbered_texts(question.contexts)}
    texts["claims"] = _numbered_lines(question.claims)
    query = {"query": question.query} if question.query else {}
    return {"query": "", **fenced({**query, **texts})}


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
    return fenced({"passages": _numbered_texts(question.passages), **queries})


def _question_options(question: questions.WriteQuestions) -> dict[str, str]:
    numbers = {
        question.type: "",
        "answered": None if question.type == "unanswerable" else "",
        "count": str(question.count),
        "brief": question.brief or None,
        "language": question.language or None,
        "avoid": _passage_texts(question).get("queries"),
    }
    return {name: number for name, number in numbers.items() if number is not None}


TASKS: Mapping[str, JudgeTask[Any]] = {
    questions.ExtractClaims.kind: JudgeTask[questions.ExtractClaims](
        texts=lambda q: fenced({"query": q.query, "response": q.response}),
        optional=("query",),
        parse=_parse_claims,
        schema=lambda q: _statements("claims", q.response),
        omitted=lambda q, claims: uncovered(_sentences(q.response), [each.text for each in claims]),
    ),
    questions.VerifyClaims.kind: JudgeTask[questions.VerifyClaims](
        texts=_verify_texts,
        optional=("query",),
        parse=replies.parse_verdicts,
        schema=lambda q: verdict_schema(len(q.claims), len(q.contexts), partial=q.partial),
        options=lambda q: {"partial": ""} if q.partial else {},
    ),
    questions.ExtractTruths.kind: JudgeTask[questions.ExtractTruths](
        texts=lambda q: fenced({"context": q.context}),
        parse=lambda reply, q: replies.parse_claims(reply, q.context)[: q.limit],
        schema=lambda q: _statements("truths", q.context, q.limit),
        options=lambda q: {"limit": str(q.limit)} if q.limit else {},
    ),
    questions.Explain.kind: JudgeTask[questions.Explain](
        texts=lambda q: fenced({"verdicts": _verdict_lines(q)}),
        parse=lambda reply, _: replies.parse_explanation(reply),
        schema=lambda _: _reply("explanation", explanation=_text()),
    ),
    questions.GradeContexts.kind: JudgeTask[questions.GradeContexts](
        texts=_grade_texts,
        optional=("query",),
        parse=lambda reply, q: replies.parse_grades(reply, q.contexts),
        schema=lambda q: grade_schema(len(q.contexts), reason=_text(SHORT)),
    ),
    questions.GradeSentences.kind: JudgeTask[questions.GradeSentences](
        texts=lambda q: fenced({"sentences": _numbered_lines(q.sentences), "query": q.query}),
        parse=lambda reply, q: replies.parse_grades(reply, q.sentences),
        schema=lambda q: grade_schema(len(q.sentences)),
    ),
    questions.GenerateQueries.kind: JudgeTask[questions.GenerateQueries](
        texts=lambda q: fenced({"response": q.response}),
        parse=lambda reply, q: replies.parse_queries(reply, q.count),
        schema=lambda q: queries_schema(q.count),
        options=lambda q: {"count": str(q.count)},
    ),
    questions.DetectAbstention.kind: JudgeTask[questions.DetectAbstention](
        texts=lambda q: fenced({"query": q.query, "response": q.response}),
        optional=("query",),
        parse=lambda reply, _: replies.parse_abstention(reply),
        schema=lambda _: _reply("abstention", label=_one_of("ANSWERS", "ABSTAINS")),
    ),
    questions.RateResponse.kind: JudgeTask[questions.RateResponse](
        texts=_rating_texts,
        optional=("query", "contexts", "reference"),
        parse=lambda reply, _: replies.parse_rating(reply),
        schema=lambda q: _reply(
            "rating", reason=_text(), level=_one_of(*(level for level, _ in q.levels))
        ),
    ),
    questions.FindAnswer.kind: JudgeTask[questions.FindAnswer](
        texts=lambda q: fenced({"contexts": _numbered_texts(q.contexts), "query": q.query}),
        parse=replies.parse_found,
        schema=lambda q: _reply(
            "found", found=_YES_NO, answer=_text(), evidence=_quotes("context", len(q.contexts))
        ),
    ),
    questions.WriteQuestions.kind: JudgeTask[questions.WriteQuestions](
        texts=lambda q: {"passages": _passage_texts(q)["passages"]},
        parse=lambda reply, q: replies.parse_drafts(reply)[: q.count],
        schema=lambda q: drafts_schema(len(q.passages), q.count),
        options=_question_options,
    ),
}
