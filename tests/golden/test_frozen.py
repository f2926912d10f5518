"""What a change of layout must not change; `FREEZE=1 pytest tests/golden/test_frozen.py` renews it.

Options are in docs/cli.md, and settings in docs/ragstone.schema.json (tests/house/test_docs.py).
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragstone.cli import ragstone as program
from ragstone.judges.base import Judge
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import make_judge
from ragstone.types.claim import Label
from ragstone.types.config import JudgePlan, Plan
from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    FindAnswer,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    Question,
    RateResponse,
    TextSimilarity,
    VerifyClaims,
    WriteQuestions,
)
from ragstone.types.reply import Usage

FROZEN = Path(__file__).parent / "frozen.json"
FREEZE = "FREEZE" in os.environ

LEVELS = ((1, "poor"), (5, "good"))
QUESTIONS: tuple[Question[object], ...] = (
    ExtractClaims(query="Why?", response="Because. It is so."),
    ExtractClaims(query="", response="Straße in Köln.\nNew line."),
    ExtractClaims(query="Why?", response="Because. It is so.", by="sentences"),
    ExtractClaims(query="Why?", response="Because.", tags=(("language", "en"),)),
    VerifyClaims(claims=("A is B.",), contexts=("A is B.", "C is D.")),
    VerifyClaims(claims=("A is B.",), contexts=()),
    VerifyClaims(claims=("A is B.", "C is D."), contexts=("日本語",), partial=True),
    VerifyClaims(claims=("A is B.",), contexts=("A.",), batch_size=1),
    ExtractTruths(context="A is B. C is D."),
    ExtractTruths(context="A is B. C is D.", limit=3),
    Explain(
        claims=("A is B.", "C is D."),
        labels=(Label.SUPPORTED, Label.CONTRADICTED),
        reasons=("", "It is E."),
    ),
    GradeContexts(query="Why?", answer="Because.", contexts=("One.", "Two.")),
    GradeSentences(query="Why?", sentences=("One.", "Two.")),
    GenerateQueries(response="Because.", count=3),
    DetectAbstention(query="Why?", response="I do not know."),
    DetectAbstention(query='"quotes" and \\', response="\u2028 🎉"),
    TextSimilarity(text="One.", others=("Two.", "Three.")),
    RateResponse(criteria="Polite?", levels=LEVELS, query="Why?", response="Because."),
    RateResponse(
        criteria="Polite?", levels=LEVELS, query="Why?", response="Because.", contexts=("One.",)
    ),
    RateResponse(
        criteria="Right?", levels=LEVELS, query="Why?", response="Because.", reference="Thus."
    ),
    WriteQuestions(passages=("One.",), type="single"),
    WriteQuestions(passages=("One.", "Two."), type="multi", count=2, avoid=("Why?",)),
    FindAnswer(query="Why?", contexts=("One.", "Two.")),
)

MODEL = {"judge": "openai:gpt-4o-mini"}
JUDGES = {
    "offline": {},
    "model": MODEL,
    "model with options": MODEL
    | {"temperature": 0.5, "strict_json": True, "base_url": "http://localhost:1/v1"},
    "votes": MODEL | {"votes": 2},
    "panel": {"judge": "openai:gpt-4o-mini,openai:gpt-4o"},
    "panel with offline": {"judge": "offline,openai:gpt-4o-mini"},
    "embeddings": MODEL | {"embedding_model": "openai:text-embedding-3-small"},
}

ANSWERS = [
    {
        "id": "a",
        "query": "How long is the guarantee?",
        "response": "The guarantee is two years. It covers the battery.",
        "contexts": [{"id": "1", "text": "The guarantee is two years.", "score": 0.9}],
        "reference": "Two years.",
        "reference_ids": ["1"],
        "tier": "easy",
    },
    {
        "id": "b",
        "query": "Who pays?",
        "response": "I do not know.",
        "contexts": [{"id": "2", "text": "The customer pays for the return.", "score": 0.8}],
        "reference": "The customer.",
        "reference_ids": ["2", "3"],
        "tier": "hard",
    },
    {"id": "c", "query": "When?", "response": "On 3 May [1].", "contexts": ["On 4 May."]},
]
QRELS = "q1 0 a 1\nq2 0 c 2\nq3 0 d 1\n"
RUN_A = "q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 1 x\n"
RUN_B = "q1 Q0 a 1 2 x\nq2 Q0 c 1 1 x\nq3 Q0 d 1 1 x\n"


@pytest.fixture(scope="module")
def frozen() -> Iterator[dict[str, object]]:
    found: dict[str, object] = {} if FREEZE else json.loads(FROZEN.read_text(encoding="utf-8"))
    yield found
    if FREEZE:
        text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
        FROZEN.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture
def same(frozen: dict[str, object]) -> Callable[[str, object], None]:
    """Compare a part with what was frozen, or freeze it."""

    def check(part: str, found: object) -> None:
        found = json.loads(json.dumps(found))
        if FREEZE:
            frozen[part] = found
        changes = list(differences(frozen[part], found, part))
        assert not changes, "\n".join(
            [*changes[:20], "run: FREEZE=1 pytest tests/golden/test_frozen.py"]
        )

    return check


def differences(old: object, new: object, path: str) -> Iterator[str]:
    """Yield the paths in JSON at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name, "-"), new.get(name, "-"), f"{path} > {name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path} > {place}")
    elif old != new:
        yield f"{path}: was {old!r:.200}, is {new!r:.200}"


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for name in ("RAGSTONE_JUDGE", "RAGSTONE_STORE", "LOG_LEVEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_the_key_of_a_question(same) -> None:
    assert len({question.key for question in QUESTIONS}) == len(QUESTIONS)
    same("question keys", [[question.kind, question.key] for question in QUESTIONS])


def test_what_identifies_a_judge(same) -> None:
    every = sorted({question.kind for question in QUESTIONS})
    some = ["text_similarity", "verify_claims"]
    found = {}
    for name, options in JUDGES.items():
        judge = make_judge(Plan(**options))
        kinds = every if name == "model" else some
        found[name] = {kind: digest(judge.identity(kind)) for kind in kinds}
        found[name] |= {"set-up of verify_claims": digest(judge.setup("verify_claims"))}
    same("judge identities", found)


def digest(text: str | None) -> str | None:
    """Return an identity with digests in place of long parts, to see which one changed."""
    if text is None or not text.startswith("["):
        return (
            text
            if text is None or "\n" not in text
            else "; ".join(map(str, map(digest, text.split("\n"))))
        )
    parts = [
        digest(part) if isinstance(part, str) and part.startswith("[") else part
        for part in json.loads(text)
    ]
    return ", ".join(
        text if len(text) < 100 else sha256(text.encode()).hexdigest()[:12]
        for text in (part if isinstance(part, str) else json.dumps(part) for part in parts)
    )


def test_the_key_of_a_stored_reply(same, tmp_path: Path) -> None:
    class Known(Judge):
        name = "known"

        def takes(self, kind: str) -> bool:
            return kind in REPLIES

        def identity(self, kind: str) -> str:
            return f"known, for {kind}"

        async def answer(self, question):
            return question.reply(REPLIES[question.kind], Usage(calls=1))

    async def ask() -> None:
        async with CachedJudge(Known(), tmp_path / "replies.db") as judge:
            for question in QUESTIONS:
                if question.kind in REPLIES:
                    await judge.answer(question)

    asyncio.run(ask())
    with sqlite3.connect(tmp_path / "replies.db") as file:
        [[schema]] = file.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
        keys = file.execute("SELECT hex(key), value FROM replies ORDER BY rowid").fetchall()
    file.close()
    same("reply cache", {"table": schema.split("\n"), "rows": keys})


REPLIES: dict[str, object] = {
    "explain": "It is so.",
    "detect_abstention": True,
    "extract_truths": ("One.", "Two."),
    "extract_claims": ({"text": "One."},),
}


def test_the_shapes_of_what_is_written(same, tmp_path: Path) -> None:
    lines = (json.dumps(answer) for answer in ANSWERS)
    (tmp_path / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name, text in (("qrels", QRELS), ("a.run", RUN_A), ("b.run", RUN_B)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    gate = ("--fail-under", "faithfulness=0.1")
    run = ("run", "answers.jsonl", "--no-export")
    ranking = ("rank", "--qrels", "qrels", "--ranking", "a.run", "-m", "mrr", "-m", "hit@1")
    commands = {
        "run": (*run, *gate, "--json", "x.json", "--rows", "x.jsonl"),
        "tag": ("runs", "tag", "last", "first"),
        "run again": (
            *run,
            "-m",
            "faithfulness",
            "-m",
            "context_recall",
            "--claim-rows",
            "x.jsonl",
        ),
        "compare": ("compare", "first", "--json", "x.json"),
        "runs": ("runs", "list", "--json", "x.json"),
        "rank": (*ranking, "--json", "x.json", "--rows", "x.jsonl"),
        "rank two": (*ranking, "--ranking", "b.run", "--json", "x.json"),
        "judge": ("judge", "test", "--n", "12", "--json", "x.json"),
        "metrics": ("metrics", "--json"),
    }
    shapes: dict[str, object] = {}
    for name, command in commands.items():
        done = CliRunner().invoke(program, command)
        found: dict[str, object] = {"exit code": done.exit_code}
        assert done.exit_code in {0, 1, 3}, done.output
        if name == "metrics":
            found["output"] = tree(json.loads(done.stdout))
        for path in (tmp_path / "x.json", tmp_path / "x.jsonl"):
            if path.exists():
                written = path.read_text(encoding="utf-8")
                whole = path.suffix == ".json"
                read = json.loads(written) if whole else [*map(json.loads, written.splitlines())]
                found["json" if whole else "rows"] = tree(read)
                path.unlink()
        shapes[name] = found
    same("shapes", shapes)


def tree(*values: object) -> object:
    """Return keys and types of JSON values that share a place."""
    types = sorted({kind(value) for value in values})
    if types == ["object"]:
        return {
            name: tree(*(value[name] for value in values if name in value))
            for name in dict.fromkeys(name for value in values for name in value)
        }
    if types == ["array"]:
        items = [item for value in values for item in value]
        return [tree(*items)] if items else []
    inner = [tree(value) for value in values if isinstance(value, dict | list)]
    return [" | ".join(types), *inner] if inner else " | ".join(types)


def kind(value: object) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def test_what_is_public(same) -> None:
    import ragstone

    same("public names", sorted(ragstone.__all__))
    assert set(JudgePlan.model_fields) <= set(Plan.model_fields)
