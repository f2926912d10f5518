"""Hub: a model of the Hugging Face hub, from its cache on this machine, else downloaded once."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ragstone.errors import UsageError
from ragstone.judges.entailment.libraries import library
from ragstone.messages import quoted

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
