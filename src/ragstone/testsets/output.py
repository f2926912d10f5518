"""Files of generated questions: the data set, rejected candidates, chunks, and provenance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import cast

from ragstone._internal.files import write_file, write_text
from ragstone.datasets.export import write_samples
from ragstone.errors import UsageError
from ragstone.testsets.documents import Chunk, Corpus
from ragstone.testsets.generate import Rejected, evidence_text
from ragstone.testsets.known_items import KnownItem
from ragstone.testsets.noise import MODEL_FREE
from ragstone.types.sample import Sample

CHUNK_FIELDS = "id text document title"
REJECTED_FIELDS = "reason detail type chunks"
RECORD_FIELDS = "ragstone n seed"
"""What the JSON objects of generated files begin with."""
KNOWN_ITEM = "known_item"
"""The type of questions that are rare words of a chunk."""


def samples_of_items(items: Sequence[KnownItem], corpus: Corpus) -> list[Sample]:
    return [
        Sample(
            id=f"k{number}",
            query=item.query,
            relevance={chunk.id: 1.0 for chunk in item.relevant},
            tags={
                "type": KNOWN_ITEM,
                "source": item.span.document,
                **({"language": item.language} if item.language else {}),
                "evidence": evidence_text([item.span], corpus),
            },
        )
        for number, item in enumerate(items, 1)
    ]


def vary_samples(
    samples: Sequence[Sample], noises: Sequence[str], *, seed: int = 0
) -> tuple[list[Sample], Mapping[str, int]]:
    """Return rows with their noisy variants, and noise -> how many rows have no such variant.

    Rows that are variants themselves have none. A variant has the row's reference and relevance,
    the tags `noise` and `variant_of`, and no response, contexts or ranking: those belong to the
    query as it was.
    """
    found: list[Sample] = []
    without = dict.fromkeys(noises, 0)
    ids = {sample.id for sample in samples}
    for sample in samples:
        found.append(sample)
        for noise in noises if "variant_of" not in sample.tags else ():
            query = MODEL_FREE[noise](sample.query, f"{seed}")
            if query is None:
                without[noise] += 1
                continue
            name = f"{sample.id}-{noise}"
            if name in ids:
                raise UsageError(
                    f"there is a row {name!r} already; vary the questions without their variants"
                )
            update = {
                "id": name,
                "query": query,
                "tags": {**sample.tags, "noise": noise, "variant_of": sample.id},
                **dict.fromkeys(("response", "contexts", "ranking")),
            }
            found.append(Sample.model_validate({**dict(sample), **update}))
            ids.add(name)
    return found, without


def write_dataset(
    samples: Sequence[Sample], path: Path, record: Mapping[str, object] | None = None
) -> None:
    """Write rows in the format of the file's ending, which replaces the file as a whole.

    The record of where they came from, if any, is written first, with the SHA-256 of the file: a
    data set is never without it.
    """

    def write(file: Path) -> None:
        write_samples(samples, file, suffix=path.suffix.lower())
        if record is not None:
            digest = sha256(file.read_bytes()).hexdigest()
            whole = {**record, "file": path.name, "sha256": digest}
            text = json.dumps(whole, indent=2, ensure_ascii=False)
            write_text(provenance_path(path), text + "\n")

    write_file(path, write)


def write_rejected(rejected: Iterable[Rejected], path: Path) -> None:
    lines: list[str] = []
    for each in rejected:
        row: dict[str, object] = {
            "reason": each.reason,
            "detail": each.detail,
            "type": each.candidate.type,
            "chunks": [chunk.id for chunk in each.candidate.chunks],
        }
        if each.draft:
            row |= each.draft.model_dump(mode="json")
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_text(path, "".join(lines))


def write_chunks(chunks: Sequence[Chunk], path: Path) -> None:
    rows = (
        {"id": each.id, "text": each.text, "document": each.document, "title": each.heading}
        for each in chunks
    )
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def document_hashes(corpus: Corpus) -> list[dict[str, object]]:
    return [
        {"name": name, "sha256": each.sha256, "chunks": len(corpus.by_document[name])}
        for name, each in corpus.documents.items()
    ]


def provenance_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def check_own(path: Path, fields: str) -> None:
    if not path.exists():
        return
    with suppress(OSError, ValueError):
        first: object = json.JSONDecoder().raw_decode(path.read_text(encoding="utf-8"))[0]
        if isinstance(first, dict) and " ".join(cast("dict[str, object]", first)).startswith(
            fields
        ):
            return
    raise UsageError(f"{path} exists, and was not generated; choose another path, or delete it")


def check_replaceable(path: Path) -> int:
    """Check that a file does not exist, or is one that was generated and not changed since.

    Return the number of its questions; 0 if it does not exist.
    """
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
