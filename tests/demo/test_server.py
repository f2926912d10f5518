import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

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


async def test_health(client: aiohttp.ClientSession):
    async with client.get("/api/v1/health") as response:
        assert response.status == 200
        assert (await response.json())["status"] == "ok"


async def test_search(client: aiohttp.ClientSession):
    body = {"query": QUERY, "collection_type": "text", "top_k": 3, "score_threshold": 0.0}
    results = (await post(client, SEARCH, body))["results"]
    assert len(results) == 3
    assert results[0].keys() == {"point_id", "text", "score", "source"}
    assert results[0]["point_id"] == 601
    assert results[0]["source"] == "warranty-and-repair.pdf"
    assert results[0]["text"].startswith("New phones have a warranty of 24 months")


async def test_chat(client: aiohttp.ClientSession):
    body = {"query": QUERY, "session_id": "s", "mode": "rag", "top_k": 5, "score_threshold": 0.0}
    reply = await post(client, CHAT, body)
    assert reply.keys() == {"response", "retrieved_chunks"}
    assert "36 months" in reply["response"], "a injected error"
    assert reply["retrieved_chunks"][0].keys() == {"point_id", "text", "score"}


@pytest.mark.parametrize("settings", [{}, {"top_k": 2}, {"score_threshold": 0.7}])
async def test_both_endpoints_retrieve_the_same(
    client: aiohttp.ClientSession, settings: dict[str, object]
):
    body = {"query": QUERY, **settings}
    searched = (await post(client, SEARCH, body))["results"]
    chatted = (await post(client, CHAT, body))["retrieved_chunks"]
    assert [
        {**chunk, "source": result["source"]}
        for chunk, result in zip(chatted, searched, strict=True)
    ] == searched


async def test_there_are_no_images(client: aiohttp.ClientSession):
    assert await post(client, SEARCH, {"query": QUERY, "collection_type": "image"}) == {
        "results": []
    }


async def test_without_passages(client: aiohttp.ClientSession):
    reply = await post(client, CHAT, {"query": QUERY, "mode": "llm_only"})
    assert reply["retrieved_chunks"] == []
    assert reply["response"]


@pytest.mark.parametrize("path", [SEARCH, CHAT])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"\xff", "body"),
        (b"[]", "body"),
        (b"{}", "query"),
        (b'{"query": null}', "query"),
        (b'{"query": 5}', "query"),
        (b'{"query": " "}', "query"),
        (b'{"query": "%s"}' % (b"x" * 2001), "query"),
        (b'{"query": "a", "top_k": 0}', "top_k"),
        (b'{"query": "a", "top_k": "5"}', "top_k"),
        (b'{"query": "a", "top_k": true}', "top_k"),
        (b'{"query": "a", "score_threshold": 1.5}', "score_threshold"),
        (b'{"query": "a", "score_threshold": NaN}', "score_threshold"),
    ],
)
async def test_a_malformed_request_is_told(
    client: aiohttp.ClientSession, path: str, body: bytes, field: str
):
    async with client.post(path, data=body) as response:
        assert response.status == 422
        told = await response.json()
    assert [problem["field"] for problem in told["problems"]] == [field]
    assert told["error"].startswith(f"{field}: ")


async def test_all_problems_are_told_at_once(client: aiohttp.ClientSession):
    body = {"query": "", "mode": "telepathy", "top_k": 1001}
    async with client.post(CHAT, json=body) as response:
        problems = (await response.json())["problems"]
    assert {problem["field"] for problem in problems} == {"query", "mode", "top_k"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", SEARCH, 405),
        ("POST", "/api/v1/health", 405),
    ],
)
async def test_other_errors_are_json_too(
    client: aiohttp.ClientSession, method: str, path: str, status: int
):
    async with client.request(method, path) as response:
        assert response.status == status
        assert (await response.json())["error"].startswith(f"{method} {path}: ")


async def test_a_port_in_use_is_told():
    async with running(make_service()) as base_url:
        port = int(base_url.rpartition(":")[2])
        with pytest.raises(UsageError, match=f"port {port} on 127.0.0.1 is in use; .*--port"):
            async with running(make_service(), port=port):
                pass


async def test_an_address_of_another_machine_is_told():
    with pytest.raises(UsageError, match=r"cannot listen on 203\.0\.113\.5, port 0"):
        async with running(make_service(), host="203.0.113.5"):
            pass


@pytest.mark.parametrize("port", [-1, 65536])
async def test_an_impossible_port_is_told(port: int):
    with pytest.raises(UsageError, match="between 0 and 65535"):
        async with running(make_service(), port=port):
            pass


async def test_the_port_is_free_again_afterwards():
    async with running(make_service()) as base_url:
        port = int(base_url.rpartition(":")[2])
    async with running(make_service(), port=port) as again:
        assert again == base_url


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
async def test_ctrl_c_ends_the_server_cleanly():
    code = (
        "from ragstone.demo.server import serve\n"
        "from ragstone.demo.server import make_service\n"
        "serve(make_service(), port=0, ready=lambda url: print(url, flush=True))"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    base_url = (await process.stdout.readline()).decode().strip()
    async with aiohttp.ClientSession(base_url) as client, client.get("/api/v1/health") as response:
        assert response.status == web.HTTPOk.status_code
        process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")
