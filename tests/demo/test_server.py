import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone.demo.server import make_service, running
from ragstone.errors import UsageError

SEARCH, CHAT = "/api/v1/rag/search", "/api/v1/chat/query"
QUERY = "How long is the warranty of a new phone?"


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with running(make_service()) as base_url, aiohttp.ClientSession(base_url) as session:
        yield session


async def post(client: aiohttp.ClientSession, path: str, body: dict[str, object]):
    async with client.post(path, json=body) as response:
        assert response.status == 200
        return await response.json()


async def test_search(client: aiohttp.ClientSession):
    async with client.get("/api/v1/health") as response:
        assert (await response.json())["status"] == "ok"
    body = {"query": QUERY, "collection_type": "text", "top_k": 3, "score_threshold": 0.0}
    results = (await post(client, SEARCH, body))["results"]
    assert len(results) == 3
    assert results[0].keys() == {"point_id", "text", "score", "source"}
    assert (results[0]["point_id"], results[0]["source"]) == (601, "warranty-and-repair.pdf")
    images = await post(client, SEARCH, {"query": QUERY, "collection_type": "image"})
    assert images == {"results": []}


async def test_chat(client: aiohttp.ClientSession):
    body = {"query": QUERY, "session_id": "s", "mode": "rag", "top_k": 5, "score_threshold": 0.0}
    reply = await post(client, CHAT, body)
    assert reply.keys() == {"response", "retrieved_chunks"}
    assert "36 months" in reply["response"], "an injected error"
    assert reply["retrieved_chunks"][0].keys() == {"point_id", "text", "score"}
    alone = await post(client, CHAT, {"query": QUERY, "mode": "llm_only"})
    assert (alone["retrieved_chunks"], bool(alone["response"])) == ([], True)


async def test_both_endpoints_retrieve_the_same(client):
    body = {"query": QUERY, "top_k": 2, "score_threshold": 0.2}
    searched = (await post(client, SEARCH, body))["results"]
    chatted = (await post(client, CHAT, body))["retrieved_chunks"]
    assert chatted
    for chunk, result in zip(chatted, searched, strict=True):
        assert {**chunk, "source": result["source"]} == result


@each_case(
    ("body", "field"),
    [
        (b"{", "body"),
        (b"{}", "query"),
        (b'{"query": "%s"}' % (b"x" * 2001), "query"),
        (b'{"query": "a", "top_k": 0}', "top_k"),
        (b'{"query": "a", "score_threshold": 1.5}', "score_threshold"),
        (b'{"query": "", "mode": "telepathy", "top_k": 1001}', "query mode top_k"),
    ],
)
async def test_a_malformed_request_is_told(client, body: bytes, field: str):
    for path in (CHAT,) if "mode" in field else (SEARCH, CHAT):
        async with client.post(path, data=body) as response:
            assert response.status == 422
            told = await response.json()
        assert {problem["field"] for problem in told["problems"]} == set(field.split())
        assert told["error"].partition(":")[0] in field


@each_case(("method", "path", "status"), [("GET", "/nowhere", 404), ("GET", SEARCH, 405)])
async def test_other_errors_are_json_too(client, method: str, path: str, status: int):
    async with client.request(method, path) as response:
        assert response.status == status
        assert (await response.json())["error"].startswith(f"{method} {path}: ")


async def test_a_port_in_use_is_told_and_free_again_afterwards():
    async with running(make_service()) as base_url:
        port = int(base_url.rpartition(":")[2])
        with pytest.raises(UsageError, match=f"port {port} on 127.0.0.1 is in use; .*--port"):
            async with running(make_service(), port=port):
                pass
    async with running(make_service(), port=port) as again:
        assert again == base_url


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
async def test_ctrl_c_ends_the_server_cleanly():
    code = (
        "from ragstone.demo.server import make_service, serve\n"
        "serve(make_service(), port=0, ready=lambda url: print(url, flush=True))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=environment, **pipes
    )
    assert process.stdout is not None
    base_url = (await process.stdout.readline()).decode().strip()
    async with aiohttp.ClientSession(base_url) as client, client.get("/api/v1/health") as response:
        assert response.status == web.HTTPOk.status_code
        process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
