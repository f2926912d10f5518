"""The options in a local model's name, and its files: in a folder or the Hugging Face cache."""

import json
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from importlib import import_module
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import ModuleType
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from ragstone._internal.text import quoted
from ragstone.errors import UsageError
from ragstone.judges.spec import JudgeOptions

MAX_LENGTH = 512
"""Tokens of a pair unless `length` is set, even if the model takes more: cost grows with length."""
TEMPLATE = "ask.txt"
"""The file in a model's folder that is its template unless `template` is set."""


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalSettings(JudgeOptions):
    """The options of a local model.

    Attributes:
        labels: the meaning of the outputs in order, separated by `/`; None: config.json names it.
        threshold: the probability of support from which a claim is supported.
        head: `pair` judges the pair, `first` the same from its first token, `tokens` each token of
            the claim; None: the shape of the output decides.
        output: the name of the output to read.
        probabilities: whether that output is probabilities instead of logits.
        template: a file in the model's folder with `{context}` and `{claim}`, for models that
            take one text instead of a pair; None: `ask.txt`, if the folder has one.
        file: the ONNX file, in the model's folder.
        length: tokens of a window and a claim together; None: the model's limit, at most 512.
        join: whether short contexts share a window. Without it, their order changes no verdict;
            with it, a claim may rest on two of them.
        batch: pairs per run; None: 16, or 1 if the outputs of a pair depend on the others.
        threads: threads per run; by default the available cores.
        device: the device; `cuda` needs an onnxruntime that has it.
    """

    judge: ClassVar[str] = "a local judge"
    speed: ClassVar[frozenset[str]] = frozenset({"batch", "threads", "device"})

    labels: str | None = None
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    head: Literal["pair", "first", "tokens"] | None = None
    output: str = "logits"
    probabilities: bool = False
    template: str | None = None
    file: str | None = None
    length: Annotated[int, Field(ge=16)] | None = None
    join: bool = False
    batch: Annotated[int, Field(ge=1)] | None = None
    threads: Annotated[int, Field(ge=1)] = Field(default_factory=_cores)
    device: Literal["cpu", "cuda"] = "cpu"


def library(
    package: Literal["onnxruntime", "tokenizers", "huggingface_hub"], name: str
) -> ModuleType:
    try:
        return import_module(package)
    except ImportError as error:
        raise UsageError(
            f"the judge local:{name} needs an extra: pip install 'ragstone[local]'"
        ) from error


HUB = "hf:"
"""The beginning of the name of a hub model; any other name is a folder."""
ONNX = ("model.onnx", "onnx/model.onnx")
"""Where a model's ONNX file may be."""
TOKENIZER, CONFIG, TOKENIZER_CONFIG = "tokenizer.json", "config.json", "tokenizer_config.json"
_WEIGHTS = (".safetensors", ".bin", ".pt")
"""Files of models that are not ONNX."""
_POINTER = b"version https://git-lfs.github.com/spec/"
"""The content of a large file before git-LFS has downloaded it."""
_SCALING = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")
"""Operators whose scale depends on all of their input; the file contains their names."""
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])")
"""What precedes the name of a file with weights: protobuf's key, tag and length."""
_HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?")


