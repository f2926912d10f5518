"""A model of the hub: had from a server of loopback, by another process, as the library does it."""

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import onnx
import onnxruntime
import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.model import LocalSettings, ModelFiles


def made(folder: Path | str, **settings: object) -> EntailmentJudge:
    return EntailmentJudge(str(folder), LocalSettings.model_validate(settings), download=False)


LFS = b"version https://git-lfs.github.com/spec/v1\nsize 9\n"
POINTER = "is a git-LFS pointer .*`git lfs pull`"


@each_case(
    ("file", "content", "said"),
    [
        ("tokenizer.json", None, r"there is no .*tokenizer\.json.*[tT]o (make|write)"),
        ("model.onnx", None, r"there is no .*model\.onnx.*[tT]o (make|write)"),
        ("config.json", None, r"there is no config\.json, which would name its labels"),
        *((name, LFS, f"{name} {POINTER}") for name in ("model.onnx", "tokenizer.json")),
        ("config.json", b"{", r"config\.json is invalid JSON"),
        ("model.onnx", b"", r"model\.onnx is empty"),
        ("tokenizer.json", b"{}", "is not a tokenizer"),
    ],
)
def test_a_file_that_is_missing_or_another_is_told(make_model, file, content, said) -> None:
    folder = make_model("nli")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    with pytest.raises(UsageError, match=said):
        made(folder)
    if file == "config.json" and content is None:
        assert made(folder, labels="contradiction/entailment/neutral")


@each_case(
    ("name", "said"),
    [
        ("nothing", r"there is no folder .*tokenizer\.json"),
        *((blank, r"specify a model: a folder with model\.onnx") for blank in ("", "   ")),
        ("hf:nli", "is named hf:owner/name"),
        (
            "hf:owner/nli",
            r"the hub's cache .* is missing .* files, and HF_HUB_OFFLINE does not",
        ),
    ],
)
def test_a_name_that_no_model_has(tmp_path, monkeypatch, name, said) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        made(name)


