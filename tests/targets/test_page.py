"""docs/connect.md: what it shows works, and it leaves nothing out."""

import re
from pathlib import Path

import pytest

from ragstone.targets.factory import GIVEN, get_target
from ragstone.targets.spec import ROW_FIELDS, ApiDescription, CallDescription
from ragstone.types.config import Plan
from ragstone.types.sample import Sample

PAGE = (Path(__file__).parents[2] / "docs" / "connect.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: title=.\S+)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DEMO, CHAT, SEARCH = FILES = [text for language, text in BLOCKS if language == "yaml"]
ROW = Sample.model_validate(
    {"id": "1", "query": "Who?", "contexts": [{"text": "old"}], "tags": {"department": "sales"}}
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_API_KEY", "sk-1")


@pytest.mark.parametrize("text", FILES)
def test_every_file_describes_an_api(text: str) -> None:
    assert ApiDescription.parse(text, "docs/connect.md").calls


async def test_the_chat_api_is_asked_as_the_page_says(faulty, behave, tmp_path: Path) -> None:
    events = (
        b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "24 "}}]}\n\n'
        b'data: {"choices": [{"delta": {"content": "months."}}]}\n\n'
        b'data: {"choices": [], "sources": [{"id": 601, "text": "a", "score": 1}]}\n\n'
        b"data: [DONE]\n\n"
    )
    faulty.script("/v1/models", behave.reply({}))
    faulty.script("/v1/chat/completions", behave.reply(events))
    text = CHAT.replace("https://rag.example", faulty.url)
    path = tmp_path / "rag.yaml"
    path.write_text(re.sub(r"^proxy:.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    async with get_target(str(path), Plan(), k=5) as target:
        answer = await target.ask(ROW, frozenset(("response", "contexts")))
    assert answer.failures == {}
    assert answer.fields["response"] == "24 months."
    assert [context.id for context in answer.fields["contexts"]] == ["601"]
    assert faulty.calls[1].headers["authorization"] == "Bearer sk-1"
    assert "You work in sales." in faulty.calls[1].text


async def test_the_search_api_is_asked_as_the_page_says(faulty, behave, tmp_path: Path) -> None:
    hits = [{"document": {"id": 5, "text": "five"}, "score": 0.5}]
    faulty.script("/search", behave.reply({"hits": hits}))
    path = tmp_path / "rag.yaml"
    path.write_text(SEARCH.replace("http://localhost:9200", faulty.url), encoding="utf-8")
    async with get_target(str(path), Plan(), k=5) as target:
        answer = await target.ask(ROW, frozenset(("ranking",)))
    assert [context.id for context in answer.fields["ranking"]] == ["5"]
    assert faulty.calls[0].raw_path == "/search?q=Who?&limit=5"


@pytest.mark.parametrize("name", ["answer", "Rag"])
async def test_every_function_is_a_target(name: str, module_file) -> None:
    (text,) = (text for language, text in BLOCKS if language == "python")
    file = module_file(f"page_{name.lower()}_rag.py", text)
    answer = await get_target(f"{file}:{name}", Plan(), k=1).ask(ROW, frozenset(("response",)))
    assert answer.failures == {}
    assert answer.fields["response"]


def test_the_page_names_everything() -> None:
    for field in {**ApiDescription.model_fields, **CallDescription.model_fields}:
        assert any(re.search(rf"^ *{field}:", text, re.MULTILINE) for text in FILES), field
    for name in (*ROW_FIELDS, *GIVEN):
        assert f"`{{{name}}}`" in PAGE or f"`{name}`" in PAGE, name
    plan = Plan()
    for flag in ("concurrency", "timeout", "retries", "delay"):
        shown = f"{getattr(plan, flag):g}"
        assert re.search(rf"`--(max-)?{flag}` \({shown}\)", PAGE), flag
