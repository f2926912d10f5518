"""Row: one labelled response of a source, as the files of the training data hold it."""

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

ENDING = ".jsonl.gz"


class DataChangedError(Exception):
    """A file of the training data is not the one that its manifest names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One response, what it was written from, and what people say of it.

    Attributes:
        source: the name of its file.
        contexts: the texts it is compared with.
        response: one claim or more.
        label: SUPPORTED, CONTRADICTED, NOT_ENOUGH_INFO, or NOT_SUPPORTED for either of the two.
        split: `train` or `dev`.
        group: the document or claim it belongs to; rows are split by it.
    """

    source: str
    contexts: tuple[str, ...]
    response: str
    label: str
    split: str
    group: str

    @property
    def supported(self) -> bool:
        """Whether people hold all of it to be supported."""
        return self.label == "SUPPORTED"


def read_rows(folder: Path) -> list[Row]:
    """Return the rows of all files that the manifest names, in its order.

    Raises:
        DataChangedError: a file has another sha256 than the manifest says.
    """
    manifest = json.loads((folder / "MANIFEST.json").read_text("utf-8"))
    rows: list[Row] = []
    for source in sorted(manifest):
        packed = (folder / f"{source}{ENDING}").read_bytes()
        seen = hashlib.sha256(packed).hexdigest()
        if seen != manifest[source]["sha256"]:
            raise DataChangedError(f"{source}{ENDING} has sha256 {seen}, not that of MANIFEST.json")
        lines = gzip.decompress(packed).decode("utf-8").splitlines()
        rows.extend(_row(source, json.loads(line)) for line in lines)
    return rows


def _row(source: str, stored: dict[str, object]) -> Row:
    contexts = stored["contexts"]
    assert isinstance(contexts, list)
    texts = ("response", "label", "split", "group")
    response, label, split, group = (str(stored[name]) for name in texts)
    return Row(source, tuple(map(str, contexts)), response, label, split, group)
