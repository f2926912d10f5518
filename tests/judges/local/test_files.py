"""A model of the hub: had from a server of loopback, by another process, as the library does it."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import onnx
import onnxruntime
import pytest
from aiohttp import web

from ragstone.errors import UsageError
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.model import LocalSettings, ModelFiles


def made(folder: Path | str, **settings: object) -> EntailmentJudge:
    return EntailmentJudge(str(folder), LocalSettings.model_validate(settings), download=False)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no folder .*tokenizer\.json"):
        made(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx"])
def test_a_file_that_is_missing_is_named_with_what_writes_it(make_model, name: str) -> None:
    folder = make_model("nli")
    (folder / name).unlink()
    with pytest.raises(UsageError, match=rf"there is no .*{name}.*[tT]o (make|write)"):
        made(folder)


@pytest.mark.parametrize("name", ["", "   "])
def test_a_name_of_nothing(name: str) -> None:
    with pytest.raises(UsageError, match=r"specify a model: a folder with model\.onnx"):
        made(name)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_pointer_of_git_lfs_is_told_from_a_model(make_model, name: str) -> None:
    folder = make_model("nli")
    (folder / name).write_text("version https://git-lfs.github.com/spec/v1\nsize 9\n")
    with pytest.raises(UsageError, match=rf"{name} is a git-LFS pointer .*`git lfs pull`"):
        made(folder)


def test_what_a_folder_has_in_the_place_of_an_onnx_file_is_told(make_model) -> None:
    folder = make_model("nli")
    (folder / "model.onnx").rename(folder / "model.safetensors")
    with pytest.raises(UsageError, match=r"it has model\.safetensors, which is not ONNX. To make"):
        made(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"it has no \.onnx file"):
        made(folder)


def test_a_config_that_is_not_there_is_needed_for_the_labels_only(make_model) -> None:
    folder = make_model("nli")
    (folder / "config.json").unlink()
    with pytest.raises(UsageError, match=r"there is no config\.json, which would name its labels"):
        made(folder)
    assert made(folder, labels="contradiction/entailment/neutral")


def test_another_onnx_file_is_named_by_file(make_model) -> None:
    folder = make_model("nli")
    (folder / "model.onnx").rename(folder / "model_int8.onnx")
    with pytest.raises(UsageError, match=r"it has model_int8\.onnx: name one with file="):
        made(folder)
    assert made(folder, file="model_int8.onnx")


def test_the_folder_that_exporters_write_into_is_found(make_model) -> None:
    folder = make_model("nli")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert ModelFiles.find(str(folder)).onnx == folder / "onnx" / "model.onnx"


def test_a_config_that_is_no_json(make_model) -> None:
    folder = make_model("nli")
    (folder / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"config\.json is invalid JSON"):
        made(folder)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["LABEL_0", "LABEL_1"], "its labels are LABEL_0, LABEL_1"),
        (["joy", "anger"], "its labels are joy, anger"),
        ([], "it names no labels"),
        (["neutral", "contradiction"], "its labels are neutral, contradiction"),
    ],
)
def test_a_head_that_is_not_understood_says_what_it_saw(make_model, labels, said: str) -> None:
    with pytest.raises(
        UsageError, match=rf"{said}.*labels=unsupported/supported.*Known labels are"
    ):
        made(make_model("pair", labels=labels))


async def test_labels_that_the_outputs_do_not_have(make_model) -> None:
    with pytest.raises(UsageError, match="3 outputs, but 2 labels"):
        async with made(make_model("nli"), labels="supported/unsupported"):
            pass


async def test_a_head_that_the_outputs_do_not_have(make_model) -> None:
    with pytest.raises(UsageError, match=r"the shape \[1, 3\]"):
        async with made(make_model("nli"), head="tokens"):
            pass


async def test_a_lone_output_without_a_name_is_not_guessed(make_model) -> None:
    folder = make_model("one", labels=["LABEL_0"])
    with pytest.raises(
        UsageError, match=r"its labels are LABEL_0.*labels=supported for a model with one"
    ):
        made(folder)
    async with made(folder, labels="supported"):
        pass


async def test_an_output_of_another_name_is_not_guessed(make_model) -> None:
    folder = make_model("one", output="probability", chances=True)
    with pytest.raises(
        UsageError, match=r"no output named logits; it has probability\. Set output="
    ):
        async with made(folder):
            pass
    async with made(folder, output="probability", probabilities=True):
        pass


async def test_logits_are_not_taken_for_chances(make_model) -> None:
    with pytest.raises(UsageError, match=r"probabilities=yes, but logits has values from -"):
        async with made(make_model("nli"), probabilities=True):
            pass


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (("pairs", 40), "pairs of 40 tokens: set length=40"),
        ((2, "tokens"), "batches of 2: set batch=2"),
    ],
)
async def test_a_model_exported_for_one_size_says_which(make_model, size, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        async with made(make_model("nli", size=size)):
            pass


async def test_a_device_that_the_library_does_not_have(make_model) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("it has one here")
    with pytest.raises(UsageError, match="does not support cuda; install onnxruntime-gpu"):
        async with made(make_model("nli"), device="cuda"):
            pass


async def test_a_model_that_wants_other_things(make_model) -> None:
    folder = make_model("nli")
    model = onnx.load(folder / "model.onnx")
    model.graph.input.append(
        onnx.helper.make_tensor_value_info("decoder_input_ids", onnx.TensorProto.INT64, [1, 1])
    )
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(
        UsageError, match="expects the inputs decoder_input_ids; supported are input_ids"
    ):
        async with made(folder):
            pass


async def test_a_file_that_is_no_model(make_model) -> None:
    folder = make_model("nli")
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(UsageError, match="the model cannot be loaded"):
        async with made(folder):
            pass


def test_a_file_that_is_empty(make_model) -> None:
    folder = make_model("nli")
    (folder / "model.onnx").write_bytes(b"")
    with pytest.raises(UsageError, match=r"model\.onnx is empty"):
        made(folder)


def test_a_tokenizer_that_is_none(make_model) -> None:
    folder = make_model("nli")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match="is not a tokenizer"):
        made(folder)


def test_a_template_has_places_for_both(make_model) -> None:
    folder = make_model("nli")
    with pytest.raises(UsageError, match=r"there is no file .*ask\.txt"):
        made(folder, template="ask.txt")
    (folder / "ask.txt").write_text("{context}")
    with pytest.raises(UsageError, match=r"must have \{context\} and \{claim\}"):
        made(folder, template="ask.txt")


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ({"max_position_embeddings": 514, "model_type": "xlm-roberta"}, 512),
        ({"max_position_embeddings": 128}, 128),
        ({"max_position_embeddings": 8192}, 512),
        ({}, 512),
    ],
)
def test_how_long_pairs_may_be(make_model, config: dict, tokens: int) -> None:
    assert made(make_model("nli", **config))._model.length == tokens


def test_a_length_beyond_what_the_model_takes(make_model) -> None:
    with pytest.raises(UsageError, match="takes at most 128 tokens, not length=256"):
        made(make_model("nli", max_position_embeddings=128), length=256)


def hub_folder(cache: Path, name: str) -> Path:
    """Return where the hub's library keeps the files of a model, with the revision `main`."""
    folder = cache / f"models--{name.replace('/', '--')}"
    revision = "0" * 40
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(revision)
    return folder / "snapshots" / revision


