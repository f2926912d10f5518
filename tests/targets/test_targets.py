import re
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import InputError, TargetError
from ragstone.targets.factory import get_target
from ragstone.targets.http import HttpTarget
from ragstone.types.config import Plan
from ragstone.types.sample import Sample

ROW = Sample(id="1", query="Who?")
CALL = "calls: {ask: {url: '{base}/ask', reply: {response: a}}}\n"


@each_case(
    ("name", "shown"),
    [
        ("HTTPS://h/rag/", "HTTPS://h/rag/"),
        ("https://user:pw@h/rag?key=abc", "https://h/rag"),
    ],
)
def test_a_url_is_the_default_api(name: str, shown: str) -> None:
    target = get_target(name, Plan(), k=5)
    assert isinstance(target, HttpTarget)
    assert (target.name, target.gives) == (shown, {"response", "contexts", "ranking"})


def test_a_file_describes_an_api(tmp_path: Path) -> None:
    made = '{"calls": {"ask": {"url": "http://h/{query}", "reply": {"response": "a"}}}}'
    for name, content in (("rag.YAML", f"base: http://h\n{CALL}"), ("rag.json", made)):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        target = get_target(str(path), Plan(), k=5)
        assert isinstance(target, HttpTarget)
        assert (target.name, target.gives) == (str(path), {"response"})
    path.write_text("calls: {}", encoding="utf-8")
    with pytest.raises(InputError, match=r"rag\.json: 1 problem"):
        get_target(str(path), Plan(), k=5)


@each_case("name", ["rag", "", "data.xlsx", "localhost", "rag.py", "ftp://user:pw@h/x?key=abc"])
def test_a_name_that_is_not_a_target(name: str) -> None:
    with pytest.raises(TargetError, match="is not a target; use a URL") as caught:
        get_target(name, Plan(), k=5)
    assert not re.search("pw|abc", str(caught.value))


async def test_tls_and_proxy_of_a_file(
    tmp_path: Path, faulty, behave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_PROXY", faulty.url)
    path = tmp_path / "rag.yaml"
    text = f"base: http://rag.invalid\nverify_tls: false\nproxy: ${{RAG_PROXY}}\n{CALL}"
    path.write_text(text, encoding="utf-8")
    faulty.script("/ask", behave.reply({"a": "by proxy"}))
    async with get_target(str(path), Plan(), k=5) as target:
        answer = await target.ask(ROW, frozenset(("response",)))
    assert answer.fields == {"response": "by proxy"}
    assert faulty.calls[0].raw_path == "http://rag.invalid/ask"


@each_case(
    ("name", "message"),
    [
        ("www.example.com/api", "did you mean http://www.example.com/api?"),
        ("rag.py", "or module:function; did you mean rag.py:FUNCTION?"),
        ("http://", "'http://' has no host; write, for example, http://localhost:8000"),
        ("http:// h", "'http:// h' has no host"),
    ],
)
def test_an_address_without_its_scheme_or_host_is_refused_before_any_call(
    name: str, message: str
) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        get_target(name, Plan(), k=5)
