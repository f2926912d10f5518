"""Documents: files as text, cut into chunks, and an index of the chunks.

Every position refers to the extracted text.
"""

# bm25s and lxml have no type hints
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

import logging
import os
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import document_id
from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import count, listing, one_line, strip_controls
from ragstone.datasets.dataset import LOADERS
from ragstone.datasets.excel import Archive
from ragstone.datasets.table import OLE, ZIP, File, Record
from ragstone.datasets.values import Plain, normalize_cell
from ragstone.datasets.values import text as cell_text
from ragstone.errors import InputError, Problem, UsageError
from ragstone.judges.offline.words import split_forms, stems

CHUNK_WORDS = 200  # approximate length of a chunk in words, by default
LONGEST_PIECE = 8  # characters of a sentence, per word of a chunk, from which the sentence is cut
LARGEST = 20 * 2**20  # bytes of a document as text, or of the unpacked pages of a small PDF
MOST_PARAGRAPHS = 100_000  # of a docx, also in its cells
CHUNK_FILES = (".jsonl", ".ndjson", ".parquet")  # files whose rows are chunks
ID_NAMES = ("id", "_id", "chunk_id", "doc_id", "docid", "point_id")
TEXT_NAMES = ("text", "content", "contents", "page_content", "chunk")
DOCUMENT_NAMES = ("document", "source", "file", "source_file")
TITLE_NAMES = ("title", "heading")


@dataclass(frozen=True)
class Document:
    name: str  # its path below the folder that was read, or as in a file of chunks
    text: str
    sha256: str  # of the file's bytes, or of the text if the document came as chunks


@dataclass(frozen=True, slots=True)
class Chunk:
    id: str  # `guide.md#3` is the third chunk of guide.md
    document: str
    start: int  # of `text` in the document's text
    end: int
    heading: str  # such as `Battery > Charging`, or empty
    text: str

    @property
    def shown(self) -> str:
        """Its text after its headings, unless it begins with them."""
        last = self.heading.rpartition(" > ")[2]
        return self.text if last in self.text[: len(last) + 10] else f"{self.heading}\n{self.text}"


def shown_texts(chunks: Iterable[Chunk]) -> tuple[str, ...]:
    return tuple(chunk.shown for chunk in chunks)


@dataclass(frozen=True)
class Span:
    document: str
    start: int  # in the document's text
    end: int  # exclusive

    def text(self, corpus: "Corpus") -> str:
        return corpus.documents[self.document].text[self.start : self.end]

    def to_dict(self, corpus: "Corpus") -> dict[str, str | int]:
        return {**vars(self), "text": self.text(corpus)}