def test_a_hub_model_in_the_cache_needs_no_network(
    make_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = hub_folder(tmp_path / "hub", "owner/nli")
    snapshot.parent.mkdir(parents=True)
    make_model("nli").rename(snapshot)
    monkeypatch.chdir(tmp_path)
    assert made("hf:owner/nli").name == "local:hf:owner/nli"


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "model.onnx", "weights.bin"])
def test_a_cache_that_lacks_a_file_is_not_taken_for_whole(
    make_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = hub_folder(tmp_path / "hub", "owner/nli")
    snapshot.parent.mkdir(parents=True)
    folder = make_model("nli")
    onnx.save(
        onnx.load(folder / "model.onnx"), folder / "model.onnx", save_as_external_data=True,
        location="weights.bin", size_threshold=0,
    )  # fmt: skip
    folder.rename(snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert made("hf:owner/nli")
    (snapshot / name).unlink()
    with pytest.raises(
        UsageError, match=rf"cache on this machine is missing .*{name}.*HF_HUB_OFFLINE"
    ):
        made("hf:owner/nli")


def test_offline_forbids_to_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError,
        match=r"the hub's cache .* is missing some or all files, and HF_HUB_OFFLINE does not allow",
    ):
        made("hf:owner/nli")


def test_a_name_that_the_hub_cannot_have() -> None:
    with pytest.raises(UsageError, match="is named hf:owner/name"):
        made("hf:nli")


@pytest.mark.parametrize("package", ["tokenizers", "onnxruntime", "huggingface_hub"])
def test_without_the_extra_it_is_named(make_model, package: str, tmp_path: Path) -> None:
    name = "hf:owner/nli" if package == "huggingface_hub" else str(make_model("nli"))
    code = f"""
import asyncio, sys
sys.modules[{package!r}] = None
from ragstone.errors import UsageError
from ragstone.judges.local import EntailmentJudge
async def main():
    async with EntailmentJudge({name!r}):
        pass
try:
    asyncio.run(main())
except UsageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert (
        done.stdout.strip()
        == f"the judge local:{name} needs an extra: pip install 'ragstone[local]'"
    )


def test_the_fingerprint_is_of_the_contents(make_model, tmp_path: Path) -> None:
    folder = make_model("nli")
    first = ModelFiles.find(str(folder)).fingerprint
    moved = folder.rename(tmp_path / "elsewhere")
    assert ModelFiles.find(str(moved)).fingerprint == first
    tokenizer = json.loads((moved / "tokenizer.json").read_text())
    (moved / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1))
    assert ModelFiles.find(str(moved)).fingerprint != first


@pytest.mark.parametrize("data", ["weights.bin", "model.onnx_data", f"{'deep/' * 30}weights"])
def test_weights_in_a_file_of_any_name_are_in_the_fingerprint(make_model, data: str) -> None:
    folder = make_model("nli")
    model = onnx.load(folder / "model.onnx")
    (folder / data).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(
        model, folder / "model.onnx", save_as_external_data=True, location=data, size_threshold=0
    )
    weights = folder / data
    assert weights.is_file()
    first = ModelFiles.find(str(folder)).fingerprint
    assert ModelFiles.find(str(folder)).fingerprint == first
    (folder / "README.md").write_text("Not part of it.")
    assert ModelFiles.find(str(folder)).fingerprint == first
    weights.write_bytes(weights.read_bytes()[::-1])
    assert ModelFiles.find(str(folder)).fingerprint != first


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
    cache = tmp_path / "hub"
    assert "HF_HUB_OFFLINE does not allow" in await said(hub.url, cache, offline=True)
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
    assert closed.startswith("local:hf:owner/nli: the hub's cache on this machine is missing some")


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
    assert "the hub's cache on this machine is missing " in lacks
    assert await said(hub.url, cache) == "local:hf:owner/nli"
    assert kept.is_file()
    assert await said(hub.url, cache, offline=True) == "local:hf:owner/nli"


async def test_a_path_is_never_looked_for_in_the_hub(hub, tmp_path) -> None:
    code = CODE.replace("hf:owner/nli", "models/nli")
    told = await said(hub.url, tmp_path / "hub", code=code)
    assert told.startswith("local:models/nli: there is no folder models/nli")
    assert told.endswith("for the Hugging Face hub use local:hf:models/nli")
    assert hub.asked == []
