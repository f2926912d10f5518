"""Files of generated and of checked questions: data sets, rejected rows, chunks, provenance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import cast

from ragstone._internal.files import write_file, write_text
from ragstone.datasets.export import write_samples
from ragstone.errors import UsageError
from ragstone.testsets.check import Finding, SetCheck
from ragstone.testsets.documents import Chunk
from ragstone.testsets.generate import Rejected
from ragstone.types.sample import Sample

CHUNK_FIELDS = "id text document title"
REJECTED_FIELDS = "reason detail type chunks"
RECORD_FIELDS = "ragstone n seed"
"""What the JSON objects of generated files begin with."""


def write_dataset(samples: Sequence[Sample], path: Path, record: Mapping[str, object]) -> None:
    # the record is written before the file is moved into place: a data set is never without it
    def write(file: Path) -> None:
        write_samples(samples, file, suffix=path.suffix.lower())
        digest = sha256(file.read_bytes()).hexdigest()
        whole = {**record, "file": path.name, "sha256": digest}
        write_text(provenance_path(path), json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    write_file(path, write)


def write_rejected(rejected: Iterable[Rejected], path: Path) -> None:
    rows = (
        {
            "reason": one.reason,
            "detail": one.detail,
            "type": one.candidate.type,
            "chunks": [chunk.id for chunk in one.candidate.chunks],
            **(one.draft.model_dump(mode="json") if one.draft else {}),
        }
        for one in rejected
    )
    _write_lines(rows, path)


def write_chunks(chunks: Sequence[Chunk], path: Path) -> None:
    rows = (
        {"id": each.id, "text": each.text, "document": each.document, "title": each.heading}
        for each in chunks
    )
    _write_lines(rows, path)


def _write_lines(rows: Iterable[Mapping[str, object]], path: Path) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def provenance_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def check_generated_by_us(path: Path | None, fields: str) -> None:
    if path is None or not path.exists():
        return
    with suppress(OSError, ValueError):
        first: object = json.JSONDecoder().raw_decode(path.read_text(encoding="utf-8"))[0]
        if isinstance(first, dict) and " ".join(cast("dict[str, object]", first)).startswith(
            fields
        ):
            return
    raise UsageError(f"{path} exists, and was not generated; choose another path, or delete it")


def check_replaceable(path: Path) -> int:
    """Return the number of questions of a file that was generated and not changed since, or 0."""
    if not path.exists():
        return 0
    with suppress(OSError, ValueError, TypeError, KeyError):
        record = json.loads(provenance_path(path).read_text(encoding="utf-8"))
        if record["sha256"] == sha256(path.read_bytes()).hexdigest():
            return int(record["questions"])
    raise UsageError(
        f"{path} exists, and was not generated or was changed since; choose another file with -o, "
        "or delete it"
    )


def valid_samples(found: SetCheck) -> list[Sample]:
    samples: list[Sample] = []
    for row in found.with_status("valid", "corrected"):
        sample, tags = row.corrected, dict(row.sample.tags)
        if sample is not row.sample and row.sample.relevance:
            tags["relevance_before"] = ", ".join(row.sample.relevance)
        if warnings := [finding for finding in row.findings if finding.severity == "warning"]:
            tags["warnings"] = _messages(warnings)
        samples.append(sample.model_copy(update={"tags": tags}))
    return samples


def rejected_samples(found: SetCheck) -> list[Sample]:
    return [
        row.sample.model_copy(
            update={"tags": {**row.sample.tags, "rejected_because": _messages(row.errors)}}
        )
        for row in found.with_status("rejected", "unchecked")
    ]


def _messages(findings: Iterable[Finding]) -> str:
    return "; ".join(f"{each.check}: {each.message}" for each in findings)
