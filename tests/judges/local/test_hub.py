"""A model of the hub: had from a server of loopback, by another process, as the library does it."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import onnx
import pytest
from aiohttp import web

REVISION = "1" * 40
CODE = """
from ragstone.errors import UsageError
from ragstone.judges.local import EntailmentJudge
try:
    print(EntailmentJudge("hf:owner/nli", offline={offline}).name)
except UsageError as error:
    print(error)
"""


class Hub:
    """Serves the files of one model, and keeps what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked, self.agents = folder, list[str](), set[str]()
        self.url = ""

    def described(self, name: str) -> dict[str, object]:
        body = (self.folder / name).read_bytes()
        digest = hashlib.sha1(body).hexdigest()
        return {"type": "file", "path": name, "size": len(body), "oid": digest}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        self.agents.add(request.headers.get("User-Agent", ""))
        names = [path.name for path in sorted(self.folder.iterdir())]
        if "/tree/" in request.path:
            return web.json_response([self.described(name) for name in names])
        if request.path.startswith("/api/models/owner/nli"):
            files = [{"rfilename": name} for name in names]
            return web.json_response({"id": "owner/nli", "sha": REVISION, "siblings": files})
        name = request.path.rpartition("/")[2]
        if name not in names:
            return web.Response(status=404, headers={"X-Error-Code": "RepoNotFound"})
        body = (self.folder / name).read_bytes()
        headers = {"ETag": f'"{hashlib.sha1(body).hexdigest()}"', "X-Repo-Commit": REVISION}
        return web.Response(body=body, headers=headers)


@pytest.fixture
async def hub(make_model) -> AsyncIterator[Hub]:
    folder = make_model("nli")
    (folder / "pytorch_model.bin").write_bytes(b"large and not wanted")
    hub = Hub(folder)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", hub.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    hub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield hub
    await runner.cleanup()


async def said(url: str, cache: Path, *, offline: bool = False, code: str = CODE) -> str:
    """Return what another process says of the judge."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code.format(offline=offline), cwd=cache.parent,
        env={**kept, "HF_ENDPOINT": url, "HF_HUB_CACHE": str(cache), "HF_HUB_DISABLE_XET": "1"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().strip()


async def test_a_named_model_is_downloaded_once_and_only_what_it_takes(hub, tmp_path) -> None:
    cache = tmp_path / "hub"
    assert "--offline forbids" in await said(hub.url, cache, offline=True)
    assert hub.asked == []
    assert await said(hub.url, cache) == "local:hf:owner/nli"
    assert not [path for path in hub.asked if path.endswith(".bin")]
    assert not [agent for agent in hub.agents if "torch" in agent or "agent/" in agent]
    hub.asked.clear()
    assert await said(hub.url, cache) == "local:hf:owner/nli"
    assert await said(hub.url, cache, offline=True) == "local:hf:owner/nli"
    assert hub.asked == []


async def test_a_model_that_the_hub_does_not_have(hub, tmp_path) -> None:
    (hub.folder / "model.onnx").unlink()
    told = await said(hub.url, tmp_path / "hub")
    assert "there is no model.onnx or onnx/model.onnx" in told
    closed = await said("http://127.0.0.1:9", tmp_path / "other")
    assert closed.startswith("local:hf:owner/nli: the hub's cache on this machine lacks files")


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx", "config.json", "weights.bin"])
async def test_a_download_that_was_broken_off_is_finished(hub, tmp_path, name: str) -> None:
    model = onnx.load(hub.folder / "model.onnx")
    onnx.save(
        model, hub.folder / "model.onnx", save_as_external_data=True, location="weights.bin",
        size_threshold=0,
    )  # fmt: skip
    cache = tmp_path / "hub"
    assert await said(hub.url, cache) == "local:hf:owner/nli"
    [kept] = cache.glob(f"models--owner--nli/snapshots/*/{name}")
    kept.resolve().unlink()
    kept.unlink()
    lacks = await said(hub.url, cache, offline=True)
    assert "the hub's cache on this machine lacks " in lacks
    assert await said(hub.url, cache) == "local:hf:owner/nli"
    assert kept.is_file()
    assert await said(hub.url, cache, offline=True) == "local:hf:owner/nli"


async def test_a_path_is_never_looked_for_in_the_hub(hub, tmp_path) -> None:
    code = CODE.replace("hf:owner/nli", "models/nli")
    told = await said(hub.url, tmp_path / "hub", code=code)
    assert told.startswith("local:models/nli: there is no folder models/nli")
    assert told.endswith("of the Hugging Face hub that is local:hf:models/nli")
    assert hub.asked == []
