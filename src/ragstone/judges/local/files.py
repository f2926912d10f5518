"""ModelFiles: the files of one local model, in a folder or in the cache of the Hugging Face hub."""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast

from ragstone._internal.text import quoted
from ragstone.errors import UsageError
from ragstone.judges.local.settings import library

# Hub: a model of the Hugging Face hub, from its cache on this machine, else downloaded once.

HUB = "hf:"
"""What a model of the hub begins with: a plain path never goes to the network."""


class ModelNotDownloadedError(UsageError):
    """A model of the hub is not on this machine, and may not be downloaded."""


def hub_folder(
    name: str,
    revision: str | None,
    *,
    models: Sequence[str],
    missing: Callable[[Path], Sequence[str]],
    offline: bool,
) -> Path:
    """Return the folder of a hub's model: as the cache has it, else downloaded.

    `models` are the files that may be the model, `missing` tells which files a folder lacks: a
    download that was broken off leaves some of them.

    Raises:
        ModelNotDownloadedError: it would have to be downloaded, and that is forbidden.
        UsageError: it cannot be had.
    """
    had = _taking(name, revision, models)
    try:
        folder = had(cached=True)
        lacking = missing(folder)
    except (OSError, ValueError):
        lacking = ["files of it, or all"]
    else:
        if not lacking:
            return folder
    said = f"the hub's cache on this machine lacks {', '.join(lacking)}"
    if offline:
        raise ModelNotDownloadedError(
            f"local:{HUB}{name}: {said}, and --offline forbids to download it"
        )
    try:
        folder = had()
        more = missing(folder)  # weights may have a name that only the model tells
        return had(*more) if more else folder
    except (OSError, ValueError) as error:
        why = quoted(str(error))
        raise UsageError(
            f"local:{HUB}{name}: {said}, and it cannot be had from the hub: {why}"
        ) from error


class _Taking(Protocol):
    def __call__(self, *more: str, cached: bool = False) -> Path: ...


def _taking(name: str, revision: str | None, models: Sequence[str]) -> _Taking:
    """Return what takes a model's files, and `more` of them, from the cache or the hub."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read as the library is loaded
    hub = library("huggingface_hub", f"{HUB}{name}")
    wanted = ["*.json", "*.txt", *models, *(f"{each}?data*" for each in models)]

    def take(*more: str, cached: bool = False) -> Path:
        found = hub.snapshot_download(
            name, revision=revision, allow_patterns=[*wanted, *more], local_files_only=cached
        )
        return Path(found)

    return take


ONNX = ("model.onnx", "onnx/model.onnx")
"""Where a model's ONNX file is looked for."""
TOKENIZER, CONFIG, TOKENIZER_CONFIG = "tokenizer.json", "config.json", "tokenizer_config.json"

_WEIGHTS = (".safetensors", ".bin", ".pt")
"""What the files of models are called that are not ONNX."""
_POINTER = b"version https://git-lfs.github.com/spec/"
"""What git has of a large file where git-LFS has not got it."""

_SCALING = (b"DynamicQuantizeLinear", b"DynamicQuantizeMatMul", b"DynamicQuantizeLSTM")
"""Operators whose scale is that of all they are given; their names stand in the file as text."""

_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f]|[\x80-\xff][\x01-\x7f])")
"""What stands before the name of a file with weights: protobuf's key, tag and length."""