def test_what_a_folder_has_in_the_place_of_the_onnx_file_is_told(make_model) -> None:
    folder = make_model("nli")
    (folder / "onnx").mkdir()  # as exporters do
    moved = (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert ModelFiles.find(str(folder)).onnx == moved
    moved.rename(folder / "model.safetensors")
    with pytest.raises(UsageError, match=r"it has model\.safetensors, which is not ONNX. To make"):
        made(folder)
    (folder / "model.safetensors").rename(folder / "model_int8.onnx")
    with pytest.raises(UsageError, match=r"it has model_int8\.onnx: name one with file="):
        made(folder)
    assert made(folder, file="model_int8.onnx")
    (folder / "model_int8.onnx").unlink()
    with pytest.raises(UsageError, match=r"it has no \.onnx file"):
        made(folder)


NAMES = r"labels=unsupported/supported.*Known labels are"


@each_case(
    ("kind", "options", "settings", "said"),
    [
        ("pair", {"labels": ["LABEL_0", "LABEL_1"]}, {}, f"are LABEL_0, LABEL_1.*{NAMES}"),
        ("pair", {"labels": []}, {}, f"it names no labels.*{NAMES}"),
        ("one", {"labels": ["LABEL_0"]}, {}, "LABEL_0.*labels=supported for a model with one"),
        ("nli", {}, {"labels": "supported/unsupported"}, "3 outputs, but 2 labels"),
        ("nli", {}, {"head": "tokens"}, r"the shape \[1, 3\]"),
        ("nli", {}, {"probabilities": True}, "probabilities=yes, but logits has values from -"),
        ("nli", {"size": ("pairs", 40)}, {}, "pairs of 40 tokens: set length=40"),
        ("nli", {"size": (2, "tokens")}, {}, "batches of 2: set batch=2"),
        ("nli", {"max_position_embeddings": 128}, {"length": 256}, "at most 128 tokens, not len"),
        (
            "one",
            {"output": "p", "chances": True},
            {},
            r"no output named logits; it has p\. Set",
        ),
    ],
)
async def test_a_model_that_is_not_understood_says_what_to_set(
    make_model, kind: str, options: dict, settings: dict, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        async with made(make_model(kind, **options), **settings):
            pass


async def test_and_is_taken_where_that_is_set(make_model) -> None:
    async with made(make_model("one", labels=["LABEL_0"]), labels="supported"):
        pass
    folder = make_model("one", output="probability", chances=True)
    async with made(folder, output="probability", probabilities=True):
        pass
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with pytest.raises(UsageError, match="does not support cuda; install onnxruntime-gpu"):
            async with made(make_model("nli"), device="cuda"):
                pass


async def test_a_model_that_wants_other_things(make_model) -> None:
    folder = make_model("nli")
    model = onnx.load(folder / "model.onnx")
    more = onnx.helper.make_tensor_value_info("decoder_input_ids", onnx.TensorProto.INT64, [1, 1])
    model.graph.input.append(more)
    onnx.save(model, folder / "model.onnx")
    said = "expects the inputs decoder_input_ids; supported are input_ids"
    with pytest.raises(UsageError, match=said):
        async with made(folder):
            pass
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(UsageError, match="the model cannot be loaded"):
        async with made(folder):
            pass


def test_a_template_has_places_for_both(make_model) -> None:
    folder = make_model("nli")
    with pytest.raises(UsageError, match=r"there is no file .*ask\.txt"):
        made(folder, template="ask.txt")
    (folder / "ask.txt").write_text("{context}")
    with pytest.raises(UsageError, match=r"must have \{context\} and \{claim\}"):
        made(folder, template="ask.txt")


def test_how_long_pairs_may_be(make_model) -> None:
    for config in ({"max_position_embeddings": 514, "model_type": "xlm-roberta"}, {}):
        assert made(make_model("nli", **config))._model.length == 512


def with_weights_aside(folder: Path, name: str) -> Path:
    path, options = folder / "model.onnx", {"location": name, "size_threshold": 0}
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.load(path), path, save_as_external_data=True, **options)
    return folder


@pytest.mark.parametrize("package", ["tokenizers", "onnxruntime", "huggingface_hub"])
async def test_without_the_extra_it_is_named(make_model, package, monkeypatch) -> None:
    name = "hf:owner/nli" if package == "huggingface_hub" else str(make_model("nli"))
    monkeypatch.setitem(sys.modules, package, None)
    needs = re.escape(f"the judge local:{name} needs an extra: pip install 'ragstone[local]'")
    with pytest.raises(UsageError, match=needs):
        async with EntailmentJudge(name):
            pass


@each_case("data", ["weights.bin", "model.onnx_data", f"{'deep/' * 30}weights"])
def test_the_fingerprint_is_of_the_contents_whatever_the_names(make_model, tmp_path, data) -> None:
    def fingerprint() -> str:
        return ModelFiles.find(str(folder)).fingerprint

    folder = with_weights_aside(make_model("nli"), data)
    first = fingerprint()
    folder = folder.rename(tmp_path / f"moved {len(data)}")
    (folder / "README.md").write_text("Not part of it.")
    assert fingerprint() == first
    for part in (data, "tokenizer.json"):
        path, before = folder / part, fingerprint()
        path.write_bytes(path.read_bytes()[::-1] if part == data else path.read_bytes() + b"\n")
        assert fingerprint() != before


# A model of the hub: had from a server of loopback, by another process, as the library does it.


REVISION = "1" * 40
CODE = """
from ragstone.errors import UsageError
from ragstone.judges.local import EntailmentJudge
try:
    print(EntailmentJudge("hf:owner/nli").name)
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
        sys.executable, "-c", code, cwd=cache.parent,
        env={**kept, "HF_ENDPOINT": url, "HF_HUB_CACHE": str(cache), "HF_HUB_DISABLE_XET": "1",
             "HF_HUB_OFFLINE": str(int(offline))},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().strip()


async def test_a_named_model_is_downloaded_once_and_only_what_it_takes(hub, tmp_path) -> None:
    with_weights_aside(hub.folder, "weights.bin")
    name, cache = "local:hf:owner/nli", tmp_path / "hub"
    assert "HF_HUB_OFFLINE does not allow" in await said(hub.url, cache, offline=True)
    assert hub.asked == []
    assert await said(hub.url, cache) == name
    assert not [path for path in hub.asked if path.endswith("pytorch_model.bin")]
    assert not [agent for agent in hub.agents if "torch" in agent or "agent/" in agent]
    hub.asked.clear()
    assert await said(hub.url, cache) == name
    assert await said(hub.url, cache, offline=True) == name
    assert hub.asked == []
    [kept] = cache.glob("models--owner--nli/snapshots/*/weights.bin")
    kept.resolve().unlink()  # as a download that was broken off
    kept.unlink()
    lacks = await said(hub.url, cache, offline=True)
    assert "the hub's cache on this machine is missing " in lacks
    assert await said(hub.url, cache) == name
    assert kept.is_file()


async def test_a_model_that_the_hub_does_not_have(hub, tmp_path) -> None:
    code = CODE.replace("hf:owner/nli", "models/nli")
    told = await said(hub.url, tmp_path / "hub", code=code)
    assert told.startswith("local:models/nli: there is no folder models/nli")
    assert told.endswith("for the Hugging Face hub use local:hf:models/nli")
    assert hub.asked == [], "a path is never looked for in the hub"
    (hub.folder / "model.onnx").unlink()
    told = await said(hub.url, tmp_path / "hub")
    assert "there is no model.onnx or onnx/model.onnx" in told
    closed = await said("http://127.0.0.1:9", tmp_path / "other")
    assert closed.startswith("local:hf:owner/nli: the hub's cache on this machine is missing some")
