"""BEIR: a folder with queries.jsonl, corpus.jsonl and qrels/*.tsv."""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import cast

import numpy as np

from ragstone._internal.text import quoted
from ragstone.datasets.rankings.byte_arrays import Texts
from ragstone.datasets.rankings.qrels import Judgments, JudgmentsBuilder
from ragstone.datasets.rankings.source import Problems, opened
from ragstone.errors import UsageError

SPLIT = "test"
"""The split whose qrels are used if there are several."""
AT_ONCE = 1 << 20
"""Bytes that are read at once, at least one line."""


def qrels_in(folder: Path) -> Path:
    """Return the qrels file of a folder: that of the split `test`, or the only one."""
    found = sorted((folder / "qrels").glob("*.tsv"))
    if not found:
        raise UsageError(f"{folder} is a folder without qrels/*.tsv; pass a qrels file")
    named = [path for path in found if path.stem == SPLIT]
    if len(found) > 1 and not named:
        raise UsageError(
            f"{folder} contains several qrels files; pass one of them, such as {found[0]}"
        )
    return named[0] if named else found[0]


def read_qrels(path: Path, problems: Problems) -> Judgments:
    """Read lines of query, document and grade between tabs; the first line may be a header."""
    judgments = JudgmentsBuilder(problems)
    number = 0
    with opened(path) as stream:
        for content in stream.lines(AT_ONCE):
            rows: list[tuple[str, str, float, int]] = []
            for line in content.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"):
                number += 1
                parts = line.rstrip("\r").split("\t")
                if not line.strip() or (number == 1 and not _is_number(parts[-1])):
                    continue
                if len(parts) < 3 or not _is_number(parts[2]):
                    seen = f"{quoted(line)!r} is not QUERY, DOCUMENT and GRADE"
                    problems.add(seen, "separate them with tabs", line=number)
                    continue
                rows.append((parts[0], parts[1], float(parts[2]), number))
            if rows:
                queries, documents, grades, lines = zip(*rows, strict=True)
                sizes = np.ones(len(rows), dtype=np.int64)
                texts = Texts.of(documents)
                judgments.add(queries, sizes, texts, np.array(grades), np.array(lines))
    return judgments.build("write one line per judgment: QUERY, DOCUMENT, GRADE")


def query_texts(qrels: Path) -> Mapping[str, str]:
    """Return query id -> text, if the qrels are in a BEIR folder with queries."""
    folder = qrels if qrels.is_dir() else qrels.parent.parent
    path = folder / "queries.jsonl"
    texts: dict[str, str] = {}
    if not path.is_file() or not (qrels.is_dir() or qrels.parent.name == "qrels"):
        return texts
    problems = Problems(path)
    with opened(path) as stream:
        parts = (part.removesuffix(b"\n").split(b"\n") for part in stream.lines(AT_ONCE))
        for number, line in enumerate(chain.from_iterable(parts), 1):
            if not line.strip():
                continue
            try:
                value: object = json.loads(line)
                given = cast("dict[str, object]", value)
                texts[str(given["_id"])] = str(given["text"])
            except (ValueError, LookupError, TypeError):
                problems.add("expected an object with _id and text", line=number)
    problems.raise_found()
    return texts


def _is_number(text: str) -> bool:
    return text.strip().removeprefix("-").replace(".", "", 1).isdecimal() and text.isascii()