_HUB_NAME = re.compile(r"(?P<name>[\w-][\w.-]*/[\w-][\w.-]*)(?:@(?P<revision>[\w./-]+))?")
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model.

    Attributes:
        folder: where all of them are.
        onnx: the model itself; data too large for it lies beside it.
    """

    folder: Path
    onnx: Path

    @classmethod
    def find(cls, name: str, *, file: str | None = None, offline: bool = False) -> "ModelFiles":
        """Find a folder, or `hf:owner/name` of the hub; that is downloaded once, unless `offline`.

        Raises:
            UsageError: there is no such folder or model, or a file of it is missing.
        """
        if not name.strip():
            raise UsageError(
                f"--judge local:{name} names no model: say a folder with {ONNX[0]}, {TOKENIZER} "
                f"and {CONFIG}, or {HUB}owner/name"
            )
        if name.startswith(HUB):
            hub = _HUB_NAME.fullmatch(name.removeprefix(HUB))
            if hub is None:
                raise UsageError(
                    f"local:{name}: a model of the Hugging Face hub is named {HUB}owner/name, or "
                    f"{HUB}owner/name@revision"
                )
            folder = hub_folder(
                hub["name"],
                hub["revision"],
                models=[file] if file else ONNX,
                missing=lambda folder: cls._missing(folder, file),
                offline=offline,
            )
            return cls._in(folder, file)
        path = Path(name).expanduser()
        if path.is_dir():
            return cls._in(path, file)
        hint = (
            f"; of the Hugging Face hub that is local:{HUB}{name}"
            if _HUB_NAME.fullmatch(name)
            else ""
        )
        raise UsageError(
            f"local:{name}: there is no folder {path}; name one with {ONNX[0]}, {TOKENIZER} "
            f"and {CONFIG}{hint}"
        )

    @classmethod
    def _missing(cls, folder: Path, file: str | None) -> list[str]:
        """Return which files a folder lacks, in words or by their paths in it."""
        lacking = [name for name in (TOKENIZER, CONFIG) if not (folder / name).is_file()]
        onnx = _onnx(folder, file)
        if onnx is None:
            return [*lacking, file or " or ".join(ONNX)]
        named = [onnx.parent / each for each in cls(folder, onnx)._named_data()]
        places = [each.relative_to(folder).as_posix() for each in named if not each.is_file()]
        return [*lacking, *places]

    @classmethod
    def _in(cls, folder: Path, file: str | None) -> "ModelFiles":
        onnx = _onnx(folder, file)
        if onnx is None:
            raise UsageError(
                f"local:{folder}: there is no {file or ' or '.join(ONNX)}{_instead(folder)}"
            )
        if not onnx.stat().st_size:
            raise UsageError(f"local:{folder}: {onnx.relative_to(folder)} is empty: make it anew")
        if not (folder / TOKENIZER).is_file():
            raise UsageError(
                f"local:{folder}: there is no {TOKENIZER}. To write it: "
                'AutoTokenizer.from_pretrained("NAME").save_pretrained("FOLDER"), of transformers'
            )
        for path in (onnx, *(folder / name for name in (TOKENIZER, CONFIG))):
            _check_whole(path, folder)
        return cls(folder, onnx)

    @property
    def tokenizer(self) -> Path:
        """The file of the tokenizer."""
        return self.folder / TOKENIZER

    @property
    def has_config(self) -> bool:
        """Whether there is a config.json."""
        return (self.folder / CONFIG).is_file()

    @cached_property
    def config(self) -> Mapping[str, object]:
        """What config.json says; nothing where there is none.

        Raises:
            UsageError: it is no JSON object.
        """
        return _read(self.folder / CONFIG)

    @property
    def longest(self) -> int | None:
        """The most tokens that the model takes, as its files say; None where they do not."""
        places = self.config.get("max_position_embeddings")
        if isinstance(places, int) and "roberta" in str(self.config.get("model_type")):
            places -= 2  # its first two places are for padding
        told = (places, _read(self.folder / TOKENIZER_CONFIG).get("model_max_length"))
        known = [n for n in told if isinstance(n, int) and 0 < n < 1_000_000]
        return min(known, default=None)

    @cached_property
    def scales_as_it_runs(self) -> bool:
        """Whether it is quantised with scales that are found anew in each run, over all of it.

        Then what it says of a pair hangs on the other pairs of the run, and on their length.
        """
        with self.onnx.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            return any(content.find(name) >= 0 for name in _SCALING)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that shapes the model's replies: weights, tokenizer, config."""
        files = {path.name: path for path in (self.onnx, *self._beside())}
        files |= {name: self.folder / name for name in (TOKENIZER, CONFIG)}
        files |= {name: self.onnx.parent / name for name in self._named_data()}
        digests: list[str] = []
        for name, path in files.items():
            if path.is_file():
                with path.open("rb") as opened:
                    digests.append(f"{name} {file_digest(opened, 'sha256').hexdigest()}")
        return "\n".join(digests)

    def _beside(self) -> list[Path]:
        return sorted(self.onnx.parent.glob(f"{self.onnx.name}?data*"))

    def _named_data(self) -> list[str]:
        """Return the files that the model names for weights outside of it, from its own folder."""
        with self.onnx.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            found = set[str]()
            for place in _LOCATION.finditer(content):
                low, high = place[1][0], place[1][1] if place[1][1:] else 0
                size = low & 127 | high << 7
                found.add(content[place.end() : place.end() + size].decode("utf-8", "replace"))
            return sorted(found)


def _onnx(folder: Path, file: str | None) -> Path | None:
    found = (folder / each for each in ([file] if file else ONNX))
    return next((each for each in found if each.is_file()), None)


def _read(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return _NOTHING
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is no JSON object")
    return cast("Mapping[str, object]", found)


def _instead(folder: Path) -> str:
    """Say what a folder without the ONNX file has instead, and what to do."""
    if others := sorted(str(each.relative_to(folder)) for each in folder.rglob("*.onnx")):
        return f"; it has {', '.join(others)}: name one with file="
    weights = sorted(each.name for suffix in _WEIGHTS for each in folder.glob(f"*{suffix}"))
    has = f"it has {', '.join(weights)}, which is not ONNX" if weights else "it has no .onnx file"
    name = folder if weights else "NAME"
    return f"; {has}. To make one: optimum-cli export onnx --model {name} ANOTHER_FOLDER"


def _check_whole(path: Path, folder: Path) -> None:
    """See that a file is not what git has in the place of a large one.

    Raises:
        UsageError: it is.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(_POINTER)) == _POINTER:
            raise UsageError(
                f"local:{folder}: {path.relative_to(folder)} is a pointer of git-LFS and not the "
                "file itself: `git lfs pull` in the repository that it is from gets it"
            )