@dataclass(frozen=True)
class Corpus:
    """Documents by name, their chunks in order, and notes on what was skipped."""

    documents: Mapping[str, Document]
    chunks: tuple[Chunk, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> Mapping[str, Chunk]:
        return {chunk.id: chunk for chunk in self.chunks}

    @cached_property
    def by_document(self) -> Mapping[str, tuple[Chunk, ...]]:
        found: dict[str, list[Chunk]] = {name: [] for name in self.documents}
        for chunk in self.chunks:
            found[chunk.document].append(chunk)
        return {name: tuple(chunks) for name, chunks in found.items()}

    def find(self, name: str) -> tuple[Chunk, ...]:
        chunk = self.by_id.get(name)
        return (chunk,) if chunk else self.by_document.get(name, ())


def read_documents(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]], *, chunk_words: int = CHUNK_WORDS
) -> Corpus:
    """Read files, and folders with all that is below them, except hidden files.

    Text, Markdown, HTML, PDF and docx files are documents; they are cut at headings, and between
    sentences into chunks of about `chunk_words` words. Rows of JSON Lines and Parquet files are
    chunks with an `id` and a `text`, and perhaps a `document` and a `title`. Other files in a
    folder, those without text, and links to files outside it are skipped with a note.

    Raises:
        UsageError: `chunk_words` is less than 1, or reading needs the extra `documents`.
        InputError: there are no documents, or some cannot be read; it has every problem.
    """
    if chunk_words < 1:
        raise UsageError(f"a chunk must have 1 word or more, got {chunk_words}")
    sources = [paths] if isinstance(paths, str | PathLike) else [*paths]
    documents: dict[str, Document] = {}
    chunks: list[Chunk] = []
    problems: list[Problem] = []
    skipped: dict[str, list[str]] = {_OTHER: [], _BLANK: [], _OUTSIDE: []}
    for name, path in _files(sources, problems, skipped[_OUTSIDE]):
        if path.suffix.lower() not in DOCUMENT_FILES:
            skipped[_OTHER].append(name)
            continue
        try:
            new_documents, new_chunks = _read(name, path, chunk_words)
        except InputError as error:
            problems += [Problem(f"{name}: {problem}") for problem in error.problems]
            continue
        except OSError as error:
            problems.append(Problem(f"{name}: it cannot be read: {error.strerror}"))
            continue
        if not new_documents:
            skipped[_BLANK].append(name)
        for document in new_documents:
            if documents.setdefault(document.name, document) is not document:
                seen = f"{name}: there are two documents named {one_line(document.name, 80)!r}"
                problems.append(Problem(seen, "name the folder above both, or rename one"))
        chunks += new_chunks
    notes = [
        f"{count(len(names), 'file')} {kind}: {listing(names, 5)}"
        for kind, names in skipped.items()
        if names
    ]
    problems = problems or _repeated_ids(chunks)
    if not documents and not problems:
        seen = ", but ".join(["there are no documents", *notes])
        problems.append(Problem(seen, _SUPPORTED))
    if problems:
        raise InputError(strip_controls(", ".join(map(str, sources))) or "documents", problems)
    notes = [f"skipped {note}" for note in notes]
    return Corpus(MappingProxyType(documents), tuple(chunks), tuple(notes))


_OTHER, _BLANK = "of other types", "without text"
_OUTSIDE = "outside the folder, linked from it"


def _repeated_ids(chunks: Sequence[Chunk]) -> list[Problem]:
    problems: list[Problem] = []
    by_id: dict[str, Chunk] = {}
    for chunk in chunks:
        if (first := by_id.setdefault(chunk.id, chunk)) is not chunk:
            where = listing(sorted({first.document, chunk.document}))
            seen = f"two chunks have the id {one_line(chunk.id, 80)!r}, in {where}"
            problems.append(Problem(seen, "give each chunk its own id"))
    return problems


def _read(name: str, path: Path, chunk_words: int) -> tuple[Sequence[Document], Iterable[Chunk]]:
    file = File.at(path)
    if file.suffix in CHUNK_FILES:
        return _chunk_rows(file)
    if path.stat().st_size > LARGEST and file.suffix not in (".pdf", ".docx"):
        raise file.refused(f"it has more than {LARGEST >> 20} MiB", "split it")
    try:
        text = READERS[file.suffix](file) if file.content.strip() else ""
    except UsageError:
        raise
    except ImportError:
        raise UsageError(
            f"{file.name}: reading {file.suffix} files needs an extra: "
            "pip install 'ragstone[documents]'"
        ) from None
    except Exception as error:  # damaged PDF and docx files raise errors of all kinds
        if file.suffix not in (".pdf", ".docx"):
            raise
        why = one_line(str(error) or type(error).__name__, 120)
        raise file.refused(f"it cannot be read: {why}", "save it again, or as text") from error
    if not text.strip():
        if file.suffix == ".pdf":
            raise file.refused("it has no text", "it may be scanned: run OCR first")
        return (), ()
    document = Document(name, text, sha256(file.content).hexdigest())
    return [document], split_chunks(document, chunk_words)