class ModelNotDownloadedError(UsageError):
    """A hub model is not on this machine, and downloads are forbidden."""


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model.

    Attributes:
        onnx: the model itself; large weights are in files beside it.
    """

    folder: Path
    onnx: Path

    @classmethod
    def find(cls, name: str, *, file: str | None = None, offline: bool = False) -> "ModelFiles":
        """Find a folder, or a hub model `hf:owner/name`, downloaded once unless `offline`."""
        needed = f"{ONNX[0]}, {TOKENIZER} and {CONFIG}"
        if not name.strip():
            raise UsageError(
                f"--judge local:{name}: specify a model: a folder with {needed}, or {HUB}owner/name"
            )
        if name.startswith(HUB):
            folder = _hub_folder(name.removeprefix(HUB), file, offline=offline)
        else:
            folder = Path(name).expanduser()
            if not folder.is_dir():
                hint = f"; for the Hugging Face hub use local:{HUB}{name}"
                raise UsageError(
                    f"local:{name}: there is no folder {folder}; pass one with {needed}"
                    f"{hint if _HUB_NAME.fullmatch(name) else ''}"
                )
        onnx = _find_onnx(folder, file)
        if onnx is None:
            raise UsageError(
                f"local:{folder}: there is no {file or ' or '.join(ONNX)}; {_alternative(folder)}"
            )
        if not onnx.stat().st_size:
            raise UsageError(
                f"local:{folder}: {onnx.relative_to(folder)} is empty: export it again"
            )
        if not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"local:{folder}: there is no {TOKENIZER}. To write it with transformers: "
                'AutoTokenizer.from_pretrained("NAME").save_pretrained("FOLDER")'
            )
        for path in filter(Path.is_file, (onnx, folder / TOKENIZER, folder / CONFIG)):
            with path.open("rb") as opened:
                if opened.read(len(_POINTER)) == _POINTER:
                    raise UsageError(
                        f"local:{folder}: {path.relative_to(folder)} is a git-LFS pointer instead "
                        "of the file itself: run `git lfs pull` in its repository"
                    )
        return cls(folder, onnx)

    @property
    def tokenizer(self) -> Path:
        return self.folder / TOKENIZER

    @property
    def has_config(self) -> bool:
        return (self.folder / CONFIG).is_file()

    @cached_property
    def config(self) -> Mapping[str, object]:
        return _read(self.folder / CONFIG)

    @property
    def max_length(self) -> int | None:
        positions = self.config.get("max_position_embeddings")
        if isinstance(positions, int) and "roberta" in str(self.config.get("model_type")):
            positions -= 2  # its first two positions are for padding
        limits = (positions, _read(self.folder / TOKENIZER_CONFIG).get("model_max_length"))
        known = [limit for limit in limits if isinstance(limit, int) and 0 < limit < 1_000_000]
        return min(known, default=None)

    @cached_property
    def has_dynamic_scales(self) -> bool:
        with _mapped(self.onnx) as content:
            return any(content.find(name) >= 0 for name in _SCALING)

    @cached_property
    def fingerprint(self) -> str:
        beside = sorted(self.onnx.parent.glob(f"{self.onnx.name}?data*"))
        files = {path.name: path for path in (self.onnx, *beside)}
        files |= {name: self.folder / name for name in (TOKENIZER, CONFIG)}
        files |= {name: self.onnx.parent / name for name in self.weight_files()}
        digests: list[str] = []
        for name, path in files.items():
            if path.is_file():
                with path.open("rb") as opened:
                    digests.append(f"{name} {file_digest(opened, 'sha256').hexdigest()}")
        return "\n".join(digests)

    def weight_files(self) -> list[str]:
        found = set[str]()
        with _mapped(self.onnx) as content:
            for place in _LOCATION.finditer(content):
                low, high = place[1][0], place[1][1] if place[1][1:] else 0
                size = low & 127 | high << 7
                found.add(content[place.end() : place.end() + size].decode("utf-8", "replace"))
        return sorted(found)


def _hub_folder(name: str, file: str | None, *, offline: bool) -> Path:
    found = _HUB_NAME.fullmatch(name)
    if found is None:
        raise UsageError(
            f"local:{HUB}{name}: a model of the Hugging Face hub is named {HUB}owner/name, or "
            f"{HUB}owner/name@revision"
        )
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the library is loaded
    hub = library("huggingface_hub", f"{HUB}{found['name']}")
    models = [file] if file else ONNX
    patterns = ["*.json", "*.txt", *models, *(f"{each}?data*" for each in models)]

    def snapshot(*more: str, cached: bool = False) -> Path:
        folder = hub.snapshot_download(
            found["name"],
            revision=found["revision"],
            allow_patterns=[*patterns, *more],
            local_files_only=cached,
        )
        return Path(folder)

    try:
        folder = snapshot(cached=True)
        missing = _missing_files(folder, file)
        if not missing:
            return folder
    except (OSError, ValueError):
        missing = ["some or all files"]
    problem = (
        f"local:{HUB}{found['name']}: the hub's cache on this machine is missing "
        f"{', '.join(missing)}"
    )
    if offline:
        raise ModelNotDownloadedError(f"{problem}, and --offline does not allow downloading it")
    try:
        folder = snapshot()
        more = _missing_files(folder, file)  # only the model names its weight files
        return snapshot(*more) if more else folder
    except (OSError, ValueError) as error:
        raise UsageError(f"{problem}, and the download failed: {quoted(str(error))}") from error


def _missing_files(folder: Path, file: str | None) -> list[str]:
    missing = [name for name in (TOKENIZER, CONFIG) if not (folder / name).is_file()]
    onnx = _find_onnx(folder, file)
    if onnx is None:
        return [*missing, file or " or ".join(ONNX)]
    weights = [onnx.parent / each for each in ModelFiles(folder, onnx).weight_files()]
    return [*missing, *(p.relative_to(folder).as_posix() for p in weights if not p.is_file())]


def _find_onnx(folder: Path, file: str | None) -> Path | None:
    paths = (folder / each for each in ([file] if file else ONNX))
    return next((path for path in paths if path.is_file()), None)


def _alternative(folder: Path) -> str:
    if others := sorted(str(each.relative_to(folder)) for each in folder.rglob("*.onnx")):
        return f"it has {', '.join(others)}: name one with file="
    weights = sorted(each.name for suffix in _WEIGHTS for each in folder.glob(f"*{suffix}"))
    has = f"it has {', '.join(weights)}, which is not ONNX" if weights else "it has no .onnx file"
    name = folder if weights else "NAME"
    return f"{has}. To make one: optimum-cli export onnx --model {name} ANOTHER_FOLDER"


def _read(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return {}
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is invalid JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a JSON object")
    return cast("Mapping[str, object]", found)


@contextmanager
def _mapped(path: Path) -> Generator[mmap, None, None]:
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        yield content