def _files(
    sources: Sequence[str | PathLike[str]], problems: list[Problem], outside: list[str]
) -> Iterator[tuple[str, Path]]:
    # with several sources, names are whole paths, so that they differ
    for source in map(Path, sources):
        try:
            if not source.is_dir():
                if (file := File.at(source)).suffix in DOCUMENT_FILES:
                    yield shown_name(source if len(sources) > 1 else Path(file.name)), source
                    continue
                raise UsageError(f"{source}: unsupported file type {source.suffix!r}; {_SUPPORTED}")
            for path in _walk(source, problems):
                name = shown_name(path if len(sources) > 1 else path.relative_to(source))
                if not path.exists():
                    seen = f"{name}: it is a link to a file that is missing"
                    problems.append(Problem(seen, "delete it"))
                elif not path.resolve().is_relative_to(source.resolve()):
                    outside.append(name)
                elif path.is_file():
                    yield name, path
        except OSError as error:
            problems.append(Problem(strip_controls(f"{source}: cannot be read: {error.strerror}")))
        except UsageError as error:
            problems.append(Problem(strip_controls(str(error))))


def _walk(source: Path, problems: list[Problem]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        name = strip_controls(str(error.filename))
        problems.append(Problem(f"{name}: it cannot be read: {error.strerror}"))

    for folder, folders, names in os.walk(source, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith("."))


def shown_name(path: Path) -> str:
    return strip_controls(path.as_posix()).replace("\n", " ").replace("\t", " ")


def _plain_text(file: File) -> str:
    return file.text().replace("\r\n", "\n").replace("\r", "\n")


def _html(file: File) -> str:
    from lxml.etree import iterwalk, strip_elements
    from lxml.html import HTMLParser

    source = _plain_text(file)
    if not source.strip():
        return ""
    parser = HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    parser.feed(source.encode())
    page = parser.close()
    for error in parser.feed_error_log.filter_from_fatals():  # all that follows is dropped
        seen = f"invalid HTML: {error.message.partition(',')[0]}"
        raise InputError(file.name, [Problem(seen, row=cast("int", error.line), unit="line")])
    if page is None:  # nothing but a comment or a document type
        return ""
    strip_elements(page, *_HIDDEN, with_tail=False)
    events = cast("Iterable[tuple[str, Any]]", iterwalk(page, events=("start", "end")))
    return _markdown(events)


_HIDDEN = ("script", "style", "nav", "template", "noscript", "svg", "head")
_INLINE = (
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span "
    "strong sub sup time tt u var wbr"
).split()
_OPENING = {  # tag of HTML -> what is written for it; blank lines for all others
    **dict.fromkeys(_INLINE, ""),
    **{f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)},
    "li": "\n* ",
    "br": "\n",
    "tr": "\n",
    "pre": "\n\n```\n",
}
_CLOSING = {**dict.fromkeys((*_INLINE, "td", "th", "tr", "br", "li"), ""), "pre": "\n```\n\n"}


def _markdown(events: Iterable[tuple[str, Any]]) -> str:
    parts, code, cells, is_first_row = ["\n"], 0, 0, True
    for event, element in events:
        tag = str(element.tag)
        if event == "start":
            text, mark = element.text, _OPENING.get(tag, "\n\n")
            code += tag == "pre"
            is_first_row = is_first_row or tag == "table"
            if tag in ("td", "th"):
                mark = " | " if cells else "| "
                cells += 1
        else:
            text, mark = element.tail, _CLOSING.get(tag, "\n\n")
            code -= tag == "pre"
            if tag == "tr" and cells:
                mark = " |" + ("\n|" + " --- |" * cells if is_first_row else "")
                is_first_row, cells = False, 0
        if mark:
            parts.append(mark)
        if text and not code:
            line = " ".join(f"<{text}>".split())[1:-1]  # keeps one space at each end
            text = line.lstrip() if parts[-1][-1] in "\n " else line
        if text:
            parts.append(text)
    lines = [line.rstrip() for line in "".join(parts).split("\n")]
    kept = [line for n, line in enumerate(lines) if line or (n and lines[n - 1])]
    return "\n".join(kept).strip("\n") + "\n"


def _pdf(file: File) -> str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError

    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)  # its modules log to children, which inherit the level
    try:
        reader = PdfReader(BytesIO(file.content))
        locked = reader.is_encrypted and not reader.decrypt("")
        read = [] if locked else list(reader.pages)
        streams = [page.get_contents() for page in read]
        size = sum(len(each.get_data()) for each in streams if each is not None)
        if size > max(LARGEST, 100 * len(file.content)):
            raise file.refused("its pages unpack to far more than its size", "save it as text")
        pages = [page.extract_text() for page in read]
    except (DependencyError, FileNotDecryptedError):
        locked, pages = True, []
    finally:
        logger.setLevel(level)
    if locked:
        raise file.refused("the PDF is encrypted", "remove its password")
    return strip_controls("\n\n".join(pages))


def _docx(file: File) -> str:
    import docx
    from docx.oxml.table import CT_Tbl

    if file.content.startswith(OLE):
        raise file.refused("this is an old .doc, or encrypted", "save it as .docx, unprotected")
    if not file.content.startswith(ZIP):
        raise file.refused("this is not a Word document", "save it as .docx")
    parts: list[str] = []
    Archive(file)  # refuses what unpacks to too much
    document = docx.Document(BytesIO(file.content))
    body, styles = document.element.body, {each.style_id: each.name for each in document.styles}
    if body.xpath("count(.//w:p)") > MOST_PARAGRAPHS:
        raise file.refused(f"it has more than {MOST_PARAGRAPHS:,} paragraphs", "split it")
    for block in body.inner_content_elements:
        if isinstance(block, CT_Tbl):  # its cells as written: one may claim to span millions
            rows = [
                [" ".join(" ".join(p.text for p in cell.p_lst).split()) for cell in row.tc_lst]
                for row in block.tr_lst
            ]
            lines = [f"| {' | '.join(cells)} |" for cells in rows if any(cells)]
            if lines:
                lines.insert(1, "|" + " --- |" * max(map(len, rows)))
            parts.append("\n".join(lines))
        else:
            style = styles.get(cast("str", block.style)) or ""
            level = style.removeprefix("Heading ")
            mark = "#" * int(level) + " " if level in tuple("123456") else ""
            parts.append(("# " if style == "Title" else mark) + cast("str", block.text))
    return strip_controls("\n\n".join(filter(str.strip, parts)))


READERS: Mapping[str, Callable[[File], str]] = {  # suffix -> what extracts a document's text
    **dict.fromkeys((".txt", ".md", ".markdown"), _plain_text),
    **dict.fromkeys((".html", ".htm"), _html),
    ".pdf": _pdf,
    ".docx": _docx,
}
DOCUMENT_FILES = (*READERS, *CHUNK_FILES)
_SUPPORTED = f"documents are {', '.join(DOCUMENT_FILES)}"


def _chunk_rows(file: File) -> tuple[list[Document], list[Chunk]]:
    if not file.content.strip():
        raise file.refused("the file is empty", "delete it")
    texts: defaultdict[str, list[str]] = defaultdict(list)
    lengths: Counter[str] = Counter()
    chunks: list[Chunk] = []
    problems: list[Problem] = []
    table = LOADERS[file.suffix](file, None)
    for row in table.rows:
        if isinstance(row, Problem):
            problems.append(replace(row, unit=table.unit))
        if not isinstance(row, Record):
            continue
        try:
            if (given := _first(row.values, ID_NAMES)) is None:
                raise ValueError("it has no id")
            identity, text = document_id(given), _first(row.values, TEXT_NAMES)
            if not isinstance(text, str) or not text.strip():
                raise ValueError("it has no text")
            name, heading = (
                cell_text(value).strip() if isinstance(value, str | int | float) else ""
                for value in (_first(row.values, DOCUMENT_NAMES), _first(row.values, TITLE_NAMES))
            )
            name = name or identity
        except ValueError as error:
            seen, fix = one_line(str(error), 200), "each row needs an `id` and a `text`"
            problems.append(Problem(seen, fix, row=row.row, unit=table.unit))
            continue
        start = lengths[name]
        chunks.append(Chunk(identity, name, start, start + len(text), one_line(heading), text))
        texts[name].append(text)
        lengths[name] += len(text) + 2  # of the blank line that follows
    if problems:
        raise InputError(file.name, problems)
    documents: list[Document] = []
    for name, parts in texts.items():
        text = "\n\n".join(parts)
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()
        documents.append(Document(name, text, digest))
    return documents, chunks


def _first(values: Mapping[str, object], names: Sequence[str]) -> Plain | None:
    return next(
        (normalize_cell(values[name]) for name in names if values.get(name) is not None), None
    )


def split_chunks(document: Document, chunk_words: int) -> Iterator[Chunk]:
    """Yield the chunks of a document in order: parts of its sections, of about equal length."""
    number = 0
    for start, end, heading in _sections(document.text):
        pieces = list(_sentences(document.text, start, end, LONGEST_PIECE * chunk_words))
        words = [max(1, len(split_forms(document.text[first:last]))) for first, last in pieces]
        parts = max(1, round(sum(words) / chunk_words))
        target = sum(words) / parts
        before, begin = 0, 0
        for place, size in enumerate(words):
            here = int((before + size / 2) / target)
            following = before + size + words[place + 1] / 2 if place + 1 < len(words) else None
            before += size
            if following is None or int(following / target) > here:
                number += 1
                first, last = pieces[begin][0], pieces[place][1]
                text = document.text[first:last]
                yield Chunk(f"{document.name}#{number}", document.name, first, last, heading, text)
                begin = place + 1


def _sentences(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    for sentence in split_sentences(text[start:end]):
        first, last = start + sentence.start, start + sentence.end
        while last - first > most:
            cut = text.rfind(" ", first + most // 2, first + most) + 1 or first + most
            yield first, cut
            first = cut
        yield first, last


def _sections(text: str) -> Iterator[tuple[int, int, str]]:
    fence, here, start = "", 0, 0
    path: list[tuple[int, str]] = []
    filled = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if fence or bare.startswith(("```", "~~~")):
            marker = bare[:3]
            fence = (
                "" if fence and marker == fence and not bare.strip(fence[0]) else fence or marker
            )
            filled = True
        elif title := re.match(r"(#{1,6})[ \t](.*)", bare, re.DOTALL):
            if filled:
                yield start, here, " > ".join(name for _, name in path)
                start, filled = here, False
            level = len(title[1])
            path = [entry for entry in path if entry[0] < level]
            path.append((level, one_line(title[2].rstrip("# \t"), 120)))
        elif bare:
            filled = True
        here += len(line)
    yield start, len(text), " > ".join(name for _, name in path)


class ChunkIndex:
    """Finds chunks by the stems of words in their texts and headings (BM25)."""

    def __init__(self, corpus: Corpus) -> None:
        import bm25s  # slow to import

        self.corpus = corpus
        self._vocabulary: dict[str, int] = {}
        rows: list[Sequence[int]] = []
        self._frequency: Counter[int] = Counter()
        for chunk in corpus.chunks:
            terms = stems(f"{chunk.heading}\n{chunk.text}")
            ids = array("i", [self._vocabulary.setdefault(t, len(self._vocabulary)) for t in terms])
            self._frequency.update(set(ids))
            rows.append(ids)
        self._model = bm25s.BM25() if self._vocabulary else None
        if self._model:
            self._model.index(
                (rows, self._vocabulary), create_empty_token=False, show_progress=False
            )

    def frequency(self, term: str) -> int:
        return self._frequency[self._vocabulary.get(term, -1)]

    def search(self, query: str, n: int, *, without: Iterable[Chunk] = ()) -> list[Chunk]:
        """Return the best `n` chunks that share a word with the query, the best first."""
        numbers = sorted({self._vocabulary[t] for t in stems(query) if t in self._vocabulary})
        if self._model is None or not numbers or n < 1:
            return []
        ids = {chunk.id for chunk in without}
        scores = cast("NDArray[np.float32]", self._model.get_scores_from_ids(numbers))
        matching = np.flatnonzero(scores > 0)
        best = matching[np.argsort(-scores[matching], kind="stable")[: n + len(ids)]]
        found = [self.corpus.chunks[number] for number in best.tolist()]
        return [chunk for chunk in found if chunk.id not in ids][:n]
